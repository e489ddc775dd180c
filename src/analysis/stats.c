/*
 * stats.c - incomplete beta function by its continued fraction.
 *
 * The fraction is Lentz's evaluation of DLMF 8.17.22; it converges fast for x <
 * (a+1)/(a+b+2), and the symmetry I_x(a,b) = 1 - I_{1-x}(b,a) covers the rest.
 * Quantiles are found by bisection, since intervals are computed once per run.
 */
#define _DEFAULT_SOURCE /* lgamma_r */
#include "analysis/analysis.h"

#include <math.h>

static double away_from_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
    double value = d;

    for (int i = 1; i < 1000000; i++) {
        double m = i;
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd =
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        value *= c * d;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        value *= c * d;
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return value;
}

/* Returns lgamma(x), without setting the global signgam. */
static double ln_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

double um_beta_cdf(double x, double a, double b)
{
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) +
                       a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double um_beta_quantile(double p, double a, double b)
{
    double low = 0, high = 1;

    for (int i = 0; i < 200 && high - low > 1e-16 * high; i++) {
        double mid = (low + high) / 2;
        if (um_beta_cdf(mid, a, b) < p)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}
