/*
 * watch.h - work that is done again and again: the pauses, and a command that
 * runs after each change.
 */
#ifndef UM_CLI_WATCH_H
#define UM_CLI_WATCH_H

#include <umbel/base.h>

enum { UM_WATCH_MAX_PAUSE = 900 }; /* seconds, unless the interval is longer */

/*
 * Returns the milliseconds until the next round: the interval, twice as long
 * after each failure in a row, up to UM_WATCH_MAX_PAUSE seconds. Readers that
 * were started together must not stay together: jitter, from 0 to 1, takes off
 * up to a tenth.
 */
uint64_t um_watch_pause(uint64_t seconds, unsigned failures, double jitter);

/* Waits for um_watch_pause with a random jitter. */
void um_watch_wait(uint64_t seconds, unsigned failures);

/*
 * Ends the process with exit code 0 at SIGINT and SIGTERM. A command of
 * um_watch_run gets the signal first, and is waited for.
 */
void um_watch_signals(void);

/* Runs a command with /bin/sh, and waits for it. E_IO: it failed. */
umbel_status um_watch_run(const char *command, umbel_error *err);

#endif
