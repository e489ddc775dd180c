/*
 * retouch_curve.c - the steps of a retouching, recorded.
 */
#include "negatives/retouch/curve.h"

#include "base/buffer.h"

#include <stdlib.h>

static bool reserve(um_curve *c)
{
    c->no_memory |=
        !um_array_reserve(&c->steps, &c->cap, c->n + 1, sizeof *c->steps);
    return !c->no_memory;
}

void um_curve_add(um_curve *c, const umbel_retouch_step *step)
{
    bool removes = c->n == 0 || step->removed > c->steps[c->n - 1].removed;

    if (removes && reserve(c))
        c->steps[c->n++] = *step;
}

void um_curve_fini(um_curve *c)
{
    free(c->steps);
    *c = (um_curve){0};
}

umbel_retouch_step um_curve_at(const um_curve *c, uint64_t lost)
{
    umbel_retouch_step at = {0};

    for (size_t i = 0; i < c->n && c->steps[i].lost <= lost; i++)
        at = c->steps[i];
    return at;
}

/* The difference of two equal sums need not be 0. */
double um_weight_left(const umbel_retouch_result *result,
                      const umbel_retouch_step *step)
{
    return step->removed == result->matched
               ? 0
               : result->matched_weight - step->removed_weight;
}
