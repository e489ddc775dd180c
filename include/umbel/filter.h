/*
 * filter.h - create a filter, add keys, query it: the verbs of all kinds.
 *
 * Threads: calls on a const handle may run at the same time; any other call
 * needs the handle to itself, unless the filter is shared (umbel_share).
 * Outputs are untouched when a call fails. The library never prints, exits or
 * aborts, and has no global state.
 */
#ifndef UMBEL_FILTER_H
#define UMBEL_FILTER_H

#include <umbel/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct umbel_filter umbel_filter;

enum { UMBEL_SECRET_LEN = 16 }; /* bytes of a secret key */

/* A parameter of one kind, by name: see umbel_kind_setting. */
typedef struct umbel_setting {
    const char *name;
    uint64_t value;
} umbel_setting;

/*
 * How the keys of a filter were read before they were hashed. The library only
 * records it, in params and in files, and refuses to merge filters whose forms
 * differ; it hashes the bytes that it is given.
 */
typedef enum umbel_key_form {
    UMBEL_KEYS_TEXT = 0,       /* the bytes as they are given */
    UMBEL_KEYS_UNRECORDED = 1, /* files of version 1 */
    UMBEL_KEYS_HEX = 2,        /* the bytes that hexadecimal digits stand for */
    UMBEL_KEYS_INTEGER = 3,    /* decimal numbers */
    UMBEL_KEYS_FOLDED_TEXT = 4 /* ASCII letters made lower case */
} umbel_key_form;

/* What to create. Zero means the default; start with UMBEL_PARAMS_INIT. */
typedef struct umbel_params {
    size_t size;            /* sizeof(umbel_params): lets it grow */
    const char *addressing; /* NULL means "blocked512", or the kind's own */
    const char *hash;  /* NULL means "xxh3-64", or that of the addressing */
    uint64_t seed;     /* same seed, same keys, same order: same bytes */
    uint64_t capacity; /* number of keys expected */
    double fpr;        /* false positive rate; 0 means 0.001, or the kind's */
    uint64_t cells;    /* size instead of capacity: bits, for bloom */
    uint32_t hashes;   /* hash functions, cells per key; 0 means the best */
    const uint8_t *secret; /* UMBEL_SECRET_LEN bytes, for keyed hashes */
    const umbel_setting *settings; /* nsettings parameters of the kind */
    size_t nsettings;
    const umbel_alloc *alloc; /* NULL means the C library's */
    uint64_t key_form;        /* umbel_key_form, for the file */
    bool exact_size; /* for capacity: the smallest size. Else up to 0.5 % are
                        added so that it can be folded */
} umbel_params;

#ifdef __cplusplus
#define UMBEL_PARAMS_INIT                                                      \
    {                                                                          \
        sizeof(umbel_params), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0            \
    }
#else
#define UMBEL_PARAMS_INIT                                                      \
    {                                                                          \
        .size = sizeof(umbel_params)                                           \
    }
#endif

/*
 * Creates an empty filter of the named kind; NULL means "bloom". params say its
 * size: for capacity keys at the false positive rate fpr, or exactly cells
 * cells. With both capacity and cells, cells is the size and capacity chooses
 * the number of hash functions. Static kinds are refused: use umbel_build.
 *
 * On success *out owns the filter; release it with umbel_close. On failure *err
 * names the parameter that was wrong and its range.
 */
UMBEL_API umbel_status umbel_create(const char *kind,
                                    const umbel_params *params,
                                    umbel_filter **out, umbel_error *err);

/* Frees the filter and wipes its secret. NULL is accepted. */
UMBEL_API void umbel_close(umbel_filter *f);

/* Copies f. The copy of a mapped filter is in memory and can be changed. */
UMBEL_API umbel_status umbel_copy(const umbel_filter *f, umbel_filter **out,
                                  umbel_error *err);

/* Removes all keys and keeps the shape. E_UNSUPPORTED for static kinds. */
UMBEL_API umbel_status umbel_clear(umbel_filter *f, umbel_error *err);

/*
 * Gives a keyed filter its secret of UMBEL_SECRET_LEN bytes. E_SECRET when the
 * filter was made with another secret. A locked filter can be described, merged
 * and saved, but not queried or added to.
 */
UMBEL_API umbel_status umbel_unlock(umbel_filter *f, const uint8_t *secret,
                                    umbel_error *err);

/*
 * Shares f: from now on any number of threads may add to it (amounts too),
 * query it, count with it, hash with it and call umbel_added at the same time.
 * Answers and cells stay the same.
 *
 * A thread finds the keys that it added, and those that another thread added
 * before a synchronization (a lock, a join) of the two. Counts are never too
 * low. If threads add the same new key at the same time, at least one of them
 * gets fresh = true, perhaps several. With update "refined" the cells depend on
 * the order in which threads come.
 *
 * Calls that read the filter as a whole (copy, save, describe, predict, merge
 * it into another) must not run while a thread adds: take a snapshot
 * (umbel_snapshot) and give it to them. Calls that change it in
 * other ways (remove, merge into it, clear, unlock, close, and this one) need
 * it to themselves.
 *
 * Copies, and filters made from f, are not shared. A mapped filter may be
 * shared and stays read-only. E_UNSUPPORTED for kinds that cannot be shared,
 * for bloom with groups, and for counters whose width does not divide 64.
 */
UMBEL_API umbel_status umbel_share(umbel_filter *f, umbel_error *err);

/*
 * Copies a shared filter while threads add to it, query it and take snapshots.
 * *out is f at one moment during the call: every key whose add returned before
 * the call is in it, none that was added after it, and umbel_added agrees with
 * its cells. Of the keys of an add that runs at the same time it has the first
 * ones, any number of them; each key is in it wholly or not at all.
 *
 * Adds wait while the cells are copied; queries do not.
 * The copy is not shared. For a filter that is not shared this is umbel_copy.
 * E_UNSUPPORTED in a child of the process that shared f: take it before fork.
 */
UMBEL_API umbel_status umbel_snapshot(const umbel_filter *f, umbel_filter **out,
                                      umbel_error *err);

/*
 * Adds n keys. fresh[i], when fresh is given, is set to true if keys[i] changed
 * the filter, so was certainly not in it before. If a key is refused (E_KEY)
 * none is added. E_FULL when a filter of kind "table" has no room for some of
 * the keys, or one of kind "scalable" would exceed its error; E_NOMEM when a
 * filter that grows finds no memory. Keys before them were added.
 */
UMBEL_API umbel_status umbel_add_many(umbel_filter *f, const umbel_slice *keys,
                                      size_t n, bool *fresh, umbel_error *err);
/* Adds n keys of width bytes each, one after the other in memory. */
UMBEL_API umbel_status umbel_add_fixed(umbel_filter *f, const void *keys,
                                       size_t width, size_t n, bool *fresh,
                                       umbel_error *err);
/* Adds keys by their digests (umbel_digest_many). */
UMBEL_API umbel_status umbel_add_digests(umbel_filter *f,
                                         const umbel_digest *digests, size_t n,
                                         bool *fresh, umbel_error *err);
/* Adds one key. */
UMBEL_API umbel_status umbel_add(umbel_filter *f, const void *key, size_t len,
                                 bool *fresh, umbel_error *err);

/*
 * Turns the generations of a filter of kind "aging" now, not when the active
 * one is full: the older one is forgotten, and new keys go into an empty one.
 * Called every hour, the filter knows the keys of the last hour at least, and
 * of the last two at most, unless more came than its capacity. E_UNSUPPORTED
 * for other kinds.
 */
UMBEL_API umbel_status umbel_turn(umbel_filter *f, umbel_error *err);

/*
 * Queries n keys: hit[i] is true if keys[i] matches. false means that it was
 * certainly not added, unless umbel_may_deny; true may be a false positive.
 */
UMBEL_API umbel_status umbel_query_many(const umbel_filter *f,
                                        const umbel_slice *keys, size_t n,
                                        bool *hit, umbel_error *err);
UMBEL_API umbel_status umbel_query_fixed(const umbel_filter *f,
                                         const void *keys, size_t width,
                                         size_t n, bool *hit, umbel_error *err);
UMBEL_API umbel_status umbel_query_digests(const umbel_filter *f,
                                           const umbel_digest *digests,
                                           size_t n, bool *hit,
                                           umbel_error *err);
UMBEL_API umbel_status umbel_query(const umbel_filter *f, const void *key,
                                   size_t len, bool *hit, umbel_error *err);

/*
 * Hashes keys as f does: once, for any number of filters of the same hash, seed
 * and secret. May run at the same time as any call but umbel_unlock and
 * umbel_close, even if f is not shared.
 */
UMBEL_API umbel_status umbel_digest_many(const umbel_filter *f,
                                         const umbel_slice *keys, size_t n,
                                         umbel_digest *out, umbel_error *err);
UMBEL_API umbel_status umbel_digest_fixed(const umbel_filter *f,
                                          const void *keys, size_t width,
                                          size_t n, umbel_digest *out,
                                          umbel_error *err);

/*
 * How to merge. OR: the union. AND: at least the intersection. Counting kinds,
 * cell by cell: ADD the sum, MAX (the same as OR) the larger, MINUS the
 * difference.
 */
typedef enum umbel_merge_op {
    UMBEL_OR,
    UMBEL_AND,
    UMBEL_ADD,
    UMBEL_MAX,
    UMBEL_MINUS
} umbel_merge_op;

/*
 * Merges from into into. Both must agree in kind, addressing, hash, seed,
 * secret, size, hashes and settings; E_MISMATCH names the first that differs.
 * E_UNSUPPORTED when the kind has no such merge, or counts would become too
 * low; E_RANGE when from is not part of into (MINUS). into is untouched when
 * the call fails.
 *
 * The result of MINUS is a difference, which records what it was taken from. It
 * can be added to from, and gives into again; to other counts, or twice, it is
 * refused (UMBEL_D_DIFFERENCE), unless umbel_as_counts was called. Two
 * differences can be added if one starts from the state that the other leads
 * to.
 */
UMBEL_API umbel_status umbel_merge(umbel_filter *into, const umbel_filter *from,
                                   umbel_merge_op op, umbel_error *err);
/* Checks that two filters can be merged, as umbel_merge does. */
UMBEL_API umbel_status umbel_same_shape(const umbel_filter *a,
                                        const umbel_filter *b,
                                        umbel_error *err);

/*
 * Makes a filter that is `by` times smaller with the same keys: bit for bit
 * what building it small would give, unless it has groups or was retouched. by
 * must divide umbel_fold_parts. The false positive rate grows accordingly.
 */
UMBEL_API umbel_status umbel_fold(const umbel_filter *f, uint64_t by,
                                  umbel_filter **out, umbel_error *err);
/* Returns the number of blocks, or cells, that can be folded; 0: none. */
UMBEL_API uint64_t umbel_fold_parts(const umbel_filter *f);
/*
 * Returns the largest `by` that keeps the false positive rate with that many
 * keys within fpr; 0 when even 1 does not.
 */
UMBEL_API uint64_t umbel_fold_best(const umbel_filter *f, uint64_t keys,
                                   double fpr);

/* Return what a filter is. Strings live as long as the program. */
UMBEL_API const char *umbel_kind(const umbel_filter *f);
UMBEL_API uint64_t umbel_cells(const umbel_filter *f);
UMBEL_API uint32_t umbel_hashes(const umbel_filter *f);
UMBEL_API double umbel_target_fpr(const umbel_filter *f);
/* Returns the number of keys that were new when added; estimated after a
 * merge. */
UMBEL_API uint64_t umbel_added(const umbel_filter *f);

/*
 * Returns the instructions that batches of keys are added and queried with:
 * "plain", "avx2" or "avx512". The environment variable UMBEL_CPU limits them
 * for filters that are made from then on. Answers and files are the same.
 */
UMBEL_API const char *umbel_fast_path(const umbel_filter *f);

/* Returns how its keys were read, as params said when it was created. */
UMBEL_API umbel_key_form umbel_key_form_of(const umbel_filter *f);
/* Returns the name of a form: "text", "hexadecimal"; NULL if unknown. */
UMBEL_API const char *umbel_key_form_name(umbel_key_form form);
/* Returns true if keys that were added may not match. */
UMBEL_API bool umbel_may_deny(const umbel_filter *f);
/* Returns the recorded number of members that do not match (retouching). */
UMBEL_API uint64_t umbel_denied(const umbel_filter *f);
/* Predicts the false positive rate from the cells; reads every cell. */
UMBEL_API double umbel_predict(const umbel_filter *f);
/* Predicts the false positive rate from the shape, with that many keys. */
UMBEL_API double umbel_fpr_at(const umbel_filter *f, double keys);

/* --- descriptions --------------------------------------------------------- */

/* What the value of a field is. */
typedef enum umbel_field_type {
    UMBEL_FIELD_TEXT,
    UMBEL_FIELD_COUNT,
    UMBEL_FIELD_REAL, /* NAN: unknown */
    UMBEL_FIELD_HEX,  /* in count: 64 bits, such as a checksum */
    UMBEL_FIELD_FLAG  /* in count: 0 or 1 */
} umbel_field_type;

/* One property of a filter. Strings live as long as the filter. */
typedef struct umbel_field {
    const char *name;
    umbel_field_type type;
    union {
        const char *text;
        uint64_t count;
        double real;
    } value;
} umbel_field;

enum { UMBEL_MAX_FIELDS = 48 };

typedef struct umbel_info {
    size_t n;
    umbel_field field[UMBEL_MAX_FIELDS];
} umbel_info;

/*
 * Describes f as named fields: shape, sizes, keys, fill, predicted error,
 * checksum and what its kind adds. Reads every cell, so a large filter takes
 * time.
 */
UMBEL_API void umbel_describe(const umbel_filter *f, umbel_info *out);

/*
 * Describes f without reading a cell, in constant time: kind, addressing, hash,
 * seed, size, settings, capacity, fpr, payload_bytes, added and the like. The
 * fields are those of umbel_describe.
 */
UMBEL_API void umbel_describe_shape(const umbel_filter *f, umbel_info *out);

/*
 * Gives one field of umbel_describe by name, such as "fill". Reads the cells
 * only if umbel_describe_shape lacks the field. E_UNKNOWN when f has no such
 * field; the text lists the names.
 */
UMBEL_API umbel_status umbel_info_get(const umbel_filter *f, const char *name,
                                      umbel_field *out, umbel_error *err);

/* --- tables --------------------------------------------------------------- */

/* Returns true for kinds that grow as keys are added and need no capacity. */
UMBEL_API bool umbel_is_growing(const char *kind);

/* Give row i of a table; false when i is past the end. summary and keyed may
 * be NULL. */
UMBEL_API bool umbel_kind_at(size_t i, const char **name, const char **summary);
UMBEL_API bool umbel_addressing_at(size_t i, const char **name,
                                   const char **summary);
UMBEL_API bool umbel_hash_at(size_t i, const char **name, const char **summary,
                             bool *keyed);
/* A setting of a kind, with its range and default. */
typedef struct umbel_setting_info {
    const char *name, *summary;
    uint64_t min, max, standard;
} umbel_setting_info;
/* Gives setting i of a kind; false when i is past the end. */
UMBEL_API bool umbel_kind_setting(const char *kind, size_t i,
                                  umbel_setting_info *out);

#ifdef __cplusplus
}
#endif
#endif
