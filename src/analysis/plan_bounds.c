/*
 * plan_bounds.c - the least space of a generalized filter for two bounds.
 *
 * F_p depends on k0 and k1 alone, F_n on them and on the bits a key, about 2 k0
 * k1 / (bits a key). So of all pairs whose F_p is small enough the one with the
 * least k0 k1 takes the least space, nearly; the exact (24) decides, solved by
 * bisection.
 *
 * Beside it the plain filter that a receiver judges by its fill: with at most a
 * share t of ones, t^k of the keys that its author did not foresee match. At
 * its best, half full, it takes k / ln 2 bits a key.
 */
#include "base/error.h"

#include <umbel/experimental/generalized.h>

#include <math.h>

enum { MOST = 32 };

/* (k0, k1) and (k1, k0) need the same: rounding shall not choose. */
#define TIE 1e-9

/* Fewest bits a key that keep F_n; INFINITY when no number does. */
static double bits_for(uint32_t reset, uint32_t set, double fn_bound)
{
    double low = 0, high = 1;

    while (umbel_generalized_fn_bound(reset, set, high) > fn_bound) {
        high *= 2;
        if (high > 1e18)
            return INFINITY;
    }
    for (int i = 0; i < 100; i++) {
        double mid = (low + high) / 2;
        if (umbel_generalized_fn_bound(reset, set, mid) > fn_bound)
            low = mid;
        else
            high = mid;
    }
    return high;
}

static void consider(uint32_t reset, uint32_t set, double fp_bound,
                     double fn_bound, umbel_bounds_plan *best)
{
    if (umbel_generalized_fp_bound(reset, set) > fp_bound)
        return;
    double bits = bits_for(reset, set, fn_bound);
    if (bits < best->bits_per_key * (1 - TIE)) {
        best->reset = reset;
        best->set = set;
        best->bits_per_key = bits;
    }
}

static uint32_t plain_hashes(double fp_bound)
{
    uint32_t k = 1;

    while (pow(UMBEL_PLAIN_FILL, k) > fp_bound)
        k++;
    return k;
}

static umbel_status want_share(const char *name, double bound, umbel_error *err)
{
    if (!(bound > 0 && bound < 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "%s must lie between 0 and 1, got %g", name, bound);
    return UMBEL_OK;
}

umbel_status umbel_plan_bounds(double fp_bound, double fn_bound,
                               umbel_bounds_plan *out, umbel_error *err)
{
    umbel_bounds_plan best = {.bits_per_key = INFINITY};
    double least = umbel_generalized_fp_bound(MOST, MOST);

    UM_TRY(want_share("fp_bound", fp_bound, err));
    UM_TRY(want_share("fn_bound", fn_bound, err));
    for (uint32_t reset = 1; reset <= MOST; reset++)
        for (uint32_t set = 1; set <= MOST; set++)
            consider(reset, set, fp_bound, fn_bound, &best);
    if (fp_bound < least)
        return um_fail(err, UMBEL_E_RANGE,
                       "fp_bound %g takes more than %d + %d functions: ask for "
                       "%.2g or more",
                       fp_bound, MOST, MOST, least);
    if (isinf(best.bits_per_key))
        return um_fail(err, UMBEL_E_RANGE,
                       "no size keeps fn_bound %g: ask for more", fn_bound);
    best.fp_bound = umbel_generalized_fp_bound(best.reset, best.set);
    best.fn_bound =
        umbel_generalized_fn_bound(best.reset, best.set, best.bits_per_key);
    best.plain_hashes = plain_hashes(fp_bound);
    best.plain_bits_per_key = best.plain_hashes / log(2);
    *out = best;
    return UMBEL_OK;
}
