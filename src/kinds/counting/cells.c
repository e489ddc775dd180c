/*
 * cells.c - counts used cells in arrays of numbers.
 */
#include "kinds/counting/cells.h"

/* Returns a word with the lowest bit of each used cell set. The addition
 * carries from the other bits of a cell into its highest, and no further. */
static inline uint64_t used_of(const um_cells *c, uint64_t x)
{
    uint64_t others = c->in_word & ~c->highest;

    return ((((x & others) + others) | x) & c->highest) >> (c->width - 1);
}

/* Returns used_of for the cells from i to before end that are in one word. */
static uint64_t used_lanes(const um_cells *c, uint64_t i, uint64_t end)
{
    unsigned n = end - i < c->lanes ? (unsigned)(end - i) : c->lanes;
    uint64_t mask = c->in_word >> (c->lanes - n) * c->width;

    return used_of(c, um_get_field(c->at, i * c->width, n * c->width, mask));
}

/* Counts the used cells of whole words, in the cells of one word as long as
 * these can hold the sum. */
static uint64_t used_in_words(const um_cells *c, uint64_t word, uint64_t end)
{
    uint64_t most = c->max < 255 ? c->max : 255, sum = 0;

    while (word < end) {
        uint64_t some = end - word < most ? end - word : most, in_lanes = 0;
        for (uint64_t i = 0; i < some; i++)
            in_lanes += used_of(c, um_load64(c->at + 8 * (word + i)));
        for (; in_lanes; in_lanes = in_lanes >> (c->width - 1) >> 1)
            sum += in_lanes & c->max;
        word += some;
    }
    return sum;
}

uint64_t um_cells_used_in(const void *cells, uint64_t from, uint64_t n)
{
    const um_cells *c = cells;
    uint64_t sum = 0, i = from, end = from + n;
    uint64_t bit = from * c->width, words = n * c->width / 64;

    if (c->lanes * c->width == 64 && bit % 64 == 0) {
        sum = used_in_words(c, bit / 64, bit / 64 + words);
        i += words * c->lanes;
    }
    for (; i < end; i += c->lanes)
        sum += um_ones(used_lanes(c, i, end));
    return sum;
}

uint64_t um_cells_used(const um_cells *c, const um_cells *other, uint64_t n)
{
    uint64_t sum = 0;

    if (!other)
        return um_cells_used_in(c, 0, n);
    for (uint64_t i = 0; i < n; i++)
        sum += um_cell(c, i) || um_cell(other, i);
    return sum;
}

void um_cells_copy_bits(const um_cells *c, uint64_t n, uint8_t *bits)
{
    for (uint64_t i = 0; i < n; i += c->lanes) {
        uint64_t x = used_lanes(c, i, n), out = 0;
        unsigned some = n - i < c->lanes ? (unsigned)(n - i) : c->lanes;
        for (unsigned k = 0; k < some; k++)
            out |= (x >> k * c->width & 1) << k;
        uint64_t max = some < 64 ? ((uint64_t)1 << some) - 1 : UINT64_MAX;
        um_set_field(bits, i, some, max, out);
    }
}
