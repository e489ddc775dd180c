/*
 * launch.h - programs of their own that 'umbel NAME' runs, as git does.
 */
#ifndef UM_CLI_LAUNCH_H
#define UM_CLI_LAUNCH_H

#include <stddef.h>

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
 * the PATH. argv begins with the name. Returns only if there is none, or it
 * cannot be started; errno says which.
 */
void um_launch(const char *name, char **argv);

#endif
