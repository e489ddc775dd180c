/*
 * place_avx2.c - places members on blocked512 with AVX2.
 *
 * Bits are counted per half byte, with a table of 16.
 */
#include "base/cpu.h"
#include "negatives/choose/place_blocks.h"

#include <immintrin.h>

UM_INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Returns the number of set bits in each byte. */
UM_INLINE __m256i count_bytes(__m256i x)
{
    const __m256i bits =
        _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1,
                         1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i half = _mm256_set1_epi8(15);
    __m256i low = _mm256_and_si256(x, half);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), half);

    return _mm256_add_epi8(_mm256_shuffle_epi8(bits, low),
                           _mm256_shuffle_epi8(bits, high));
}

UM_INLINE uint64_t sum_bytes(__m256i x)
{
    __m256i sums = _mm256_sad_epu8(x, _mm256_setzero_si256());
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sums),
                                _mm256_extracti128_si256(sums, 1));

    return (uint64_t)_mm_cvtsi128_si64(two) +
           (uint64_t)_mm_extract_epi64(two, 1);
}

UM_INLINE __m256i used_half(const uint64_t *block, size_t half, bool counted)
{
    __m256i used = load(block + half * UM_HALF);

    for (size_t i = 1; counted && i < UM_COUNT_BITS; i++)
        used = _mm256_or_si256(
            used, load(block + i * UM_BLOCK_WORDS + half * UM_HALF));
    return used;
}

UM_INLINE uint64_t cost_avx2(const uint64_t *block, const um_block_mask *m,
                             bool counted)
{
    __m256i x = used_half(block, 0, counted), y = used_half(block, 1, counted);
    __m256i p = _mm256_andnot_si256(x, load(&m->half[0]));
    __m256i q = _mm256_andnot_si256(y, load(&m->half[1]));
    uint64_t clear = sum_bytes(_mm256_add_epi8(count_bytes(p), count_bytes(q)));
    uint64_t used =
        clear + sum_bytes(_mm256_add_epi8(count_bytes(x), count_bytes(y)));

    return clear * used * used;
}

void um_place_blocks_avx2(const um_placing *p, const umbel_digest *d, size_t n,
                          uint8_t *group, bool again, uint8_t *bits)
{
    um_place_blocked(cost_avx2, p, d, n, group, again, bits);
}
