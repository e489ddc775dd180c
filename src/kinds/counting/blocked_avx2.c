/*
 * blocked_avx2.c - counting on blocked128 with AVX2: cells of 4 bits and of 8
 * bits, plain and refined.
 *
 * Keys are processed in order, since the next may use the same block. The old
 * values of cells are evaluated for four keys together.
 */
#include "kinds/blocked/blocked_avx2.h"
#include "kinds/counting/counting.h"

/* --- counts in a block -----------------------------------------------------
 *
 * A key has at most one cell in each of the eight lanes of its block
 * (filter/addressing/addressing.c), so all lanes are processed at once:
 *
 *   4 bits   a lane is a 64-bit word; shifted by four times the cell's number,
 *            its lowest bits are the cell
 *   8 bits   a lane is half a vector, and a cell a byte: shuffles extract it,
 *            comparisons with 0, 1, 2 ... give its position
 *
 * Lanes without a cell of the key are treated as full: so they do not affect
 * the minimum, and do not grow. There is no branch that depends on a cell.
 */

/* Changes to a key's cells: none, all grow, only the smallest grow. */
enum { LINE_READ, LINE_ADD, LINE_RAISE };

/*
 * The r hashes use consecutive lanes, starting at lane s = word & 7: lane i is
 * unused when (i - s) mod 8 >= r. Indexed by r mod 8 and s.
 */
#define NOT(T, i, s, r) (T)((((i) - (s)) & 7) < (r) ? 0 : ~UINT64_C(0))
#define LANES(T, s, r)                                                         \
    {                                                                          \
        NOT(T, 0, s, r), NOT(T, 1, s, r), NOT(T, 2, s, r), NOT(T, 3, s, r),    \
            NOT(T, 4, s, r), NOT(T, 5, s, r), NOT(T, 6, s, r), NOT(T, 7, s, r) \
    }
#define STARTS(T, r)                                                           \
    {                                                                          \
        LANES(T, 0, r), LANES(T, 1, r), LANES(T, 2, r), LANES(T, 3, r),        \
            LANES(T, 4, r), LANES(T, 5, r), LANES(T, 6, r), LANES(T, 7, r)     \
    }
#define UNUSED(T)                                                              \
    {                                                                          \
        STARTS(T, 8), STARTS(T, 1), STARTS(T, 2), STARTS(T, 3), STARTS(T, 4),  \
            STARTS(T, 5), STARTS(T, 6), STARTS(T, 7)                           \
    }

static const _Alignas(64) uint64_t unused_words[8][8][8] = UNUSED(uint64_t);
static const uint8_t unused_bytes[8][8][8] = UNUSED(uint8_t);

UM_INLINE __m256i all64(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

UM_INLINE __m256i all16(short x)
{
    return _mm256_set1_epi16(x);
}

UM_INLINE __m256i all8(int x)
{
    return _mm256_set1_epi8((char)x);
}

/* Returns the sign bits of eight 32-bit numbers. */
UM_INLINE unsigned signs(__m256i x)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

/* --- cells of 4 bits ------------------------------------------------------ */

/* Returns the minimum of eight numbers below 2^15, at most 14, in every 16
 * bits. */
UM_INLINE __m256i least_below_15(__m256i eight)
{
    __m128i x = _mm_packus_epi32(_mm256_castsi256_si128(eight),
                                 _mm256_extracti128_si256(eight, 1));

    x = _mm_minpos_epu16(_mm_min_epu16(x, _mm_set1_epi16(14)));
    return _mm256_broadcastw_epi16(x);
}

/*
 * Returns the key's cells, before any change, in 32 bits each, and 15 for
 * unused lanes. In order of lanes: 0 1 4 5 2 3 6 7.
 */
UM_INLINE __m256i line4(uint8_t *p, uint64_t word, uint32_t hashes, int verb)
{
    const uint64_t *unused = unused_words[hashes % 8][word & 7];
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
    if (verb == LINE_ADD) {
        UM_EACH cell[g] = _mm256_cmpgt_epi64(all64(15), cell[g]); /* -1 or 0 */
        UM_EACH cell[g] = _mm256_sllv_epi64(cell[g], by[g]);
        UM_EACH um_write_avx2(p + 32 * g, _mm256_sub_epi64(x[g], cell[g]));
    } else if (verb == LINE_RAISE) {
        __m256i least = least_below_15(eight);
        UM_EACH cell[g] = _mm256_cmpeq_epi16(cell[g], least);
        UM_EACH cell[g] = _mm256_and_si256(cell[g], all64(1));
        UM_EACH cell[g] = _mm256_sllv_epi64(cell[g], by[g]);
        UM_EACH um_write_avx2(p + 32 * g, _mm256_add_epi64(x[g], cell[g]));
    }
    return eight;
}

/* Packs the cells of four keys into bytes: 32-bit element j of both halves is
 * from key j. */
UM_INLINE __m256i pack4(const __m256i cells[4])
{
    return _mm256_packus_epi16(_mm256_packus_epi32(cells[0], cells[1]),
                               _mm256_packus_epi32(cells[2], cells[3]));
}

/* Sets bit j of the result if a cell of key j is 0. */
UM_INLINE unsigned line4_zeros(const __m256i cells[4])
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i empty = _mm256_cmpeq_epi8(pack4(cells), zero);
    unsigned none = signs(_mm256_cmpeq_epi32(empty, zero));

    return ~(none & none >> 4) & 15;
}

/* Returns the minimum of the cells of each key. */
UM_INLINE __m128i line4_least(const __m256i cells[4])
{
    __m256i four = pack4(cells);
    __m128i x = _mm_min_epu8(_mm256_castsi256_si128(four),
                             _mm256_extracti128_si256(four, 1));

    x = _mm_min_epu8(x, _mm_srli_epi32(x, 16));
    x = _mm_min_epu8(x, _mm_srli_epi32(x, 8));
    return _mm_and_si128(x, _mm_set1_epi32(255));
}

/*
 * To compare cells with 0 they need not be shifted: their bytes are extracted,
 * for four keys together. In the vector for four keys, 4 bytes in each half
 * belong to one key: its lanes 0 1 4 5 and 2 3 6 7. A block is two vectors,
 * with lanes 0 1 | 2 3 and 4 5 | 6 7, so that a shuffle can move a key's cells
 * to their positions, where a blend combines them with the others.
 */
typedef struct ask4 {
    __m256i at;   /* index of the byte that contains the cell */
    __m256i half; /* the cell's bits in that byte */
    __m256i used; /* lanes that have a cell */
} ask4;

/* Loads two words into each half of a vector. */
UM_INLINE __m256 two_words(const uint64_t *words)
{
    return _mm256_broadcast_ps((const __m128 *)(const void *)words);
}

UM_INLINE __m256i used4(__m256i low, uint32_t hashes)
{
    const __m256i first = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
    const __m256i lane =
        _mm256_setr_epi32(0x05040100, 0x05040100, 0x05040100, 0x05040100,
                          0x07060302, 0x07060302, 0x07060302, 0x07060302);
    __m256i from = _mm256_sub_epi8(lane, _mm256_shuffle_epi8(low, first));

    return _mm256_cmpgt_epi8(all8((int)hashes),
                             _mm256_and_si256(from, all8(7)));
}

/*
 * Computes the bytes and masks of four keys' cells. The upper 32 bits of a word
 * are the eight cell numbers, two per byte. Each byte is used twice: first for
 * its upper half, then, as the upper byte of 16 bits, for its lower half, which
 * belongs to the second lane, 8 bytes later.
 */
UM_INLINE ask4 ask4_of(const uint64_t words[4], uint32_t hashes)
{
    const __m256i twice =
        _mm256_setr_epi8(3, 3, 1, 1, 7, 7, 5, 5, 11, 11, 9, 9, 15, 15, 13, 13,
                         2, 2, 0, 0, 6, 6, 4, 4, 10, 10, 8, 8, 14, 14, 12, 12);
    __m256 a = two_words(words), b = two_words(words + 2);
    __m256i low = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
    __m256i high = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));
    __m256i cell = _mm256_shuffle_epi8(high, twice);
    __m256i odd = _mm256_and_si256(cell, all16(0x0110));
    __m256i even = _mm256_cmpeq_epi8(odd, _mm256_setzero_si256());
    __m256i at = _mm256_or_si256(
        _mm256_and_si256(_mm256_srli_epi16(cell, 5), all16(0x0007)),
        _mm256_and_si256(_mm256_srli_epi16(cell, 1), all16(0x0700)));

    return (ask4){.at = _mm256_or_si256(at, all16(0x0800)),
                  .half = _mm256_xor_si256(even, all8(0xF0)),
                  .used = used4(low, hashes)};
}

/* Combines 32 bits of each vector in both halves: element j is from x[j]. */
UM_INLINE __m256i join(const __m256i x[4])
{
    return _mm256_blend_epi32(_mm256_blend_epi32(x[0], x[1], 0x22),
                              _mm256_blend_epi32(x[2], x[3], 0x88), 0xCC);
}

/* Sets bit j of the result if no cell of key j, whose block is at p[j], is
 * 0. */
UM_INLINE unsigned line4_has(uint8_t *const p[4], const uint64_t words[4],
                             uint32_t hashes)
{
    const __m256i zero = _mm256_setzero_si256();
    ask4 a = ask4_of(words, hashes);
    __m256i x[4], y[4];

    for (int j = 0; j < 4; j++) {
        x[j] = _mm256_shuffle_epi8(um_load_avx2(p[j]), a.at);
        y[j] = _mm256_shuffle_epi8(um_load_avx2(p[j] + 32), a.at);
    }
    __m256i bytes = _mm256_blend_epi16(join(x), join(y), 0xAA);
    __m256i empty = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, a.half), zero);
    empty = _mm256_and_si256(empty, a.used);
    unsigned none = signs(_mm256_cmpeq_epi32(empty, zero));
    return none & none >> 4 & 15;
}

/* --- cells of 8 bits ------------------------------------------------------ */

enum { PARTS = 4 }; /* vectors per block, with two lanes each */
#define EACH_PART for (size_t j = 0; j < PARTS; j++)

/*
 * Returns the numbers of the key's cells: byte 7 - j of the lower half for lane
 * 2j, of the upper half for lane 2j + 1; its highest bit is set if the lane is
 * unused.
 */
UM_INLINE __m256i numbers8(uint64_t word, uint32_t hashes)
{
    const __m256i order =
        _mm256_setr_epi64x(0x0002040600000000, 0, 0x0103050700000000, 0);
    uint64_t unused = um_load64(unused_bytes[hashes % 8][word & 7]);
    __m256i x = _mm256_srlv_epi64(all64(word), _mm256_setr_epi64x(4, 4, 0, 0));

    x = _mm256_and_si256(x, all8(15));
    return _mm256_or_si256(x, _mm256_shuffle_epi8(all64(unused), order));
}

/* Returns the maximum of the two halves, in both. */
UM_INLINE __m256i larger_half(__m256i x)
{
    return _mm256_max_epu8(x, _mm256_permute2x128_si256(x, x, 1));
}

/*
 * Returns 255 minus the key's cells, before any change: the maximum is in every
 * byte of one half. A number with the highest bit set selects 0, which is full.
 */
UM_INLINE __m256i line8(uint8_t *p, uint64_t word, uint32_t hashes, int verb)
{
    const __m256i ones = all8(255);
    const __m256i places = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m256i numbers = numbers8(word, hashes);
    __m256i x[PARTS], at[PARTS], most = _mm256_setzero_si256();

    EACH_PART x[j] = um_load_avx2(p + 32 * j);
    EACH_PART at[j] = _mm256_shuffle_epi8(numbers, all8((int)(7 - j)));
    EACH_PART most = _mm256_max_epu8(
        most, _mm256_shuffle_epi8(_mm256_xor_si256(x[j], ones), at[j]));
    if (verb == LINE_ADD || verb == LINE_RAISE)
        EACH_PART at[j] = _mm256_cmpeq_epi8(at[j], places);
    if (verb == LINE_ADD) {
        EACH_PART at[j] = _mm256_and_si256(at[j], all8(1));
        EACH_PART um_write_avx2(p + 32 * j, _mm256_adds_epu8(x[j], at[j]));
    } else if (verb == LINE_RAISE) {
        __m256i least = _mm256_xor_si256(larger_half(most), ones);
        __m256i goal = _mm256_adds_epu8(least, all8(1));
        EACH_PART at[j] = _mm256_and_si256(at[j], goal);
        EACH_PART um_write_avx2(p + 32 * j, _mm256_max_epu8(x[j], at[j]));
    }
    return most;
}

/* Sets bit j of the result if a cell of key j is 0. */
UM_INLINE unsigned line8_zeros(const __m256i cells[4])
{
    unsigned zero = signs(_mm256_cmpeq_epi32(join(cells), all8(255)));
    return (zero | zero >> 4) & 15;
}

/* Returns the minimum of the cells of each key. */
UM_INLINE __m128i line8_least(const __m256i cells[4])
{
    __m256i four = join(cells);
    __m128i x = _mm_max_epu8(_mm256_castsi256_si128(four),
                             _mm256_extracti128_si256(four, 1));

    return _mm_andnot_si128(x, _mm_set1_epi32(255));
}

enum { MAX_HASHES = 8, SHIFT4 = 6, SHIFT8 = 7 };
enum { ADD_REFINED = UM_ADD + 1 }; /* a verb; UM_ADD is plain */

/* --- answers -------------------------------------------------------------- */

/* Applies the operation to a key's cells, and returns them as they were
 * before. */
UM_INLINE __m256i touch(const um_target *t, uint8_t *p, uint64_t word,
                        um_loop_config how)
{
    int change = how.verb == UM_ADD        ? LINE_ADD
                 : how.verb == ADD_REFINED ? LINE_RAISE
                                           : LINE_READ;

    if (how.shift == SHIFT8)
        return line8(p, word, t->hashes, change);
    return line4(p, word, t->hashes, change);
}

UM_INLINE unsigned zeros(const __m256i cells[4], um_loop_config how)
{
    return how.shift == SHIFT8 ? line8_zeros(cells) : line4_zeros(cells);
}

UM_INLINE __m128i least(const __m256i cells[4], um_loop_config how)
{
    return how.shift == SHIFT8 ? line8_least(cells) : line4_least(cells);
}

UM_INLINE void store_counts(uint64_t *out, __m128i counts, size_t n)
{
    uint64_t four[4];

    um_write_avx2(four, _mm256_cvtepu32_epi64(counts));
    memcpy(out, four, n * sizeof *out);
}

/* Returns which of keys i .. i+3 match, for cells of 4 bits, which need no
 * shift. */
UM_INLINE unsigned has4(const um_target *t, const um_eight *e, size_t i,
                        um_loop_config how)
{
    uint8_t *p[4];

    for (size_t j = 0; j < 4; j++)
        p[j] = um_block_at(t, e, i + j, how);
    return line4_has(p, e->word[0] + i, t->hashes);
}

UM_INLINE __m256i touch_of(const um_target *t, const um_eight *e, size_t i,
                           um_loop_config how)
{
    return touch(t, um_block_at(t, e, i, how), e->word[0][i], how);
}

/* Processes n keys, at most four, starting with the i-th. */
UM_INLINE void serve4(um_work *w, const um_eight *e, size_t i, size_t n,
                      size_t out, um_loop_config how)
{
    __m256i cells[4];

    if (how.verb == UM_QUERY && how.shift == SHIFT4) {
        um_store_bits((bool *)w->out + out, has4(&w->t, e, i, how), n);
        return;
    }
    cells[0] = touch_of(&w->t, e, i, how);
    cells[1] = cells[2] = cells[3] = cells[0];
    for (size_t j = 1; j < n; j++) /* in order */
        cells[j] = touch_of(&w->t, e, i + j, how);
    if (how.verb == UM_COUNT) {
        store_counts((uint64_t *)w->out + out, least(cells, how), n);
        return;
    }
    unsigned fresh = zeros(cells, how);
    if (how.verb != UM_QUERY)
        w->added += (size_t)__builtin_popcount(fresh & ((1u << n) - 1));
    if (w->out)
        um_store_bits((bool *)w->out + out,
                      how.verb == UM_QUERY ? fresh ^ 15 : fresh, n);
}

UM_INLINE void serve(um_work *w, const um_eight *e, size_t n, size_t out,
                     um_loop_config how)
{
    for (size_t i = 0; i < n; i += 4)
        serve4(w, e, i, n - i < 4 ? n - i : 4, out + i, how);
}

/* --- the row -------------------------------------------------------------- */

UM_INLINE um_work work_on(const um_counting *c, uint64_t seed, void *out)
{
    return (um_work){
        .t = um_target_of(c->layout, c->cells.at, um_xxh3_flip(seed)),
        .out = out};
}

UM_INLINE um_loop_config way_of(int verb, int shift)
{
    return (um_loop_config){
        .verb = verb, .shift = shift, .apart = true, .groups = 1};
}

/* Processes all keys, in separate loops for each width and update. */
UM_INLINE size_t serve_all(const void *self, uint64_t seed, int sort,
                           const void *keys, size_t n, void *out, int verb,
                           int block)
{
    const um_counting *c = self;
    um_work w = work_on(c, seed, out);
    bool raises = verb == UM_ADD && c->refined;

    (void)block;
    if (c->cells.width == 8 && raises)
        um_walk(&w, sort, keys, n, way_of(ADD_REFINED, SHIFT8), serve);
    else if (c->cells.width == 8)
        um_walk(&w, sort, keys, n, way_of(verb, SHIFT8), serve);
    else if (raises)
        um_walk(&w, sort, keys, n, way_of(ADD_REFINED, SHIFT4), serve);
    else
        um_walk(&w, sort, keys, n, way_of(verb, SHIFT4), serve);
    return w.added;
}

/* Returns true if a cell is, or was, zero. */
UM_INLINE bool lacks(const um_target *t, uint64_t lo, um_loop_config how)
{
    uint8_t *p = t->memory + um_block_of(t, lo, how);
    __m256i cells = touch(t, p, um_remix(lo), how);
    const __m256i four[4] = {cells, cells, cells, cells};

    return zeros(four, how) & 1;
}

UM_INLINE bool serve_one(const umbel_filter *f, uint64_t lo, int verb,
                         int block, int groups)
{
    const um_counting *c = um_self(f);
    const um_target t = um_target_of(&f->layout, c->cells.at, 0);
    bool wide = c->cells.width == 8;

    (void)block, (void)groups; /* more than eight hashes are not supported */
    if (verb == UM_ADD && c->refined)
        return wide ? lacks(&t, lo, way_of(ADD_REFINED, SHIFT8))
                    : lacks(&t, lo, way_of(ADD_REFINED, SHIFT4));
    bool lacked = wide ? lacks(&t, lo, way_of(verb, SHIFT8))
                       : lacks(&t, lo, way_of(verb, SHIFT4));
    return lacked == (verb == UM_ADD);
}

static void count_digests(const void *self, const umbel_digest *d, size_t n,
                          uint64_t *counts)
{
    serve_all(self, 0, UM_DIGESTS, d, n, counts, UM_COUNT, 128);
}

static bool usable(const um_layout *l)
{
    return um_use_avx2() && l->hashes <= MAX_HASHES;
}

static bool takes(const um_shape *s)
{
    uint64_t bits = s->setting[UM_COUNTING_BITS];
    return bits == 4 || bits == 8;
}

UM_FAST_ROW(avx2, counting, 128, takes, count_digests, )
