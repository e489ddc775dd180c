/*
 * progress.h - a line on the terminal while long input is read.
 */
#ifndef UM_CLI_PROGRESS_H
#define UM_CLI_PROGRESS_H

#include "cli/command.h"

/* Returns true if somebody would see it: standard error is a terminal, and
 * neither --quiet nor --no-progress was given. */
bool um_shows_progress(const um_args *args);

/* Shows bytes, rate and time left, from the second second on; erases the line
 * when reading ended. As um_key_progress; ctx is not used: there is one
 * terminal. */
void um_show_progress(void *ctx, uint64_t done, uint64_t total, bool ended);

#endif
