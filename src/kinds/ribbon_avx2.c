/*
 * ribbon_avx2.c - queries of kind ribbon, eight keys at a time.
 *
 * Four columns of a key are one vector: the words of its group and of the next,
 * each with its part of the row, and a bit of the fingerprint, so that a column
 * agrees where the parity is 0. Vectors of two keys are folded into one of half
 * the width, then those, until a byte is left of each column of eight keys.
 * Most keys that are no members end there; keys that were bumped, and those
 * that agree so far, go the usual way.
 */
#include "base/hash.h"
#include "filter/fast.h"
#include "kinds/ribbon.h"
#include "kinds/xxh3_avx2.h"

enum {
    EIGHT = 8,
    BATCH = 32,
    LEAD = 4,           /* columns */
    IN_CACHE = 1 << 17, /* starts: their slots are fetched soon enough */
};

/* What is needed of a batch of keys. */
typedef struct batch {
    uint64_t lo[BATCH], hi[BATCH], print[BATCH];
    const uint8_t *words;             /* of the first column that is compared */
    uint64_t at[BATCH], next[BATCH];  /* bytes from there */
    uint64_t low[BATCH], high[BATCH]; /* until it has a place, low is the row */
    uint32_t slow; /* a bit for each that is not in the first layer */
} batch;

/* --- hashing ------------------------------------------------------------- */

UM_INLINE void mix_avx2(__m256i x[UM_PAIR])
{
    UM_EACH x[g] = _mm256_xor_si256(x[g], _mm256_srli_epi64(x[g], 32));
    um_remix_avx2(x);
    um_remix_avx2(x);
}

UM_INLINE void hash_eight(batch *b, size_t from, const __m256i lo[UM_PAIR],
                          const __m256i hi[UM_PAIR])
{
    const __m256i step = _mm256_set1_epi64x((long long)UM_RIBBON_STEP);
    const __m256i one = _mm256_set1_epi64x(1);
    __m256i row[UM_PAIR], print[UM_PAIR];

    UM_EACH row[g] = _mm256_xor_si256(lo[g], hi[g]);
    UM_EACH print[g] = _mm256_add_epi64(hi[g], step);
    mix_avx2(row);
    mix_avx2(print);
    UM_EACH row[g] = _mm256_or_si256(row[g], one);
    um_store_avx2(b->lo + from, lo);
    um_store_avx2(b->hi + from, hi);
    um_store_avx2(b->low + from, row);
    um_store_avx2(b->print + from, print);
}

UM_INLINE void hash_keys(batch *b, size_t from, const uint64_t *keys,
                         uint64_t flip)
{
    __m256i lo[UM_PAIR], hi[UM_PAIR];

    um_xxh3_avx2(keys, flip, lo);
    UM_EACH hi[g] = lo[g];
    um_remix_avx2(hi);
    hash_eight(b, from, lo, hi);
}

UM_INLINE void hash_digests(batch *b, size_t from, const umbel_digest *d)
{
    __m256i lo[UM_PAIR], hi[UM_PAIR];

    UM_EACH
    {
        const __m256i *two = (const __m256i *)(const void *)(d + 4 * g);
        __m256i x = _mm256_loadu_si256(two), y = _mm256_loadu_si256(two + 1);
        lo[g] = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(x, y), 0xD8);
        hi[g] = _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(x, y), 0xD8);
    }
    hash_eight(b, from, lo, hi);
}

/* --- places -------------------------------------------------------------- */

/* The high half of lo * starts, which is less than 2^32. */
UM_INLINE __m256i scale_four(__m256i lo, __m256i starts)
{
    __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(lo, 32), starts);
    __m256i low = _mm256_srli_epi64(_mm256_mul_epu32(lo, starts), 32);

    return _mm256_srli_epi64(_mm256_add_epi64(high, low), 32);
}

/* A bit for each of four that was bumped: um_ribbon_code and um_ribbon_bumped,
 * after two bits of the start have chosen those of a byte. */
UM_INLINE uint32_t bumped_four(const um_ribbon_layer *l, __m256i start)
{
    const __m256i table = _mm256_set1_epi64x(0x80200C00);
    uint64_t at[4];

    _mm256_storeu_si256((__m256i *)(void *)at, _mm256_srli_epi64(start, 9));
    __m256i byte = _mm256_setr_epi64x(l->bumps[at[0]], l->bumps[at[1]],
                                      l->bumps[at[2]], l->bumps[at[3]]);
    __m256i bits =
        _mm256_and_si256(_mm256_srli_epi64(start, 6), _mm256_set1_epi64x(6));
    __m256i code =
        _mm256_and_si256(_mm256_srlv_epi64(byte, bits), _mm256_set1_epi64x(3));
    __m256i gone =
        _mm256_and_si256(_mm256_srlv_epi64(table, _mm256_slli_epi64(code, 3)),
                         _mm256_set1_epi64x(0xFF));
    __m256i in_bucket =
        _mm256_and_si256(start, _mm256_set1_epi64x(UM_RIBBON_BUCKET - 1));
    __m256i less = _mm256_cmpgt_epi64(gone, in_bucket);

    return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(less));
}

/* As um_ribbon_place_in. A split behind the last group is none. */
UM_INLINE uint32_t place_four(batch *b, size_t i, const um_ribbon_layer *l)
{
#define FOUR(field) ((__m256i *)(void *)(b->field + i))
    const __m256i columns = _mm256_set1_epi64x(l->columns);
    const __m256i split = _mm256_set1_epi64x(
        (long long)(l->split_group < INT64_MAX ? l->split_group : INT64_MAX));
    __m256i lo = _mm256_loadu_si256(FOUR(lo)),
            row = _mm256_loadu_si256(FOUR(low));
    __m256i start = scale_four(lo, _mm256_set1_epi64x((long long)l->starts));
    __m256i shards = _mm256_srli_epi64(start, UM_RIBBON_SHARD_BITS);
    __m256i slot = _mm256_add_epi64(start, _mm256_slli_epi64(shards, 6));
    __m256i group = _mm256_srli_epi64(slot, 6);
    __m256i shift = _mm256_and_si256(slot, _mm256_set1_epi64x(63));
    __m256i before = _mm256_cmpgt_epi64(split, group);
    __m256i finer = _mm256_andnot_si256(before, _mm256_sub_epi64(group, split));
    __m256i words = _mm256_add_epi64(_mm256_mul_epu32(group, columns), finer);
    __m256i stride = _mm256_add_epi64(
        columns, _mm256_andnot_si256(before, _mm256_set1_epi64x(1)));

    _mm256_storeu_si256(FOUR(low), _mm256_sllv_epi64(row, shift));
    _mm256_storeu_si256(
        FOUR(high), _mm256_srlv_epi64(
                        row, _mm256_sub_epi64(_mm256_set1_epi64x(64), shift)));
    _mm256_storeu_si256(FOUR(at), _mm256_slli_epi64(words, 3));
    _mm256_storeu_si256(FOUR(next),
                        _mm256_slli_epi64(_mm256_add_epi64(words, stride), 3));
    return bumped_four(l, start);
#undef FOUR
}

UM_INLINE void place_all(batch *b, size_t n, const um_ribbon_layer *layer,
                         uint32_t value_bits)
{
    const um_ribbon_layer l = *layer;

    b->words = l.words + 8 * (size_t)value_bits;
    b->slow = 0;
    for (size_t i = 0; i < n; i += 4)
        b->slow |= place_four(b, i, &l) << i;
    if (l.starts < IN_CACHE)
        return;
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(b->words + b->at[i]);
        __builtin_prefetch(b->words + 2 * b->next[i] - b->at[i] - 1);
    }
}

/* --- parities ------------------------------------------------------------ */

UM_INLINE __m256i four_columns(const batch *b, size_t i)
{
    const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
    __m256i at = _mm256_loadu_si256(
        (const __m256i *)(const void *)(b->words + b->at[i]));
    __m256i next = _mm256_loadu_si256(
        (const __m256i *)(const void *)(b->words + b->next[i]));
    __m256i low = _mm256_set1_epi64x((long long)b->low[i]);
    __m256i high = _mm256_set1_epi64x((long long)b->high[i]);
    __m256i print = _mm256_set1_epi64x((long long)b->print[i]);

    return _mm256_xor_si256(_mm256_xor_si256(_mm256_and_si256(at, low),
                                             _mm256_and_si256(next, high)),
                            _mm256_and_si256(print, bits));
}

/* Columns of two keys, of 32 bits each. */
UM_INLINE __m256i fold64(__m256i a, __m256i b)
{
    __m256 x = _mm256_castsi256_ps(a), y = _mm256_castsi256_ps(b);
    __m256 low = _mm256_shuffle_ps(x, y, 0x88);
    __m256 high = _mm256_shuffle_ps(x, y, 0xDD);

    return _mm256_castps_si256(_mm256_xor_ps(low, high));
}

UM_INLINE __m256i fold32(__m256i a, __m256i b)
{
    __m256i low = _mm256_blend_epi16(a, _mm256_slli_epi32(b, 16), 0xAA);
    __m256i high = _mm256_blend_epi16(_mm256_srli_epi32(a, 16), b, 0xAA);

    return _mm256_xor_si256(low, high);
}

UM_INLINE __m256i fold16(__m256i a, __m256i b)
{
    const __m256i odd = _mm256_set1_epi16((short)0xFF00);

    a = _mm256_xor_si256(a, _mm256_srli_epi16(a, 8));
    b = _mm256_xor_si256(b, _mm256_slli_epi16(b, 8));
    return _mm256_blendv_epi8(a, b, odd);
}

/* A bit for each byte whose parity is 1. */
UM_INLINE uint32_t odd_bytes(__m256i x)
{
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0,
                      -128, -128, 0));
    const __m256i nibble = _mm256_set1_epi8(0x0F);

    x = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi16(x, 4)), nibble);
    return (uint32_t)_mm256_movemask_epi8(_mm256_shuffle_epi8(table, x));
}

/*
 * A bit for each of eight keys that agrees in four columns. The folds end with
 * key 0, 2, 4, 6, 1, 3, 5, 7 in bytes 0, 2, 1, 3 of every eight, so keys are
 * taken in the order that makes it the usual one.
 */
UM_INLINE uint32_t agree_eight(const batch *b, size_t i)
{
    __m256i w0 = fold64(four_columns(b, i), four_columns(b, i + 4));
    __m256i w1 = fold64(four_columns(b, i + 2), four_columns(b, i + 6));
    __m256i w2 = fold64(four_columns(b, i + 1), four_columns(b, i + 5));
    __m256i w3 = fold64(four_columns(b, i + 3), four_columns(b, i + 7));
    uint32_t odd = odd_bytes(fold16(fold32(w0, w1), fold32(w2, w3)));

    odd |= odd >> 16;
    odd |= odd >> 4;
    return ~(odd & 0x0F) & ~(odd >> 4 & 0xF0) & 0xFF;
}

/* --- queries ------------------------------------------------------------- */

/* The columns behind the first four. */
UM_INLINE bool agrees_on(const um_ribbon *r, const batch *b, size_t i)
{
    const um_ribbon_layer *l = &r->members.layer[0];
    uint64_t start = um_scale(b->lo[i], l->starts);
    uint32_t n = um_ribbon_columns_at(l, start) - r->value_bits - LEAD;
    um_ribbon_place p = {.at = b->words + b->at[i],
                         .next = b->words + b->next[i],
                         .low = b->low[i],
                         .high = b->high[i]};
    uint64_t got = um_ribbon_some(&p, LEAD, n);

    return ((got ^ b->print[i] >> LEAD) & um_ribbon_mask(n)) == 0;
}

UM_INLINE bool confirms(const um_ribbon *r, const batch *b, size_t i)
{
    umbel_digest d = {b->lo[i], b->hi[i]};
    return !r->two || um_ribbon_confirm(r, &d);
}

/* Of those that are not in the first layer. */
UM_INLINE bool matches_on(const um_ribbon *r, const batch *b, size_t i)
{
    umbel_digest d = {b->lo[i], b->hi[i]};
    return um_ribbon_match(r, &d) && confirms(r, b, i);
}

/*
 * n is a multiple of eight. The few keys that need a closer look are few in all
 * of a batch, so that a loop over them is mostly foreseen.
 */
UM_INLINE void query_batch(const um_ribbon *r, batch *b, size_t n, bool *hit)
{
    uint32_t left = 0;

    place_all(b, n, &r->members.layer[0], r->value_bits);
    for (size_t i = 0; i < n; i += EIGHT)
        left |= agree_eight(b, i) << i;
    memset(hit, 0, n * sizeof *hit);
    for (left &= ~b->slow; left; left &= left - 1) {
        size_t i = (size_t)__builtin_ctz(left);
        hit[i] = agrees_on(r, b, i) && confirms(r, b, i);
    }
    for (left = b->slow; left; left &= left - 1) {
        size_t i = (size_t)__builtin_ctz(left);
        hit[i] = matches_on(r, b, i);
    }
}

/* What is left of a multiple of eight goes the usual way. */
static void query_keys8(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit)
{
    uint64_t flip = um_xxh3_flip(seed);
    size_t whole = n / EIGHT * EIGHT, some;
    umbel_digest d[EIGHT];
    batch b;

    for (size_t i = 0; i < whole; i += some) {
        some = whole - i < BATCH ? whole - i : BATCH;
        for (size_t j = 0; j < some; j += EIGHT)
            hash_keys(&b, j, keys + i + j, flip);
        query_batch(self, &b, some, hit + i);
    }
    for (size_t i = whole; i < n; i++) {
        d[i - whole].lo = um_xxh3_8(keys[i], flip);
        d[i - whole].hi = um_remix(d[i - whole].lo);
    }
    if (whole < n)
        um_kind_ribbon.query(self, d, n - whole, hit + whole);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    size_t whole = n / EIGHT * EIGHT, some;
    batch b;

    for (size_t i = 0; i < whole; i += some) {
        some = whole - i < BATCH ? whole - i : BATCH;
        for (size_t j = 0; j < some; j += EIGHT)
            hash_digests(&b, j, d + i + j);
        query_batch(self, &b, some, hit + i);
    }
    if (whole < n)
        um_kind_ribbon.query(self, d + whole, n - whole, hit + whole);
}

static bool usable(const um_layout *l)
{
    (void)l;
    return um_use_avx2();
}

static bool takes(const um_shape *s)
{
    return um_ribbon_leads(s, LEAD);
}

const um_fast um_fast_ribbon_avx2 = {
    .name = "avx2",
    .kind = "ribbon",
    .addressing = "band64",
    .usable = usable,
    .takes = takes,
    .query = query,
    .query_keys8 = query_keys8,
};
