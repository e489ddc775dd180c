/*
 * key_log.h - a file of keys that several processes append to.
 */
#ifndef UM_KEYLIST_KEY_LOG_H
#define UM_KEYLIST_KEY_LOG_H

#include <umbel/base.h>

/* A log. Zeroed, it is not open, and um_key_log_append does nothing. */
typedef struct um_key_log {
    const char *path; /* NULL: not open */
    int fd;
    char end; /* written after each key */
} um_key_log;

/* Opens path for appending, and completes a last line without a newline. */
umbel_status um_key_log_init(um_key_log *log, const char *path, char end,
                             umbel_error *err);
/*
 * Appends the keys for which hit[i] is true, in one write: processes that
 * append at the same time do not split each other's lines.
 */
umbel_status um_key_log_append(const um_key_log *log, const umbel_slice *keys,
                               const bool *hit, size_t n, umbel_error *err);
/* Closes the file. */
umbel_status um_key_log_fini(um_key_log *log, umbel_error *err);

#endif
