/*
 * xxh3_avx2.h - XXH3 of keys of 8 bytes, eight at a time, for AVX2 loops.
 */
#ifndef UM_KINDS_XXH3_AVX2_H
#define UM_KINDS_XXH3_AVX2_H

#include "base/bits.h"
#include "base/cpu.h"
#include "base/hash.h"

#include <immintrin.h>

#if defined(__GNUC__) && !defined(__clang__)
/* The analyzer does not see the writes of vector stores. */
#pragma GCC diagnostic ignored "-Wanalyzer-use-of-uninitialized-value"
#endif

#define UM_REMIX_FACTOR UINT64_C(0xD6E8FEB86659FD93) /* um_remix */

/* Two vectors go through every step together, to hide latency. */
enum { UM_PAIR = 2 };
#define UM_EACH for (size_t g = 0; g < UM_PAIR; g++)

/*
 * Computes x * factor mod 2^64. AVX2 only multiplies 32-bit halves; the two
 * products for the high half are computed at once and added there.
 */
UM_INLINE void um_multiply_avx2(__m256i x[UM_PAIR], uint64_t factor)
{
    const __m256i low = _mm256_set1_epi64x((long long)(factor & UINT32_MAX));
    const __m256i swapped =
        _mm256_set1_epi64x((long long)umbel_inline_rotate(factor, 32));
    const __m256i zero = _mm256_setzero_si256();
    __m256i a[UM_PAIR], b[UM_PAIR];

    UM_EACH a[g] = _mm256_mullo_epi32(x[g], swapped);
    UM_EACH x[g] = _mm256_mul_epu32(x[g], low);
    UM_EACH b[g] = _mm256_slli_epi64(a[g], 32);
    UM_EACH a[g] = _mm256_blend_epi32(zero, a[g], 0xAA);
    UM_EACH x[g] = _mm256_add_epi64(x[g], _mm256_add_epi64(a[g], b[g]));
}

UM_INLINE void um_remix_avx2(__m256i x[UM_PAIR])
{
    um_multiply_avx2(x, UM_REMIX_FACTOR);
    UM_EACH x[g] = _mm256_xor_si256(x[g], _mm256_srli_epi64(x[g], 32));
}

UM_INLINE void um_store_avx2(uint64_t *to, const __m256i x[UM_PAIR])
{
    UM_EACH _mm256_storeu_si256((__m256i *)(void *)to + g, x[g]);
}

/* Separates the halves of eight digests. */
UM_INLINE void um_split_digests(const umbel_digest *d, __m256i lo[UM_PAIR],
                                __m256i hi[UM_PAIR])
{
    const __m256i *p = (const __m256i *)(const void *)d;

    UM_EACH
    {
        __m256i a = _mm256_loadu_si256(p + 2 * g);
        __m256i b = _mm256_loadu_si256(p + 2 * g + 1);
        lo[g] = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), 0xD8);
        hi[g] = _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), 0xD8);
    }
}

/* Computes XXH3 of eight keys; flip is um_xxh3_flip of the seed. */
UM_INLINE void um_xxh3_avx2(const uint64_t *keys, uint64_t flip,
                            __m256i x[UM_PAIR])
{
    const __m256i rotate24 =
        _mm256_setr_epi8(5, 6, 7, 0, 1, 2, 3, 4, 13, 14, 15, 8, 9, 10, 11, 12,
                         5, 6, 7, 0, 1, 2, 3, 4, 13, 14, 15, 8, 9, 10, 11, 12);
    const __m256i len = _mm256_set1_epi64x(8);
    const __m256i flips = _mm256_set1_epi64x((long long)flip);
    __m256i a[UM_PAIR], b[UM_PAIR];

    UM_EACH x[g] = _mm256_loadu_si256((const __m256i *)(const void *)keys + g);
    UM_EACH x[g] = _mm256_shuffle_epi32(x[g], 0xB1); /* halves swapped */
    UM_EACH x[g] = _mm256_xor_si256(x[g], flips);
    UM_EACH a[g] = _mm256_xor_si256(_mm256_slli_epi64(x[g], 49),
                                    _mm256_srli_epi64(x[g], 15));
    UM_EACH b[g] = _mm256_shuffle_epi8(x[g], rotate24);
    UM_EACH x[g] = _mm256_xor_si256(x[g], _mm256_xor_si256(a[g], b[g]));
    um_multiply_avx2(x, UM_XXH3_FACTOR);
    UM_EACH a[g] = _mm256_add_epi64(_mm256_srli_epi64(x[g], 35), len);
    UM_EACH x[g] = _mm256_xor_si256(x[g], a[g]);
    um_multiply_avx2(x, UM_XXH3_FACTOR);
    UM_EACH x[g] = _mm256_xor_si256(x[g], _mm256_srli_epi64(x[g], 28));
}

#endif
