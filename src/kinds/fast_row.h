/*
 * fast_row.h - the functions of a row for blocks (filter/fast.h), and the row.
 *
 * A file that includes this defines the two below and usable. All of it is
 * compiled anew for each verb, each sort of keys and each size of a block.
 */
#ifndef UM_KINDS_FAST_ROW_H
#define UM_KINDS_FAST_ROW_H

#include "base/inline.h"
#include "base/xxh3.h"
#include "filter/handle.h"

enum { UM_QUERY, UM_COUNT, UM_ADD }; /* verb */
enum { UM_KEYS8, UM_DIGESTS };       /* sort: keys of 8 bytes, or digests */

/* Serves n keys, in blocks of that many cells. The answers go to out, which may
 * be NULL when adding; returns how many keys were new. */
UM_INLINE size_t serve_all(const void *self, uint64_t seed, int sort,
                           const void *keys, size_t n, void *out, int verb,
                           int block);

/* Returns true if the key of that hash matches: the same cells, with nothing
 * around them. */
UM_INLINE bool has_hash(const void *self, uint64_t lo, int block);

/* Long keys are apart from the rest: they would cost a short key a frame. */
#define UM_FAST_ROW(isa, kind_name, block, takes_fn, count_fn)                 \
    static void query_keys##block(const void *self, uint64_t seed,             \
                                  const uint64_t *keys, size_t n, bool *hit)   \
    {                                                                          \
        serve_all(self, seed, UM_KEYS8, keys, n, hit, UM_QUERY, block);        \
    }                                                                          \
    static size_t add_keys##block(void *self, uint64_t seed,                   \
                                  const uint64_t *keys, size_t n, bool *fresh) \
    {                                                                          \
        return serve_all(self, seed, UM_KEYS8, keys, n, fresh, UM_ADD, block); \
    }                                                                          \
    static void query_digests##block(const void *self, const umbel_digest *d,  \
                                     size_t n, bool *hit)                      \
    {                                                                          \
        serve_all(self, 0, UM_DIGESTS, d, n, hit, UM_QUERY, block);            \
    }                                                                          \
    static size_t add_digests##block(void *self, const umbel_digest *d,        \
                                     size_t n, bool *fresh)                    \
    {                                                                          \
        return serve_all(self, 0, UM_DIGESTS, d, n, fresh, UM_ADD, block);     \
    }                                                                          \
    static __attribute__((noinline)) umbel_status query_long##block(           \
        const umbel_filter *f, const void *text, size_t len, bool *hit)        \
    {                                                                          \
        uint64_t lo = um_xxh3_any(text, len, f->hasher.seed);                  \
        *hit = has_hash(f->self, lo, block);                                   \
        return UMBEL_OK;                                                       \
    }                                                                          \
    static umbel_status query_key##block(const umbel_filter *f,                \
                                         const void *text, size_t len,         \
                                         bool *hit, umbel_error *err)          \
    {                                                                          \
        (void)err;                                                             \
        if (!um_xxh3_is_short(len))                                            \
            return query_long##block(f, text, len, hit);                       \
        *hit = has_hash(f->self, um_xxh3_short(text, len, f->hasher.seed),     \
                        block);                                                \
        return UMBEL_OK;                                                       \
    }                                                                          \
    const um_fast um_fast_##kind_name##_blocked##block##_##isa = {             \
        .name = #isa,                                                          \
        .kind = #kind_name,                                                    \
        .addressing = "blocked" #block,                                        \
        .usable = usable,                                                      \
        .takes = takes_fn,                                                     \
        .add = add_digests##block,                                             \
        .query = query_digests##block,                                         \
        .count = count_fn,                                                     \
        .query_key = query_key##block,                                         \
        .add_keys8 = add_keys##block,                                          \
        .query_keys8 = query_keys##block,                                      \
    };

#endif
