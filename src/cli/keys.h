/*
 * keys.h - keys from files and pipes, in batches.
 */
#ifndef UM_CLI_KEYS_H
#define UM_CLI_KEYS_H

#include "cli/command.h"

enum { UM_MAX_KEY_LEN = 1 << 20 };

/* Options of every command that reads keys. */
extern const um_option um_keys_options[];

typedef struct um_keys um_keys;

/* Up to some thousand keys, valid until the next batch. */
typedef struct um_batch {
    size_t n;
    const umbel_slice *keys;
    const umbel_slice *lines; /* as they stood in the input */
} um_batch;

/*
 * Read the named files one after the other ("-" is standard input; none at all
 * means that too). paths must outlive the reader.
 */
umbel_status um_keys_open(const um_args *args, const char *const *paths,
                          size_t npaths, um_keys **out, umbel_error *err);
void um_keys_close(um_keys *k);

/* The next batch; out->n is 0 at the end of the last file. */
umbel_status um_keys_next(um_keys *k, um_batch *out, umbel_error *err);

/*
 * All of it: take is called with each batch until it fails, or *stop, when
 * given, becomes true.
 */
typedef umbel_status um_take_batch(void *ctx, const um_batch *batch,
                                   umbel_error *err);
umbel_status um_each_batch(const um_args *args, const char *const *paths,
                           size_t npaths, um_take_batch *take, void *ctx,
                           const bool *stop, umbel_error *err);

/* How many keys there are; lines without options are counted at full speed. */
umbel_status um_count_all(const um_args *args, const char *const *paths,
                          size_t npaths, uint64_t *n, umbel_error *err);

/* Add all of it to f; *n tells how many keys there were. */
umbel_status um_add_all(const um_args *args, const char *const *paths,
                        size_t npaths, umbel_filter *f, uint64_t *n,
                        umbel_error *err);

/* Decode hexadecimal text of len digits; false when it is none. */
bool um_decode_hex(const void *text, size_t len, uint8_t *out);

/* Whether all of it can be read twice. */
bool um_keys_again(const char *const *paths, size_t npaths);

#endif
