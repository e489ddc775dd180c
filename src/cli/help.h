/*
 * help.h - 'umbel --help', 'umbel help TOPIC', and lists for completion.
 */
#ifndef UM_CLI_HELP_H
#define UM_CLI_HELP_H

#include "cli/framework/command.h"

#include <stddef.h>

/* Prints the commands, in one screen. */
void um_print_help(FILE *out);
/* Prints kinds, addressings, hashes or methods. False: no such topic. */
bool um_print_topic(FILE *out, const char *name);

/* Prints the names of commands or of a topic, one per line. False: there is no
 * such table. */
bool um_list_names(FILE *out, const char *name);

/*
 * Programs of their own that 'umbel NAME' runs, as git does.
 */

/* A program that comes with umbel: umbel-NAME. */
typedef struct um_program {
    const char *name;
    const char *summary; /* one line for --help */
} um_program;

/* The table: NULL when past the end, or no program has that name. */
const um_program *um_program_row(size_t i);
const um_program *um_program_find(const char *name);

/*
 * Becomes the program umbel-NAME: the one beside this file, else the first in
 * the PATH. argv begins with the name. Returns only if it was not found, or
 * cannot be started; errno says which.
 */
void um_launch(const char *name, char **argv);

#endif
