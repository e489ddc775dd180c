/*
 * avx2.c - queries of kind ribbon, eight keys at a time.
 *
 * Four columns of a key are one vector: the words of its group and of the next,
 * ANDed with its row, combined with a bit of the fingerprint, so that a column
 * agrees if the parity is 0. Vectors of two keys are folded into one of half
 * the width, and so on, until a byte is left for each column of eight keys.
 * Most non-members fail here; keys that were bumped, and those that agree so
 * far, are tested by the scalar code.
 */
#include "base/hash.h"
#include "filter/kind.h"
#include "kinds/blocked/xxh3_avx2.h"
#include "kinds/ribbon/ribbon.h"

enum {
    EIGHT = 8,
    BATCH = 32,
    LEAD = 4,           /* columns compared first */
    IN_CACHE = 1 << 17, /* starts: up to here their slots are in a cache, and
                           arrive in time */
    FAR = 1 << 22,      /* starts: from here on their slots are in no cache */
};

/* The state of a batch of keys. */
typedef struct batch {
    uint64_t lo[BATCH], hi[BATCH], print[BATCH];
    const uint8_t *words;             /* of the first column compared */
    uint64_t at[BATCH], next[BATCH];  /* byte offsets from words */
    uint64_t low[BATCH], high[BATCH]; /* the row in both words; before it is
                                         placed, low is the whole row */
    uint32_t slow; /* a bit for each key that is not in the first layer */
    um_ribbon_place elsewhere[BATCH]; /* places of those keys, if slots are
                                         far */
} batch;

/* --- hashing -------------------------------------------------------------- */

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

/* --- places --------------------------------------------------------------- */

/* Returns the high half of lo * starts, which is less than 2^32. */
UM_INLINE __m256i scale_four(__m256i lo, __m256i starts)
{
    __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(lo, 32), starts);
    __m256i low = _mm256_srli_epi64(_mm256_mul_epu32(lo, starts), 32);

    return _mm256_srli_epi64(_mm256_add_epi64(high, low), 32);
}

/* Returns a bit for each of four starts that was bumped: um_ribbon_code and
 * um_ribbon_bumped, where two bits of the start select those of a byte. */
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

/* Places four keys as um_ribbon_place_in does. A split after the last group has
 * no effect. */
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

/* Places eight keys, and sets their bits of slow. */
UM_INLINE void place_eight(batch *b, size_t i, const um_ribbon_layer *l)
{
    uint32_t slow = place_four(b, i, l) | place_four(b, i + 4, l) << 4;

    b->slow = (b->slow & ~(0xFFu << i)) | slow << i;
}

/* Prefetches the first and the last cache line of each key. */
UM_INLINE void fetch_ends(const batch *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(b->words + b->at[i]);
        __builtin_prefetch(b->words + 2 * b->next[i] - b->at[i] - 1);
    }
}

/* Prefetches everything that eight keys will read. */
UM_INLINE void fetch_eight(const um_ribbon *r, batch *b, size_t i)
{
    for (size_t j = i; j < i + EIGHT; j++)
        if (b->slow >> j & 1)
            um_ribbon_find(&r->members, b->lo[j], b->hi[j], &b->elsewhere[j]);
    for (size_t j = i; j < i + EIGHT; j++)
        if (b->slow >> j & 1)
            um_ribbon_fetch(&b->elsewhere[j]);
        else
            um_fetch_lines(b->words + b->at[j],
                           b->words + 2 * b->next[j] - b->at[j]);
}

/* --- parities ------------------------------------------------------------- */

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

/* Folds the columns of two keys to 32 bits each. */
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

/* Returns a bit for each byte whose parity is 1. */
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
 * Returns a bit for each of eight keys that agrees in four columns. The folds
 * end with keys 0, 2, 4, 6, 1, 3, 5, 7 in bytes 0, 2, 1, 3 of every eight, so
 * keys are passed in the order that makes the result sequential.
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

/* --- queries -------------------------------------------------------------- */

/* Compares the columns after the first four. */
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

/* Tests a key that is not in the first layer. */
UM_INLINE bool matches_on(const um_ribbon *r, const batch *b, size_t i)
{
    umbel_digest d = {b->lo[i], b->hi[i]};
    return um_ribbon_match(r, &d) && confirms(r, b, i);
}

/* Tests such a key whose place is known. */
UM_INLINE bool matches_there(const um_ribbon *r, const batch *b, size_t i)
{
    umbel_digest d = {b->lo[i], b->hi[i]};
    return um_ribbon_match_at(r, &b->elsewhere[i], &d) && confirms(r, b, i);
}

/* Processes a batch whose slots are in a cache. Few keys need a closer look, so
 * one loop over those of the whole batch is well predicted. */
UM_INLINE void serve_batch(const um_ribbon *r, const batch *b, size_t n,
                           bool *hit)
{
    uint32_t left = 0;

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

UM_INLINE void serve_eight(const um_ribbon *r, const batch *b, size_t i,
                           bool *hit)
{
    uint32_t slow = b->slow >> i & 0xFF, left = agree_eight(b, i) & ~slow;

    memset(hit, 0, EIGHT * sizeof *hit);
    for (; left; left &= left - 1) {
        size_t j = (size_t)__builtin_ctz(left);
        hit[j] = agrees_on(r, b, i + j) && confirms(r, b, i + j);
    }
    for (; slow; slow &= slow - 1) {
        size_t j = (size_t)__builtin_ctz(slow);
        hit[j] = matches_there(r, b, i + j);
    }
}

/* The keys to query: 8 bytes each, or digests. */
typedef struct asked {
    const uint64_t *keys; /* or NULL */
    uint64_t flip;
    const umbel_digest *digests;
} asked;

UM_INLINE void hash_at(batch *b, size_t to, const asked *a, size_t from)
{
    if (a->keys)
        hash_keys(b, to, a->keys + from, a->flip);
    else
        hash_digests(b, to, a->digests + from);
}

UM_INLINE batch new_batch(const um_ribbon *r)
{
    batch b;

    b.words = r->members.layer[0].words + 8 * (size_t)r->value_bits;
    b.slow = 0;
    return b;
}

/* Queries keys whose slots are near; n is a multiple of eight, here and
 * below. */
UM_INLINE void query_near(const um_ribbon *r, const asked *a, size_t n,
                          bool *hit)
{
    const um_ribbon_layer layer = r->members.layer[0];
    batch b = new_batch(r);

    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < BATCH ? n - i : BATCH;
        b.slow = 0;
        for (size_t j = 0; j < some; j += EIGHT) {
            hash_at(&b, j, a, i + j);
            place_eight(&b, j, &layer);
        }
        if (layer.starts >= IN_CACHE)
            fetch_ends(&b, some);
        serve_batch(r, &b, some, hit + i);
    }
}

/* Prefetches eight keys, then processes the eight that were prefetched a batch
 * before: memory, which is the bottleneck, always has work. */
UM_INLINE void query_far(const um_ribbon *r, const asked *a, size_t n,
                         bool *hit)
{
    const um_ribbon_layer layer = r->members.layer[0];
    batch b = new_batch(r);

    for (size_t i = 0; i < n + BATCH; i += EIGHT) {
        size_t j = i % BATCH;
        if (i >= BATCH)
            serve_eight(r, &b, j, hit + i - BATCH);
        if (i < n) {
            hash_at(&b, j, a, i);
            place_eight(&b, j, &layer);
            fetch_eight(r, &b, j);
        }
    }
}

UM_INLINE void query_some(const um_ribbon *r, const asked *a, size_t n,
                          bool *hit)
{
    if (r->members.layer[0].starts < FAR)
        query_near(r, a, n, hit);
    else
        query_far(r, a, n, hit);
}

/* Queries eight keys at a time, and the rest one by one. */
static void query_keys8(const void *self, uint64_t seed, const uint64_t *keys,
                        size_t n, bool *hit)
{
    asked a = {.keys = keys, .flip = um_xxh3_flip(seed)};
    size_t whole = n / EIGHT * EIGHT;
    umbel_digest d[EIGHT];

    query_some(self, &a, whole, hit);
    for (size_t i = whole; i < n; i++) {
        d[i - whole].lo = um_xxh3_8(keys[i], a.flip);
        d[i - whole].hi = um_remix(d[i - whole].lo);
    }
    if (whole < n)
        um_kind_ribbon.query(self, d, n - whole, hit + whole);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    asked a = {.digests = d};
    size_t whole = n / EIGHT * EIGHT;

    query_some(self, &a, whole, hit);
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
