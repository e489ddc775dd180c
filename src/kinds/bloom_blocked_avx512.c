/*
 * bloom_blocked_avx512.c - bloom on blocked256 and blocked512 with AVX-512.
 *
 * The loops are those of blocked_avx512.h. What is new to masks:
 *
 *   vprolv            1 rotated by a number takes only its low bits, so a mask
 *                     is one shift and one rotation
 *   mask registers    the last hashes, fewer than 8, cost no instruction of
 *                     their own: the rotation leaves out the lanes not used
 *
 * No processor with AVX-512 is needed to test this file: tests/emulate.
 */
#include "kinds/blocked_avx512.h"
#include "kinds/bloom.h"

/* --- a key against its block ---------------------------------------------- */

/* One cell in each used lane of 32: 5 bits of its half of the word. */
UM_INLINE __m256i lanes256(uint64_t word, __mmask8 used)
{
    __m256i v =
        _mm256_srlv_epi32(_mm256_set1_epi64x((long long)word),
                          _mm256_setr_epi32(27, 27, 22, 22, 17, 17, 12, 12));
    return _mm256_maskz_rolv_epi32(used, _mm256_set1_epi32(1), v);
}

/* The same with lanes of 64, and 6 bits of the word. */
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

UM_INLINE bool query256(const target *t, key k, int groups)
{
    __m256i m = mask256(k, groups);
    const void *p = t->bits + k.at;
    return _mm256_testc_si256(_mm256_loadu_si256(p), m);
}

UM_INLINE bool query512(const target *t, key k, int groups)
{
    __m512i m = mask512(k, groups);
    __m512i set = _mm512_and_si512(m, _mm512_loadu_si512(t->bits + k.at));
    __mmask8 missing = _mm512_cmpneq_epi64_mask(set, m);
    return _kortestz_mask8_u8(missing, missing);
}

UM_INLINE bool add256(const target *t, key k, int groups)
{
    __m256i m = mask256(k, groups);
    void *p = t->bits + k.at;
    __m256i old = _mm256_loadu_si256(p);

    _mm256_storeu_si256(p, _mm256_or_si256(old, m));
    return !_mm256_testc_si256(old, m);
}

UM_INLINE bool add512(const target *t, key k, int groups)
{
    __m512i m = mask512(k, groups);
    void *p = t->bits + k.at;
    __m512i old = _mm512_loadu_si512(p), now = _mm512_or_si512(old, m);
    __mmask8 changed = _mm512_cmpneq_epi64_mask(old, now);

    _mm512_storeu_si512(p, now);
    return !_kortestz_mask8_u8(changed, changed);
}

UM_INLINE target aim(const um_bloom *b, uint64_t seed, uint32_t block_shift)
{
    return target_of(b->layout, b->bits, seed, block_shift);
}

UM_AVX512_ROW(bloom, 256, 5, NULL)
UM_AVX512_ROW(bloom, 512, 6, NULL)
