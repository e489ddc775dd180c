/*
 * program.h - what every program does before and after its command.
 */
#ifndef UM_CLI_PROGRAM_H
#define UM_CLI_PROGRAM_H

#include "cli/framework/command.h"

/* Prepares the process: keeps files that we open from becoming closed standard
 * files, and makes a truncated mapped file end the process with a message. */
void um_program_begin(void);
/* Returns the exit code: trouble, with a message, if output could not be
 * written. */
int um_program_end(int code);

/* Parses the arguments and runs the command; returns its exit code. */
int um_run_command(const um_command *command, char **argv);

/* Prints lines "COMMAND --option" for completion, with = if it takes a value,
 * followed by the possible values, or by @ and the topic that lists them. */
void um_list_options(const um_command *command);

/* Prints a part of the manual page in roff: title, name and synopsis for
 * --man-head, the options for --man-options. Returns false for any other
 * word. */
bool um_print_man(FILE *out, const um_command *command, const char *word);

/* Runs a program with one command: umbel-NAME, which 'umbel NAME' starts.
 * Returns the result of main. */
int um_program_main(const um_command *command, char **argv);

/* A program with several commands: 'umbel NAME COMMAND ...'. The names of its
 * rows are "NAME COMMAND". */
typedef struct um_program_group {
    const char *name;
    const char *summary;
    const um_command *plain;       /* used without a command; NULL: none */
    const char *manual;            /* as in um_command */
    const um_command *const *rows; /* ends with NULL */
} um_program_group;

/* Runs such a program. Returns the result of main. */
int um_program_group_main(const um_program_group *group, char **argv);

/* Prints as um_print_man, one page for all commands. */
bool um_print_group_man(FILE *out, const um_program_group *group,
                        const char *word);

/* Commands of such programs, for the test of rows. */
extern const um_command um_cmd_bench, um_cmd_reproduce, um_cmd_serve;

#endif
