/*
 * blocked_avx2.c - generalized 4 + 4 and 8 + 8 on blocked512 with AVX2.
 *
 * The loops are those of blocked/bits_avx2.h, the cells are those that
 * generalized.c draws in pairs. A lane is an element of the line's first half
 * and the same element of its second: one vector holds the cell numbers of all
 * lanes, and a shift by too much gives 0, which selects the half.
 */
#include "kinds/blocked/bits_avx2.h"
#include "kinds/generalized/generalized.h"

/* In each lane, the cell that a key clears and the one it sets. */
typedef struct cells {
    __m256i reset, set;
} cells;

typedef struct line {
    __m256i half[2];
} line;

/*
 * The position of G in the last word: seven bits, or six in each half. If it is
 * 0, it is set to 1, for all keys at once.
 */
#define G4_BYTES INT64_C(0xFF)
#define G4_BITS INT64_C(0x7F)
#define G4_LEAST INT64_C(1)
#define G8_BYTES INT64_C(0xFF000000FF)
#define G8_BITS INT64_C(0x3F0000003F)
#define G8_LEAST INT64_C(0x100000001)

UM_INLINE um_trim trim_of(int groups)
{
    if (groups == 2)
        return (um_trim){(uint64_t) ~(G8_BYTES ^ G8_BITS), G8_LEAST};
    return (um_trim){(uint64_t) ~(G4_BYTES ^ G4_BITS), G4_LEAST};
}

/* Returns E, or, where that is 0, G from the same lane of the last word. */
UM_INLINE __m256i not_zero(__m256i e, __m256i last, long long where)
{
    __m256i none = _mm256_set1_epi64x(~where);
    return _mm256_blendv_epi8(e, last, _mm256_cmpeq_epi8(e, none));
}

/* Computes the cells of four lanes of 128 cells. */
UM_INLINE cells cells4(uint64_t word)
{
    const __m256i of_r = _mm256_setr_epi64x(0, 7, 14, 21);
    const __m256i of_e = _mm256_setr_epi64x(28, 35, 42, 49);
    __m256i w = _mm256_set1_epi64x((long long)word);
    __m256i r = _mm256_srli_epi64(_mm256_sllv_epi64(w, of_r), 57);
    __m256i e = _mm256_srli_epi64(_mm256_sllv_epi64(w, of_e), 57);

    return (cells){r, _mm256_xor_si256(r, not_zero(e, w, G4_BYTES))};
}

/* Extracts the cell numbers of eight lanes of 64 cells. */
UM_INLINE __m256i six_bits(__m256i word)
{
    const __m256i at = _mm256_setr_epi64x(0, 6, 12, 18);
    return _mm256_srli_epi32(_mm256_sllv_epi64(word, at), 26);
}

UM_INLINE cells cells8(uint64_t first, uint64_t second)
{
    __m256i w = _mm256_set1_epi64x((long long)second);
    __m256i r = six_bits(_mm256_set1_epi64x((long long)first));

    return (cells){r, _mm256_xor_si256(r, not_zero(six_bits(w), w, G8_BYTES))};
}

/* Returns a cell of each lane as a bit of a line. */
UM_INLINE line bits_of(__m256i n, um_loop_config how)
{
    const __m256i one = _mm256_set1_epi64x(1), ones = _mm256_set1_epi32(1);

    if (how.groups == 2)
        return (line){{_mm256_sllv_epi32(ones, n),
                       _mm256_sllv_epi32(
                           ones, _mm256_sub_epi32(n, _mm256_set1_epi32(32)))}};
    return (line){
        {_mm256_sllv_epi64(one, n),
         _mm256_sllv_epi64(one, _mm256_sub_epi64(n, _mm256_set1_epi64x(64)))}};
}

UM_INLINE __m256i look_up(line x, __m256i n, um_loop_config how)
{
    if (how.groups == 2)
        return _mm256_or_si256(
            _mm256_srlv_epi32(x.half[0], n),
            _mm256_srlv_epi32(x.half[1],
                              _mm256_sub_epi32(n, _mm256_set1_epi32(32))));
    return _mm256_or_si256(
        _mm256_srlv_epi64(x.half[0], n),
        _mm256_srlv_epi64(x.half[1],
                          _mm256_sub_epi64(n, _mm256_set1_epi64x(64))));
}

/* Returns the lanes that do not have the first cell clear and the second
 * set. */
UM_INLINE __m256i wrong_lanes(line x, cells c, um_loop_config how)
{
    __m256i one =
        how.groups == 2 ? _mm256_set1_epi32(1) : _mm256_set1_epi64x(1);
    __m256i right =
        _mm256_andnot_si256(look_up(x, c.reset, how), look_up(x, c.set, how));

    return _mm256_andnot_si256(right, one);
}

UM_INLINE __m256i write_half(uint8_t *p, __m256i x, __m256i reset, __m256i set)
{
    __m256i now = _mm256_or_si256(_mm256_andnot_si256(reset, x), set);

    um_write_avx2(p, now);
    return _mm256_xor_si256(x, now);
}

UM_INLINE __m256i misfits(const um_target *t, uint8_t *p, uint64_t first,
                          uint64_t last, um_loop_config how)
{
    cells c = how.groups == 2 ? cells8(first, last) : cells4(last);
    line x = {{um_load_avx2(p), um_load_avx2(p + 32)}};

    (void)t;
    if (how.verb == UM_QUERY)
        return wrong_lanes(x, c, how);
    line reset = bits_of(c.reset, how), set = bits_of(c.set, how);
    return _mm256_or_si256(
        write_half(p, x.half[0], reset.half[0], set.half[0]),
        write_half(p + 32, x.half[1], reset.half[1], set.half[1]));
}

UM_INLINE um_target target_of(const um_layout *l, const void *self,
                              uint64_t flip)
{
    return um_target_of(l, ((const um_generalized *)self)->bits, flip);
}

UM_INLINE um_work work_on(const void *self, uint64_t seed, void *out)
{
    const um_generalized *g = self;
    return (um_work){.t = target_of(g->layout, self, um_xxh3_flip(seed)),
                     .out = out};
}

UM_FAST_ROW(avx2, generalized, 512, um_in_pairs, NULL, )
