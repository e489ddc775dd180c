/*
 * inline.h - queries of single keys that the compiler inlines into your loop.
 *
 * When a query takes a few nanoseconds, half of that is the call of
 * umbel_query. A view is a copy of the few numbers that a query needs, and
 * umbel_view_query, defined in this header, gives the same answers as
 * umbel_query. Compile with -mavx2 -mbmi2, or for a processor that has them, to
 * test a whole block at once; otherwise it is plain C.
 *
 * Copy the view to a local variable before a loop that writes answers, so that
 * the compiler can keep its numbers in registers.
 */
#ifndef UMBEL_INLINE_H
#define UMBEL_INLINE_H

#include <umbel/filter.h>

#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters for reading a filter; its fields are private to the functions
 * below. */
typedef struct umbel_view {
    const uint8_t *bits;
    uint64_t blocks;
    uint64_t seed, flip;  /* of the hash */
    const void *lanes;    /* table of lanes for the last hash functions */
    uint32_t hashes;      /* 1 to 16 */
    uint32_t block_cells; /* 256 or 512 */
} umbel_view;

/*
 * Initializes a view of f, which must stay open and unchanged while the view is
 * in use. E_UNSUPPORTED for filters that a view cannot read: kinds other than
 * bloom, addressings other than blocked256 and blocked512, hashes other than
 * xxh3-64, groups, more than 16 hash functions, shared filters. Use umbel_query
 * for those.
 */
UMBEL_API umbel_status umbel_view_init(umbel_view *v, const umbel_filter *f,
                                       umbel_error *err);

/* Hashes a key that is not 8 to 16 bytes long. */
UMBEL_API uint64_t umbel_view_hash(const umbel_view *v, const void *key,
                                   size_t len);

/* Returns true if the key may be in the filter: the answer of umbel_query. */
static inline bool umbel_view_query(const umbel_view *v, const void *key,
                                    size_t len);

/* --- the rest of this header is how it is done ---------------------------- */

__extension__ typedef unsigned __int128 umbel_u128;

static inline uint64_t umbel_inline_load(const void *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static inline uint64_t umbel_inline_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* Computes the XXH3-64 of 8 bytes, given as a little-endian number. */
static inline uint64_t umbel_inline_xxh3_8(uint64_t key, uint64_t flip)
{
    const uint64_t factor = UINT64_C(0x9FB21C651E98DF25);
    uint64_t x = umbel_inline_rotate(key, 32) ^ flip;

    x ^= umbel_inline_rotate(x, 49) ^ umbel_inline_rotate(x, 24);
    x *= factor;
    x ^= (x >> 35) + 8;
    x *= factor;
    return x ^ x >> 28;
}

/* Computes the XXH3-64 of 9 to 16 bytes. */
static inline uint64_t umbel_inline_xxh3_16(const void *key, size_t len,
                                            uint64_t seed)
{
    const uint8_t *p = (const uint8_t *)key;
    uint64_t low = umbel_inline_load(p) ^ (UINT64_C(0x6782737bea4239b9) + seed);
    uint64_t high =
        umbel_inline_load(p + len - 8) ^ (UINT64_C(0xaf56bc3b0996523a) - seed);
    umbel_u128 product = (umbel_u128)low * high;
    uint64_t x = (uint64_t)len + __builtin_bswap64(low) + high;

    x += (uint64_t)product ^ (uint64_t)(product >> 64);
    x = (x ^ x >> 37) * UINT64_C(0x165667919E3779F9);
    return x ^ x >> 32;
}

static inline uint64_t umbel_inline_hash(const umbel_view *v, const void *key,
                                         size_t len)
{
    if (len == 8)
        return umbel_inline_xxh3_8(umbel_inline_load(key), v->flip);
    if (len > 8 && len <= 16)
        return umbel_inline_xxh3_16(key, len, v->seed);
    return umbel_view_hash(v, key, len);
}

static inline uint64_t umbel_inline_remix(uint64_t x)
{
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

/* Returns the block of a key; block_len is its size in bytes. */
static inline const uint8_t *umbel_inline_block(const umbel_view *v,
                                                uint64_t lo, size_t block_len)
{
    uint64_t block = (uint64_t)((umbel_u128)lo * v->blocks >> 64);
    return v->bits + (size_t)block * block_len;
}

#ifdef __AVX2__

static inline __m256i umbel_inline_vector(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Returns one cell per 32-bit lane, selected by word; first has the lowest cell
 * of each lane. */
static inline __m256i umbel_inline_cells256(__m128i word, __m256i first)
{
    __m256i x = _mm256_sllv_epi64(_mm256_broadcastq_epi64(word),
                                  _mm256_setr_epi64x(0, 5, 10, 15));
    return _mm256_sllv_epi32(first, _mm256_srli_epi32(x, 27));
}

/* Rotates the eight lanes at lanes by word. Rotating in a register costs less
 * than computing an address. */
static inline __m256i umbel_inline_turn256(const void *lanes, __m128i word)
{
    __m256i from = _mm256_sub_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                    _mm256_broadcastd_epi32(word));
    return _mm256_permutevar8x32_epi32(umbel_inline_vector(lanes), from);
}

static inline bool umbel_inline_has256(const umbel_view *v, const uint8_t *p,
                                       uint64_t word, bool last)
{
    __m128i w = _mm_cvtsi64_si128((long long)word);
    __m256i cells = umbel_inline_cells256(
        w, last ? umbel_inline_turn256(v->lanes, w) : _mm256_set1_epi32(1));

    return _mm256_testc_si256(umbel_inline_vector(p), cells);
}

/* Returns the cells of a word that are clear in four of the eight 64-bit
 * lanes. */
static inline __m256i umbel_inline_clear512(const uint8_t *p, uint64_t word,
                                            __m256i shifts, __m256i first)
{
    __m256i x = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)word), shifts);

    x = _mm256_and_si256(x, _mm256_set1_epi64x(63));
    return _mm256_andnot_si256(umbel_inline_vector(p),
                               _mm256_sllv_epi64(first, x));
}

static inline bool umbel_inline_has512(const umbel_view *v, const uint8_t *p,
                                       uint64_t word, bool last)
{
    const uint64_t *used = (const uint64_t *)v->lanes - (word & 7);
    const __m256i ones = _mm256_set1_epi64x(1);
    __m256i low =
        umbel_inline_clear512(p, word, _mm256_setr_epi64x(58, 52, 46, 40),
                              last ? umbel_inline_vector(used) : ones);
    __m256i high =
        umbel_inline_clear512(p + 32, word, _mm256_setr_epi64x(34, 28, 22, 16),
                              last ? umbel_inline_vector(used + 4) : ones);
    __m256i both = _mm256_or_si256(low, high);

    return _mm256_testz_si256(both, both);
}

#else

static inline bool umbel_inline_has256(const umbel_view *v, const uint8_t *p,
                                       uint64_t word, bool last)
{
    const uint32_t *used = (const uint32_t *)v->lanes - (word & 7);
    unsigned all = 1;

    for (unsigned i = 0; i < 8; i++) {
        uint64_t x = word << 5 * (i / 2);
        unsigned cell = i * 32 + (unsigned)(x >> (i & 1 ? 59 : 27) & 31);
        all &= (unsigned)p[cell >> 3] >> (cell & 7) |
               (last ? (unsigned)!used[i] : 0u);
    }
    return all & 1;
}

static inline bool umbel_inline_has512(const umbel_view *v, const uint8_t *p,
                                       uint64_t word, bool last)
{
    const uint64_t *used = (const uint64_t *)v->lanes - (word & 7);
    unsigned all = 1;

    for (unsigned i = 0; i < 8; i++) {
        unsigned cell = i * 64 + (unsigned)(word >> (58 - 6 * i) & 63);
        all &= (unsigned)p[cell >> 3] >> (cell & 7) |
               (last ? (unsigned)!used[i] : 0u);
    }
    return all & 1;
}

#endif

static inline bool umbel_inline_query256(const umbel_view *v, uint64_t lo)
{
    const uint8_t *p = umbel_inline_block(v, lo, 32);
    uint64_t word = umbel_inline_remix(lo);

    if (v->hashes <= 8)
        return umbel_inline_has256(v, p, word, true);
    return umbel_inline_has256(v, p, word, false) &&
           umbel_inline_has256(v, p, umbel_inline_remix(word + lo), true);
}

static inline bool umbel_inline_query512(const umbel_view *v, uint64_t lo)
{
    const uint8_t *p = umbel_inline_block(v, lo, 64);
    uint64_t word = umbel_inline_remix(lo);

    if (v->hashes <= 8)
        return umbel_inline_has512(v, p, word, true);
    return umbel_inline_has512(v, p, word, false) &&
           umbel_inline_has512(v, p, umbel_inline_remix(word + lo), true);
}

static inline bool umbel_view_query(const umbel_view *v, const void *key,
                                    size_t len)
{
    uint64_t lo = umbel_inline_hash(v, key, len);

    return v->block_cells == 256 ? umbel_inline_query256(v, lo)
                                 : umbel_inline_query512(v, lo);
}

#ifdef __cplusplus
}
#endif

#endif
