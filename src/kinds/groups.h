/*
 * groups.h - keys that may go by one of several digests.
 *
 * In a filter with D groups every key has D digests. It is added by one of
 * them, and matches when it matches by any. Who adds may choose, so that keys
 * known to be outside do not match (ops/choose.c).
 */
#ifndef UM_KINDS_GROUPS_H
#define UM_KINDS_GROUPS_H

#include "kinds/bloom.h"

enum { UM_MAX_HASH_GROUPS = 8 };

/* A bijection, every output bit depends on all input bits (SplitMix64). */
static inline uint64_t um_group_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

/*
 * The digest of group g; group 0 is the digest itself. On the wire. Both halves
 * go through the mixer: were small numbers only added or XORed, group 0 of one
 * dense integer key would be group 1 of another, and every member would bring a
 * false positive along.
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

/* As the kind's query and add; ask is the query of one group. */
typedef void um_ask(const void *self, const umbel_digest *d, size_t n,
                    bool *hit);
void um_groups_query(const um_bloom *b, um_ask *ask, const umbel_digest *d,
                     size_t n, bool *hit);
size_t um_groups_add(const um_bloom *b, const umbel_digest *d, size_t n,
                     bool *fresh);

/* What adding by the cells of one group costs; 0 when all are set. */
uint64_t um_group_cost(const um_layout *l, const uint8_t *bits,
                       const uint64_t *pos);

/* Chance that one of so many independent trials succeeds. */
double um_groups_any(double chance, uint32_t groups);

/*
 * Error after so many keys, and keys behind so many used cells, when each took
 * the group with the fewest new cells. Approximate: keys come in any order, and
 * blocks are taken as alike.
 */
double um_groups_error(const um_layout *l, uint32_t groups, double keys);
double um_groups_keys(const um_bloom *b, uint64_t used);

#endif
