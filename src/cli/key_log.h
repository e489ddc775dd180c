/*
 * key_log.h - check --confirm: a list of keys that grows, beside other writers.
 */
#ifndef UM_CLI_KEY_LOG_H
#define UM_CLI_KEY_LOG_H

#include <umbel/base.h>

typedef struct um_key_log {
    const char *path; /* NULL: nothing is noted */
    int fd;
    char end; /* behind each key */
} um_key_log;

/* To append to path; with NULL nothing is noted from then on. */
umbel_status um_key_log_open(um_key_log *n, const char *path, char end,
                             umbel_error *err);
/*
 * Append those texts that hit, at once: of several who append at a time none
 * cuts another's lines.
 */
umbel_status um_key_log_add(const um_key_log *n, const umbel_slice *texts,
                            const bool *hit, size_t ntexts, umbel_error *err);
/* Gives status, or what went wrong now when that was fine. */
umbel_status um_key_log_close(um_key_log *n, umbel_status status,
                              umbel_error *err);

#endif
