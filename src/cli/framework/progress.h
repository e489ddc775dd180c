/*
 * progress.h - the progress line on the terminal: the current pass, how much
 * has been read, and the time left.
 *
 * The line appears after two seconds, for every command, and is drawn by a
 * thread of its own, so that no computation has to call anything. Whatever is
 * printed meanwhile is printed between um_progress_pause and
 * um_progress_resume.
 */
#ifndef UM_CLI_PROGRESS_H
#define UM_CLI_PROGRESS_H

#include "cli/framework/command.h"

/* Starts, if somebody would see it: standard error is a terminal, and neither
 * --quiet nor --no-progress was given. The line appears after the seconds in
 * the environment variable UMBEL_PROGRESS_DELAY; 2 if it is unset. */
void um_progress_begin(const um_args *args);
/* Erases the line, and ends. */
void um_progress_end(void);

/* Names what runs from now on; NULL: nothing that should be shown. */
void um_progress_pass(const char *name);
/* Shows steps of the pass. */
void um_progress_steps(const char *pass, uint64_t done, uint64_t total,
                       const char *unit);
/* Shows bytes that are read: an um_key_progress without ctx. */
void um_progress_read(void *ctx, const char *pass, uint64_t done,
                      uint64_t total);

/* Erases the line; it stays away until um_progress_resume. May be nested. */
void um_progress_pause(void);
void um_progress_resume(void);
/* The same for output of which the terminal may be none. */
bool um_progress_shares_stdout(void);

#endif
