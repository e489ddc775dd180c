/*
 * hash_groups.h - keys with a choice of several digests.
 *
 * In a filter with D groups every key has D digests. It is added with one of
 * them, and matches when any of them matches. Adding can choose the digest so
 * that known non-members do not match (negatives/choose/choose.c).
 */
#ifndef UM_ADDRESSING_GROUPS_H
#define UM_ADDRESSING_GROUPS_H

#include "filter/addressing/addressing.h"

enum { UM_MAX_HASH_GROUPS = 8 };

/* Mixes x by a bijection in which every output bit depends on all input bits
 * (SplitMix64). */
static inline uint64_t um_group_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

/*
 * Returns the digest of group g; group 0 is the digest itself. On the wire.
 * Both halves are mixed: if g were only added or XORed, group 0 of one integer
 * key would be group 1 of its neighbour, and every member would cause a false
 * positive.
 */
static inline umbel_digest um_group_digest(umbel_digest d, uint32_t g)
{
    if (g == 0)
        return d;
    uint64_t lo = um_group_mix(d.lo + g * UINT64_C(0x9E3779B97F4A7C15));
    return (umbel_digest){lo, um_group_mix(d.hi + lo)};
}

/* Computes the cells of a digest in all groups: those of group 0, then of group
 * 1, ... */
enum { UM_GROUPED_CELLS = UM_MAX_HASH_GROUPS * UM_MAX_HASHES };
void um_group_cells(const um_layout *l, uint32_t groups, umbel_digest d,
                    uint64_t pos[UM_GROUPED_CELLS]);

/* Returns the cost of adding with the cells of one group; 0: all are set. */
uint64_t um_group_cost(const um_layout *l, const uint8_t *bits,
                       const uint64_t *pos);

/* Returns the group with the lowest cost, the first among equals. */
uint32_t um_cheapest_group(const um_layout *l, uint32_t groups,
                           const uint8_t *bits,
                           const uint64_t pos[UM_GROUPED_CELLS],
                           uint64_t *cost);

/* Returns the probability that at least one of `groups` independent trials
 * succeeds. */
double um_groups_any(double chance, uint32_t groups);

/*
 * Return the false positive rate after this many keys, and the number of keys
 * for this many used cells, when each key used the group with the fewest new
 * cells. Approximate: keys come in any order, and blocks are assumed to be
 * alike.
 */
double um_groups_error(const um_layout *l, uint32_t groups, double keys);
double um_groups_keys(const um_layout *l, uint32_t groups, uint64_t used);

#endif
