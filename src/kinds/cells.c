/*
 * cells.c - cells that are numbers, taken as bits: in use, or zero.
 */
#include "kinds/cells.h"

/* As many cells as a word holds are looked at together. */
typedef struct lanes {
    unsigned n;
    uint64_t lowest; /* bit of each */
} lanes;

static lanes lanes_of(const um_cells *c)
{
    unsigned n = 64 / c->width;

    return (lanes){n, (UINT64_MAX >> (64 - n * c->width)) / c->max};
}

/* The lowest bit of each cell in use, of those from i on and before end. */
static uint64_t used_lanes(const um_cells *c, const lanes *l, uint64_t i,
                           uint64_t end)
{
    unsigned n = end - i < l->n ? (unsigned)(end - i) : l->n;
    unsigned bits = n * c->width, covered = 1;
    uint64_t x =
        um_get_field(c->at, i * c->width, bits, UINT64_MAX >> (64 - bits));

    for (; 2 * covered <= c->width; covered *= 2)
        x |= x >> covered;
    if (covered < c->width)
        x |= x >> (c->width - covered);
    return x & l->lowest;
}

uint64_t um_cells_used_in(const void *cells, uint64_t from, uint64_t n)
{
    lanes l = lanes_of(cells);
    uint64_t sum = 0;

    for (uint64_t i = from; i < from + n; i += l.n)
        sum += um_ones(used_lanes(cells, &l, i, from + n));
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
    lanes l = lanes_of(c);

    for (uint64_t i = 0; i < n; i += l.n) {
        uint64_t x = used_lanes(c, &l, i, n), out = 0;
        unsigned some = n - i < l.n ? (unsigned)(n - i) : l.n;
        for (unsigned k = 0; k < some; k++)
            out |= (x >> k * c->width & 1) << k;
        uint64_t max = some < 64 ? ((uint64_t)1 << some) - 1 : UINT64_MAX;
        um_set_field(bits, i, some, max, out);
    }
}
