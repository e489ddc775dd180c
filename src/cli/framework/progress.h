/*
 * progress.h - the progress line on the terminal: the current pass, how much
 * has been read, and the time left.
 *
 * The line appears after two seconds, for every command, and is drawn by a
 * separate thread, so that computations need not call anything. Other output
 * must be printed between um_progress_pause and um_progress_resume.
 */
#ifndef UM_CLI_PROGRESS_H
#define UM_CLI_PROGRESS_H

#include "cli/framework/command.h"

/* Starts the progress line, if standard error is a terminal, and neither
 * --quiet nor --no-progress was given. The line appears after the number of
 * seconds in the environment variable UMBEL_PROGRESS_DELAY; 2 if it is
 * unset. */
void um_progress_begin(const um_args *args);
/* Erases the line and stops the thread. */
void um_progress_end(void);

/* Names the current pass; NULL: nothing to show. */
void um_progress_pass(const char *name);
/* Shows the steps of the pass. */
void um_progress_steps(const char *pass, uint64_t done, uint64_t total,
                       const char *unit);
/* Shows the bytes read; an um_key_progress without ctx. */
void um_progress_read(void *ctx, const char *pass, uint64_t done,
                      uint64_t total);

/* Erases the line until um_progress_resume. Calls may be nested. */
void um_progress_pause(void);
void um_progress_resume(void);
/* Returns true if the line and standard output are on the same terminal, so
 * that output must pause the line. */
bool um_progress_shares_stdout(void);

#endif
