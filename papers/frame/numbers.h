/*
 * numbers.h - means, and the statistical tests of reproductions.
 */
#ifndef UM_PAPERS_NUMBERS_H
#define UM_PAPERS_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Standard errors by which ours may differ from the expected value. */
#define UM_Z_LIMIT 5.0
/* Two-sided level for events too rare for a normal distribution: 4.2 sigma. */
#define UM_POISSON_LIMIT 2.7e-5
/* Fewer events than UM_RARE_EVENTS say little; up to UM_EXACT_EVENTS the normal
 * distribution may reach below 0, and exact tests are used. */
enum { UM_RARE_EVENTS = 20, UM_EXACT_EVENTS = 100 };

typedef struct um_mean {
    double n, value;
    double sd;    /* of one number; NAN if there is only one */
    double error; /* standard error of value; NAN if there is only one number */
} um_mean;

/* Computes the mean of n numbers, stride apart. */
um_mean um_mean_of(const double *x, size_t n, size_t stride);

/* Returns how far a single number may be from this mean: 95 % of them are not
 * farther (Student's t). NAN if there is only one number. */
double um_single_spread(const um_mean *m);

/* Returns the difference of two values in joint standard errors. */
double um_z(double a, double a_error, double b, double b_error);

/* Returns P(X <= k), X ~ Poisson(mean); 0 for k < 0. */
double um_poisson_cdf(double k, double mean);
/* Returns the two-sided p-value of k events if mean are expected: twice the
 * tail. */
double um_poisson_test(double k, double mean);
/* Finds the range of counts that pass that test at level p. */
void um_poisson_accept(double mean, double p, double *low, double *high);

/*
 * Does the same if the expectation was counted itself: a and b events of one
 * Poisson process, in periods of ratio times:1. Given a + b, a is binomial.
 */
double um_poisson_pair_test(double a, double b, double times);
/* Finds the range of a that passes against b. */
void um_poisson_pair_accept(double b, double times, double p, double *low,
                            double *high);

/*
 * Returns the two-sided p-value of two counts of a sort of events, part of all
 * and other_part of other_all, if the sort is equally frequent in both. Given
 * the totals, part is hypergeometric (Fisher's exact test).
 */
double um_share_test(double part, double all, double other_part,
                     double other_all);
/* Finds the range of part that passes at level p. */
void um_share_accept(double all, double other_part, double other_all, double p,
                     double *low, double *high);

#endif
