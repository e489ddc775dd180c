/*
 * blocked.c - addressings whose k cells share one block of a cache line.
 *
 * A query costs one memory fetch instead of k. Blocks fill unevenly, so the
 * same error takes more bits than classic.c (measured in docs/KINDS.md).
 * Idea: Putze, Sanders, Singler 2007; the lanes: Apache Impala.
 *
 *   lo   block = high half of lo * blocks
 *   W    one 64-bit word per 8 hashes: W_0 = hi, W_g+1 = remix(W_g + lo)
 *
 * A block has 8 lanes, and each word gives one cell of every lane, so that a
 * vector instruction makes all eight at once. The last hashes, fewer than 8, go
 * to neighbouring lanes (round the end) from lane W & 7 on.
 *
 *   blocked512   lane i of 64 cells: bits 63-6i .. 58-6i of W
 *   blocked256   lane i of 32 cells: with V = W << 5(i/2), the top five bits of
 *                V for odd i, of its low half for even i: two shifts and no
 *                multiplication in vector registers
 *   blocked128   lane i of 16 cells: bits 63-4i .. 60-4i of W. For counts:
 * cells of 4 bits make a lane a 64-bit word, and a block a cache line
 */
#include "filter/addressing/rows.h"

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
