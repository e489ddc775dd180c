/*
 * cells.h - cells of 1 to 64 bits, as they stand in a section.
 *
 * Cell i takes the bits from i * bits on, lowest first. Memory reaches to a
 * whole word, and is zero behind the last cell.
 */
#ifndef UM_CODING_CELLS_H
#define UM_CODING_CELLS_H

#include "base/bits.h"

#include <stddef.h>

typedef struct um_packed {
    uint8_t *at; /* NULL: all are zero, or */
    uint64_t n;
    unsigned bits;
    bool ones; /* ... all are one: of one bit only */
} um_packed;

/* The largest that a cell can be. */
static inline uint64_t um_packed_max(const um_packed *c)
{
    return ~(uint64_t)0 >> (-c->bits & 63);
}

static inline uint64_t um_packed_bytes(const um_packed *c)
{
    return (c->n * c->bits + 7) / 8;
}

static inline uint64_t um_packed_get(const um_packed *c, uint64_t i)
{
    return c->at ? um_get_field(c->at, i * c->bits, c->bits, um_packed_max(c))
                 : 0;
}

static inline void um_packed_set(const um_packed *c, uint64_t i, uint64_t value)
{
    um_set_field(c->at, i * c->bits, c->bits, um_packed_max(c), value);
}

/* The n cells before cell end, the last first: much sooner than one by one. */
void um_packed_before(const um_packed *c, uint64_t end, size_t n,
                      uint64_t *out);

/* The n cells from cell i on become values, which fit. */
void um_packed_append(const um_packed *c, uint64_t i, const uint64_t *values,
                      size_t n);

/* Words that cells of one bit take; word w of them, zero behind the last. */
static inline uint64_t um_packed_words(const um_packed *c)
{
    return (c->n + 63) / 64;
}

static inline uint64_t um_packed_valid(const um_packed *c, uint64_t w)
{
    uint64_t left = c->n - 64 * w;
    return left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
}

static inline uint64_t um_packed_word(const um_packed *c, uint64_t w)
{
    return c->at ? um_load64(c->at + 8 * w) : -(uint64_t)c->ones;
}

#endif
