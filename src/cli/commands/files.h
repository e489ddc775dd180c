/*
 * files.h - filters and secrets from files, and files that are written whole.
 */
#ifndef UM_CLI_FILES_H
#define UM_CLI_FILES_H

#include "cli/framework/option_groups.h"

/* Opens a filter read-only, mapped where possible; or loads it into memory of
 * its own, to be changed. "-" is standard input. */
umbel_status um_open_filter(const um_open_args *open, const char *path,
                            umbel_filter **out, umbel_error *err);
umbel_status um_load_filter(const um_open_args *open, const char *path,
                            umbel_filter **out, umbel_error *err);

/* Gives a filter the secret of --key-file, if there is one. */
umbel_status um_unlock_filter(const um_open_args *open, umbel_filter *f,
                              umbel_error *err);

/*
 * Opens another filter beside the first. Its secret is in a file of its own, if
 * given, or in that of the first when it fits both. option names that file's
 * option in refusals.
 */
umbel_status um_open_second(const um_open_args *first, const char *path,
                            const char *key_file, const char *option,
                            umbel_filter **out, umbel_error *err);

/* Makes standard output ready for bytes; refuses a terminal. */
umbel_status um_check_pipe(umbel_error *err);

/* Write to a file, which is there whole or not at all, or to standard output
 * for "-". */
umbel_status um_save_bytes(const void *bytes, size_t len, const char *path,
                           umbel_error *err);
umbel_status um_save_filter(const umbel_filter *f, const char *path,
                            umbel_error *err);

/*
 * A file of text that is there whole or not at all: write to what um_draft_open
 * returns, then save, which closes it. NULL when there is no memory.
 */
typedef struct um_draft {
    FILE *out;
    char *bytes;
    size_t len;
} um_draft;
FILE *um_draft_open(um_draft *t, umbel_error *err);
umbel_status um_draft_save(um_draft *t, const char *path, umbel_error *err);

#endif
