/*
 * build.h - builds a filter of any kind from the keys of a source.
 *
 * Files are read twice: to count the keys, and to add them. A pipe is read
 * once, into a large filter that is folded to size at the end. Static kinds
 * keep the digests of all members in memory, unless memory is limited
 * (spilled.c).
 */
#ifndef UM_BUILD_BUILD_H
#define UM_BUILD_BUILD_H

#include "keylist/source.h"

#include <umbel/foreign.h>

enum {
    UM_PIPE_MEMORY = 256000000, /* bytes for keys of a pipe without a limit */
    UM_VALUE_FIELD = 2          /* field of a map's line that is the value */
};

/* A build. Sources without paths have no keys. */
typedef struct um_build_job {
    const char *kind;    /* NULL: bloom */
    umbel_params params; /* without capacity and cells: sized for the keys. A
                            setting value_bits makes a map of a static kind */
    um_key_source members;
    um_key_source never;    /* keys that must not match, with weights */
    um_key_source universe; /* static kinds: all keys that may be queried; only
                               members match */
    int partition; /* with universe: keys with the same field of that number, or
                      the same first -partition bytes, are a partition; 0: none.
                      The hash in params is that of um_hash_of_part */
    const umbel_filter *like; /* with never: an older filter, whose shape and
                                 choices are reused; may be NULL */
    bool allow_members;       /* keys of never may be members, and match */
    uint64_t max_bytes;       /* static kinds: largest file; 0: no limit */
    uint64_t max_memory;      /* of the process; 0: no limit */
    const char *temp_dir;     /* for temporary files, with max_memory */
    bool coded;               /* the file will be coded, which takes memory */
} um_build_job;

typedef struct um_build_result {
    umbel_filter *filter;
    uint64_t keys;     /* in the input */
    uint64_t distinct; /* estimated distinct keys it was sized for; or 0 */
    bool chosen;       /* groups were chosen because of never: choice is set */
    umbel_choose_result choice; /* its result */
    bool exact;                 /* static kinds with lists: exclusion is set */
    umbel_exact_result exclusion;
} um_build_result;

/* Builds a filter; release out->filter with umbel_close. */
umbel_status um_build(const um_build_job *job, um_build_result *out,
                      umbel_error *err);

/* Builds a filter of a static kind in the same way. */
umbel_status um_build_static(const um_build_job *job, um_build_result *out,
                             umbel_error *err);

/*
 * Filters of other programs, plain or compressed with gzip.
 */

enum { UM_IMPORT_LIMIT = 256 << 20 }; /* bytes, if the caller sets no limit */

/*
 * Imports a filter from the bytes of a file, as umbel_import does; they may be
 * compressed. Uses at most limit bytes of memory; 0: UM_IMPORT_LIMIT for
 * decompressed bytes, and no limit for plain ones. If a compressed file exceeds
 * it, the detail of E_LIMIT is UMBEL_D_COMPRESSED.
 */
umbel_status um_import(const char *format, const void *bytes, size_t len,
                       uint64_t limit, umbel_filter **out, umbel_error *err);

/*
 * The words of texts, for searches as by 'grep -w' (tokens.c).
 */

/* Receives a word, or a part of a run of words. */
typedef umbel_status um_token_fn(void *ctx, umbel_slice word, umbel_error *err);
/* Passes on the words of a text: every text that contains it as 'grep -w' finds
 * it has all of them. */
umbel_status um_tokens_each(umbel_slice text, um_token_fn *take, void *ctx,
                            umbel_error *err);
/* Builds a filter of the words of a file, which may be compressed; params have
 * no capacity. */
umbel_status um_tokens_build(const char *path, const umbel_params *params,
                             bool fold_case, umbel_filter **out,
                             umbel_error *err);

#endif
