/*
 * numbers.c - means, z and exact Poisson tests.
 */
#include "papers/frame/numbers.h"

#include <math.h>

um_mean um_mean_of(const double *x, size_t n, size_t stride)
{
    um_mean m = {.n = (double)n, .value = NAN, .sd = NAN, .error = NAN};
    double mean = 0, squares = 0;

    for (size_t i = 0; i < n; i++) { /* Welford 1962 */
        double d = x[i * stride] - mean;
        mean += d / (double)(i + 1);
        squares += d * (x[i * stride] - mean);
    }
    if (n > 0)
        m.value = mean;
    if (n > 1) {
        m.sd = sqrt(squares / (m.n - 1));
        m.error = m.sd / sqrt(m.n);
    }
    return m;
}

double um_z(double a, double a_error, double b, double b_error)
{
    double joint = sqrt(a_error * a_error + b_error * b_error);

    if (a == b)
        return 0;
    return joint > 0 ? (a - b) / joint : copysign(INFINITY, a - b);
}

/*
 * Sums the terms from the largest, at k, downwards, until they are below 1e-18
 * of it. Meant for means up to thousands.
 */
double um_poisson_cdf(double k, double mean)
{
    if (k < 0)
        return 0;
    if (mean <= 0)
        return 1;
    k = floor(k);
    if (k > mean) { /* the upper tail is shorter */
        double term = exp((k + 1) * log(mean) - mean - lgamma(k + 2)), sum = 0;
        for (double i = k + 2; term > 1e-18 * sum && term > 0; i++) {
            sum += term;
            term *= mean / i;
        }
        return 1 - sum;
    }
    double term = exp(k * log(mean) - mean - lgamma(k + 1)), sum = 0;
    for (double i = k; i >= 0 && term > 1e-18 * sum && term > 0; i--) {
        sum += term;
        term *= i / mean;
    }
    return sum;
}

double um_poisson_test(double k, double mean)
{
    double below = um_poisson_cdf(k, mean);
    double above = 1 - um_poisson_cdf(k - 1, mean);
    double p = 2 * fmin(below, above);

    return p < 1 ? p : 1;
}

void um_poisson_accept(double mean, double p, double *low, double *high)
{
    *low = floor(mean);
    while (*low > 0 && um_poisson_test(*low - 1, mean) >= p)
        --*low;
    *high = floor(mean);
    while (um_poisson_test(*high + 1, mean) >= p)
        ++*high;
}

/* Returns P(X <= k), X ~ Binomial(n, p). Meant for n up to thousands. */
static double binomial_cdf(double k, double n, double p)
{
    double sum = 0;

    for (uint64_t j = 0; j <= (uint64_t)k; j++) {
        double i = (double)j;
        sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) +
                   i * log(p) + (n - i) * log1p(-p));
    }
    return fmin(sum, 1);
}

double um_poisson_pair_test(double a, double b, double times)
{
    double p = times / (1 + times);
    double below = binomial_cdf(a, a + b, p);
    double above = binomial_cdf(b, a + b, 1 - p);

    return fmin(2 * fmin(below, above), 1);
}

void um_poisson_pair_accept(double b, double times, double p, double *low,
                            double *high)
{
    *low = *high = floor(b * times);
    while (*low > 0 && um_poisson_pair_test(*low - 1, b, times) >= p)
        --*low;
    while (um_poisson_pair_test(*high + 1, b, times) >= p)
        ++*high;
}
