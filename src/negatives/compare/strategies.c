/*
 * strategies.c - the table of ways to keep listed keys from matching, and the
 * plain filter on which some of them stand.
 */
#include "base/error.h"
#include "filter/sizing.h"
#include "negatives/compare/compare.h"

#include <umbel/file.h>
#include <umbel/plan.h>

#include <inttypes.h>

umbel_status um_strategy_bloom(const um_scene *s, uint64_t bytes, uint64_t keys,
                               uint32_t groups, umbel_filter **out,
                               umbel_error *err)
{
    umbel_setting setting = {"groups", groups};
    umbel_params p = s->params;
    umbel_plan plan;

    p.fpr = 0;
    p.capacity = keys ? keys : 1;
    p.settings = &setting;
    p.nsettings = groups > 1;
    UM_TRY(umbel_make_plan("bloom", &p, bytes, &plan, err));
    if (plan.bytes > bytes)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " bytes are too few: the smallest file takes "
                       "%" PRIu64,
                       bytes, plan.bytes);
    p.cells = plan.cells;
    p.hashes = plan.hashes;
    return umbel_create("bloom", &p, out, err);
}

umbel_status um_strategy_plain(const um_scene *s, uint64_t bytes, um_made *out,
                               umbel_error *err)
{
    UM_TRY(um_strategy_bloom(s, bytes, s->capacity, 1, &out->filter, err));
    return umbel_add_digests(out->filter, s->members->digests, s->members->n,
                             NULL, err);
}

static umbel_status create_plain(const um_scene *s, um_made *out,
                                 umbel_error *err)
{
    return um_strategy_plain(s, s->bytes, out, err);
}

const um_strategy_row um_no_strategy = {
    .name = "plain", .groups = 1, .make = create_plain};

const um_strategy_row *const um_strategies[] = {&um_strategy_retouch,
                                                &um_strategy_retouch_classic,
                                                &um_strategy_groups,
                                                &um_strategy_groups_classic,
                                                &um_strategy_exceptions,
                                                &um_strategy_exceptions_classic,
                                                &um_strategy_ribbon,
                                                &um_strategy_plain_ribbon,
                                                NULL};

_Static_assert(UM_COUNT(um_strategies) <= UMBEL_MAX_STRATEGIES + 1,
               "room for all ways");
