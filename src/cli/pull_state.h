/*
 * pull_state.h - FILE.pull: what a reader of published filters remembers, and
 * its lock.
 */
#ifndef UM_CLI_PULL_STATE_H
#define UM_CLI_PULL_STATE_H

#include "exchange/pull.h"

#include <limits.h>

typedef struct um_pull_state {
    char path[PATH_MAX];
    int fd; /* holds the lock, while open */
} um_pull_state;

/* Beside path; false: the name is too long. */
bool um_pull_state_init(um_pull_state *m, const char *path);

/* Until it is closed a second reader of the same file waits. */
umbel_status um_pull_state_open(um_pull_state *m, umbel_error *err);
void um_pull_state_close(um_pull_state *m);

/* serial 0 when there is nothing yet. */
umbel_status um_pull_state_read(const um_pull_state *m, um_memory *out,
                                umbel_error *err);
/* It is there whole or not at all, and for good: whatever ends us. */
umbel_status um_pull_state_write(um_pull_state *m, const um_memory *memory,
                                 umbel_error *err);

#endif
