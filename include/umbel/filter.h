/*
 * filter.h - the verbs that all kinds of filter share.
 *
 * Threads: calls on a const handle may run together; any other call wants the
 * handle alone, unless it was shared (umbel_share). An output is untouched when
 * a call fails. Nothing here prints, exits, aborts or remembers.
 */
#ifndef UMBEL_FILTER_H
#define UMBEL_FILTER_H

#include <umbel/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct umbel_filter umbel_filter;

enum { UMBEL_SECRET_LEN = 16 }; /* bytes of a secret key */

/* A parameter that only one kind has, by name: see umbel_kind_setting. */
typedef struct umbel_setting {
    const char *name;
    uint64_t value;
} umbel_setting;

/* Zero means the default everywhere; start with UMBEL_PARAMS_INIT. */
typedef struct umbel_params {
    size_t size;            /* sizeof(umbel_params): lets it grow */
    const char *addressing; /* NULL means "blocked512", or the kind's own */
    const char *hash;  /* NULL means "xxh3", or what the addressing implies */
    uint64_t seed;     /* same seed, same keys, same order: same bytes */
    uint64_t capacity; /* keys expected */
    double fpr; /* false positives accepted; 0 means 0.001, or the kind's own */
    uint64_t cells;        /* size instead of capacity: bits, for bloom */
    uint32_t hashes;       /* cells per key; 0 chooses the best */
    const uint8_t *secret; /* UMBEL_SECRET_LEN bytes, for keyed hashes */
    const umbel_setting *settings; /* nsettings of the kind's own */
    size_t nsettings;
    const umbel_alloc *alloc; /* NULL means the C library's */
} umbel_params;

#ifdef __cplusplus
#define UMBEL_PARAMS_INIT                                                      \
    {                                                                          \
        sizeof(umbel_params), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                  \
    }
#else
#define UMBEL_PARAMS_INIT                                                      \
    {                                                                          \
        .size = sizeof(umbel_params)                                           \
    }
#endif

/*
 * Build an empty filter of the named kind (NULL means "bloom", params NULL all
 * defaults, which lack a size), sized for capacity keys at error fpr, or of
 * exactly cells cells. With both cells and capacity the size stands and the
 * number of hashes suits the capacity. Static kinds are refused: umbel_build.
 *
 * On success *out owns the filter; release it with umbel_close. On failure *err
 * says which parameter was wrong and what it may be.
 */
UMBEL_API umbel_status umbel_open(const char *kind, const umbel_params *params,
                                  umbel_filter **out, umbel_error *err);

/* Release everything, wipe the secret. NULL is fine. */
UMBEL_API void umbel_close(umbel_filter *f);

/* An independent filter of equal content; a mapped one becomes writable. */
UMBEL_API umbel_status umbel_copy(const umbel_filter *f, umbel_filter **out,
                                  umbel_error *err);

/* Forget all keys, keep the shape. E_UNSUPPORTED for static kinds. */
UMBEL_API umbel_status umbel_clear(umbel_filter *f, umbel_error *err);

/*
 * Hand a keyed filter its secret of UMBEL_SECRET_LEN bytes. E_SECRET when it is
 * another secret than the filter was made with. Without it the filter can be
 * described, merged and saved, but neither asked nor added to.
 */
UMBEL_API umbel_status umbel_unlock(umbel_filter *f, const uint8_t *secret,
                                    umbel_error *err);

/*
 * Share f: from now on any number of threads may add to it (amounts, too), ask
 * it, count with it, hash with it and call umbel_added together. It answers as
 * before, and gets the same cells, without vector instructions. A thread finds
 * the keys that it added, and those whose adding it has learned of from another
 * thread by a lock, a join or the like; counts are never less than that. (Where
 * only the least of a key's cells grow, as under update refined, cells depend
 * on the order of adding, so on which thread comes first.) Of threads that add
 * one key at the same time at least one is told that it was new, unless it
 * matched already; more than one may be.
 *
 * What else only reads (copying, saving, describing, predicting, merging it
 * into another) still sees a filter that changes below it: let no thread add
 * meanwhile. What changes f otherwise (taking keys back, merging into it,
 * clearing, unlocking, closing, and this call) wants it alone, as ever.
 *
 * A copy, or a filter made from it, is not shared. E_UNSUPPORTED when the kind
 * cannot, or the filter: bloom with groups, counts in cells of a width that
 * does not divide 64. A mapped filter may be shared, and is read-only as
 * before.
 */
UMBEL_API umbel_status umbel_share(umbel_filter *f, umbel_error *err);

/*
 * Add keys. fresh[i], when fresh is given, tells whether keys[i] changed the
 * filter, so whether it was certainly not there before. When a key is refused
 * (E_KEY) none has been added.
 */
UMBEL_API umbel_status umbel_add_many(umbel_filter *f, const umbel_slice *keys,
                                      size_t n, bool *fresh, umbel_error *err);
/* The same for n keys of width bytes each, one after the other. */
UMBEL_API umbel_status umbel_add_fixed(umbel_filter *f, const void *keys,
                                       size_t width, size_t n, bool *fresh,
                                       umbel_error *err);
UMBEL_API umbel_status umbel_add_digests(umbel_filter *f,
                                         const umbel_digest *digests, size_t n,
                                         bool *fresh, umbel_error *err);
UMBEL_API umbel_status umbel_add(umbel_filter *f, const void *key, size_t len,
                                 bool *fresh, umbel_error *err);

/* hit[i] tells whether keys[i] may be in f; false means it is certainly not,
 * unless the filter says that it may deny members (umbel_may_deny). */
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
 * Hash keys as f does: once, for any number of filters that hash alike. May run
 * beside every call but umbel_unlock and umbel_close, even where f is not
 * shared.
 */
UMBEL_API umbel_status umbel_digest_many(const umbel_filter *f,
                                         const umbel_slice *keys, size_t n,
                                         umbel_digest *out, umbel_error *err);
UMBEL_API umbel_status umbel_digest_fixed(const umbel_filter *f,
                                          const void *keys, size_t width,
                                          size_t n, umbel_digest *out,
                                          umbel_error *err);

/*
 * OR: keys of either. AND: at least the keys of both. Of kinds that count, cell
 * by cell: ADD sums, MAX (what OR is there) the larger, MINUS the difference.
 */
typedef enum umbel_merge_op {
    UMBEL_OR,
    UMBEL_AND,
    UMBEL_ADD,
    UMBEL_MAX,
    UMBEL_MINUS
} umbel_merge_op;

/*
 * into becomes into OP from. Both must agree in kind, addressing, hash, seed,
 * secret, size, hashes and settings; E_MISMATCH names the first that differs.
 * E_UNSUPPORTED when the kind has no such merge, or its counts would become too
 * low; E_RANGE when from is no part of into (MINUS). Then nothing changes.
 */
UMBEL_API umbel_status umbel_merge(umbel_filter *into, const umbel_filter *from,
                                   umbel_merge_op op, umbel_error *err);
/* That check alone. */
UMBEL_API umbel_status umbel_same_shape(const umbel_filter *a,
                                        const umbel_filter *b,
                                        umbel_error *err);

/*
 * A filter by times smaller with the same keys, bit for bit what building it
 * small would have given, unless it has groups or was retouched. by must divide
 * the number of parts (blocks, or cells) that umbel_fold_parts tells. The error
 * it aims at grows accordingly.
 */
UMBEL_API umbel_status umbel_fold(const umbel_filter *f, uint64_t by,
                                  umbel_filter **out, umbel_error *err);
UMBEL_API uint64_t umbel_fold_parts(const umbel_filter *f);
/* The largest by that keeps the error at keys keys within fpr; 0: none does. */
UMBEL_API uint64_t umbel_fold_best(const umbel_filter *f, uint64_t keys,
                                   double fpr);

/* What a filter says of itself. */
UMBEL_API const char *umbel_kind(const umbel_filter *f);
UMBEL_API uint64_t umbel_cells(const umbel_filter *f);
UMBEL_API uint32_t umbel_hashes(const umbel_filter *f);
UMBEL_API double umbel_target_fpr(const umbel_filter *f);
/* Keys that were new when added; after a merge an estimate. */
UMBEL_API uint64_t umbel_added(const umbel_filter *f);
/* Whether a key that was added may be denied. */
UMBEL_API bool umbel_may_deny(const umbel_filter *f);
/* Members of f that are known to be denied. */
UMBEL_API uint64_t umbel_denied(const umbel_filter *f);
/* Chance that a key never added matches, from the cells as they are. */
UMBEL_API double umbel_predict(const umbel_filter *f);
/* The same from the shape alone, with keys keys in it. */
UMBEL_API double umbel_error_at(const umbel_filter *f, double keys);

/*
 * Every kind describes itself as named fields, so that one loop prints them
 * all. Strings live as long as the filter.
 */
typedef enum umbel_field_type {
    UMBEL_FIELD_TEXT,
    UMBEL_FIELD_COUNT,
    UMBEL_FIELD_REAL, /* NAN: not known */
    UMBEL_FIELD_HEX,  /* a 64-bit name, such as a checksum */
    UMBEL_FIELD_FLAG
} umbel_field_type;

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

/* Reads every cell: time in proportion to the size. */
UMBEL_API void umbel_describe(const umbel_filter *f, umbel_info *out);

/* The tables: false when i is past the end. summary may be NULL. */
UMBEL_API bool umbel_kind_at(size_t i, const char **name, const char **summary);
UMBEL_API bool umbel_addressing_at(size_t i, const char **name,
                                   const char **summary);
UMBEL_API bool umbel_hash_at(size_t i, const char **name, const char **summary,
                             bool *keyed);
/* The i-th setting of a kind, with its range and default. */
typedef struct umbel_setting_info {
    const char *name, *summary;
    uint64_t min, max, standard;
} umbel_setting_info;
UMBEL_API bool umbel_kind_setting(const char *kind, size_t i,
                                  umbel_setting_info *out);

#ifdef __cplusplus
}
#endif
#endif
