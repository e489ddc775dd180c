/*
 * sums.h - the counts of many filters of one shape, added up cell by cell.
 *
 * A digest has some cells, and each filter that has it adds at least its count
 * to all of them. So the least of these cells is never below the sum of the
 * filters' own answers, and mostly not far above: enough to tell that a sum
 * does not reach a threshold. Sums only grow, and stick at their maximum. When
 * filters have gone, they are made anew.
 */
#ifndef UM_FILTER_SUMS_H
#define UM_FILTER_SUMS_H

#include <stddef.h>
#include <stdint.h>

enum { UM_SUMS_MOST = 255 }; /* or more */

typedef struct um_sums {
    uint8_t *at;
    size_t len;
} um_sums;

static inline void um_sums_grow(uint8_t *sum, uint64_t by)
{
    *sum = by < (uint64_t)(UM_SUMS_MOST - *sum) ? (uint8_t)(*sum + by)
                                                : UM_SUMS_MOST;
}

#endif
