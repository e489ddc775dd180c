/*
 * cells.c - cells that are numbers, taken as bits: in use, or zero.
 */
#include "kinds/cells.h"

uint64_t um_cells_used_in(const void *cells, uint64_t from, uint64_t n)
{
    uint64_t sum = 0;

    for (uint64_t i = from; i < from + n; i++)
        sum += um_cell(cells, i) != 0;
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
    for (uint64_t i = 0; i < n; i++)
        if (um_cell(c, i))
            um_set_bit(bits, i);
}
