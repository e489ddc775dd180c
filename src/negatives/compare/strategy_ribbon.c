/*
 * strategy_ribbon.c - static sets: one that knows the list, and one that does
 * not. Both are what umbel build --kind ribbon --bytes makes.
 */
#include "base/error.h"
#include "filter/sizing.h"
#include "negatives/compare/compare.h"

#include <umbel/experimental/exact.h>
#include <umbel/plan.h>

/* The ribbon has its own addressing, and no hash that comes with another. */
static umbel_status consume_hash(const um_scene *s, umbel_params *p,
                                 umbel_error *err)
{
    um_shape shape;

    UM_TRY(um_shape_from_params("bloom", &s->params, &shape, err));
    if (shape.addressing->hash)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind ribbon does not hash as addressing %s does",
                       shape.addressing->name);
    *p = s->params;
    p->addressing = NULL;
    p->fpr = 0;
    return UMBEL_OK;
}

static umbel_status create_ribbon(const um_scene *s, um_made *out,
                                  umbel_error *err)
{
    umbel_exact_result result;
    umbel_key_list members = UMBEL_KEY_LIST(s->members->digests, s->members->n);
    umbel_exact *x = NULL;
    umbel_params p;

    UM_TRY(consume_hash(s, &p, err));
    UM_TRY(umbel_exact_open_classes(&p, &members, NULL, s->classes, s->nclasses,
                                    s->bytes, &x, err));
    umbel_status status = umbel_exact_never(x, s->never, NULL, err);
    if (status == UMBEL_OK)
        status = umbel_exact_finish(x, &out->filter, &result, err);
    umbel_exact_close(x);
    return status;
}

static umbel_status create_plain_ribbon(const um_scene *s, um_made *out,
                                        umbel_error *err)
{
    umbel_key_list members = UMBEL_KEY_LIST(s->members->digests, s->members->n);
    umbel_params p;
    umbel_plan plan;

    UM_TRY(consume_hash(s, &p, err));
    p.capacity = 1;
    UM_TRY(umbel_make_plan("ribbon", &p, s->bytes, &plan, err));
    p.capacity = 0;
    p.cells = plan.cells;
    return umbel_build("ribbon", &p, &members, NULL, &out->filter, err);
}

const um_strategy_row um_strategy_ribbon = {
    .name = "ribbon",
    .summary = "a static set that knows the list",
    .readers_change = true,
    .groups = 1,
    .make = create_ribbon};

const um_strategy_row um_strategy_plain_ribbon = {
    .name = "ribbon-plain",
    .summary = "a static set that does not",
    .readers_change = true,
    .groups = 1,
    .make = create_plain_ribbon};
