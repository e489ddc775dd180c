/*
 * blocked_avx2.h - keys on their way to their blocks, for AVX2 loops.
 *
 * Keys of a batch are hashed eight at a time (XXH3 of 8 bytes, bit for bit),
 * their blocks fetched ahead, while the batch before is served: one loop, so
 * that the memory is busy while the arithmetic goes on. What a key does to its
 * block is the caller's, and becomes part of the loop.
 */
#ifndef UM_KINDS_BLOCKED_AVX2_H
#define UM_KINDS_BLOCKED_AVX2_H

#include "base/hash.h"
#include "kinds/xxh3_avx2.h"

#include <unistd.h>

enum { UM_BATCH = 64, UM_BATCH_MOST = 256, UM_LINE = 64 };

/* What a batch of keys asks for. */
typedef struct um_batch {
    _Alignas(32) uint64_t lo[UM_BATCH_MOST];
    /* Of the first and second 8 hashes. */
    _Alignas(32) uint64_t word[2][UM_BATCH_MOST];
    uint64_t at[UM_BATCH_MOST]; /* where the block begins, if fetched ahead */
} um_batch;

/* A filter as the loops see it. */
typedef struct um_target {
    uint8_t *memory;
    uint64_t blocks;
    uint32_t hashes;
    uint64_t flip; /* what XXH3 does with the seed, for 8-byte keys */
} um_target;

/* What a loop does, known when it is compiled. */
typedef struct um_way {
    int verb;   /* the caller's own */
    int shift;  /* a block has 2^shift bytes */
    bool ahead; /* the memory is far: fetch what comes next */
    int groups; /* of eight hashes, the last may be fewer */
} um_way;

/* What is done, and what comes out. */
typedef struct um_work {
    um_target t;
    void *out;    /* an answer a key; may be NULL when adding */
    size_t added; /* when adding */
} um_work;

/* Serve the n keys of b from the i-th on, in their order; answers from out on.
 * n is small. */
typedef void um_serve(um_work *w, const um_batch *b, size_t i, size_t n,
                      size_t out, um_way how);

UM_INLINE __m256i um_load_avx2(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

UM_INLINE void um_put_avx2(void *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}

/* --- where keys go ---------------------------------------------------------
 */

UM_INLINE uint64_t um_block_of(const um_target *t, uint64_t lo, um_way how)
{
    return um_scale(lo, t->blocks) << how.shift;
}

UM_INLINE uint64_t um_block_at(const um_target *t, const um_batch *b, size_t i,
                               um_way how)
{
    return how.ahead ? b->at[i] : um_block_of(t, b->lo[i], how);
}

UM_INLINE void um_fetch_block(const um_target *t, um_batch *b, size_t i,
                              um_way how)
{
    const uint8_t *p = t->memory + (b->at[i] = um_block_of(t, b->lo[i], how));

    for (int line = 0; line < 1 << how.shift; line += UM_LINE)
        _mm_prefetch((const char *)p + line, _MM_HINT_T0);
}

/* Keys i .. i+7 of a batch. */
UM_INLINE void um_hash_keys(const um_target *t, const uint64_t *keys,
                            um_batch *b, size_t i, um_way how)
{
    __m256i lo[UM_PAIR], word[UM_PAIR];

    um_xxh3_avx2(keys + i, t->flip, lo);
    UM_EACH word[g] = lo[g];
    um_remix_avx2(word);
    um_store_avx2(&b->word[0][i], word);
    um_store_avx2(&b->lo[i], lo);
    if (how.groups == 2) {
        UM_EACH word[g] = _mm256_add_epi64(word[g], lo[g]);
        um_remix_avx2(word);
        um_store_avx2(&b->word[1][i], word);
    }
    for (size_t j = i; how.ahead && j < i + 8; j++)
        um_fetch_block(t, b, j, how);
}

UM_INLINE void um_take_digests(const um_target *t, const umbel_digest *d,
                               size_t n, um_batch *b, size_t i, um_way how)
{
    for (size_t j = 0; j < n; j++) {
        b->lo[i + j] = d[j].lo;
        b->word[0][i + j] = d[j].hi;
        if (how.groups == 2)
            b->word[1][i + j] = um_remix(d[j].hi + d[j].lo);
        if (how.ahead)
            um_fetch_block(t, b, i + j, how);
    }
}

/* --- loops ---------------------------------------------------------------- */

/* Keys of 8 bytes: hash and fetch the next batch while this one is served. */
UM_INLINE void um_walk_keys(um_work *w, const uint64_t *keys, size_t n,
                            um_way how, um_serve *serve)
{
    um_batch b[2];
    uint64_t tail[UM_BATCH] = {0};
    size_t whole = n / UM_BATCH * UM_BATCH;

    memcpy(tail, keys + whole, (n - whole) * sizeof *keys);
    for (size_t i = 0; i < UM_BATCH; i += 8)
        um_hash_keys(&w->t, whole ? keys : tail, &b[0], i, how);
    for (size_t done = 0, turn = 0; done < n; done += UM_BATCH, turn ^= 1) {
        size_t next = done + UM_BATCH;
        const uint64_t *k = next < whole ? keys + next : tail;
        if (next > n) {
            serve(w, &b[turn], 0, n - done, done, how);
            break;
        }
        for (size_t i = 0; i < UM_BATCH; i += 8) {
            um_hash_keys(&w->t, k, &b[!turn], i, how);
            serve(w, &b[turn], i, 8, done + i, how);
        }
    }
}

/* Digests that somebody else made: some are fetched while others are served. */
UM_INLINE void um_walk_digests(um_work *w, const umbel_digest *d, size_t n,
                               um_way how, um_serve *serve)
{
    enum { LEAD = 64, STEP = 8 };
    um_batch b;

    for (size_t done = 0, some; done < n; done += some) {
        size_t taken = 0;
        some = n - done < UM_BATCH_MOST ? n - done : UM_BATCH_MOST;
        for (size_t i = 0; i < some; i += STEP) {
            size_t until = i + LEAD < some ? i + LEAD : some;
            size_t now = some - i < STEP ? some - i : STEP;
            um_take_digests(&w->t, d + done + taken, until - taken, &b, taken,
                            how);
            taken = until;
            serve(w, &b, i, now, done + i, how);
        }
    }
}

/* Whether the second cache is too small: fetching ahead costs, too. */
static inline bool um_is_far(const um_target *t, int shift)
{
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return t->blocks << shift > (uint64_t)(cache > 0 ? cache : 256 << 10);
}

#endif
