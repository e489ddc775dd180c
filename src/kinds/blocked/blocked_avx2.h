/*
 * blocked_avx2.h - loops over keys and their blocks with AVX2.
 *
 * Keys of 8 bytes are hashed eight at a time (XXH3, bit for bit), one batch
 * while the previous batch is processed. The including file defines what a key
 * does to its block; that code is inlined into the loop.
 */
#ifndef UM_KINDS_BLOCKED_AVX2_H
#define UM_KINDS_BLOCKED_AVX2_H

#include "base/batch.h"
#include "kinds/blocked/fast_row.h"
#include "kinds/blocked/xxh3_avx2.h"

/*
 * The hashes and blocks of eight keys: close together, so that one register and
 * a short offset reach all of it.
 */
typedef struct um_eight {
    _Alignas(64) uint64_t lo[8];
    uint64_t word[2][8]; /* of the first and second 8 hashes */
    uint64_t at[8];      /* offset of the block, if prefetched */
} um_eight;

/* The parameters of a filter that the loops need. */
typedef struct um_target {
    uint8_t *memory;
    uint64_t blocks;
    uint32_t hashes;
    bool far;       /* the memory exceeds the L2 cache */
    uint64_t flip;  /* um_xxh3_flip of the seed, for 8-byte keys */
    uint32_t lanes; /* um_lanes_at, for kinds that use it */
} um_target;

/* A filter, and the results. */
typedef struct um_work {
    um_target t;
    void *out;    /* one answer per key; may be NULL when adding */
    size_t added; /* new keys, when adding */
} um_work;

/* A change to a key's last word: AND with keep, and raise each byte to that of
 * least; 0: none. */
typedef struct um_trim {
    uint64_t keep, least;
} um_trim;

/* Properties of a loop, known at compile time. */
typedef struct um_loop_config {
    int verb;
    int shift;  /* a block has 2^shift bytes */
    bool ahead; /* the memory is far: prefetch */
    bool apart; /* near memory: hash a whole batch, then process it */
    int groups; /* of eight hashes each, the last may have fewer */
    um_trim trim;
} um_loop_config;

UM_INLINE um_target um_target_of(const um_layout *l, uint8_t *memory,
                                 uint64_t flip)
{
    return (um_target){.memory = memory,
                       .blocks = l->blocks,
                       .hashes = l->hashes,
                       .far = l->far,
                       .flip = flip};
}

/* Processes the first n keys in order; their answers begin at index out. */
typedef void um_serve(um_work *w, const um_eight *e, size_t n, size_t out,
                      um_loop_config how);

UM_INLINE __m256i um_load_avx2(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

UM_INLINE void um_write_avx2(void *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}

/* Stores the first n of four bits as bytes. */
UM_INLINE void um_store_bits(bool *out, unsigned bits, size_t n)
{
    uint32_t bytes = bits * 0x00204081u & 0x01010101u;
    memcpy(out, &bytes, n);
}

/* --- words of a key ------------------------------------------------------- */

UM_INLINE __m256i um_trim_avx2(__m256i last, um_trim trim)
{
    if (!trim.least)
        return last;
    last = _mm256_and_si256(last, _mm256_set1_epi64x((long long)trim.keep));
    return _mm256_max_epu8(last, _mm256_set1_epi64x((long long)trim.least));
}

UM_INLINE uint64_t um_last_word(uint64_t lo, uint64_t hi, um_loop_config how)
{
    uint64_t last = how.groups == 2 ? um_remix(hi + lo) : hi;
    __m256i x = _mm256_castsi128_si256(_mm_cvtsi64_si128((long long)last));

    if (!how.trim.least)
        return last;
    x = um_trim_avx2(x, how.trim);
    return (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(x));
}

/* --- blocks --------------------------------------------------------------- */

UM_INLINE uint64_t um_block_of(const um_target *t, uint64_t lo,
                               um_loop_config how)
{
    return um_scale(lo, t->blocks) << how.shift;
}

UM_INLINE uint8_t *um_block_at(const um_target *t, const um_eight *e, size_t i,
                               um_loop_config how)
{
    return t->memory + (how.ahead ? e->at[i] : um_block_of(t, e->lo[i], how));
}

/* Prefetches the block of a key; for writing when adding, so that another core
 * gives up the line once instead of first sharing it. */
UM_INLINE void um_fetch_block(const um_target *t, um_eight *e, size_t i,
                              um_loop_config how)
{
    const uint8_t *p = t->memory + (e->at[i] = um_block_of(t, e->lo[i], how));

    for (int line = 0; line < 1 << how.shift; line += UM_LINE)
        if (how.verb == UM_ADD)
            __builtin_prefetch(p + line, 1);
        else
            __builtin_prefetch(p + line);
}

UM_INLINE void um_consume_keys(const um_target *t, const uint64_t *keys,
                               um_eight *e, um_loop_config how)
{
    __m256i lo[UM_PAIR], word[UM_PAIR];

    um_xxh3_avx2(keys, t->flip, lo);
    UM_EACH word[g] = lo[g];
    um_remix_avx2(word);
    um_store_avx2(e->lo, lo);
    if (how.groups == 2) {
        um_store_avx2(e->word[0], word);
        UM_EACH word[g] = _mm256_add_epi64(word[g], lo[g]);
        um_remix_avx2(word);
    }
    UM_EACH word[g] = um_trim_avx2(word[g], how.trim);
    um_store_avx2(e->word[how.groups - 1], word);
    for (size_t i = 0; how.ahead && i < 8; i++)
        um_fetch_block(t, e, i, how);
}

/* Reads up to eight digests; missing ones are replaced by the first. */
UM_INLINE void um_consume_digests(const um_target *t, const umbel_digest *d,
                                  size_t n, um_eight *e, um_loop_config how)
{
    for (size_t i = 0; i < 8; i++) {
        const umbel_digest *one = i < n ? &d[i] : d;
        e->lo[i] = one->lo;
        e->word[0][i] = one->hi;
        e->word[how.groups - 1][i] = um_last_word(one->lo, one->hi, how);
        if (how.ahead)
            um_fetch_block(t, e, i, how);
    }
}

/* --- loops ---------------------------------------------------------------- */

/*
 * Groups of eight keys in flight. For far memory fewer are faster, 5 to 7 % at
 * 10^6 keys: lines that were prefetched long ago may have left the L1 cache
 * again.
 */
enum { UM_FAR_STEP = UM_VECTOR_STEP / 2 };

UM_INLINE size_t um_step_of(um_loop_config how)
{
    return how.ahead ? UM_FAR_STEP : UM_VECTOR_STEP;
}

UM_INLINE size_t um_up_to_8(size_t n)
{
    return n < 8 ? n : 8;
}

/*
 * Processes one batch and prepares the next, alternating between eight keys of
 * each, so that memory is busy during the arithmetic. For near memory and much
 * work per key, separate loops are a little faster.
 */
UM_INLINE void um_walk_batch(um_work *w, const um_eight *now, size_t out,
                             um_eight *next, const uint64_t *keys,
                             um_loop_config how, um_serve *serve)
{
    for (size_t i = 0; i < um_step_of(how); i++) {
        um_consume_keys(&w->t, keys + 8 * i, &next[i], how);
        if (!how.apart)
            serve(w, &now[i], 8, out + 8 * i, how);
    }
    for (size_t i = 0; how.apart && i < um_step_of(how); i++)
        serve(w, &now[i], 8, out + 8 * i, how);
}

/* Processes keys of 8 bytes. The last batch is padded with zeros. */
UM_INLINE void um_walk_keys(um_work *w, const uint64_t *keys, size_t n,
                            um_loop_config how, um_serve *serve)
{
    um_eight e[2][UM_VECTOR_STEP];
    uint64_t tail[8 * UM_VECTOR_STEP] = {0};
    const size_t some = 8 * um_step_of(how);
    size_t whole = n / some * some, turn = 0;

    memcpy(tail, keys + whole, (n - whole) * sizeof *keys);
    for (size_t i = 0; i < um_step_of(how); i++)
        um_consume_keys(&w->t, (whole ? keys : tail) + 8 * i, &e[0][i], how);
    for (size_t i = 0; i < whole; i += some, turn ^= 1) {
        const uint64_t *next = i + some < whole ? keys + i + some : tail;
        um_walk_batch(w, e[turn], i, e[!turn], next, how, serve);
    }
    for (size_t i = whole; i < n; i += 8)
        serve(w, &e[turn][(i - whole) / 8], um_up_to_8(n - i), i, how);
}

/* Processes digests: some are prefetched while others are processed. */
UM_INLINE void um_walk_digests(um_work *w, const umbel_digest *d, size_t n,
                               um_loop_config how, um_serve *serve)
{
    um_eight ring[UM_VECTOR_STEP];
    size_t lead = how.ahead ? 8 * um_step_of(how) : 8;

    for (size_t i = 0; i < n + lead; i += 8) {
        size_t old = i - lead;
        if (i >= lead)
            serve(w, &ring[old / 8 % UM_VECTOR_STEP], um_up_to_8(n - old), old,
                  how);
        if (i < n)
            um_consume_digests(&w->t, d + i, um_up_to_8(n - i),
                               &ring[i / 8 % UM_VECTOR_STEP], how);
    }
}

UM_INLINE void um_walk_sort(um_work *w, int sort, const void *keys, size_t n,
                            um_loop_config how, um_serve *serve)
{
    if (sort == UM_KEYS8)
        um_walk_keys(w, keys, n, how, serve);
    else
        um_walk_digests(w, keys, n, how, serve);
}

/* Processes keys, in separate loops for near and far memory; how.ahead is not
 * set yet. */
UM_INLINE void um_walk(um_work *w, int sort, const void *keys, size_t n,
                       um_loop_config how, um_serve *serve)
{
    if (w->t.far) {
        how.ahead = true;
        how.apart = false;
        um_walk_sort(w, sort, keys, n, how, serve);
    } else {
        um_walk_sort(w, sort, keys, n, how, serve);
    }
}

#endif
