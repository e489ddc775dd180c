/*
 * numbers.c - means, z and exact tests of counts.
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

/* The quantile of t from that of the normal distribution (Cornish, Fisher
 * 1938); within 0.2 % from 8 degrees of freedom on. */
double um_single_spread(const um_mean *m)
{
    const double z = 1.959964, free = m->n - 1;
    double t = z + (pow(z, 3) + z) / (4 * free) +
               (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * free * free);

    return t * m->sd * sqrt(1 + 1 / m->n);
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

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double um_share_test(double part, double all, double other_part,
                     double other_all)
{
    double sort = part + other_part, total = all + other_all;
    double below = 0, above = 0;

    for (uint64_t j = (uint64_t)fmax(0, sort - other_all);
         j <= (uint64_t)fmin(all, sort); j++) {
        double k = (double)j;
        double p = exp(log_choose(all, k) + log_choose(other_all, sort - k) -
                       log_choose(total, sort));
        below += k <= part ? p : 0;
        above += k >= part ? p : 0;
    }
    return fmin(2 * fmin(below, above), 1);
}

void um_share_accept(double all, double other_part, double other_all, double p,
                     double *low, double *high)
{
    double middle = other_all > 0 ? floor(all * other_part / other_all) : 0;

    *low = *high = middle;
    while (*low > 0 && um_share_test(*low - 1, all, other_part, other_all) >= p)
        --*low;
    while (*high < all &&
           um_share_test(*high + 1, all, other_part, other_all) >= p)
        ++*high;
}
