/*
 * bloom_classic_avx2.c - queries of bloom on classic, keys of 8 bytes.
 *
 * Eight keys at a time are hashed and find their first two cells in vector
 * registers; half of the keys fail at each, so that both are tested without
 * asking. A quarter goes on to walk (classic_walk.h).
 */
#include "filter/fast.h"
#include "kinds/classic_walk.h"
#include "kinds/rows.h"
#include "kinds/xxh3_avx2.h"

UM_INLINE void start8(const uint64_t *keys, uint64_t flip, um_walkers *w,
                      size_t i)
{
    __m256i lo[UM_PAIR], hi[UM_PAIR];

    um_xxh3_avx2(keys, flip, lo);
    UM_EACH hi[g] = lo[g];
    um_remix_avx2(hi);
    um_store_avx2(&w->at[i], lo);
    um_store_avx2(&w->hi[i], hi);
}

/* The keys from number from on; fewer than eight are copied first. */
UM_INLINE const uint64_t *eight(const um_walk_keys8 *s, size_t from, size_t n,
                                uint64_t copy[8])
{
    if (n >= 8)
        return s->key + from;
    memcpy(copy, s->key + from, n * sizeof *copy);
    return copy;
}

UM_INLINE void start_keys8(const void *source, size_t from, size_t n,
                           um_walkers *w)
{
    const um_walk_keys8 *s = source;
    uint64_t copy[8] = {0};

    for (size_t i = 0; i < n; i += 8)
        start8(eight(s, from + i, n - i, copy), s->flip, w, i);
}

/* High half of x * cells, with fewer than 2^32 cells. */
UM_INLINE void scale(const __m256i x[UM_PAIR], uint64_t cells, uint64_t *out)
{
    const __m256i m = _mm256_set1_epi64x((long long)cells);
    __m256i a[UM_PAIR], b[UM_PAIR];

    UM_EACH a[g] = _mm256_srli_epi64(_mm256_mul_epu32(x[g], m), 32);
    UM_EACH b[g] = _mm256_mul_epu32(_mm256_srli_epi64(x[g], 32), m);
    UM_EACH b[g] = _mm256_srli_epi64(_mm256_add_epi64(a[g], b[g]), 32);
    um_store_avx2(out, b);
}

UM_INLINE void step(__m256i x[UM_PAIR], const __m256i hi[UM_PAIR])
{
    um_multiply_avx2(x, UM_CLASSIC_FACTOR);
    UM_EACH x[g] = _mm256_add_epi64(x[g], hi[g]);
}

/* The first two cells of eight keys; w is left at the third. */
UM_INLINE void two_cells8(const um_bloom *b, const uint64_t *keys,
                          uint64_t flip, um_walkers *w, size_t i,
                          uint64_t second[])
{
    __m256i x[UM_PAIR], hi[UM_PAIR];

    um_xxh3_avx2(keys, flip, x);
    UM_EACH hi[g] = x[g];
    um_remix_avx2(hi);
    um_store_avx2(&w->hi[i], hi);
    scale(x, b->layout->cells, &w->cell[i]);
    step(x, hi);
    scale(x, b->layout->cells, &second[i]);
    step(x, hi);
    um_store_avx2(&w->at[i], x);
}

UM_INLINE void two_tests(const um_bloom *b, um_walkers *w,
                         const uint64_t second[])
{
    w->left = 0;
    for (size_t i = 0; i < w->n; i++) {
        w->alive[w->left] = (uint8_t)i;
        w->left += (size_t)um_bit(b->bits, w->cell[i]) &
                   (size_t)um_bit(b->bits, second[i]);
    }
}

static void query_near(const um_bloom *b, const um_walk_keys8 *s, size_t n,
                       bool *hit)
{
    um_walkers w;
    uint64_t second[UM_WALKERS], copy[8] = {0};

    for (size_t done = 0; done < n; done += w.n) {
        w.n = um_walk_batch(n, done, UM_WALKERS);
        w.hit = hit + done;
        for (size_t i = 0; i < w.n; i += 8)
            two_cells8(b, eight(s, done + i, w.n - i, copy), s->flip, &w, i,
                       second);
        two_tests(b, &w, second);
        um_walk_rest(b, &w, 2);
    }
}

static void query_keys8(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit)
{
    um_walk_keys8 source = {keys, um_xxh3_flip(seed)};

    if (um_walk_is_far(self))
        um_walk_far(self, &source, n, hit, start_keys8);
    else
        query_near(self, &source, n, hit);
}

static bool usable(const um_layout *l)
{
    return um_use_avx2() && l->hashes >= 2 && l->cells <= UINT32_MAX;
}

const um_fast um_fast_bloom_classic_avx2 = {
    .name = "avx2",
    .kind = "bloom",
    .addressing = "classic",
    .usable = usable,
    .query = um_bloom_classic_query,
    .query_keys8 = query_keys8,
};
