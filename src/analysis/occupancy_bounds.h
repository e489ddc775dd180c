/*
 * occupancy_bounds.h - how far the cells in use of a filter stray by
 * chance.
 *
 * Every function returns the natural logarithm of a chance, never too little:
 * upper bounds that hold for every size, not approximations for large ones.
 * They speak of keys whose digests look random.
 */
#ifndef UM_OPS_OCCUPANCY_BOUNDS_H
#define UM_OPS_OCCUPANCY_BOUNDS_H

#include "filter/addressing/addressing.h"

typedef struct um_occupancy {
    const um_layout *layout;
    double keys; /* as given, or fewer where all cells are in use anyway */
    bool full;   /* fewer: nothing is too much */
    umbel_alloc alloc;
    size_t memory_len;
    double *memory;

    /* Narrow lanes; else NULL. */
    double *lane;       /* [balls][used]: chance */
    size_t rows, loads; /* balls in a lane, keys in a block: 0 .. that-1 */
    double *ln_load;    /* chance of a number of keys in a block */
    double *ln_factorial;
    double *ln_block; /* work: moments of a block, by its keys */
    double *moment[2];
} um_occupancy;

/* Of keys keys, at least 1. E_NOMEM; release with um_occupancy_fini. */
umbel_status um_occupancy_init(um_occupancy *t, const um_layout *l, double keys,
                               const umbel_alloc *alloc, umbel_error *err);
void um_occupancy_fini(um_occupancy *t);

/* That used cells are in use, or more. */
double um_occupancy_above(const um_occupancy *t, uint64_t used);
/* That a block, of several, has used cells in use, or more. */
double um_occupancy_block(const um_occupancy *t, uint64_t used);
/*
 * That the mean over several blocks of the chance that a key never added
 * matches is error, or more.
 */
double um_occupancy_error(const um_occupancy *t, double error);

/* That used cells are in use, or fewer; keys at least 1. */
double um_occupancy_below(const um_layout *l, double keys, uint64_t used);

/* A filter is refused for a block of it with at most this chance, in all. */
#define UM_TAIL_BLOCKS 1e-12

#endif
