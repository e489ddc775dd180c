/*
 * experiment.h - the experiment of section IV, which all figures use.
 *
 * A universe of 2,000,000 integers, 10,000 of them members of a filter of
 * 100,000 bits and 5 hashes; all others are queried, and those that match are
 * the false positives. A share beta of them is to be removed.
 */
#ifndef UM_RBF_EXPERIMENT_H
#define UM_RBF_EXPERIMENT_H

#include "papers/frame/paper.h"

#include <umbel/base.h>
#include <umbel/experimental/retouch.h>

enum {
    RBF_UNIVERSE = 2000000,
    RBF_MEMBERS = 10000,
    RBF_BITS = 100000,
    RBF_HASHES = 5,
    RBF_BETAS = 8
};

/* In percent: 1 2 5 10 25 50 75 100. */
extern const double um_rbf_beta[RBF_BETAS];

/* One instance. */
typedef struct um_rbf {
    umbel_filter *filter;
    umbel_digest *members;
    umbel_digest *positives; /* all false positives */
    size_t npositives;
    uint64_t seed; /* for random choices of the methods */
} um_rbf;

umbel_status um_rbf_init(um_rbf *x, um_rng *rng, umbel_error *err);
void um_rbf_fini(um_rbf *x);

/* Retouches a copy of the filter, with the instance's seed. */
umbel_status um_rbf_retouch(const um_rbf *x, const umbel_retouch_params *how,
                            umbel_retouch_result *bill, umbel_error *err);

/* A curve: a method with one source of its counts. */
typedef struct um_rbf_curve {
    const char *id;   /* in names of values */
    const char *name; /* in figures */
    umbel_retouch_params how;
} um_rbf_curve;

/* The numbers of a curve at one beta. Numbers of a round come in this order,
 * for each beta of each curve. */
enum { RBF_CHI, RBF_RESET, RBF_LOST, RBF_NUMBERS };

umbel_status um_rbf_sweep(um_rng *rng, const um_rbf_curve *curves, size_t n,
                          double *out, umbel_error *err);
/* Returns the column of such a number. */
size_t um_rbf_column(size_t curve, size_t beta, size_t what);
/* Draws all curves against beta in one figure. */
um_figure *um_rbf_draw(um_study *s, const char *id, const char *title,
                       const char *y, const um_rbf_curve *curves, size_t n,
                       size_t what);
/* Checks "ID, beta B %" for every curve and beta. */
void um_rbf_check(um_study *s, const um_rbf_curve *curves, size_t n,
                  size_t what);

#endif
