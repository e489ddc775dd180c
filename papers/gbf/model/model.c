/*
 * model.c - equations 2, 4 to 12, 16, 19 and 22 to 24, and the hole.
 */
#include "papers/gbf/model/model.h"

#include <math.h>

/* Probabilities of what one element does to one bit. */
typedef struct touch {
    double q0, q1; /* reset, set (equations 4 and 5) */
    double b0, b1; /* number of different bits of g and of h */
} touch;

/* Returns (1 - 1/m)^x, accurate for large m. */
static double miss(uint32_t m, double x)
{
    return exp(x * log1p(-1. / m));
}

static touch touch_of(const um_gbf *g)
{
    double none0 = miss(g->m, g->k0), none1 = miss(g->m, g->k1);

    return (touch){.q0 = 1 - none0,
                   .q1 = (1 - none1) * none0,
                   .b0 = g->m * (1 - none0),
                   .b1 = g->m * (1 - none1)};
}

static touch touch_distinct(const um_gbf *g)
{
    return (touch){.q0 = (double)g->k0 / g->m,
                   .q1 = (double)g->k1 / g->m,
                   .b0 = g->k0,
                   .b1 = g->k1};
}

/* Returns the share of bits that n elements do not touch (equation 6, n
 * times). */
static double spared(const touch *t, double n)
{
    return exp(n * log1p(-t->q0 - t->q1));
}

/* Returns the share of zeros among touched bits. */
static double steady(const touch *t)
{
    return t->q0 / (t->q0 + t->q1);
}

static double zeros_after(const um_gbf *g, touch t)
{
    double same = spared(&t, g->n);

    return g->p0 * same + steady(&t) * (1 - same);
}

double um_gbf_zeros(const um_gbf *g)
{
    return zeros_after(g, touch_of(g));
}

double um_gbf_zeros_distinct(const um_gbf *g)
{
    return zeros_after(g, touch_distinct(g));
}

double um_gbf_accepts(const um_gbf *g, double p)
{
    return pow(p, g->k0) * pow(1 - p, g->k1);
}

double um_gbf_accepts_distinct(const um_gbf *g, uint32_t zeros)
{
    double ones = (double)g->m - zeros, share = 1;

    for (unsigned i = 0; i < g->k0; i++)
        share *= fmax((double)zeros - i, 0) / ((double)g->m - i);
    for (unsigned i = 0; i < g->k1; i++)
        share *= fmax(ones - i, 0) / ((double)g->m - g->k0 - i);
    return share;
}

double um_gbf_fp(const um_gbf *g)
{
    return um_gbf_accepts(g, um_gbf_zeros(g));
}

double um_gbf_fp_eq8(const um_gbf *g)
{
    touch t = touch_of(g);
    double p = um_gbf_zeros(g);

    return pow(p, t.b0) * pow(1 - p, g->m * t.q1);
}

double um_gbf_fp_bound(const um_gbf *g)
{
    return um_gbf_accepts(g, (double)g->k0 / (g->k0 + g->k1));
}

double um_gbf_plain_fp(const um_gbf *g)
{
    return pow(1 - g->p0 * miss(g->m, (double)g->k1 * g->n), g->k1);
}

/* Computes equations 9 to 11, with these exponents. */
static double lost(touch t, uint32_t later, double zeros, double ones)
{
    double same = spared(&t, later), w = steady(&t);
    double p00 = same + w * (1 - same), p11 = same + (1 - w) * (1 - same);

    return 1 - pow(p00, zeros) * pow(p11, ones);
}

double um_gbf_fn_at(const um_gbf *g, uint32_t later)
{
    return lost(touch_of(g), later, g->k0, g->k1);
}

double um_gbf_fn_distinct_at(const um_gbf *g, uint32_t later)
{
    return lost(touch_distinct(g), later, g->k0, g->k1);
}

double um_gbf_hole(const um_gbf *g)
{
    return 1 - miss(g->m, (double)g->k0 * g->k1);
}

double um_gbf_fn_defined_at(const um_gbf *g, uint32_t later)
{
    touch t = touch_of(g);

    return 1 - (1 - um_gbf_hole(g)) * (1 - lost(t, later, t.b0, t.b1));
}

static double mean_of(const um_gbf *g, double (*at)(const um_gbf *, uint32_t))
{
    double sum = 0;

    for (uint32_t i = 0; i < g->n; i++)
        sum += at(g, i);
    return sum / g->n;
}

double um_gbf_fn(const um_gbf *g)
{
    return mean_of(g, um_gbf_fn_at);
}

double um_gbf_fn_defined(const um_gbf *g)
{
    return mean_of(g, um_gbf_fn_defined_at);
}

double um_gbf_fn_bound(const um_gbf *g)
{
    double same = exp(-(double)(g->k0 + g->k1) * g->n / g->m);
    double w = (double)g->k0 / (g->k0 + g->k1);
    double p00 = same + w * (1 - same), p11 = same + (1 - w) * (1 - same);

    return 1 - pow(p00, g->k0) * pow(p11, g->k1);
}
