/*
 * columns.h - which of up to 64 filters of one shape may hold a key.
 *
 * A filter has a column, and each place of an entry a row of bits, one for each
 * column: set where the filter has something there. So one look-up finds the
 * few filters that are worth asking. Bits are only ever set; a column is
 * cleared as a whole, when its filter has gone.
 */
#ifndef UM_FILTER_COLUMNS_H
#define UM_FILTER_COLUMNS_H

#include "base/bits.h"

#include <stddef.h>

enum { UM_COLUMNS_LEAST = 8, UM_COLUMNS_MOST = 64 };

typedef struct um_columns {
    uint8_t *at; /* there are 8 bytes behind the last row */
    size_t len;
    unsigned width; /* columns: a power of two */
} um_columns;

static inline uint64_t um_columns_row(const um_columns *c, uint64_t row)
{
    return um_get_field(c->at, row * c->width, c->width,
                        UINT64_MAX >> (64 - c->width));
}

static inline void um_columns_set(const um_columns *c, uint64_t row,
                                  unsigned column)
{
    uint8_t *at = c->at + row * (c->width / 8) + column / 8;

    *at = (uint8_t)(*at | 1U << column % 8);
}

#endif
