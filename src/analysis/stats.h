/*
 * stats.h - the few functions of statistics that intervals need.
 */
#ifndef UM_ANALYSIS_STATS_H
#define UM_ANALYSIS_STATS_H

/* Two-sided 99 % of a normal distribution, in standard deviations. */
#define UM_Z99 2.5758293035489004

/* Regularised incomplete beta function: P(X <= x), X ~ Beta(a, b). */
double um_beta_cdf(double x, double a, double b);
/* Its inverse in x, for 0 < p < 1. */
double um_beta_quantile(double p, double a, double b);

#endif
