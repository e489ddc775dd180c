/*
 * lanes.h - which lanes of a block the last hashes of a key use.
 */
#ifndef UM_KINDS_LANES_H
#define UM_KINDS_LANES_H

#include "filter/addressing.h"

/* A row of 16 for each number of last hashes mod 8. An entry has the bits of a
 * lane: 32 for blocks of 256 cells, 64 for 512. */
enum { UM_LANES = 8 * 16 };
extern const uint32_t um_lanes32[UM_LANES];
extern const uint64_t um_lanes64[UM_LANES];

/*
 * Returns the entry where the eight lanes are for a key whose last word begins
 * at lane 0; at lane i, they are i entries before.
 */
static inline uint32_t um_lanes_at(const um_layout *l)
{
    return l->hashes % 8 * 16 + 8;
}

#endif
