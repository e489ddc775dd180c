/*
 * negative_index.h - which unwanted keys match while members are moved from
 * group to group.
 *
 * Every group of an unwanted key is a pattern, a set of different cells. A
 * pattern is covered when all of them are in use, and a key matches when one of
 * its patterns is. Only cells that the given members may use are counted, and
 * only keys that can come to match by them are known: the index of a large
 * filter with few such members is small.
 */
#ifndef UM_OPS_NEGATIVE_INDEX_H
#define UM_OPS_NEGATIVE_INDEX_H

#include "analysis/cell_map.h"
#include "filter/addressing/groups.h"
#include "negatives/choose/sieve.h"

/* What the index is made of. */
typedef struct um_negatives {
    const um_layout *layout;
    uint32_t groups;
    uint8_t *bits; /* the cells in use, as a filter has them; kept up to date */
    const umbel_digest *members; /* that will be added and removed */
    size_t n;
    const umbel_digest *never;
    const double *weight; /* 0: the key does not count */
    size_t nnever;
} um_negatives;

typedef struct um_negative_index {
    um_pool pool;
    um_negatives of;
    um_cell_map cells; /* of members, without those in use by others */
    uint32_t *count;   /* members on each */
    double near[UM_MAX_HASHES + 2]; /* by cells that are missing */

    um_sieve blocks;  /* that have such cells; for blocked addressings */
    size_t nkeys;     /* that may match */
    size_t *number;   /* of each in the list */
    double *weight;   /* of each */
    uint8_t *missing; /* of each pattern: cells not in use */
    uint8_t *covered; /* of each key: patterns covered */

    uint32_t *entry; /* patterns, by cell */
    size_t *bucket;  /* where those of each cell begin; one more than cells */
} um_negative_index;

/* No member is added yet. Release with um_negative_index_fini, also after a
 * failure. */
umbel_status um_negative_index_init(um_negative_index *c,
                                    const um_negatives *of,
                                    const umbel_alloc *alloc, umbel_error *err);
void um_negative_index_fini(um_negative_index *c);

/*
 * Adds a member by these cells; returns the weight that matches from now on,
 * and a little of the weight that came nearer to it.
 */
double um_negative_index_add(um_negative_index *c, const uint64_t *pos);
/* Takes it out again. */
void um_negative_index_remove(um_negative_index *c, const uint64_t *pos);

#endif
