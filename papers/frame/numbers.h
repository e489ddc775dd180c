/*
 * numbers.h - means, and the tests that a reproduction stands or falls by.
 */
#ifndef UM_PAPERS_NUMBERS_H
#define UM_PAPERS_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Standard deviations that ours may be away from what is expected. */
#define UM_Z_LIMIT 5.0
/* Two-sided, for events too rare for a normal distribution: 4.2 sigma. */
#define UM_POISSON_LIMIT 2.7e-5
enum { UM_RARE_EVENTS = 20 };

typedef struct um_mean {
    double n, value;
    double sd;    /* of one; NAN when there is only one */
    double error; /* standard error of value; NAN likewise */
} um_mean;

/* Of n numbers, stride apart. */
um_mean um_mean_of(const double *x, size_t n, size_t stride);

/* How many joint standard errors lie between two values. */
double um_z(double a, double a_error, double b, double b_error);

/* P(X <= k), X ~ Poisson(mean); k < 0 gives 0. */
double um_poisson_cdf(double k, double mean);
/* Two-sided p-value of k events where mean were expected: twice the tail. */
double um_poisson_test(double k, double mean);
/* The counts that pass that test at level p. */
void um_poisson_accept(double mean, double p, double *low, double *high);

/*
 * The same when what is expected was counted itself: a and b events of one
 * Poisson process in times of ratio times:1. Given a + b, a is binomial.
 */
double um_poisson_pair_test(double a, double b, double times);
/* The a that pass against b. */
void um_poisson_pair_accept(double b, double times, double p, double *low,
                            double *high);

#endif
