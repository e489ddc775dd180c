/*
 * blocked_avx512.c - bloom on blocked256 and blocked512 with AVX-512.
 *
 * The loops are those of blocked/blocked_avx512.h. Masks use:
 *
 *   vprolv            a rotation uses only the low bits of its count, so a mask
 *                     is one shift and one rotation of 1
 *   mask registers    the last hashes, fewer than 8, need no extra instruction:
 *                     the rotation skips the unused lanes
 *
 * No processor with AVX-512 is needed to test this file: tests/emulate.
 */
#include "kinds/blocked/blocked_avx512.h"
#include "kinds/bloom/bloom.h"

/* --- applying a key to its block ------------------------------------------ */

/* Returns one cell in each used 32-bit lane: 5 bits of its half of the word. */
UM_INLINE __m256i lanes256(uint64_t word, __mmask8 used)
{
    __m256i v =
        _mm256_srlv_epi32(_mm256_set1_epi64x((long long)word),
                          _mm256_setr_epi32(27, 27, 22, 22, 17, 17, 12, 12));
    return _mm256_maskz_rolv_epi32(used, _mm256_set1_epi32(1), v);
}

/* Returns one cell in each used 64-bit lane: 6 bits of the word. */
UM_INLINE __m512i lanes512(uint64_t word, __mmask8 used)
{
    __m512i v = _mm512_srlv_epi64(
        all(word), _mm512_setr_epi64(58, 52, 46, 40, 34, 28, 22, 16));
    return _mm512_maskz_rolv_epi64(used, all(1), v);
}

UM_INLINE __m256i mask256(key k, int groups)
{
    __m256i m = lanes256(k.last, k.used);
    return groups == 2 ? _mm256_or_si256(m, lanes256(k.first, 0xFF)) : m;
}

UM_INLINE __m512i mask512(key k, int groups)
{
    __m512i m = lanes512(k.last, k.used);
    return groups == 2 ? _mm512_or_si512(m, lanes512(k.first, 0xFF)) : m;
}

UM_INLINE bool serve256(void *p, __m256i m, int verb)
{
    __m256i old = _mm256_loadu_si256(p);
    bool matches = _mm256_testc_si256(old, m);

    if (verb == UM_QUERY)
        return matches;
    _mm256_storeu_si256(p, _mm256_or_si256(old, m));
    return !matches;
}

UM_INLINE bool serve512(void *p, __m512i m, int verb)
{
    __m512i old = _mm512_loadu_si512(p);
    __mmask8 missing = _mm512_cmpneq_epi64_mask(_mm512_and_si512(old, m), m);
    bool matches = _kortestz_mask8_u8(missing, missing);

    if (verb == UM_QUERY)
        return matches;
    _mm512_storeu_si512(p, _mm512_or_si512(old, m));
    return !matches;
}

UM_INLINE bool serve(const target *t, key k, loop how)
{
    void *p = t->bits + k.at;

    return how.shift == 6 ? serve512(p, mask512(k, how.groups), how.verb)
                          : serve256(p, mask256(k, how.groups), how.verb);
}

UM_INLINE uint8_t *bits_of_self(const void *self)
{
    return ((const um_bloom *)self)->bits;
}

UM_INLINE target aim(const void *self, uint64_t seed)
{
    const um_bloom *b = self;
    return target_of(b->layout, b->bits, seed);
}

UM_FAST_ROW(avx512, bloom, 256, NULL, NULL, UM_SHARES(256))
UM_FAST_ROW(avx512, bloom, 512, NULL, NULL, UM_SHARES(512))
