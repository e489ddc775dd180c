/*
 * negative_index.h - which unwanted keys a growing and shrinking set of cells
 * covers.
 *
 * Every group of an unwanted key is a pattern, a set of different cells. A
 * pattern is covered when all of them are in use, and a key matches when one of
 * its patterns is. Cells are counted, so that a member can be taken out again.
 */
#ifndef UM_OPS_NEGATIVE_INDEX_H
#define UM_OPS_NEGATIVE_INDEX_H

#include "addressing/groups.h"
#include "base/alloc.h"
#include "filter/handle.h"

/* A cell of a pattern. */
typedef struct um_negative_entry {
    uint64_t cell;
    uint32_t pattern;
} um_negative_entry;

typedef struct um_negative_index {
    um_pool pool;
    const um_layout *layout;
    uint32_t groups;
    uint8_t *count; /* members on each cell; MOST stays for ever */
    uint8_t *bits;  /* the cells in use, as a filter has them */
    size_t bits_len;

    double near[UM_MAX_HASHES + 2]; /* by cells that are missing */
    size_t nkeys;                   /* unwanted */
    const double *weight;           /* of each; NULL: 1 */
    uint8_t *missing;               /* of each pattern: cells not in use */
    uint8_t *covered;               /* of each key: patterns covered */

    um_negative_entry *entry; /* by bucket, then in the order of patterns */
    size_t nentries, nbuckets;
    size_t *bucket; /* where each begins; one more than buckets */
} um_negative_index;

/* Release with um_negative_index_fini, also after a failure. */
umbel_status um_negative_index_init(um_negative_index *c, const umbel_filter *f,
                                    const umbel_digest *never,
                                    const double *weight, size_t nnever,
                                    umbel_error *err);
void um_negative_index_fini(um_negative_index *c);

/*
 * Adds a member by these cells; returns the weight that matches from now on,
 * and a little of the weight that came nearer to it.
 */
double um_negative_index_add(um_negative_index *c, const uint64_t *pos);
/* Takes it out again. */
void um_negative_index_remove(um_negative_index *c, const uint64_t *pos);

#endif
