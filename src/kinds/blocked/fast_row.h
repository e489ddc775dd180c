/*
 * fast_row.h - generates the fast-path rows (filter/kind.h) of blocked
 * addressings.
 *
 * A file that includes this defines the two below and usable. Everything is
 * compiled separately for each verb, each sort of keys and each size of a
 * block.
 */
#ifndef UM_KINDS_FAST_ROW_H
#define UM_KINDS_FAST_ROW_H

#include "base/bits.h"
#include "base/hash.h"
#include "filter/handle.h"

enum { UM_QUERY, UM_COUNT, UM_ADD }; /* verb */
enum { UM_KEYS8, UM_DIGESTS };       /* sort: keys of 8 bytes, or digests */

/* Processes n keys, in blocks of this many cells. The answers go to out, which
 * may be NULL when adding; returns the number of new keys. */
UM_INLINE size_t serve_all(const void *self, uint64_t seed, int sort,
                           const void *keys, size_t n, void *out, int verb,
                           int block);

/* Processes one key with hash lo in filter f, without the overhead of a batch.
 * groups, a constant, is the number of groups of eight hashes, 1 or 2. */
UM_INLINE bool serve_one(const umbel_filter *f, uint64_t lo, int verb,
                         int block, int groups);

UM_INLINE umbel_status um_return_hit(bool *hit, bool matches)
{
    *hit = matches;
    return UMBEL_OK;
}

UM_INLINE umbel_status um_return_added(umbel_filter *f, bool *fresh,
                                       bool is_new)
{
    um_count_added(f, 1, is_new);
    if (fresh)
        *fresh = is_new;
    return UMBEL_OK;
}

/* Defines the functions for one key. Keys of 8 bytes are tested first. Long
 * keys have separate functions, so that short ones need no stack frame. */
#define UM_ONE_KEY(block, groups)                                              \
    UM_INLINE umbel_status query_lo##block##_##groups(const umbel_filter *f,   \
                                                      uint64_t lo, bool *hit)  \
    {                                                                          \
        return um_return_hit(hit, serve_one(f, lo, UM_QUERY, block, groups));  \
    }                                                                          \
    static __attribute__((noinline))                                           \
    umbel_status query_long##block##_##groups(                                 \
        const umbel_filter *f, const void *text, size_t len, bool *hit)        \
    {                                                                          \
        uint64_t lo = um_xxh3(text, len, f->hasher.seed);                      \
        return query_lo##block##_##groups(f, lo, hit);                         \
    }                                                                          \
    static umbel_status query_key##block##_##groups(                           \
        const umbel_filter *f, const void *text, size_t len, bool *hit,        \
        umbel_error *err)                                                      \
    {                                                                          \
        (void)err;                                                             \
        if (len == 8)                                                          \
            return query_lo##block##_##groups(                                 \
                f, um_xxh3_8(um_load64(text), f->hasher.flip), hit);           \
        if (len > 8 && len <= 16)                                              \
            return query_lo##block##_##groups(                                 \
                f, um_xxh3_16(text, len, f->hasher.seed), hit);                \
        return query_long##block##_##groups(f, text, len, hit);                \
    }                                                                          \
    UM_INLINE umbel_status add_lo##block##_##groups(umbel_filter *f,           \
                                                    uint64_t lo, bool *fresh)  \
    {                                                                          \
        return um_return_added(f, fresh,                                       \
                               serve_one(f, lo, UM_ADD, block, groups));       \
    }                                                                          \
    static __attribute__((noinline)) umbel_status add_long##block##_##groups(  \
        umbel_filter *f, const void *text, size_t len, bool *fresh)            \
    {                                                                          \
        uint64_t lo = um_xxh3(text, len, f->hasher.seed);                      \
        return add_lo##block##_##groups(f, lo, fresh);                         \
    }                                                                          \
    __attribute__((unused)) static inline bool set_hash##block##_##groups(     \
        umbel_filter *f, uint64_t lo)                                          \
    {                                                                          \
        return serve_one(f, lo, UM_ADD, block, groups);                        \
    }                                                                          \
    __attribute__((unused)) static inline bool has_hash##block##_##groups(     \
        const umbel_filter *f, uint64_t lo)                                    \
    {                                                                          \
        return serve_one(f, lo, UM_QUERY, block, groups);                      \
    }                                                                          \
    static umbel_status add_key##block##_##groups(                             \
        umbel_filter *f, const void *text, size_t len, bool *fresh,            \
        umbel_error *err)                                                      \
    {                                                                          \
        if (f->owner == UM_MAPPED)                                             \
            return um_check_writable(f, err);                                  \
        if (len == 8)                                                          \
            return add_lo##block##_##groups(                                   \
                f, um_xxh3_8(um_load64(text), f->hasher.flip), fresh);         \
        return add_long##block##_##groups(f, text, len, fresh);                \
    }

/* Pass this as shares for a row that also serves shared filters, otherwise
 * nothing. */
#define UM_SHARES(block)                                                       \
    .shared = {{query_key##block##_1, um_add_one_locked},                      \
               {query_key##block##_2, um_add_one_locked}},                     \
    .set_hash = {set_hash##block##_1, set_hash##block##_2},                    \
    .has_hash = {has_hash##block##_1, has_hash##block##_2},

#define UM_FAST_ROW(isa, kind_name, block, takes_fn, count_fn, shares)         \
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
    UM_ONE_KEY(block, 1)                                                       \
    UM_ONE_KEY(block, 2)                                                       \
    const um_fast um_fast_##kind_name##_blocked##block##_##isa = {             \
        .name = #isa,                                                          \
        .kind = #kind_name,                                                    \
        .addressing = "blocked" #block,                                        \
        .usable = usable,                                                      \
        .takes = takes_fn,                                                     \
        .add = add_digests##block,                                             \
        .query = query_digests##block,                                         \
        .count = count_fn,                                                     \
        .one = {{query_key##block##_1, add_key##block##_1},                    \
                {query_key##block##_2, add_key##block##_2}},                   \
        .add_keys8 = add_keys##block,                                          \
        shares.query_keys8 = query_keys##block,                                \
    };

#endif
