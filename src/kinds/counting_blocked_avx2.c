/*
 * counting_blocked_avx2.c - counting on blocked128 with AVX2: cells of 4 bits
 * (a block is one cache line) and of 8 bits (two), up to 8 hashes.
 *
 * A key has at most one cell in each of the eight lanes of its block
 * (addressing/blocked.c), so whole lanes are worked on, all of them at once:
 *
 *   4 bits   a lane is a 64-bit word; shifted by four times the cell's number
 *            its lowest bits are the cell
 *   8 bits   a lane is half a vector, and a cell a byte: shuffles pick it,
 *            comparisons with 0, 1, 2 ... tell where it is
 *
 * Lanes without a cell of the key count as full: the least of the others is the
 * least of all, and what is full does not grow. Nothing branches on a cell.
 * Keys of a batch are taken in their order, since the next may go to the same
 * block; what the cells held before is judged for four keys together.
 */
#include "filter/handle.h"
#include "kinds/blocked_avx2.h"
#include "kinds/counting.h"

enum { MOST_HASHES = 8, SHIFT4 = 6, SHIFT8 = 7 };
enum { QUERY, COUNT, ADD_PLAIN, ADD_REFINED }; /* um_way.verb */

/*
 * The hashes, r of them or 8, go to neighbouring lanes from lane word & 7 on:
 * lane i is unused when (i - start) mod 8 >= r. Written twice in a row, a load
 * from entry 8 - start on gives the lanes in their order.
 */
#define NOT(i, r) ((i) < (r) ? 0 : ~UINT64_C(0))
#define EIGHT(T, r)                                                            \
    (T) NOT(0, r), (T)NOT(1, r), (T)NOT(2, r), (T)NOT(3, r), (T)NOT(4, r),     \
        (T)NOT(5, r), (T)NOT(6, r), (T)NOT(7, r)
#define TWICE(T, r)                                                            \
    {                                                                          \
        EIGHT(T, r), EIGHT(T, r)                                               \
    }
#define ALL_R(T)                                                               \
    {                                                                          \
        TWICE(T, 8), TWICE(T, 1), TWICE(T, 2), TWICE(T, 3), TWICE(T, 4),       \
            TWICE(T, 5), TWICE(T, 6), TWICE(T, 7)                              \
    }

static const uint64_t unused_words[8][16] = ALL_R(uint64_t);
static const uint8_t unused_bytes[8][16] = ALL_R(uint8_t);

UM_INLINE __m256i all64(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

/* --- cells of 4 bits -------------------------------------------------------
 */

/* The least of eight numbers below 2^15, in every 16 bits, but at most 14. */
UM_INLINE __m256i least_below_15(__m256i eight)
{
    __m128i x = _mm_packus_epi32(_mm256_castsi256_si128(eight),
                                 _mm256_extracti128_si256(eight, 1));

    x = _mm_minpos_epu16(_mm_min_epu16(x, _mm_set1_epi16(14)));
    return _mm256_broadcastw_epi16(x);
}

/* What the key's cells are, or were before it was added; 15 where it has none.
 * They come in some order. */
UM_INLINE __m256i touch4(uint8_t *p, uint64_t word, uint32_t hashes, int verb)
{
    const uint64_t *unused = &unused_words[hashes % 8][8 - (word & 7)];
    __m256i x[2], by[2], cell[2];

    by[0] = _mm256_srlv_epi64(all64(word), _mm256_setr_epi64x(58, 54, 50, 46));
    by[1] = _mm256_srlv_epi64(all64(word), _mm256_setr_epi64x(42, 38, 34, 30));
    UM_EACH by[g] = _mm256_and_si256(by[g], all64(60));
    UM_EACH x[g] = um_load_avx2(p + 32 * g);
    UM_EACH cell[g] = _mm256_or_si256(x[g], um_load_avx2(unused + 4 * g));
    UM_EACH cell[g] = _mm256_srlv_epi64(cell[g], by[g]);
    UM_EACH cell[g] = _mm256_and_si256(cell[g], all64(15));
    __m256i eight = _mm256_castps_si256(_mm256_shuffle_ps(
        _mm256_castsi256_ps(cell[0]), _mm256_castsi256_ps(cell[1]), 0x88));
    if (verb == ADD_PLAIN) {
        UM_EACH cell[g] = _mm256_cmpgt_epi64(all64(15), cell[g]);
        UM_EACH cell[g] = _mm256_sllv_epi64(cell[g], by[g]);
        UM_EACH um_put_avx2(p + 32 * g, _mm256_sub_epi64(x[g], cell[g]));
    } else if (verb == ADD_REFINED) {
        __m256i least = least_below_15(eight);
        UM_EACH cell[g] = _mm256_cmpeq_epi16(cell[g], least);
        UM_EACH cell[g] = _mm256_and_si256(cell[g], all64(1));
        UM_EACH cell[g] = _mm256_sllv_epi64(cell[g], by[g]);
        UM_EACH um_put_avx2(p + 32 * g, _mm256_add_epi64(x[g], cell[g]));
    }
    return eight;
}

/* The least cell of each of four keys. */
UM_INLINE __m128i least4(const __m256i cells[4])
{
    __m256i a = _mm256_packus_epi32(cells[0], cells[1]);
    __m256i b = _mm256_packus_epi32(cells[2], cells[3]);
    __m256i four = _mm256_packus_epi16(a, b);
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(four),
                             _mm256_extracti128_si256(four, 1));

    x = _mm_min_epu8(x, _mm_srli_epi32(x, 16));
    x = _mm_min_epu8(x, _mm_srli_epi32(x, 8));
    return _mm_and_si128(x, _mm_set1_epi32(255));
}

/* --- cells of 8 bits -------------------------------------------------------
 */

enum { PARTS = 4 }; /* of a block: two lanes in a vector */
#define EACH_PART for (int j = 0; j < PARTS; j++)

/*
 * Byte 7 - j of the lower half is the number of the key's cell in lane 2j, of
 * the upper half that in lane 2j + 1; it has its highest bit where there is
 * none.
 */
UM_INLINE __m256i numbers8(uint64_t word, uint32_t hashes)
{
    const __m256i order =
        _mm256_setr_epi64x(0x0002040600000000, 0, 0x0103050700000000, 0);
    uint64_t unused = um_load64(&unused_bytes[hashes % 8][8 - (word & 7)]);
    __m256i x = _mm256_srlv_epi64(all64(word), _mm256_setr_epi64x(4, 4, 0, 0));

    x = _mm256_and_si256(x, _mm256_set1_epi8(15));
    return _mm256_or_si256(x, _mm256_shuffle_epi8(all64(unused), order));
}

/* The larger of the two halves, in both. */
UM_INLINE __m256i larger_half(__m256i x)
{
    return _mm256_max_epu8(x, _mm256_permute2x128_si256(x, x, 1));
}

/*
 * The key's cells from 255 down, or what they were: the largest is in every
 * byte of one half. A number with the highest bit picks 0, which is full.
 */
UM_INLINE __m256i touch8(uint8_t *p, uint64_t word, uint32_t hashes, int verb)
{
    const __m256i ones = _mm256_set1_epi8(-1);
    const __m256i places = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m256i numbers = numbers8(word, hashes);
    __m256i x[PARTS], at[PARTS], most = _mm256_setzero_si256();

    EACH_PART x[j] = um_load_avx2(p + 32 * j);
    EACH_PART at[j] =
        _mm256_shuffle_epi8(numbers, _mm256_set1_epi8((char)(7 - j)));
    EACH_PART most = _mm256_max_epu8(
        most, _mm256_shuffle_epi8(_mm256_xor_si256(x[j], ones), at[j]));
    if (verb == ADD_PLAIN || verb == ADD_REFINED)
        EACH_PART at[j] = _mm256_cmpeq_epi8(at[j], places);
    if (verb == ADD_PLAIN) {
        EACH_PART at[j] = _mm256_and_si256(at[j], _mm256_set1_epi8(1));
        EACH_PART um_put_avx2(p + 32 * j, _mm256_adds_epu8(x[j], at[j]));
    } else if (verb == ADD_REFINED) {
        __m256i least = _mm256_xor_si256(larger_half(most), ones);
        __m256i goal = _mm256_adds_epu8(least, _mm256_set1_epi8(1));
        EACH_PART at[j] = _mm256_and_si256(at[j], goal);
        EACH_PART um_put_avx2(p + 32 * j, _mm256_max_epu8(x[j], at[j]));
    }
    return most;
}

UM_INLINE __m128i least8(const __m256i cells[4])
{
    __m256i a = _mm256_blend_epi32(cells[0], cells[1], 0x22);
    __m256i b = _mm256_blend_epi32(cells[2], cells[3], 0x88);
    __m256i four = _mm256_blend_epi32(a, b, 0xCC);
    __m128i x = _mm_max_epu8(_mm256_castsi256_si128(four),
                             _mm256_extracti128_si256(four, 1));

    return _mm_andnot_si128(x, _mm_set1_epi32(255));
}

/* --- answers ---------------------------------------------------------------
 */

UM_INLINE __m256i touch(const um_work *w, const um_batch *b, size_t i,
                        um_way how)
{
    const um_target *t = &w->t;
    uint8_t *p = t->memory + um_block_at(t, b, i, how);

    if (how.shift == SHIFT8)
        return touch8(p, b->word[0][i], t->hashes, how.verb);
    return touch4(p, b->word[0][i], t->hashes, how.verb);
}

UM_INLINE __m128i least(const __m256i cells[4], um_way how)
{
    return how.shift == SHIFT8 ? least8(cells) : least4(cells);
}

/* Four bits as four bytes. */
UM_INLINE void spread(bool out[4], unsigned bits)
{
    uint32_t bytes = bits * 0x00204081u & 0x01010101u;
    memcpy(out, &bytes, sizeof bytes);
}

/* What is told of the first n of four keys. */
UM_INLINE void tell(um_work *w, __m128i counts, size_t n, size_t out,
                    um_way how)
{
    __m128i zero = _mm_cmpeq_epi32(counts, _mm_setzero_si128());
    unsigned zeros = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(zero));
    uint64_t four[4];
    bool yes[4];

    if (how.verb == COUNT) {
        um_put_avx2(n == 4 ? (uint64_t *)w->out + out : four,
                    _mm256_cvtepu32_epi64(counts));
        if (n < 4)
            memcpy((uint64_t *)w->out + out, four, n * sizeof *four);
        return;
    }
    if (how.verb != QUERY)
        w->added += (size_t)__builtin_popcount(zeros & ((1u << n) - 1));
    if (!w->out)
        return;
    spread(n == 4 ? (bool *)w->out + out : yes,
           how.verb == QUERY ? ~zeros & 15 : zeros);
    if (n < 4)
        memcpy((bool *)w->out + out, yes, n);
}

UM_INLINE void serve(um_work *w, const um_batch *b, size_t i, size_t n,
                     size_t out, um_way how)
{
    size_t k = 0;

    for (; k + 4 <= n; k += 4) {
        __m256i cells[4] = {touch(w, b, i + k, how)}; /* one after another */
        cells[1] = touch(w, b, i + k + 1, how);
        cells[2] = touch(w, b, i + k + 2, how);
        cells[3] = touch(w, b, i + k + 3, how);
        tell(w, least(cells, how), 4, out + k, how);
    }
    for (; k < n; k++) {
        __m256i cells[4] = {touch(w, b, i + k, how)};
        cells[1] = cells[2] = cells[3] = cells[0];
        tell(w, least(cells, how), 1, out + k, how);
    }
}

/* --- the row --------------------------------------------------------------
 */

UM_INLINE um_work work_on(const um_counting *c, uint64_t seed, void *out)
{
    return (um_work){.t = {.memory = c->cells.at,
                           .blocks = c->layout->blocks,
                           .hashes = c->layout->hashes,
                           .flip = um_xxh3_flip(seed)},
                     .out = out};
}

/* Every loop for both widths, near and far memory. */
#define FOR_EACH_WAY(w, walk, input, n, width, verb)                           \
    do {                                                                       \
        if ((width) == 8 && um_is_far(&(w)->t, SHIFT8))                        \
            walk(w, input, n, (um_way){verb, SHIFT8, true, 1}, serve);         \
        else if ((width) == 8)                                                 \
            walk(w, input, n, (um_way){verb, SHIFT8, false, 1}, serve);        \
        else if (um_is_far(&(w)->t, SHIFT4))                                   \
            walk(w, input, n, (um_way){verb, SHIFT4, true, 1}, serve);         \
        else                                                                   \
            walk(w, input, n, (um_way){verb, SHIFT4, false, 1}, serve);        \
    } while (0)

static void query_keys(const void *self, uint64_t seed, const uint64_t *keys,
                       size_t n, bool *hit)
{
    const um_counting *c = self;
    um_work w = work_on(c, seed, hit);

    FOR_EACH_WAY(&w, um_walk_keys, keys, n, c->cells.width, QUERY);
}

static size_t add_keys(void *self, uint64_t seed, const uint64_t *keys,
                       size_t n, bool *fresh)
{
    const um_counting *c = self;
    um_work w = work_on(c, seed, fresh);

    if (c->refined)
        FOR_EACH_WAY(&w, um_walk_keys, keys, n, c->cells.width, ADD_REFINED);
    else
        FOR_EACH_WAY(&w, um_walk_keys, keys, n, c->cells.width, ADD_PLAIN);
    return w.added;
}

static void query_digests(const void *self, const umbel_digest *d, size_t n,
                          bool *hit)
{
    const um_counting *c = self;
    um_work w = work_on(c, 0, hit);

    FOR_EACH_WAY(&w, um_walk_digests, d, n, c->cells.width, QUERY);
}

static void count_digests(const void *self, const umbel_digest *d, size_t n,
                          uint64_t *counts)
{
    const um_counting *c = self;
    um_work w = work_on(c, 0, counts);

    FOR_EACH_WAY(&w, um_walk_digests, d, n, c->cells.width, COUNT);
}

static size_t add_digests(void *self, const umbel_digest *d, size_t n,
                          bool *fresh)
{
    const um_counting *c = self;
    um_work w = work_on(c, 0, fresh);

    if (c->refined)
        FOR_EACH_WAY(&w, um_walk_digests, d, n, c->cells.width, ADD_REFINED);
    else
        FOR_EACH_WAY(&w, um_walk_digests, d, n, c->cells.width, ADD_PLAIN);
    return w.added;
}

static bool usable(const um_layout *l)
{
    return __builtin_cpu_supports("avx2") && l->hashes <= MOST_HASHES;
}

static bool takes(const um_shape *s)
{
    uint64_t bits = s->setting[UM_COUNTING_BITS];
    return bits == 4 || bits == 8;
}

const um_fast um_fast_counting_blocked128_avx2 = {
    .name = "avx2",
    .kind = "counting",
    .addressing = "blocked128",
    .usable = usable,
    .takes = takes,
    .add = add_digests,
    .query = query_digests,
    .count = count_digests,
    .add_keys8 = add_keys,
    .query_keys8 = query_keys,
};
