/*
 * blocked_avx2.c - bloom on blocked256 and blocked512 with AVX2.
 *
 * The loops are those of blocked/bits_avx2.h. A test compares one mask per
 * group of eight hashes, computed by shifts (filter/addressing/addressing.c),
 * with the whole block.
 *
 * In cache, shifts are the bottleneck (two ports execute them and all
 * shuffles), so multiplications avoid them, the scalar multiplier finds the
 * blocks, and four keys are evaluated at once.
 */
#include "filter/addressing/addressing.h"
#include "kinds/blocked/bits_avx2.h"
#include "kinds/bloom/bloom.h"

UM_INLINE um_trim trim_of(int groups)
{
    (void)groups;
    return (um_trim){0, 0};
}

/* --- masks ---------------------------------------------------------------- */

/* Returns one cell in each of eight 32-bit lanes; first has the lowest of
 * each. */
UM_INLINE __m256i lanes256(uint64_t word, __m256i first)
{
    __m256i v = _mm256_sllv_epi64(_mm256_set1_epi64x((long long)word),
                                  _mm256_setr_epi64x(0, 5, 10, 15));
    return _mm256_sllv_epi32(first, _mm256_srli_epi32(v, 27));
}

/* Returns one cell in each of four of the eight 64-bit lanes. */
UM_INLINE __m256i lanes512(uint64_t word, __m256i shifts, __m256i first)
{
    __m256i v = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)word), shifts);
    v = _mm256_and_si256(v, _mm256_set1_epi64x(63));
    return _mm256_sllv_epi64(first, v);
}

/* The cells of a key in its block: one vector, or two. */
typedef struct mask {
    __m256i part[2];
} mask;

UM_INLINE mask mask256(const um_target *t, uint64_t first, uint64_t last,
                       int groups)
{
    const uint32_t *used = &um_lanes32[t->lanes - (last & 7)];
    __m256i m = lanes256(last, um_load_avx2(used));

    if (groups == 2)
        m = _mm256_or_si256(m, lanes256(first, _mm256_set1_epi32(1)));
    return (mask){{m, _mm256_setzero_si256()}};
}

UM_INLINE mask mask512(const um_target *t, uint64_t first, uint64_t last,
                       int groups)
{
    const __m256i low = _mm256_setr_epi64x(58, 52, 46, 40);
    const __m256i high = _mm256_setr_epi64x(34, 28, 22, 16);
    const uint64_t *used = &um_lanes64[t->lanes - (last & 7)];
    __m256i m = lanes512(last, low, um_load_avx2(used));
    __m256i n = lanes512(last, high, um_load_avx2(used + 4));

    if (groups == 2) {
        const __m256i ones = _mm256_set1_epi64x(1);
        m = _mm256_or_si256(m, lanes512(first, low, ones));
        n = _mm256_or_si256(n, lanes512(first, high, ones));
    }
    return (mask){{m, n}};
}

/* --- applying a key to its block ------------------------------------------ */

/* Returns the cells of a key that are clear; when adding, that were clear. */
UM_INLINE __m256i clear256(uint8_t *p, mask m, bool adds)
{
    __m256i old = um_load_avx2(p);

    if (adds)
        um_write_avx2(p, _mm256_or_si256(old, m.part[0]));
    return _mm256_andnot_si256(old, m.part[0]);
}

UM_INLINE __m256i clear512(uint8_t *p, mask m, bool adds)
{
    __m256i x = um_load_avx2(p), y = um_load_avx2(p + 32);

    if (adds) {
        um_write_avx2(p, _mm256_or_si256(x, m.part[0]));
        um_write_avx2(p + 32, _mm256_or_si256(y, m.part[1]));
    }
    return _mm256_or_si256(_mm256_andnot_si256(x, m.part[0]),
                           _mm256_andnot_si256(y, m.part[1]));
}

UM_INLINE __m256i misfits(const um_target *t, uint8_t *p, uint64_t first,
                          uint64_t last, um_loop_config how)
{
    bool adds = how.verb == UM_ADD;

    if (how.shift == SHIFT512)
        return clear512(p, mask512(t, first, last, how.groups), adds);
    return clear256(p, mask256(t, first, last, how.groups), adds);
}

/* --- the rows ------------------------------------------------------------- */

UM_INLINE um_target target_of(const um_layout *l, const void *self,
                              uint64_t flip)
{
    const um_bloom *b = self;
    um_target t = um_target_of(l, b->bits, flip);

    t.lanes = b->lanes;
    return t;
}

UM_INLINE um_work work_on(const void *self, uint64_t seed, void *out)
{
    const um_bloom *b = self;
    return (um_work){.t = target_of(b->layout, self, um_xxh3_flip(seed)),
                     .out = out};
}

UM_FAST_ROW(avx2, bloom, 256, NULL, NULL, UM_SHARES(256))
UM_FAST_ROW(avx2, bloom, 512, NULL, NULL, UM_SHARES(512))
