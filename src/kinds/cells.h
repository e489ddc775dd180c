/*
 * cells.h - an array of cells of 1 to 32, or 64, bits.
 *
 * Cell i takes the bits from i * width on, lowest first, and may lie across two
 * words. Words are read and written whole: sections end at a multiple of 64
 * bytes, so none reaches past its section.
 */
#ifndef UM_KINDS_CELLS_H
#define UM_KINDS_CELLS_H

#include "base/bits.h"

typedef struct um_cells {
    uint8_t *at;
    uint32_t width;
    uint64_t max; /* 2^width - 1 */
} um_cells;

static inline um_cells um_cells_of(void *memory, uint32_t width)
{
    return (um_cells){memory, width, UINT64_MAX >> (64 - width)};
}

/* a + b, which sticks at max; a is at most that. */
static inline uint64_t um_grown(uint64_t a, uint64_t b, uint64_t max)
{
    return b >= max - a ? max : a + b;
}

static inline uint64_t um_cell(const um_cells *c, uint64_t i)
{
    uint64_t bit = i * c->width, shift = bit & 63;
    const uint8_t *word = c->at + (bit >> 6) * 8;
    uint64_t x = um_load64(word) >> shift;

    if (shift + c->width > 64)
        x |= um_load64(word + 8) << (-shift & 63);
    return x & c->max;
}

static inline void um_set_cell(const um_cells *c, uint64_t i, uint64_t value)
{
    uint64_t bit = i * c->width, shift = bit & 63;
    uint8_t *word = c->at + (bit >> 6) * 8;

    um_store64(word, (um_load64(word) & ~(c->max << shift)) | value << shift);
    if (shift + c->width > 64) {
        uint64_t done = -shift & 63; /* in the first word */
        um_store64(word + 8,
                   (um_load64(word + 8) & ~(c->max >> done)) | value >> done);
    }
}

#endif
