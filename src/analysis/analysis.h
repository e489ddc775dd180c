/*
 * analysis.h - computations for admission: certified error rates, and bounds on
 * the number of cells in use; errors of counts; and the statistical functions
 * that intervals need.
 */
#ifndef UM_ANALYSIS_H
#define UM_ANALYSIS_H

#include "filter/addressing/addressing.h"
#include "filter/handle.h"
#include "filter/kind.h"

#include <umbel/admit.h>
#include <umbel/plan.h>

/*
 * Certifies a false positive rate by querying random keys.
 *
 * The fill determines the rate if the cells of a key are independent of each
 * other. If they are not, the maker of a filter can choose cells that keys hit
 * together. A sample of random keys does not depend on how cells were chosen.
 */

typedef struct um_sample {
    uint64_t asked, hits;
    uint64_t reads, limit; /* cells read, and the most that may be */
    bool certain;          /* the rate is at most what um_max_error allows */
    bool spent;            /* stopped at the limit */
} um_sample;

/*
 * Returns the largest error that is admitted where max_error is demanded:
 * twice that, and never near 1.
 */
double um_max_error(double max_error);

/*
 * The cost of admission. Whatever the cells are, it reads at most UM_ADMIT_BYTE
 * cells for each byte of the payload and UM_ADMIT_READS more. Reads of a sample
 * are among the latter.
 */
enum { UM_ADMIT_BYTE = 64, UM_ADMIT_READS = 1 << 26 };
uint64_t um_max_reads(const umbel_filter *f);
/* As umbel_admit. *reads is set to the number of cells that were read, which is
 * at most um_max_reads. */
umbel_status um_admit_counted(const umbel_filter *f,
                              const umbel_admission *wants, umbel_ruling *out,
                              uint64_t *reads, umbel_error *err);

/*
 * How far the number of cells in use of a filter may deviate by chance.
 *
 * Every function returns the natural logarithm of an upper bound of a
 * probability. The bounds hold for every size; they are not approximations for
 * large ones. They assume keys whose digests look random.
 */

typedef struct um_occupancy {
    const um_layout *layout;
    double keys; /* as passed, or fewer if all cells are in use anyway */
    bool full;   /* fewer: every number of used cells is plausible */
    umbel_alloc alloc;
    size_t memory_len;
    double *memory;

    /* Tables for narrow lanes; NULL for wide ones. */
    double *lane;       /* [balls][used]: probability */
    size_t rows, loads; /* sizes: balls in a lane, keys in a block */
    double *ln_load;    /* [n]: ln of the probability of n keys in a block */
    double *ln_factorial;
    double *ln_block; /* scratch: moments of a block, by its keys */
    double *moment[2];
} um_occupancy;

/* Prepares the bounds for that many keys, at least 1. E_NOMEM; release with
 * um_occupancy_fini. */
umbel_status um_occupancy_init(um_occupancy *t, const um_layout *l, double keys,
                               const umbel_alloc *alloc, umbel_error *err);
void um_occupancy_fini(um_occupancy *t);

/* Bounds the probability that `used` or more cells are in use. */
double um_occupancy_above(const um_occupancy *t, uint64_t used);
/* Bounds the probability that one block, of several, has `used` or more cells
 * in use. */
double um_occupancy_block(const um_occupancy *t, uint64_t used);
/*
 * Bounds the probability that the mean error over several blocks is `error` or
 * more.
 */
double um_occupancy_error(const um_occupancy *t, double error);

/* Bounds the probability that `used` or fewer cells are in use, for at least 1
 * key. */
double um_occupancy_below(const um_layout *l, double keys, uint64_t used);

/* Total probability with which an honest filter is refused because of its
 * blocks. */
#define UM_TAIL_BLOCKS 1e-12

/*
 * Errors of counts, from the number of times that keys were added.
 */

enum { UM_MAX_THRESHOLD = 1024 }; /* the recursion takes quadratic time */

/*
 * Does the work of umbel_plan_counts for a shape whose size is solved: times[j]
 * keys were added j times, times[threshold] that often or more.
 */
umbel_status um_plan_times(const um_shape *s, uint64_t threshold,
                           const uint64_t *times, umbel_count_plan *out,
                           umbel_error *err);

/*
 * Statistics that intervals need (stats.c).
 */

/* Two-sided 99 % quantile of the normal distribution, in standard
 * deviations. */
#define UM_Z99 2.5758293035489004

/* Returns the regularised incomplete beta function: P(X <= x), X ~ Beta(a,
 * b). */
double um_beta_cdf(double x, double a, double b);
/* Returns its inverse in x, for 0 < p < 1. */
double um_beta_quantile(double p, double a, double b);

#endif
