/*
 * cells.h - an array of cells of 1 to 32, or 64, bits.
 *
 * Cell i takes the bits from i * width on. Words are read and written whole:
 * sections end at a multiple of 64 bytes, so none reaches past its section.
 */
#ifndef UM_KINDS_CELLS_H
#define UM_KINDS_CELLS_H

#include "base/bits.h"

typedef struct um_cells {
    uint8_t *at;
    uint32_t width;
    uint64_t max; /* 2^width - 1 */
    /* As many cells as a word holds are looked at together. */
    uint32_t lanes;
    uint64_t in_word, highest; /* bits: of all these; the highest of each */
} um_cells;

static inline um_cells um_cells_of(void *memory, uint32_t width)
{
    uint64_t max = UINT64_MAX >> (64 - width);
    uint32_t lanes = 64 / width;
    uint64_t in_word = UINT64_MAX >> (64 - lanes * width);

    return (um_cells){memory, width,   max,
                      lanes,  in_word, in_word / max << (width - 1)};
}

/* a + b, which sticks at max; a is at most that. */
static inline uint64_t um_grown(uint64_t a, uint64_t b, uint64_t max)
{
    return b >= max - a ? max : a + b;
}

static inline uint64_t um_cell(const um_cells *c, uint64_t i)
{
    return um_get_field(c->at, i * c->width, c->width, c->max);
}

static inline void um_set_cell(const um_cells *c, uint64_t i, uint64_t value)
{
    um_set_field(c->at, i * c->width, c->width, c->max, value);
}

/* Counts the cells in use among the n from the cell from on; takes um_cells. */
uint64_t um_cells_used_in(const void *cells, uint64_t from, uint64_t n);
/* Counts the cells in use among n; with other, in use here or there. */
uint64_t um_cells_used(const um_cells *c, const um_cells *other, uint64_t n);
/* Sets the bits of the cells in use. */
void um_cells_copy_bits(const um_cells *c, uint64_t n, uint8_t *bits);

#endif
