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
 * The format of a line: which part of it is the key.
 */

enum { UM_MAX_KEY_LEN = 1 << 20 }; /* bytes of a line */

/* Value of amount_field for the last field of the line. */
#define UM_LAST_FIELD UINT64_MAX

/* Files in which the last field of a line is a weight. Other keys have weight
 * 1. */
typedef enum um_weights {
    UM_WEIGHTS_NONE,
    UM_WEIGHTS_TSV, /* in files named *.tsv */
    UM_WEIGHTS_ALL
} um_weights;

/* What a line is, besides fields. */
typedef enum um_list_format {
    UM_LIST_LINES,   /* a key */
    UM_LIST_HIBP,    /* HASH:COUNT of Have I Been Pwned; in range files without
                        the first five digits, which are the file's name */
    UM_LIST_HOSTS,   /* an address, then names */
    UM_LIST_ADBLOCK, /* a rule: those that block a whole domain are keys */
    UM_LIST_DOMAINS  /* a domain name; comments begin with # */
} um_list_format;

/* Zeroed: every non-empty line is a key. */
typedef struct um_key_format {
    um_list_format list;
    umbel_key_form form;    /* of digests, domains or networks; with hex, keys
                               are digests already. Otherwise text */
    const char *column;     /* of CSV, named in the first record of each file;
                               NULL: field */
    const char *json_field; /* lines are JSON objects, the key is this member;
                               NULL: they are not */
    uint64_t field;         /* that is the key, from 1; 0: the whole line, or
                               field 1 where there is an amount_field */
    uint64_t amount_field;  /* from 1, or UM_LAST_FIELD; 0: none */
    uint64_t times;         /* amount of every key without an amount_field;
                               0: 1, and um_keys_add adds to any kind */
    um_weights weights;
    char delimiter;  /* between fields; 0: tab, of CSV a comma, of UM_LIST_HIBP
                        a colon */
    bool csv;        /* records and fields of RFC 4180 */
    bool null_ended; /* records end with NUL instead of newline */
    bool hex;        /* keys are written in hexadecimal digits */
    bool fold_case;  /* ASCII letters of keys become lower case */
    bool skip_bad;   /* skip bad lines, and report them to bad_line */
} um_key_format;

/* Returns true if keys have amounts, which only counting kinds accept. */
static inline bool um_format_has_amounts(const um_key_format *f)
{
    return f->amount_field || f->times;
}

/* Returns the byte between fields. */
static inline char um_format_delimiter(const um_key_format *f)
{
    if (f->delimiter)
        return f->delimiter;
    if (f->csv)
        return ',';
    if (f->list == UM_LIST_HIBP)
        return ':';
    return '\t';
}

/* Returns true if fields have no meaning in this format. */
static inline bool um_format_has_names(const um_key_format *f)
{
    return f->json_field || f->list > UM_LIST_HIBP;
}

/* Returns the form to which keys are converted. */
static inline umbel_key_form um_format_form(const um_key_format *f)
{
    return f->form        ? f->form
           : f->hex       ? UMBEL_KEYS_HEX
           : f->fold_case ? UMBEL_KEYS_FOLDED_TEXT
                          : UMBEL_KEYS_TEXT;
}

/* Returns the byte that ends each record. */
static inline char um_format_end(const um_key_format *f)
{
    return f->null_ended ? '\0' : '\n';
}

/*
 * Called before the first read (done is 0), after each read with the number of
 * bytes read from the files, as stored, and at the end (pass is NULL). A total
 * of 0 is unknown. When a computation begins, done is UM_NO_BYTES.
 */
typedef void um_key_progress(void *ctx, const char *pass, uint64_t done,
                             uint64_t total);
#define UM_NO_BYTES UINT64_MAX

/*
 * A source of keys. Files are read one after the other; those compressed with
 * gzip, zstd or bzip2 are decompressed.
 */
typedef struct um_key_source {
    const char *const *paths; /* "-": standard input */
    size_t npaths;            /* 0: standard input */
    um_key_format format;
    unsigned threads;     /* 0: one per core */
    const bool *stop;     /* reading ends when it becomes true; may be NULL */
    const char *pass;     /* purpose, for progress; NULL: "reading keys" */
    const char *expected; /* what a file should be, for messages;
                             NULL: "a file of keys, one per line" */
    um_key_progress *progress; /* may be NULL */
    void *progress_ctx;
    /* Called when reading has to wait for input, and after each use of a batch
     * meanwhile, so that buffered output is written. From any thread; may be
     * NULL. */
    void (*flush)(void *ctx);
    void *flush_ctx;
    /* Called, in the order of the input, if a file is suspicious. May be
     * NULL. */
    void (*warn)(const void *ctx, const char *file, const char *text);
    /* With format.skip_bad: called for each bad line, without its end, in the
     * order of the input, after the keys of its piece. */
    void (*bad_line)(void *ctx, const char *where, umbel_slice line,
                     const char *what);
    void *bad_ctx;
    bool suggest_hex; /* warn if keys look hexadecimal */
    bool has_fields;  /* warn of files without any delimiter */
    struct um_prefix_lengths
        *prefixes; /* NULL, or receives prefix lengths of networks */
    const void *warn_ctx;
} um_key_source;

/* Reports to progress that a computation on the keys begins. */
static inline void um_key_compute(const um_key_source *s, const char *pass)
{
    if (s->progress)
        s->progress(s->progress_ctx, pass, UM_NO_BYTES, 0);
}

/* A few thousand keys, valid during a call. */
typedef struct um_key_batch {
    size_t n; /* at least 1 */
    const umbel_slice *keys;
    const umbel_slice *lines; /* of the input, without their ends */
    const umbel_slice *texts; /* the keys as they are written */
    const double *weights;    /* 1 each, unless the format has weights */
    const uint64_t *amounts;  /* 1 each, unless the format has amounts */
} um_key_batch;

/*
 * A job for the keys. work computes a result from a batch; it is called by any
 * thread, for many batches at once. use receives the results one at a time in
 * the order of the input, so that the outcome does not depend on the number of
 * threads. If work fails, use receives its unfinished result before the failure
 * is returned.
 */
typedef struct um_key_job {
    void *ctx;
    size_t result_len; /* bytes of zeroed memory, reused between batches; may be
                          0 */
    umbel_status (*work)(const void *ctx, const um_key_batch *batch,
                         void *result, umbel_error *err); /* may be NULL */
    umbel_status (*use)(void *ctx, const um_key_batch *batch, void *result,
                        umbel_error *err);
    void (*fini)(void *result); /* frees the content of a result; may be NULL */
} um_key_job;

/*
 * Reads all keys, until something fails or *stop becomes true. Returns the
 * first failure in the order of the input; the keys before it have been used.
 * A bad line is E_KEY, with its file and number.
 */
umbel_status um_keys_each(const um_key_source *s, const um_key_job *job,
                          umbel_error *err);

/* Does the same without work: calls take for each batch. */
typedef umbel_status um_batch_fn(void *ctx, const um_key_batch *batch,
                                 umbel_error *err);
umbel_status um_keys_each_batch(const um_key_source *s, um_batch_fn *take,
                                void *ctx, umbel_error *err);

/* Does the same with the digests of the keys by f, computed in worker
 * threads. */
typedef umbel_status um_consume_digests(void *ctx, const um_key_batch *batch,
                                        const umbel_digest *digests,
                                        umbel_error *err);
umbel_status um_keys_each_digest(const um_key_source *s, const umbel_filter *f,
                                 um_consume_digests *take, void *ctx,
                                 umbel_error *err);

/* Counts the keys. Whole lines are counted without splitting them. */
umbel_status um_keys_count(const um_key_source *s, uint64_t *n,
                           umbel_error *err);

/* Adds the keys to f, as many times as their amounts. *n is their number, even
 * if it fails midway. */
umbel_status um_keys_add(const um_key_source *s, umbel_filter *f, uint64_t *n,
                         umbel_error *err);

/* Removes each key from f once. E_RANGE for the first one that is not in f. */
umbel_status um_keys_remove(const um_key_source *s, umbel_filter *f,
                            uint64_t *n, umbel_error *err);

/* Returns true if the source can be read twice: it has no pipe or standard
 * input. */
bool um_keys_rereadable(const um_key_source *s);

/*
 * Files as keys: the digests of all regular files below some paths.
 */

typedef enum um_file_hash {
    UM_FILE_MD5,
    UM_FILE_SHA1,
    UM_FILE_SHA256
} um_file_hash;

enum { UM_FILE_DIGEST_LEN = 32 }; /* of the longest */

/* Returns the length of a digest, and its name: "sha1". */
size_t um_file_digest_len(um_file_hash hash);
const char *um_file_hash_name(um_file_hash hash);

typedef struct um_file_digest {
    const char *path;
    uint8_t digest[UM_FILE_DIGEST_LEN];
    const char *why; /* it could not be read; NULL: it was */
} um_file_digest;

/*
 * Which files. Links below paths are not followed, and other special files are
 * not opened; both are only counted.
 *
 * record names a file that digests are appended to as they are known, and from
 * which they are taken if a file has not changed since. So a scan that was
 * interrupted goes on where it was, and a later one hashes new and changed
 * files only. Whoever can write to it can forge digests.
 */
typedef struct um_file_scan {
    const char *const *paths;
    size_t npaths;
    um_file_hash hash;
    unsigned threads;   /* 0: one per core */
    const char *record; /* may be NULL */
    /* Called for each file in the order of the walk, which sorts names. */
    void (*each)(void *ctx, const um_file_digest *file);
    void *ctx;

    /* Results. */
    uint64_t links, special;
    uint64_t recorded; /* files whose digest was in the record */
} um_file_scan;

/* Fails only for the record, and for lack of memory. */
umbel_status um_scan_files(um_file_scan *s, umbel_error *err);

/* --- the record of a scan, for its fuzzer --------------------------------- */

typedef struct um_scan_record um_scan_record;

/* Parses a record that has been read; bytes must outlive it. *whole is the
 * length of its complete entries; others after that are ignored. E_FORMAT if it
 * is something else, or of another hash; E_NOMEM. */
umbel_status um_scan_record_parse(const char *bytes, size_t len,
                                  um_file_hash hash, um_scan_record **out,
                                  size_t *whole);
size_t um_scan_record_count(const um_scan_record *r);
void um_scan_record_free(um_scan_record *r);

#endif
