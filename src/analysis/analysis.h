/*
 * analysis.h - what admission computes with: certified error rates, and bounds
 * on the number of cells in use; errors of counts; and the few functions of
 * statistics that intervals need.
 */
#ifndef UM_ANALYSIS_H
#define UM_ANALYSIS_H

#include "filter/addressing/addressing.h"
#include "filter/handle.h"
#include "filter/kind.h"

#include <umbel/admit.h>
#include <umbel/plan.h>

/*
 * A false positive rate that is certain, by asking random keys.
 *
 * What the fill says holds if the cells of a key are independent of each other.
 * Where they are not, the maker of a filter can choose cells that keys find
 * together. Random keys do not depend on how cells are chosen.
 */

typedef struct um_sample {
    uint64_t asked, hits;
    bool certain; /* the rate is at most what um_max_error allows */
} um_sample;

/*
 * Returns the largest error that is admitted where max_error is demanded:
 * twice that, and never near 1.
 */
double um_max_error(double max_error);

/*
 * How far the cells in use of a filter stray by
 * chance.
 *
 * Every function returns the natural logarithm of a chance, never too little:
 * upper bounds that hold for every size, not approximations for large ones.
 * They speak of keys whose digests look random.
 */

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

/*
 * What the ways into admission share.
 */

/*
 * Errors of counts, from how often keys came.
 */

enum { UM_MAX_THRESHOLD = 1024 }; /* the recursion takes its square */

/*
 * As umbel_plan_counts, for a shape whose size is solved: times[j] keys came j
 * times, times[threshold] that often or more.
 */
umbel_status um_plan_times(const um_shape *s, uint64_t threshold,
                           const uint64_t *times, umbel_count_plan *out,
                           umbel_error *err);

/*
 * Statistics that intervals need (stats.c).
 */

/* Two-sided 99 % of a normal distribution, in standard deviations. */
#define UM_Z99 2.5758293035489004

/* Regularised incomplete beta function: P(X <= x), X ~ Beta(a, b). */
double um_beta_cdf(double x, double a, double b);
/* Its inverse in x, for 0 < p < 1. */
double um_beta_quantile(double p, double a, double b);

#endif
