/*
 * program.h - what every program of the shell does around its command.
 */
#ifndef UM_CLI_PROGRAM_H
#define UM_CLI_PROGRAM_H

#include "cli/command.h"

/* Prepares the process: standard files that were closed cannot be taken by
 * files we open, and a mapped file that is truncated ends us with a message. */
void um_program_begin(void);
/* Returns the exit code: trouble, with a message, if output could not be
 * written. */
int um_program_end(int code);

/* Prints the options of a command, "COMMAND --OPTION" on each line, for
 * completion. Those that take a value end with "=". */
void um_list_options(const um_command *command);

/* Runs a program that is one command of its own: umbel-NAME, which 'umbel NAME'
 * starts. The result of main. */
int um_program_main(const um_command *command, char **argv);

#endif
