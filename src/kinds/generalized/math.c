/*
 * generalized_math.c - the equations of the 2011 paper.
 *
 * Numbers are theirs. Exponents are k0 and k1 as in (16), not the b0 and b1 of
 * (8) and (11): with these all printed values come out, with those some do not.
 * The paper's functions may coincide; a bit that one clears and one sets is
 * then clear. Filters of ours draw distinct cells, for which
 * generalized_model.c is exact; at thousands of bits there is no difference.
 */
#include "kinds/generalized/generalized.h"

#include <umbel/experimental/generalized.h>

#include <math.h>

static bool is_filter(const umbel_generalized *g)
{
    return g->bits >= 1 && g->reset + g->set > 0 && g->zeros >= 0 &&
           g->zeros <= 1 && g->keys >= 0;
}

/* Of a bit that an insertion touches: the chance that it becomes 0. (4) to (6)
 */
static double cleared(const umbel_generalized *g)
{
    double left = log1p(-1 / g->bits);

    if (g->bits <= 1)
        return g->reset ? 1 : 0;
    return expm1(g->reset * left) / expm1((g->reset + g->set) * left);
}

/* 1 less (6) to the power of n: a bit that n keys touch. */
static double touched(const umbel_generalized *g, double n)
{
    if (n == 0)
        return 0;
    return -expm1(n * (g->reset + g->set) * log1p(-1 / g->bits));
}

/* a^0 is 1, whatever a is. */
static double power(double a, uint32_t n)
{
    return n ? pow(a, n) : 1;
}

double umbel_generalized_zeros(const umbel_generalized *g)
{
    if (!is_filter(g))
        return NAN;
    double t = touched(g, g->keys);
    return g->zeros * (1 - t) + cleared(g) * t;
}

double umbel_generalized_fp(const umbel_generalized *g)
{
    double p = umbel_generalized_zeros(g);

    if (isnan(p))
        return NAN;
    return power(p, g->reset) * power(1 - p, g->set);
}

/* (9), (10): a bit of a key, touched again with chance t, is as it left it. */
static double denied(double t, double w, uint32_t reset, uint32_t set)
{
    double p00 = reset ? reset * log1p(-(1 - w) * t) : 0;
    double p11 = set ? set * log1p(-w * t) : 0;

    return -expm1(p00 + p11);
}

double umbel_generalized_fn_at(const umbel_generalized *g, double position)
{
    if (!is_filter(g) || !(position >= 0 && position <= g->keys))
        return NAN;
    return denied(touched(g, g->keys - position), cleared(g), g->reset, g->set);
}

/* 1 + x + x^2 + .. of n terms, where x = exp(log_x). */
static double geometric(double log_x, double n)
{
    return log_x < 0 ? expm1(n * log_x) / expm1(log_x) : n;
}

static double choose(uint32_t n, uint32_t k)
{
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0));
}

/*
 * The product p00^k0 p11^k1 is a polynomial in x = (6)^i, whose powers sum up
 * over all keys as geometric series do.
 */
double umbel_generalized_fn(const umbel_generalized *g)
{
    double w = cleared(g), known = 0;
    double step = (g->reset + g->set) * log1p(-1 / g->bits);

    if (!is_filter(g))
        return NAN;
    if (g->keys < 1 || g->reset == 0 || g->set == 0)
        return 0;
    for (uint32_t u = 0; u <= g->reset; u++)
        for (uint32_t v = 0; v <= g->set; v++)
            known += choose(g->reset, u) * pow(w, g->reset - u) *
                     pow(1 - w, u) * choose(g->set, v) *
                     pow(1 - w, g->set - v) * pow(w, v) *
                     geometric((u + v) * step, g->keys);
    return fmax(0, 1 - known / g->keys);
}

double umbel_generalized_fp_bound(uint32_t reset, uint32_t set)
{
    double k = (double)reset + set;

    if (k == 0)
        return NAN;
    return power(reset / k, reset) * power(set / k, set);
}

double umbel_generalized_fn_bound(uint32_t reset, uint32_t set,
                                  double bits_per_key)
{
    double k = (double)reset + set;

    if (k == 0 || !(bits_per_key > 0))
        return NAN;
    return denied(-expm1(-k / bits_per_key), reset / k, reset, set);
}

double um_distinct_chance(double z, double n, uint32_t reset, uint32_t set)
{
    double p = 1;

    for (uint32_t i = 0; i < reset; i++)
        p *= (z > i ? z - i : 0) / (n - i);
    for (uint32_t i = 0; i < set; i++)
        p *= (n - z > i ? n - z - i : 0) / (n - reset - i);
    return p;
}

/* z at the most: where one zero more no longer makes it larger. */
double umbel_generalized_distinct_bound(uint64_t cells, uint32_t reset,
                                        uint32_t set)
{
    double c = (double)cells, k = (double)reset + set;

    if (k == 0)
        return NAN;
    if (c < k)
        return 0;
    double z = fmax(reset, floor((reset * c - set) / k) + 1);
    return um_distinct_chance(z, c, reset, set);
}
