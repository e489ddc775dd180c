/*
 * source.h - keys from files and pipes, read by several threads.
 */
#ifndef UM_KEYLIST_SOURCE_H
#define UM_KEYLIST_SOURCE_H

#include <umbel/experimental.h>
#include <umbel/umbel.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which part of a line is the key.
 */

enum { UM_MAX_KEY_LEN = 1 << 20 }; /* bytes of a line */

/* As amount_field: the last field of the line. */
#define UM_LAST_FIELD UINT64_MAX

/* In which files the last field of a line is a weight. Other keys weigh 1. */
typedef enum um_weights {
    UM_WEIGHTS_NONE,
    UM_WEIGHTS_TSV, /* in files named *.tsv */
    UM_WEIGHTS_ALL
} um_weights;

/* Zeroed: every line that is not empty is a key. */
typedef struct um_key_format {
    bool null_ended;       /* records end with NUL instead of newline */
    bool hex;              /* keys are written in hexadecimal digits */
    bool fold_case;        /* ASCII letters of keys become lower case */
    char delimiter;        /* between fields; 0: tab */
    uint64_t field;        /* that is the key, from 1; 0: the whole line, or
                              field 1 where there is an amount_field */
    uint64_t amount_field; /* from 1, or UM_LAST_FIELD; 0: none */
    uint64_t times;        /* amount of every key without an amount_field;
                              0: 1, and um_keys_add adds to any kind */
    um_weights weights;
    bool skip_bad; /* bad lines do not end the input: um_key_source.bad_line */
} um_key_format;

/* Returns true if keys get amounts, which only counting kinds take. */
static inline bool um_format_has_amounts(const um_key_format *f)
{
    return f->amount_field || f->times;
}

/* Returns the byte behind each record. */
static inline char um_format_end(const um_key_format *f)
{
    return f->null_ended ? '\0' : '\n';
}

/* Makes ASCII letters lower case; other bytes stay. */
void um_fold_case(const uint8_t *from, size_t len, uint8_t *to);

/* Says why um_hex_decode refuses a text, and where. */
enum { UM_WHY_LEN = 80 };
void um_why_not_hex(const void *text, size_t len, char out[UM_WHY_LEN]);

/*
 * Called before the first read (done is 0), after each read with the bytes of
 * the files, as stored, and when reading is over (pass is NULL). A total of 0
 * is unknown. When a computation begins, done is UM_NO_BYTES.
 */
typedef void um_key_progress(void *ctx, const char *pass, uint64_t done,
                             uint64_t total);
#define UM_NO_BYTES UINT64_MAX

/*
 * Where keys come from. Files are read one after the other; those compressed
 * with gzip are decompressed.
 */
typedef struct um_key_source {
    const char *const *paths; /* "-": standard input */
    size_t npaths;            /* 0: standard input */
    um_key_format format;
    unsigned threads;          /* 0: one per core */
    const bool *stop;          /* reading ends when it becomes true; or NULL */
    const char *pass;          /* what reading is for; NULL: "reading keys" */
    const char *expected;      /* what a file should be, for messages;
                                  NULL: "a file of keys, one per line" */
    um_key_progress *progress; /* or NULL */
    void *progress_ctx;
    /* Called when reading has to wait for input, and after each use of a batch
     * meanwhile: whatever was printed should go out. From any thread; or NULL
     */
    void (*flush)(void *ctx);
    void *flush_ctx;
    /* Called, in the order of the input, with what is odd about a file; or NULL
     */
    void (*warn)(const void *ctx, const char *file, const char *text);
    /* With format.skip_bad: called with each bad line, without its end, in the
     * order of the input, after the keys that were read with it */
    void (*bad_line)(void *ctx, const char *where, umbel_slice line,
                     const char *what);
    void *bad_ctx;
    bool suggest_hex; /* warn of keys that look like hexadecimal ones */
    const void *warn_ctx;
} um_key_source;

/* Shows that a computation on the keys begins. */
static inline void um_key_compute(const um_key_source *s, const char *pass)
{
    if (s->progress)
        s->progress(s->progress_ctx, pass, UM_NO_BYTES, 0);
}

/* Some thousand keys. Valid during a call. */
typedef struct um_key_batch {
    size_t n; /* at least 1 */
    const umbel_slice *keys;
    const umbel_slice *lines; /* of the input, without their ends */
    const double *weights;    /* 1 each, unless the format has weights */
    const uint64_t *amounts;  /* 1 each, unless the format has amounts */
} um_key_batch;

/*
 * What to do with the keys. Calls of work make a result of a batch, and run in
 * any thread, for many batches at once. Calls of use take the results one at a
 * time in the order of the input, so that the outcome does not depend on the
 * number of threads. Where work fails, use gets its unfinished result before
 * the failure is returned.
 */
typedef struct um_key_job {
    void *ctx;
    size_t result_len; /* of zeroed memory that batches share in turns; or 0 */
    umbel_status (*work)(const void *ctx, const um_key_batch *batch,
                         void *result, umbel_error *err); /* or NULL */
    umbel_status (*use)(void *ctx, const um_key_batch *batch, void *result,
                        umbel_error *err);
    void (*fini)(void *result); /* frees what a result holds; or NULL */
} um_key_job;

/*
 * Reads all keys, until something fails or *stop becomes true. Returns the
 * first failure in the order of the input; the keys before it have been used.
 * A bad line is E_KEY, with its file and number.
 */
umbel_status um_keys_each(const um_key_source *s, const um_key_job *job,
                          umbel_error *err);

/* The same without work: calls take with each batch. */
typedef umbel_status um_batch_fn(void *ctx, const um_key_batch *batch,
                                 umbel_error *err);
umbel_status um_keys_each_batch(const um_key_source *s, um_batch_fn *take,
                                void *ctx, umbel_error *err);

/* The same with the digests that f makes of the keys, in worker threads. */
typedef umbel_status um_consume_digests(void *ctx, const um_key_batch *batch,
                                        const umbel_digest *digests,
                                        umbel_error *err);
umbel_status um_keys_each_digest(const um_key_source *s, const umbel_filter *f,
                                 um_consume_digests *take, void *ctx,
                                 umbel_error *err);

/* Counts the keys. Whole lines are counted without splitting them. */
umbel_status um_keys_count(const um_key_source *s, uint64_t *n,
                           umbel_error *err);

/* Adds the keys to f, as often as their amounts say. *n is their number, also
 * when it fails in the middle. */
umbel_status um_keys_add(const um_key_source *s, umbel_filter *f, uint64_t *n,
                         umbel_error *err);

/* Removes each key from f once. The first one that is not in f is E_RANGE. */
umbel_status um_keys_remove(const um_key_source *s, umbel_filter *f,
                            uint64_t *n, umbel_error *err);

/* Returns true if the source can be read twice: no pipe, no standard input. */
bool um_keys_rereadable(const um_key_source *s);

#endif
