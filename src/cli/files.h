/*
 * files.h - filters, secrets and parameters from a command line.
 */
#ifndef UM_CLI_FILES_H
#define UM_CLI_FILES_H

#include "cli/command.h"

/* --key-file: of commands that hash keys. */
extern const um_option um_secret_options[];
/* --key-file and --no-checksum: of commands that read a filter. */
extern const um_option um_filter_options[];
/* --max-memory alone: of those that take filters of others. */
extern const um_option um_memory_options[];
/* --kind, --addressing, --hash ...: of commands that choose a shape. */
extern const um_option um_shape_options[];

enum { UM_MAX_SET = 8 };

/* Parameters from options, with the memory they point to. */
typedef struct um_filter_args {
    const char *kind;
    umbel_params params;
    uint8_t secret[UMBEL_SECRET_LEN];
    umbel_setting settings[UM_MAX_SET];
    char names[UM_MAX_SET][32];
} um_filter_args;

umbel_status um_ask(const um_args *args, um_filter_args *out, umbel_error *err);
/* What the size is given by: "bits", or its other name "cells". */
const char *um_size_option(const um_args *args);
/* Wipe the secret. */
void um_forget(um_filter_args *asked);

/* Read-only, mapped where possible; or in memory of its own. */
umbel_status um_open_filter(const um_args *args, const char *path,
                            umbel_filter **out, umbel_error *err);
umbel_status um_load_filter(const um_args *args, const char *path,
                            umbel_filter **out, umbel_error *err);

/* What to add to a refusal: an option, where that is what it is about; "". */
const char *um_memory_advice(const char *said);

/*
 * Another filter beside the first, read-only. Its secret comes from an option
 * of its own, or from --key-file when that fits both.
 */
umbel_status um_open_second(const um_args *args, const char *path,
                            const char *secret_option, umbel_filter **out,
                            umbel_error *err);

/* Standard output, made ready for bytes that are no text; not a terminal. */
umbel_status um_check_pipe(umbel_error *err);

/* To -o FILE, there whole or not at all, or to standard output for "-". */
umbel_status um_save_bytes(const void *bytes, size_t len, const char *path,
                           umbel_error *err);
umbel_status um_save_filter(const umbel_filter *f, const char *path,
                            umbel_error *err);

/*
 * A file of text that is there whole or not at all: write to what um_draft_open
 * gives, then save, which closes it. NULL when there is no memory.
 */
typedef struct um_draft {
    FILE *out;
    char *bytes;
    size_t len;
} um_draft;
FILE *um_draft_open(um_draft *t, umbel_error *err);
umbel_status um_draft_save(um_draft *t, const char *path, umbel_error *err);

/* How often "-" stands among them, or with option: standard input can be read
 * once. */
size_t um_stdin_among(const char *const *paths, size_t n);
size_t um_stdin_uses(const um_args *args, const char *option);
/* E_IO when writing path would destroy input, which the same file holds. */
umbel_status um_refuse_overwrite(const char *path, const char *input,
                                 umbel_error *err);

/* Where the report goes: standard output, unless the filter goes there. */
FILE *um_report_to(const um_args *args);

/* The secret in --key-file; *given is false without that option. */
umbel_status um_read_secret(const um_args *args, uint8_t *secret, bool *given,
                            umbel_error *err);
/* The same for another option. */
umbel_status um_read_secret_of(const um_args *args, const char *option,
                               uint8_t *secret, bool *given, umbel_error *err);

#endif
