/*
 * keys.h - keys from files and pipes, by as many threads as are asked for.
 */
#ifndef UM_CLI_KEYS_H
#define UM_CLI_KEYS_H

#include "cli/split.h"

/* --threads: of commands that read many keys. */
extern const um_option um_threads_options[];

/* The threads asked for, 1 unless there is the option; at least 1. */
umbel_status um_threads(const um_args *args, unsigned *out, umbel_error *err);

/* Some thousand keys, valid while a call lasts. */
typedef struct um_batch {
    size_t n; /* never 0 */
    const umbel_slice *keys;
    const umbel_slice *lines; /* as they stood in the input */
    const double *weights;    /* 1 each, unless um_each_weighed says so */
    const uint64_t *amounts;  /* 1 each, unless um_each_amount says so */
} um_batch;

/*
 * What is done with the keys. work makes a result of a batch, and may run for
 * many batches at once; use takes the results one at a time, in the order of
 * the input, so what it does is the same for any number of threads. Where work
 * fails half a result may be there: use gets that, too, before all ends.
 */
typedef struct um_key_job {
    void *ctx;
    size_t result_len; /* of zeroed memory that batches use in turns; or 0 */
    umbel_status (*work)(const void *ctx, const um_batch *batch, void *result,
                         umbel_error *err); /* NULL: nothing to do */
    umbel_status (*use)(void *ctx, const um_batch *batch, void *result,
                        umbel_error *err);
    void (*fini)(void *result); /* NULL: holds nothing */
} um_key_job;

/*
 * All keys of the named files one after the other ("-" is standard input; none
 * at all means that too), until something fails, or *stop, when given, becomes
 * true. What is reported is the first failure in the order of the input, and
 * the keys before it have been used. err is not NULL.
 */
umbel_status um_each_key(const um_args *args, const char *const *paths,
                         size_t npaths, const um_key_job *job, const bool *stop,
                         umbel_error *err);

/* The same without work: take is called with each batch. */
typedef umbel_status um_take_batch(void *ctx, const um_batch *batch,
                                   umbel_error *err);
umbel_status um_each_batch(const um_args *args, const char *const *paths,
                           size_t npaths, um_take_batch *take, void *ctx,
                           umbel_error *err);

/*
 * The same for keys that may carry a weight: the last field of a line, in files
 * named *.tsv, or in all with --weights. Others weigh 1.
 */
umbel_status um_each_weighed(const um_args *args, const char *const *paths,
                             size_t npaths, um_take_batch *take, void *ctx,
                             umbel_error *err);

/*
 * The same for keys with amounts: batch->amounts are read from that field of
 * each line. With field 0 they are 1. Unless --field says so, the
 * key of a line with an amount is its first field.
 */
umbel_status um_each_amount(const um_args *args, const char *const *paths,
                            size_t npaths, uint64_t field, um_take_batch *take,
                            void *ctx, umbel_error *err);

/* How many keys there are; lines without options are counted at full speed. */
umbel_status um_count_all(const um_args *args, const char *const *paths,
                          size_t npaths, uint64_t *n, umbel_error *err);

/* Add all of it to f; *n tells how many keys there were. */
umbel_status um_add_all(const um_args *args, const char *const *paths,
                        size_t npaths, umbel_filter *f, uint64_t *n,
                        umbel_error *err);

/* Whether all of it can be read twice. */
bool um_keys_again(const char *const *paths, size_t npaths);

/* A result of jobs that hash their keys. */
typedef struct um_digests {
    umbel_digest *d;
    size_t n, room;
} um_digests;

/* The batch as that filter hashes it; none when it fails. */
umbel_status um_hash_batch(const umbel_filter *f, const um_batch *batch,
                           um_digests *out, umbel_error *err);
/* For fini of a job. */
void um_digests_fini(void *result);

#endif
