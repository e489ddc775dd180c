/*
 * hash_groups.h - keys that may go by one of several digests.
 *
 * In a filter with D groups every key has D digests. It is added by one of
 * them, and matches when it matches by any. Adding can choose the digest, so
 * that known non-members do not match (negatives/choose/choose.c).
 */
#ifndef UM_ADDRESSING_GROUPS_H
#define UM_ADDRESSING_GROUPS_H

#include "filter/addressing/addressing.h"

enum { UM_MAX_HASH_GROUPS = 8 };

/* A bijection, every output bit depends on all input bits (SplitMix64). */
static inline uint64_t um_group_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

/*
 * Returns the digest of group g; group 0 is the digest itself. On the wire.
 * Both halves go through the mixer: were small numbers only added or XORed,
 * group 0 of one dense integer key would be group 1 of another, and every
 * member would bring a false positive along.
 */
static inline umbel_digest um_group_digest(umbel_digest d, uint32_t g)
{
    if (g == 0)
        return d;
    uint64_t lo = um_group_mix(d.lo + g * UINT64_C(0x9E3779B97F4A7C15));
    return (umbel_digest){lo, um_group_mix(d.hi + lo)};
}

/* Cells of all groups of a digest: hashes of group 0, then of group 1, ... */
enum { UM_GROUPED_CELLS = UM_MAX_HASH_GROUPS * UM_MAX_HASHES };
void um_group_cells(const um_layout *l, uint32_t groups, umbel_digest d,
                    uint64_t pos[UM_GROUPED_CELLS]);

/* Returns the cost of adding by the cells of one group; 0: all are set. */
uint64_t um_group_cost(const um_layout *l, const uint8_t *bits,
                       const uint64_t *pos);

/* Returns the group that costs least, the first among equals. */
uint32_t um_cheapest_group(const um_layout *l, uint32_t groups,
                           const uint8_t *bits,
                           const uint64_t pos[UM_GROUPED_CELLS],
                           uint64_t *cost);

/* Returns the chance that one of that many independent trials succeeds. */
double um_groups_any(double chance, uint32_t groups);

/*
 * Return the false positive rate after that many keys, and the keys behind that
 * many used cells, when each key took the group with the fewest new cells.
 * Approximate: keys come in any order, and blocks are taken as alike.
 */
double um_groups_error(const um_layout *l, uint32_t groups, double keys);
double um_groups_keys(const um_layout *l, uint32_t groups, uint64_t used);

#endif
