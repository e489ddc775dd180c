/*
 * bits_avx2.h - tests whether blocks of bits match a key, in the loops of
 * blocked_avx2.h.
 *
 * A file that includes this defines misfits, which applies a key to its block
 * as its kind requires, trim_of, work_on and target_of. Four keys are evaluated
 * at once.
 */
#ifndef UM_KINDS_BITS_AVX2_H
#define UM_KINDS_BITS_AVX2_H

#include "kinds/blocked/blocked_avx2.h"

enum { MAX_HASHES = 16, SHIFT256 = 5, SHIFT512 = 6 };

/*
 * Returns the bits of the block at p that differ from what the key wants: none
 * if it matches. When adding, it also changes them.
 */
UM_INLINE __m256i misfits(const um_target *t, uint8_t *p, uint64_t first,
                          uint64_t last, um_loop_config how);

/* Returns what misfits needs done to the last word. */
UM_INLINE um_trim trim_of(int groups);

/* Describes the kind's bits, and where answers go. */
UM_INLINE um_work work_on(const void *self, uint64_t seed, void *out);
/* Describes the kind's bits for one key. */
UM_INLINE um_target target_of(const um_layout *l, const void *self,
                              uint64_t flip);

UM_INLINE um_loop_config way_of(int verb, int block, int groups)
{
    return (um_loop_config){.verb = verb,
                            .shift = block == 512 ? SHIFT512 : SHIFT256,
                            .groups = groups,
                            .trim = trim_of(groups)};
}

/* --- answers -------------------------------------------------------------- */

/* Sets bit j of the result if x[j] is zero. Packing keeps nonzero words
 * nonzero. */
UM_INLINE unsigned zeros(const __m256i x[4])
{
    __m256i a = _mm256_packs_epi32(x[0], x[1]);
    __m256i b = _mm256_packs_epi32(x[2], x[3]);
    __m256i four = _mm256_packs_epi16(a, b);
    __m256i zero = _mm256_cmpeq_epi32(four, _mm256_setzero_si256());
    unsigned halves = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(zero));

    return halves & halves >> 4 & 15;
}

UM_INLINE __m256i misfits_of(const um_target *t, const um_eight *e, size_t i,
                             um_loop_config how)
{
    return misfits(t, um_block_at(t, e, i, how), e->word[0][i],
                   e->word[how.groups - 1][i], how);
}

/* Processes n keys, four or one, starting with the i-th. */
UM_INLINE void serve4(um_work *w, const um_eight *e, size_t i, size_t n,
                      size_t out, um_loop_config how)
{
    __m256i first = misfits_of(&w->t, e, i, how),
            x[4] = {first, first, first, first};

    for (size_t j = 1; j < n; j++) /* in order */
        x[j] = misfits_of(&w->t, e, i + j, how);
    unsigned answer = zeros(x) ^ (how.verb == UM_ADD ? 15 : 0);
    if (how.verb == UM_ADD)
        w->added += (size_t)__builtin_popcount(answer & ((1u << n) - 1));
    if (w->out)
        um_store_bits((bool *)w->out + out, answer, n);
}

UM_INLINE void serve(um_work *w, const um_eight *e, size_t n, size_t out,
                     um_loop_config how)
{
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        serve4(w, e, i, 4, out + i, how);
    for (; i < n; i++)
        serve4(w, e, i, 1, out + i, how);
}

/* Processes all keys, in separate loops for one and two groups of hashes. */
UM_INLINE size_t serve_all(const void *self, uint64_t seed, int sort,
                           const void *keys, size_t n, void *out, int verb,
                           int block)
{
    um_work w = work_on(self, seed, out);

    if (w.t.hashes > 8)
        um_walk(&w, sort, keys, n, way_of(verb, block, 2), serve);
    else
        um_walk(&w, sort, keys, n, way_of(verb, block, 1), serve);
    return w.added;
}

UM_INLINE bool serve_one(const umbel_filter *f, uint64_t lo, int verb,
                         int block, int groups)
{
    um_loop_config how = way_of(verb, block, groups);
    um_target t = target_of(&f->layout, um_self(f), 0);
    uint8_t *p = t.memory + um_block_of(&t, lo, how);
    uint64_t hi = um_remix(lo), last = um_last_word(lo, hi, how);
    __m256i x = misfits(&t, p, hi, last, how);

    return _mm256_testz_si256(x, x) == (verb == UM_QUERY);
}

static bool usable(const um_layout *l)
{
    return um_use_avx2() && l->hashes <= MAX_HASHES;
}

#endif
