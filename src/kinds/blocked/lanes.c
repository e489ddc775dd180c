/*
 * lanes.c - which lanes of a block the last hashes of a key use.
 *
 * The last hashes, r of them, go to r neighbouring lanes from lane word & 7 on
 * (filter/addressing/blocked.c): lane i is used when (i - start) mod 8 < r. A
 * row has that twice, so that the lanes in their order begin at entry 8 -
 * start. An entry is the lowest cell of a lane that is used, or 0: shifted by
 * the number of a cell it is that cell, or none.
 */
#include "kinds/blocked/lanes.h"

#define USED(T, i, r) ((T)((i) < (r)))
#define EIGHT(T, r)                                                            \
    USED(T, 0, r), USED(T, 1, r), USED(T, 2, r), USED(T, 3, r), USED(T, 4, r), \
        USED(T, 5, r), USED(T, 6, r), USED(T, 7, r)
#define TWICE(T, r) EIGHT(T, r), EIGHT(T, r)
#define ALL_R(T)                                                               \
    {                                                                          \
        TWICE(T, 8), TWICE(T, 1), TWICE(T, 2), TWICE(T, 3), TWICE(T, 4),       \
            TWICE(T, 5), TWICE(T, 6), TWICE(T, 7)                              \
    }

const uint32_t um_lanes32[UM_LANES] = ALL_R(uint32_t);
const uint64_t um_lanes64[UM_LANES] = ALL_R(uint64_t);
