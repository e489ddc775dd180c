/*
 * umbel.h - the core of libumbel: create a filter, add keys, query it, save it.
 *
 *     umbel_params params = UMBEL_PARAMS_INIT;
 *     umbel_filter *f;
 *     bool hit;
 *
 *     params.capacity = 1000000;
 *     umbel_create(NULL, &params, &f, NULL);
 *     umbel_add(f, "alpha", 5, NULL, NULL);
 *     umbel_query(f, "alpha", 5, &hit, NULL);
 *     umbel_save(f, "list.umb", NULL);
 *     umbel_close(f);
 *
 * Other headers:
 *
 *   filter.h    copies, digests, fixed-width keys, threads, folding
 *   describe.h  properties of a filter; the tables of kinds and hashes
 *   counting.h  counts and removal          build.h     static filters, maps
 *   file.h      mapping, streams, parts     foreign.h   other file formats
 *   plan.h      size before building        keys.h      lists of keys
 *   estimate.h  keys in a filter, overlap   verify.h    measured errors
 *   diff.h      differences of two filters  admit.h     filters from strangers
 *   publish.h   publish and pull            inline.h    inline queries
 *
 * <umbel/experimental.h> may change in any release; <umbel/fetch.h> belongs to
 * the separate library libumbel-fetch. umbel(3) has longer examples.
 *
 * A call that can fail returns UMBEL_OK, or another status and leaves its
 * outputs untouched. Its last argument, which may be NULL, receives the reason
 * as text. Calls on a const filter may run at the same time; any other call
 * needs exclusive access to the filter, unless it is shared (umbel_share). The
 * library never prints, exits or aborts, and has no global state.
 */
#ifndef UMBEL_UMBEL_H
#define UMBEL_UMBEL_H

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
 * How the keys of a filter were read before they were hashed. The library
 * records it, in params and in files, and refuses to merge filters whose forms
 * differ. umbel_add and umbel_query, and calls like them, hash the bytes that
 * they are given: those that the filter stores. umbel_form_key (filter.h)
 * converts a key as people write it.
 */
typedef enum umbel_key_form {
    UMBEL_KEYS_TEXT = 0,       /* the bytes as given */
    UMBEL_KEYS_UNRECORDED = 1, /* files of version 1 */
    UMBEL_KEYS_HEX = 2,        /* the bytes that hexadecimal digits represent */
    UMBEL_KEYS_INTEGER = 3,    /* decimal numbers */
    UMBEL_KEYS_FOLDED_TEXT = 4, /* ASCII letters converted to lower case */
    UMBEL_KEYS_SHA1 = 5,        /* SHA-1 digests of text, 20 bytes */
    UMBEL_KEYS_SHA256 = 6,      /* SHA-256 digests of text, 32 bytes */
    UMBEL_KEYS_MD5 = 7,         /* MD5 digests of text, 16 bytes */
    UMBEL_KEYS_NTLM = 8,        /* MD4 digests of text in UTF-16LE, 16 bytes */
    UMBEL_KEYS_DOMAIN = 9,      /* domain names: lower case, A-labels, no dot at
                                   the end */
    UMBEL_KEYS_NETWORK = 10     /* prefixes of IPv4 and IPv6: length, address */
} umbel_key_form;

/* Parameters of a new filter. Zero means the default; start with
 * UMBEL_PARAMS_INIT. */
typedef struct umbel_params {
    size_t size;            /* sizeof(umbel_params): lets it grow */
    const char *addressing; /* NULL means "blocked512", or the kind's own */
    const char *hash;       /* NULL means "xxh3-64", or the addressing's own */
    uint64_t seed;          /* same seed, same keys, same order: same bytes */
    uint64_t capacity;      /* number of keys expected */
    double fpr;             /* false positive rate; 0 means 0.001, or the kind's
                               own */
    uint64_t cells;         /* size instead of capacity: bits, for bloom */
    uint32_t hashes; /* hash functions (cells per key); 0 means the optimum */
    const uint8_t *secret; /* UMBEL_SECRET_LEN bytes, for keyed hashes */
    const umbel_setting *settings; /* nsettings parameters of the kind */
    size_t nsettings;
    const umbel_alloc *alloc; /* NULL means the C library's */
    uint64_t key_form;        /* umbel_key_form, recorded in the file */
    bool exact_size; /* with capacity: use the smallest size. Otherwise up to
                        0.5 % is added so that the filter can be folded */
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
 * Creates an empty filter of the named kind; NULL means "bloom". Its size comes
 * from params: for capacity keys at the false positive rate fpr, or exactly
 * cells cells. With both capacity and cells, cells is the size and capacity
 * chooses the number of hash functions. Static kinds are refused: use
 * umbel_build.
 *
 * On success *out owns the filter; release it with umbel_close. On failure *err
 * names the parameter that was wrong and its range.
 *
 *     umbel_create("bloom", &params, &f, &err);
 */
UMBEL_API umbel_status umbel_create(const char *kind,
                                    const umbel_params *params,
                                    umbel_filter **out, umbel_error *err);

/*
 * Frees the filter and wipes its secret. NULL is accepted.
 *
 *     umbel_close(f);
 */
UMBEL_API void umbel_close(umbel_filter *f);

/*
 * Adds n keys. fresh[i], when fresh is given, is set to true if keys[i] changed
 * the filter, so it was certainly not in it before. If a key is refused
 * (E_KEY), none is added. E_FULL when a filter of kind "table" has no space for
 * some of the keys, or one of kind "scalable" would exceed its error; E_NOMEM
 * when a filter cannot grow. The keys before the failure were added.
 *
 *     umbel_slice keys[] = {{"alpha", 5}, {"beta", 4}};
 *     umbel_add_many(f, keys, 2, NULL, &err);
 */
UMBEL_API umbel_status umbel_add_many(umbel_filter *f, const umbel_slice *keys,
                                      size_t n, bool *fresh, umbel_error *err);
/*
 * Adds one key.
 *
 *     umbel_add(f, "alpha", 5, NULL, &err);
 */
UMBEL_API umbel_status umbel_add(umbel_filter *f, const void *key, size_t len,
                                 bool *fresh, umbel_error *err);

/*
 * Queries n keys: hit[i] is true if keys[i] matches. A key that does not match
 * was certainly not added, unless umbel_has_false_negatives; one that matches
 * may be a false positive. Many keys at once take less time than one by one.
 *
 * Keys are the bytes that the filter stores. If its file records that they were
 * read as hexadecimal digits or folded text, as 'umbel build --hex' and
 * --fold-case do, convert what people write with umbel_form_key (filter.h)
 * first: "c0ffee" is not found in a filter that stores the bytes c0 ff ee.
 *
 *     bool hit[2];
 *     umbel_query_many(f, keys, 2, hit, &err);
 */
UMBEL_API umbel_status umbel_query_many(const umbel_filter *f,
                                        const umbel_slice *keys, size_t n,
                                        bool *hit, umbel_error *err);
/*
 * Queries one key, in the form that the filter stores (umbel_form_key).
 *
 *     umbel_query(f, "alpha", 5, &hit, &err);
 */
UMBEL_API umbel_status umbel_query(const umbel_filter *f, const void *key,
                                   size_t len, bool *hit, umbel_error *err);

/*
 * Counts keys, for kinds "counting", "tally", "countmin" and "table": counts[i]
 * is the number of times keys[i] was added, or more. It is never too low if
 * only keys that were added have been removed. A count of umbel_count_limit
 * means "at least".
 *
 *     uint64_t counts[2];
 *     umbel_count_many(f, keys, 2, counts, &err);
 */
UMBEL_API umbel_status umbel_count_many(const umbel_filter *f,
                                        const umbel_slice *keys, size_t n,
                                        uint64_t *counts, umbel_error *err);

/*
 * How to merge. OR: the union. AND: a superset of the intersection. Counting
 * kinds also merge cell by cell: ADD takes the sum, MAX (the same as OR) the
 * larger, MINUS the difference.
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
 * The result of MINUS is a difference, which records the counts it starts from.
 * Adding it to from gives the old into again; adding it to other counts, or
 * twice, is refused (UMBEL_D_DIFFERENCE), unless umbel_to_counting was called.
 * Two differences can be added if one starts where the other ends.
 *
 *     umbel_merge(all, today, UMBEL_OR, &err);
 */
UMBEL_API umbel_status umbel_merge(umbel_filter *into, const umbel_filter *from,
                                   umbel_merge_op op, umbel_error *err);

/*
 * Returns the number of keys that were new when added; estimated after a merge.
 *
 *     printf("%llu keys\n", (unsigned long long)umbel_added(f));
 */
UMBEL_API uint64_t umbel_added(const umbel_filter *f);

/*
 * Predicts the false positive rate from the cells. Reads every cell.
 *
 *     if (umbel_predict(f) > 0.01) ...
 */
UMBEL_API double umbel_predict(const umbel_filter *f);

/* --- files and bytes ------------------------------------------------------ */

/* How to read a filter. Zero means the default; start with
 * UMBEL_SOURCE_INIT. */
typedef struct umbel_source {
    size_t size; /* sizeof(umbel_source) */
    /*
     * Largest memory for the filter, checked before anything is allocated. 0
     * means the length of the input; for coded filters and for streams, 4 MiB
     * plus 1024 times that length, at most 256 MiB. While a coded file is read,
     * its bytes are held in addition, at most as many as the filter takes.
     * Decoding, describing and admitting a filter takes time proportional to
     * its memory times the number of hash functions.
     */
    uint64_t memory_limit;
    bool verify; /* check the payload's checksum; without it, a damaged filter
                    is safe to use, but gives wrong answers */
    const uint8_t *secret;    /* unlocks the filter at once; may be NULL */
    const umbel_alloc *alloc; /* NULL means the C library's */
} umbel_source;

#ifdef __cplusplus
#define UMBEL_SOURCE_INIT                                                      \
    {                                                                          \
        sizeof(umbel_source), 0, false, 0, 0                                   \
    }
#else
#define UMBEL_SOURCE_INIT                                                      \
    {                                                                          \
        .size = sizeof(umbel_source)                                           \
    }
#endif

/*
 * Saves f so that path has either the old bytes or the new ones at all times:
 * unnamed temporary file, fsync, rename, fsync of the directory. A process that
 * is killed during the rename may leave .umbel-*.tmp, which the next save in
 * that directory removes. An existing file keeps its mode, and its owner if
 * permitted. Pipes and devices are written to directly.
 *
 *     umbel_save(f, "list.umb", &err);
 */
UMBEL_API umbel_status umbel_save(const umbel_filter *f, const char *path,
                                  umbel_error *err);

/*
 * Opens a file and reads it into memory; path may name a pipe. source may be
 * NULL. umbel_map opens a file in place.
 *
 *     umbel_load("list.umb", NULL, &f, &err);
 */
UMBEL_API umbel_status umbel_load(const char *path, const umbel_source *source,
                                  umbel_filter **out, umbel_error *err);

/*
 * Returns the number of bytes that umbel_encode writes. A coded filter is
 * encoded to find out.
 *
 *     void *bytes = malloc(umbel_encoded_len(f));
 */
UMBEL_API size_t umbel_encoded_len(const umbel_filter *f);

/*
 * Writes the encoded filter to out, which has cap bytes; sets *len to its
 * length.
 *
 *     umbel_encode(f, bytes, cap, &len, &err);
 */
UMBEL_API umbel_status umbel_encode(const umbel_filter *f, void *out,
                                    size_t cap, size_t *len, umbel_error *err);

/*
 * Decodes a filter from bytes that may come from anyone; they are copied. A
 * decoded filter is safe to use with every call and needs no further
 * validation. To check that its content is plausible, see admit.h. source may
 * be NULL.
 *
 *     umbel_decode(bytes, len, NULL, &f, &err);
 */
UMBEL_API umbel_status umbel_decode(const void *bytes, size_t len,
                                    const umbel_source *source,
                                    umbel_filter **out, umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
