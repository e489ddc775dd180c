/*
 * sight.c - what the curves of the figures show.
 */
#include "papers/gbf/model/figure.h"

#include <math.h>

enum { QUERIES = 1000, ELEMENTS = 20, BEFORE = 5 }; /* per round */

/* --- where -----------------------------------------------------------------*/

/* Chooses the start that leads to this share of ones after all n elements
 * (equation 7). */
static um_gbf at_ones(um_gbf g, double x)
{
    um_gbf none = g, all = g;

    none.p0 = 0;
    all.p0 = 1;
    double low = um_gbf_zeros(&none), high = um_gbf_zeros(&all);
    g.p0 = fmin(1, fmax(0, (1 - x - low) / (high - low)));
    return g;
}

static um_gbf at_start(um_gbf g, double x)
{
    g.p0 = 1 - x;
    return g;
}

static um_gbf at_k1(um_gbf g, double x)
{
    g.k1 = (unsigned)lround(x);
    return g;
}

static um_gbf at_k0(um_gbf g, double x)
{
    g.k0 = (unsigned)lround(x);
    return g;
}

static um_gbf at_k(um_gbf g, double x)
{
    return at_k1(at_k0(g, x), x);
}

static um_gbf at_element(um_gbf g, double x)
{
    (void)x;
    return g;
}

static um_gbf at_ratio(um_gbf g, double x)
{
    g.m = (uint32_t)lround(x * g.n);
    return g;
}

/* Chooses the start that maximises f_p (equation 27). */
static um_gbf at_worst_k(um_gbf g, double x)
{
    g = at_k(g, x);
    g.p0 = (double)g.k0 / (g.k0 + g.k1);
    return g;
}

/* --- by the equations ------------------------------------------------------*/

static double fp_of_ones(const um_gbf *g, double x)
{
    return um_gbf_accepts(g, 1 - x);
}

static double fp(const um_gbf *g, double x)
{
    (void)x;
    return um_gbf_fp(g);
}

static double bound_fp(const um_gbf *g, double x)
{
    (void)x;
    return um_gbf_fp_bound(g);
}

static double bound_fn(const um_gbf *g, double x)
{
    (void)x;
    return um_gbf_fn_bound(g);
}

static uint32_t later_than(const um_gbf *g, double element)
{
    return g->n - (uint32_t)lround(element);
}

static double fn_of_element(const um_gbf *g, double x)
{
    return um_gbf_fn_at(g, later_than(g, x));
}

static double fn_defined_of_element(const um_gbf *g, double x)
{
    return um_gbf_fn_defined_at(g, later_than(g, x));
}

/* Returns f_n of an element before the first (section 4.2). */
static double fn_defined_before(const um_gbf *g, double x)
{
    (void)x;
    return um_gbf_fn_defined_at(g, g->n);
}

/* --- simulated -------------------------------------------------------------*/

static double see_fp(const um_gbf *g, double x, um_gbf_space *s, um_rng *rng)
{
    (void)x;
    return um_gbf_simulate(g, QUERIES, s, rng).fp;
}

/* Returns the share of that many filters that lost the element with that
 * number. */
static double share_lost(const um_gbf *g, size_t element, uint32_t filters,
                         um_gbf_space *s, um_rng *rng)
{
    uint32_t lost = 0;

    for (uint32_t i = 0; i < filters; i++) {
        um_gbf_simulate(g, 0, s, rng);
        lost += s->lost[element];
    }
    return (double)lost / filters;
}

static double see_element(const um_gbf *g, double x, um_gbf_space *s,
                          um_rng *rng)
{
    return share_lost(g, (size_t)lround(x) - 1, ELEMENTS, s, rng);
}

static double see_before(const um_gbf *g, double x, um_gbf_space *s,
                         um_rng *rng)
{
    um_gbf with = *g;

    (void)x;
    with.n++;
    return share_lost(&with, 0, BEFORE, s, rng);
}

/* --- the rows --------------------------------------------------------------*/

const um_gbf_sight um_gbf_fp_by_ones = {at_ones, fp_of_ones, fp, QUERIES,
                                        see_fp};
const um_gbf_sight um_gbf_fp_by_start = {at_start, fp, fp, QUERIES, see_fp};
const um_gbf_sight um_gbf_fp_by_k1 = {at_k1, fp, fp, QUERIES, see_fp};
const um_gbf_sight um_gbf_fn_by_element = {
    at_element, fn_of_element, fn_defined_of_element, ELEMENTS, see_element};
const um_gbf_sight um_gbf_bound_fn_by_ratio = {
    at_ratio, bound_fn, fn_defined_before, BEFORE, see_before};
const um_gbf_sight um_gbf_bound_fp_by_k = {at_worst_k, bound_fp, fp, QUERIES,
                                           see_fp};
const um_gbf_sight um_gbf_bound_fn_by_k = {at_k, bound_fn, fn_defined_before,
                                           BEFORE, see_before};
const um_gbf_sight um_gbf_bound_fp_by_k0 = {at_k0, bound_fp, bound_fp, 0, NULL};
const um_gbf_sight um_gbf_bound_fn_by_k0 = {at_k0, bound_fn, bound_fn, 0, NULL};
