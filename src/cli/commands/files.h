/*
 * files.h - reads filters and secrets from files, and writes files atomically.
 */
#ifndef UM_CLI_FILES_H
#define UM_CLI_FILES_H

#include "cli/framework/option_groups.h"

/* um_open_filter opens a filter read-only, mapped if possible; um_load_filter
 * loads it into memory, where it can be changed. "-" is standard input. For a
 * directory of 'umbel sync', the filters of all its origins are merged. */
umbel_status um_open_filter(const um_open_args *open, const char *path,
                            umbel_filter **out, umbel_error *err);
umbel_status um_load_filter(const um_open_args *open, const char *path,
                            umbel_filter **out, umbel_error *err);

/* Opens a directory of 'umbel sync' with --max-memory; refuses
 * --no-checksum. */
struct um_sync_dir;
umbel_status um_open_dir(const um_open_args *open, const char *path,
                         struct um_sync_dir *out, umbel_error *err);

/* Sets the secret from --key-file, if there is one. */
umbel_status um_unlock_filter(const um_open_args *open, umbel_filter *f,
                              umbel_error *err);

/*
 * Opens another filter in addition to the first. Its secret is in key_file if
 * that is not NULL, otherwise in that of the first if it fits both. option
 * names the option of key_file in messages.
 */
umbel_status um_open_second(const um_open_args *first, const char *path,
                            const char *key_file, const char *option,
                            umbel_filter **out, umbel_error *err);

/* Warns if a directory of 'umbel sync' continues as a new incarnation since it
 * was opened. With exchange, the warning advises to exchange it. */
void um_warn_renewed(const um_args *args, const struct um_sync_dir *d,
                     bool exchange);

/* Prepares standard output for binary data; refuses a terminal. */
umbel_status um_check_pipe(umbel_error *err);

/* Write to a file, atomically, or to standard output for "-". */
umbel_status um_save_bytes(const void *bytes, size_t len, const char *path,
                           umbel_error *err);
umbel_status um_save_filter(const umbel_filter *f, const char *path,
                            umbel_error *err);

/*
 * A text file that is written atomically: write to the stream that
 * um_draft_open returns (NULL if memory runs out), then call um_draft_save,
 * which closes it.
 */
typedef struct um_draft {
    FILE *out;
    char *bytes;
    size_t len;
} um_draft;
FILE *um_draft_open(um_draft *t, umbel_error *err);
umbel_status um_draft_save(um_draft *t, const char *path, umbel_error *err);

#endif
