/*
 * rans_avx2.c - the rANS decoder with AVX2, eight lanes at a time: rows of four
 * vectors.
 *
 * Does what consume in rans.c does, on eight lanes in parallel. The lanes that
 * need a word get the next ones in lane order: spread holds, for every set of
 * lanes, the index of the word for each lane.
 */
#include "coding/internal.h"

#include "base/cpu.h"

#include <immintrin.h>

enum { VECTORS = UM_RANS_LANES / 8, ROW_BYTES = 2 * UM_RANS_LANES };

/* Counts the lanes below i in the set m, as byte i. */
#define BELOW(m, i)                                                            \
    ((uint64_t)(((m)&1 && (i) > 0) + ((m)&2 && (i) > 1) + ((m)&4 && (i) > 2) + \
                ((m)&8 && (i) > 3) + ((m)&16 && (i) > 4) +                     \
                ((m)&32 && (i) > 5) + ((m)&64 && (i) > 6))                     \
     << 8 * (i))
#define SET(m)                                                                 \
    (BELOW(m, 1) | BELOW(m, 2) | BELOW(m, 3) | BELOW(m, 4) | BELOW(m, 5) |     \
     BELOW(m, 6) | BELOW(m, 7))
#define SET4(m) SET(m), SET((m) + 1), SET((m) + 2), SET((m) + 3)
#define SET16(m) SET4(m), SET4((m) + 4), SET4((m) + 8), SET4((m) + 12)
#define SET64(m) SET16(m), SET16((m) + 16), SET16((m) + 32), SET16((m) + 48)

static const uint64_t spread[256] = {SET64(0), SET64(64), SET64(128),
                                     SET64(192)};

static bool usable(void)
{
    return um_use_avx2();
}

/* Returns the symbols of the states, and removes them from the states. */
static inline __m256i symbols_of(const um_rans_decoder *d, __m256i *x)
{
    const __m256i slots = _mm256_set1_epi32(UM_RANS_SUM - 1);
    __m256i slot = _mm256_and_si256(*x, slots);
    __m256i symbol = _mm256_and_si256(
        _mm256_i32gather_epi32((const int *)(const void *)d->slot, slot, 1),
        _mm256_set1_epi32(0xFF));
    __m256i info =
        _mm256_i32gather_epi32((const int *)(const void *)d->symbol, symbol, 4);
    __m256i start = _mm256_and_si256(info, _mm256_set1_epi32(0xFFFF));
    __m256i whole = _mm256_mullo_epi32(_mm256_srli_epi32(info, 16),
                                       _mm256_srli_epi32(*x, UM_RANS_BITS));

    *x = _mm256_add_epi32(whole, _mm256_sub_epi32(slot, start));
    return symbol;
}

/* Shifts a word into every state that is too low. */
static inline __m256i refill(__m256i x, const uint8_t **at)
{
    __m256i low =
        _mm256_cmpeq_epi32(_mm256_srli_epi32(x, 16), _mm256_setzero_si256());
    unsigned set = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(low));
    __m256i words = _mm256_cvtepu16_epi32(
        _mm_loadu_si128((const __m128i *)(const void *)*at));
    __m256i order =
        _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)spread[set]));

    words = _mm256_permutevar8x32_epi32(words, order);
    words = _mm256_or_si256(_mm256_slli_epi32(x, 16), words);
    *at += 2 * (size_t)__builtin_popcount(set);
    return _mm256_blendv_epi8(x, words, low);
}

/* Stores 32 numbers below 256 as bytes. */
static inline void store(uint8_t *out, const __m256i s[VECTORS])
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(s[0], s[1]),
                                        _mm256_packus_epi32(s[2], s[3]));

    _mm256_storeu_si256((__m256i *)(void *)out,
                        _mm256_permutevar8x32_epi32(bytes, order));
}

static size_t rows(um_rans_decoder *d, uint8_t *out, size_t n)
{
    __m256i x[VECTORS], symbol[VECTORS];
    const uint8_t *at = d->at;
    size_t i = 0;

    for (size_t v = 0; v < VECTORS; v++)
        x[v] = _mm256_loadu_si256(
            (const __m256i *)(const void *)(d->state + 8 * v));
    /* A vector always loads 16 bytes, however many it uses. */
    for (; n - i >= UM_RANS_LANES && d->end - at >= ROW_BYTES;
         i += UM_RANS_LANES) {
        for (size_t v = 0; v < VECTORS; v++)
            symbol[v] = symbols_of(d, &x[v]);
        for (size_t v = 0; v < VECTORS; v++)
            x[v] = refill(x[v], &at);
        store(out + i, symbol);
    }
    for (size_t v = 0; v < VECTORS; v++)
        _mm256_storeu_si256((__m256i *)(void *)(d->state + 8 * v), x[v]);
    d->at = at;
    return i;
}

const um_rans_variant um_rans_avx2 = {"avx2", usable, rows};
