/*
 * addressing.c - maps digests to cells: layouts, and umbel's own addressings
 * (classic, partitioned, blocked). Those of other programs and of the papers
 * are in compatible.c.
 */
#include "filter/addressing/addressing.h"

/* --- a layout: an addressing prepared for a size, and how it folds -------- */

void um_layout_init(um_layout *l, const um_addressing *row, uint64_t cells,
                    uint32_t hashes, uint64_t seed)
{
    *l = (um_layout){.row = row,
                     .cells = cells,
                     .hashes = hashes,
                     .seed = seed,
                     .blocks = 1,
                     .lanes = 1,
                     .width = cells,
                     .throws = hashes};
    if (row->prepare)
        row->prepare(l);
}

uint64_t um_granule(const um_addressing *row, uint32_t hashes)
{
    if (row->granule)
        return row->granule(hashes);
    return hashes >= 1 && hashes <= UM_MAX_HASHES ? row->block : 0;
}

uint64_t um_limit(const um_addressing *row, uint32_t hashes)
{
    return row->limit ? row->limit(hashes) : UM_MAX_CELLS;
}

uint64_t um_fold_parts(const um_layout *l)
{
    return l->row->block > 1 ? l->cells / l->row->block : l->width;
}

/* Rates a number by its small divisors: a divisor of 2 counts most. */
static uint64_t rate_divisors(uint64_t parts)
{
    enum { LARGEST = 60, UNIT = 720720 };
    uint64_t rating = 0;

    for (uint64_t d = 2; d <= LARGEST; d++)
        if (parts % d == 0)
            rating += UNIT / d;
    return rating;
}

/* Returns the best-rated number within 0.5 %, and at most 360 more: of 360
 * consecutive numbers, one has all divisors up to 6. */
uint64_t um_foldable_parts(uint64_t parts)
{
    uint64_t room = parts / 200 < 360 ? parts / 200 : 360;
    uint64_t best = parts, best_rating = rate_divisors(parts);

    for (uint64_t i = 1; i <= room; i++) {
        uint64_t rating = rate_divisors(parts + i);
        if (rating > best_rating)
            best = parts + i, best_rating = rating;
    }
    return best;
}

uint64_t um_fold_cell(const um_layout *l, uint64_t by, uint64_t cell)
{
    uint64_t unit = l->row->block;

    if (l->row->fold == UM_FOLD_PARTS)
        return cell % (l->cells / by);
    return cell / unit / by * unit + cell % unit;
}

/* --- k cells anywhere: the filter of 1970, with the fewest bits ------------
 *
 * A linear congruential sequence starts at lo, with an increment that depends
 * on the key; the high half of its product with m is the cell. Plain double
 * hashing (lo + i hi) would be a multiplication cheaper, but steps near 0, 1/2,
 * 1/3, ... of the range revisit cells, which puts a floor of about 2/(k m)
 * under the error: a target of 0.000001 at 3,000 keys would become 0.000002.
 *
 * A query costs k cache lines for a member, about two for other keys.
 */

static void classic_positions(const um_layout *l, const umbel_digest *d,
                              size_t n, uint64_t *pos)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = d[i].lo;
        for (uint32_t j = 0; j < l->hashes;
             j++, x = um_classic_step(x, d[i].hi))
            *pos++ = um_scale(x, l->cells);
    }
}

const um_addressing um_addressing_classic = {
    .name = "classic",
    .summary = "k cells anywhere: the fewest bits",
    .distinct = 1,
    .fold = UM_FOLD_NEIGHBOURS,
    .block = 1,
    .positions = classic_positions,
};

/*
 * partitioned: the same sequence, but step j stays in the j-th of k equal
 * slices (survey 2.1). The cells of a key are distinct; the error is a little
 * higher.
 */
static uint64_t slice_granule(uint32_t hashes)
{
    return hashes <= UM_MAX_HASHES ? hashes : 0;
}

static void slice_prepare(um_layout *l)
{
    l->lanes = l->hashes;
    l->width = l->cells / l->hashes;
    l->throws = 1;
}

static void slice_positions(const um_layout *l, const umbel_digest *d, size_t n,
                            uint64_t *pos)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = d[i].lo, slice = 0;
        for (uint32_t j = 0; j < l->hashes;
             j++, x = um_classic_step(x, d[i].hi)) {
            *pos++ = slice + um_scale(x, l->width);
            slice += l->width;
        }
    }
}

const um_addressing um_addressing_partitioned = {
    .name = "partitioned",
    .summary = "one cell in each of k slices: distinct cells",
    .distinct = UM_MAX_HASHES,
    .fold = UM_FOLD_NEIGHBOURS,
    .block = 1,
    .granule = slice_granule,
    .prepare = slice_prepare,
    .positions = slice_positions,
};

/* --- addressings whose k cells share one block of a cache line -------------
 *
 * A query costs one memory fetch instead of k. Blocks fill unevenly, so the
 * same error takes more bits than classic (measured in docs/KINDS.md).
 * Idea: Putze, Sanders, Singler 2007; the lanes: Apache Impala.
 *
 *   lo   block = high half of lo * blocks
 *   W    one 64-bit word per 8 hashes: W_0 = hi, W_g+1 = remix(W_g + lo)
 *
 * A block has 8 lanes, and each word gives one cell of every lane, so that a
 * vector instruction computes all eight at once. The last hashes, fewer than 8,
 * use consecutive lanes, starting at lane W & 7 and wrapping around.
 *
 *   blocked512   lane i of 64 cells: bits 63-6i .. 58-6i of W
 *   blocked256   lane i of 32 cells: with V = W << 5(i/2), the top five bits of
 *                V for odd i, of its low half for even i: two shifts and no
 *                multiplication in vector registers
 *   blocked128   lane i of 16 cells: bits 63-4i .. 60-4i of W. For counts:
 *                cells of 4 bits make a lane a 64-bit word, and a block a
 *                cache line
 */

enum { LANES = 8 };

typedef uint32_t lane_cell(uint64_t word, uint32_t lane);

static inline uint32_t cell512(uint64_t word, uint32_t lane)
{
    return lane * 64 + (uint32_t)(word >> (58 - 6 * lane) & 63);
}

static inline uint32_t cell256(uint64_t word, uint32_t lane)
{
    uint64_t v = word << 5 * (lane / 2);
    return lane * 32 + (uint32_t)(v >> (lane & 1 ? 59 : 27) & 31);
}

static inline uint32_t cell128(uint64_t word, uint32_t lane)
{
    return lane * 16 + (uint32_t)(word >> (60 - 4 * lane) & 15);
}

static inline void walk(const um_layout *l, const umbel_digest *d, size_t n,
                        uint64_t *pos, uint32_t block_cells, lane_cell *cell)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t base = um_scale(d[i].lo, l->blocks) * block_cells;
        uint64_t word = d[i].hi;
        for (uint32_t left = l->hashes; left;) {
            uint32_t take = left < LANES ? left : LANES;
            uint32_t start = take < LANES ? word & 7 : 0;
            for (uint32_t j = 0; j < take; j++)
                *pos++ = base + cell(word, (start + j) % LANES);
            left -= take;
            word = um_remix(word + d[i].lo);
        }
    }
}

static void prepare(um_layout *l)
{
    l->blocks = l->cells / l->row->block;
    l->lanes = LANES;
    l->width = l->row->block / LANES;
    l->throws = l->hashes / LANES;
    l->extra = (uint16_t)(l->hashes % LANES);
}

#define BLOCKED(size, text)                                                    \
    static void positions##size(const um_layout *l, const umbel_digest *d,     \
                                size_t n, uint64_t *pos)                       \
    {                                                                          \
        walk(l, d, n, pos, size, cell##size);                                  \
    }                                                                          \
    const um_addressing um_addressing_blocked##size = {                        \
        .name = "blocked" #size,                                               \
        .summary = text,                                                       \
        .distinct = LANES,                                                     \
        .fold = UM_FOLD_NEIGHBOURS,                                            \
        .block = size,                                                         \
        .prepare = prepare,                                                    \
        .positions = positions##size,                                          \
    };

BLOCKED(512, "all cells in one cache line; the default")
BLOCKED(256, "all cells in half a cache line; more bits")
BLOCKED(128, "all cells of 4 bits in one cache line: for counts")

/* --- the lanes of a block that the last hashes of a key use ----------------
 *
 * The last r hashes use r consecutive lanes, starting at lane word & 7 (see
 * above): lane i is used when (i - start) mod 8 < r. A row contains that
 * pattern twice, so that the lanes in order begin at entry 8 - start. An entry
 * is the lowest cell of a used lane, or 0: shifted by a cell number it gives
 * that cell, or none.
 */

#define USED(T, i, r) ((T)((i) < (r)))
#define EIGHT(T, r)                                                            \
    USED(T, 0, r), USED(T, 1, r), USED(T, 2, r), USED(T, 3, r), USED(T, 4, r), \
        USED(T, 5, r), USED(T, 6, r), USED(T, 7, r)
#define TWICE(T, r) EIGHT(T, r), EIGHT(T, r)
#define ALL_R(T)                                                               \
    {                                                                          \
        TWICE(T, 8), TWICE(T, 1), TWICE(T, 2), TWICE(T, 3), TWICE(T, 4),       \
            TWICE(T, 5), TWICE(T, 6), TWICE(T, 7)                              \
    }

const uint32_t um_lanes32[UM_LANES] = ALL_R(uint32_t);
const uint64_t um_lanes64[UM_LANES] = ALL_R(uint64_t);
