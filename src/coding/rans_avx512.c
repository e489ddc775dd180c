/*
 * rans_avx512.c - the rANS decoder with AVX-512, sixteen lanes at a time: rows
 * of two vectors.
 *
 * Does what consume in rans.c does, on sixteen lanes in parallel. The lanes
 * that need a word get the next ones in lane order, by an expand instruction.
 */
#include "base/cpu.h"
#include "coding/internal.h"

#include <immintrin.h>

enum { VECTORS = UM_RANS_LANES / 16, ROW_BYTES = 2 * UM_RANS_LANES };

static bool usable(void)
{
    return um_use_avx512();
}

/* Returns the symbols of the states, and removes them from the states. */
static inline __m512i symbols_of(const um_rans_decoder *d, __m512i *x)
{
    __m512i slot = _mm512_and_si512(*x, _mm512_set1_epi32(UM_RANS_SUM - 1));
    __m512i symbol = _mm512_and_si512(_mm512_i32gather_epi32(slot, d->slot, 1),
                                      _mm512_set1_epi32(0xFF));
    __m512i info = _mm512_i32gather_epi32(symbol, d->symbol, 4);
    __m512i start = _mm512_and_si512(info, _mm512_set1_epi32(0xFFFF));
    __m512i whole = _mm512_mullo_epi32(_mm512_srli_epi32(info, 16),
                                       _mm512_srli_epi32(*x, UM_RANS_BITS));

    *x = _mm512_add_epi32(whole, _mm512_sub_epi32(slot, start));
    return symbol;
}

/* Shifts a word into every state that is too low. */
static inline __m512i refill(__m512i x, const uint8_t **at)
{
    __mmask16 low = _mm512_cmplt_epu32_mask(x, _mm512_set1_epi32(UM_RANS_LOW));
    __m512i words = _mm512_cvtepu16_epi32(
        _mm256_loadu_si256((const __m256i *)(const void *)*at));

    words = _mm512_maskz_expand_epi32(low, words);
    *at += 2 * (size_t)__builtin_popcount(low);
    return _mm512_mask_or_epi32(x, low, _mm512_slli_epi32(x, 16), words);
}

static size_t rows(um_rans_decoder *d, uint8_t *out, size_t n)
{
    __m512i x[VECTORS], symbol[VECTORS];
    const uint8_t *at = d->at;
    size_t i = 0;

    for (size_t v = 0; v < VECTORS; v++)
        x[v] = _mm512_loadu_si512(d->state + 16 * v);
    /* A vector always loads 32 bytes, however many it uses. */
    for (; n - i >= UM_RANS_LANES && d->end - at >= ROW_BYTES;
         i += UM_RANS_LANES) {
        for (size_t v = 0; v < VECTORS; v++)
            symbol[v] = symbols_of(d, &x[v]);
        for (size_t v = 0; v < VECTORS; v++)
            x[v] = refill(x[v], &at);
        for (size_t v = 0; v < VECTORS; v++)
            _mm_storeu_si128((__m128i *)(void *)(out + i + 16 * v),
                             _mm512_cvtepi32_epi8(symbol[v]));
    }
    for (size_t v = 0; v < VECTORS; v++)
        _mm512_storeu_si512(d->state + 16 * v, x[v]);
    d->at = at;
    return i;
}

const um_rans_variant um_rans_avx512 = {"avx512", usable, rows};
