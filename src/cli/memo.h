/*
 * memo.h - FILE.pull: what a reader of published filters remembers, and its
 * lock.
 */
#ifndef UM_CLI_MEMO_H
#define UM_CLI_MEMO_H

#include "exchange/pull.h"

#include <limits.h>

typedef struct um_memo {
    char path[PATH_MAX];
    int fd; /* holds the lock, while open */
} um_memo;

/* Beside path; false: the name is too long. */
bool um_memo_init(um_memo *m, const char *path);

/* Until it is closed a second reader of the same file waits. */
umbel_status um_memo_open(um_memo *m, umbel_error *err);
void um_memo_close(um_memo *m);

/* serial 0 when there is nothing yet. */
umbel_status um_memo_read(const um_memo *m, um_memory *out, umbel_error *err);
/* It is there whole or not at all, and for good: whatever ends us. */
umbel_status um_memo_write(um_memo *m, const um_memory *memory,
                           umbel_error *err);

#endif
