/*
 * program.h - what every program does before and after its command.
 */
#ifndef UM_CLI_PROGRAM_H
#define UM_CLI_PROGRAM_H

#include "cli/framework/command.h"

/* Prepares the process: standard files that were closed cannot be taken by
 * files we open, and a mapped file that is truncated ends us with a message. */
void um_program_begin(void);
/* Returns the exit code: trouble, with a message, if output could not be
 * written. */
int um_program_end(int code);

/* Parses the arguments and runs the command; returns its exit code. */
int um_run_command(const um_command *command, char **argv);

/* Prints lines "COMMAND --option", with = where it takes a value, followed by
 * the values it may have, or @ and the topic that lists them: for completion.
 */
void um_list_options(const um_command *command);

/* Prints a part of the manual page in roff: for --man-head title, name and
 * synopsis, for --man-options the options. False: word is neither. */
bool um_print_man(FILE *out, const um_command *command, const char *word);

/* Runs a program that is one command of its own: umbel-NAME, which 'umbel NAME'
 * starts. The result of main. */
int um_program_main(const um_command *command, char **argv);

/* A program that has several commands: 'umbel NAME COMMAND ...'. The names of
 * its rows are "NAME COMMAND". */
typedef struct um_program_group {
    const char *name;
    const char *summary;
    const um_command *plain; /* what it does without a command; NULL: nothing */
    const char *manual;      /* as in um_command */
    const um_command *const *rows; /* up to NULL */
} um_program_group;

/* Runs such a program. The result of main. */
int um_program_group_main(const um_program_group *group, char **argv);

/* As um_print_man, one page for all commands. */
bool um_print_group_man(FILE *out, const um_program_group *group,
                        const char *word);

/* Such programs' commands, for the test of rows. */
extern const um_command um_cmd_bench, um_cmd_reproduce;

#endif
