/*
 * blocked_avx512.c - generalized 4 + 4 and 8 + 8 on blocked512 with AVX-512.
 *
 * The loops are those of blocked/blocked_avx512.h, the cells are those that
 * generalized.c draws in pairs. A line is one vector: its halves hold the same
 * cell numbers, reduced by the width of an element in the second, and a shift
 * by too much, or by a negative count, gives 0. One vpternlog applies a key to
 * its line.
 *
 * No processor with AVX-512 is needed to test this file: tests/emulate.
 */
#include "kinds/blocked/blocked_avx512.h"
#include "kinds/generalized/generalized.h"

enum { KEEP_OR_SET = 0xBA }; /* truth table of (a & ~b) | c; see below */

/* The cells that a key clears and sets. */
typedef struct roles {
    __m512i reset, set;
} roles;

/* Returns E, or, where that is 0, G: bits of the word; and 1 where both are
 * 0. */
UM_INLINE __m512i not_zero(__m512i e, __m512i word, __m512i g, __m512i least)
{
    __mmask16 zero = _mm512_testn_epi32_mask(e, e);
    return _mm512_max_epu32(_mm512_mask_and_epi32(e, zero, word, g), least);
}

/* Computes the cells of four lanes of 128 cells: words i and i + 4. */
UM_INLINE roles roles4(uint64_t word)
{
    const __m512i of_r = _mm512_setr_epi64(0, 7, 14, 21, 0, 7, 14, 21);
    const __m512i of_e = _mm512_setr_epi64(28, 35, 42, 49, 28, 35, 42, 49);
    const __m512i half = _mm512_setr_epi64(0, 0, 0, 0, -64, -64, -64, -64);
    __m512i w = all(word);
    __m512i r = _mm512_srli_epi64(_mm512_sllv_epi64(w, of_r), 57);
    __m512i e = _mm512_srli_epi64(_mm512_sllv_epi64(w, of_e), 57);

    e = not_zero(e, w, all(127), all(1));
    __m512i s = _mm512_add_epi64(_mm512_xor_si512(r, e), half);
    r = _mm512_add_epi64(r, half);
    return (roles){_mm512_sllv_epi64(all(1), r), _mm512_sllv_epi64(all(1), s)};
}

/* Extracts six bits of the right half of a word, for every half-word. */
UM_INLINE __m512i six_bits(__m512i word)
{
    const __m512i at = _mm512_setr_epi64(0, 6, 12, 18, 0, 6, 12, 18);
    return _mm512_srli_epi32(_mm512_sllv_epi64(word, at), 26);
}

UM_INLINE __m512i both(uint32_t x)
{
    return all((uint64_t)x << 32 | x);
}

/* Computes the cells of eight lanes of 64 cells: half-words i and i + 8. */
UM_INLINE roles roles8(uint64_t first, uint64_t second)
{
    const long long less = (long long)((uint64_t)-32 << 32 | (uint32_t)-32);
    const __m512i half = _mm512_setr_epi64(0, 0, 0, 0, less, less, less, less);
    __m512i w = all(second), r = six_bits(all(first)), e = six_bits(w);

    e = not_zero(e, w, both(63), both(1));
    __m512i s = _mm512_add_epi32(_mm512_xor_si512(r, e), half);
    r = _mm512_add_epi32(r, half);
    return (roles){_mm512_sllv_epi32(both(1), r),
                   _mm512_sllv_epi32(both(1), s)};
}

UM_INLINE bool serve(const target *t, key k, loop how)
{
    roles m = how.groups == 2 ? roles8(k.first, k.last) : roles4(k.last);
    void *p = t->bits + k.at;
    __m512i old = _mm512_loadu_si512(p);
    __m512i now = _mm512_ternarylogic_epi64(old, m.reset, m.set, KEEP_OR_SET);
    __mmask8 changed = _mm512_cmpneq_epi64_mask(old, now);
    bool matches = _kortestz_mask8_u8(changed, changed);

    if (how.verb == UM_QUERY)
        return matches;
    _mm512_storeu_si512(p, now);
    return !matches;
}

UM_INLINE uint8_t *bits_of_self(const void *self)
{
    return ((const um_generalized *)self)->bits;
}

UM_INLINE target aim(const void *self, uint64_t seed)
{
    const um_generalized *g = self;
    return target_of(g->layout, g->bits, seed);
}

UM_FAST_ROW(avx512, generalized, 512, um_in_pairs, NULL, )
