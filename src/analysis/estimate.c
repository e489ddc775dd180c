/*
 * estimate.c - keys from the cells in use.
 *
 * Survey 2.4 writes the size of an intersection as a function of the zeros of
 * both filters and of their union. The OR of two filters is the filter of the
 * union, cell for cell, so three numbers of unused cells give three numbers of
 * keys, and |A and B| = |A| + |B| - |A or B|.
 *
 * The intervals are the delta method on the exact covariances of those three
 * numbers (filter/addressing/model.c), which also knows how blocks clump.
 */
#include "base/error.h"
#include "base/stats.h"
#include "filter/handle.h"

#include <umbel/estimate.h>

#include <math.h>

static double clamp(double x, double top)
{
    return fmin(fmax(x, 0), top);
}

static umbel_interval around(double value, double variance, double top)
{
    double reach = UM_Z99 * sqrt(variance > 0 ? variance : 0);

    return (umbel_interval){clamp(value, top), clamp(value - reach, top),
                            clamp(value + reach, top)};
}

/* Covariance of the estimated numbers of keys of two filters. */
static double keys_covariance(const um_layout *l, double a, double b,
                              double shared)
{
    return um_model_covariance(l, a, b, shared) * um_model_slope(l, a) *
           um_model_slope(l, b);
}

static umbel_status want_keys_told(const umbel_filter *f, umbel_error *err)
{
    if (!f->kind->bits)
        return um_cannot(f, "estimate its keys", err);
    if (!um_used_by_chance(f))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "its keys chose their cells, so the cells in use tell "
                       "their number only roughly: see how many were added");
    if (f->intersected)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "the cells of an intersection do not tell how many keys "
                       "it has: compare the filters it was made from");
    if (f->difference)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "the cells of a difference of refined counts do not "
                       "tell how many keys it has");
    if (f->denied)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "the cells of a retouched filter do not tell how many "
                       "keys it has: ask the one it was made from");
    return UMBEL_OK;
}

umbel_status umbel_estimate_keys(const umbel_filter *f, umbel_interval *out,
                                 umbel_error *err)
{
    const um_layout *l = &f->layout;

    UM_TRY(want_keys_told(f, err));
    double keys = um_model_keys(l, f->kind->bits->used(f->self, NULL));
    if (isinf(keys)) {
        double least = um_model_keys(l, l->cells - 1);
        *out = (umbel_interval){INFINITY, least, INFINITY};
    } else {
        *out = around(keys, keys_covariance(l, keys, keys, keys), INFINITY);
    }
    return UMBEL_OK;
}

/* Three filters A, B and their union: estimates and their covariances. */
typedef struct trio {
    double keys[3];
    double cov[3][3];
} trio;

enum { A, B, U };

static void fill_covariances(const um_layout *l, trio *t)
{
    const double *keys = t->keys;
    double both = clamp(keys[A] + keys[B] - keys[U], fmin(keys[A], keys[B]));

    double shared[3][3] = {{keys[A], both, keys[A]},
                           {both, keys[B], keys[B]},
                           {keys[A], keys[B], keys[U]}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t->cov[i][j] = keys_covariance(l, keys[i], keys[j], shared[i][j]);
}

/* Variance of the linear combination g. */
static double variance_of(const trio *t, const double g[3])
{
    double sum = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += g[i] * g[j] * t->cov[i][j];
    return sum;
}

static void overlap_from(const trio *t, umbel_overlap *out)
{
    static const double only_union[3] = {0, 0, 1}, shared[3] = {1, 1, -1};
    double a = t->keys[A], b = t->keys[B], u = t->keys[U];

    out->both_or_one = around(u, variance_of(t, only_union), INFINITY);
    out->both = around(a + b - u, variance_of(t, shared), INFINITY);
    if (u <= 0) {
        out->jaccard = (umbel_interval){0, 0, 0};
        return;
    }
    const double slope[3] = {1 / u, 1 / u, -(a + b) / (u * u)};
    out->jaccard = around((a + b - u) / u, variance_of(t, slope), 1);
}

umbel_status umbel_estimate_overlap(const umbel_filter *a,
                                    const umbel_filter *b, umbel_overlap *out,
                                    umbel_error *err)
{
    const um_kind *kind = a->kind;
    const um_layout *l = &a->layout;

    UM_TRY(umbel_same_shape(a, b, err));
    UM_TRY(want_keys_told(a, err));
    UM_TRY(want_keys_told(b, err));
    trio t = {.keys = {
                  um_model_keys(l, kind->bits->used(a->self, NULL)),
                  um_model_keys(l, kind->bits->used(b->self, NULL)),
                  um_model_keys(l, kind->bits->used(a->self, b->self)),
              }};
    if (isinf(t.keys[U])) {
        const umbel_interval unknown = {NAN, 0, INFINITY};
        *out = (umbel_overlap){unknown, unknown, {NAN, 0, 1}};
        return UMBEL_OK;
    }
    fill_covariances(l, &t);
    overlap_from(&t, out);
    return UMBEL_OK;
}

umbel_interval umbel_rate_interval(uint64_t hits, uint64_t trials)
{
    const double tail = 0.005;
    if (hits > trials)
        hits = trials;
    double x = (double)hits, n = (double)trials;
    if (trials == 0)
        return (umbel_interval){0, 0, 1};
    return (umbel_interval){
        .value = x / n,
        .low = hits == 0 ? 0 : um_beta_quantile(tail, x, n - x + 1),
        .high = hits == trials ? 1 : um_beta_quantile(1 - tail, x + 1, n - x),
    };
}
