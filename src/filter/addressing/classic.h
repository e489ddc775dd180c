/*
 * classic.h - the walk of classic and partitioned, for loops that fuse it.
 */
#ifndef UM_ADDRESSING_CLASSIC_H
#define UM_ADDRESSING_CLASSIC_H

#include <stdint.h>

#define UM_CLASSIC_FACTOR UINT64_C(0xD1342543DE82EF95) /* on the wire */

/* From lo on, each step's high half of its product with m is a cell. */
static inline uint64_t um_classic_step(uint64_t x, uint64_t hi)
{
    return x * UM_CLASSIC_FACTOR + hi;
}

#endif
