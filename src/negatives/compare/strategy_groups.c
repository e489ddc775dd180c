/*
 * strategy_groups.c - every member goes by one of two groups of hash functions,
 * chosen so that little of the list matches. Where the list is long this takes
 * minutes, so it is tried on a sample first.
 */
#include "base/error.h"
#include "negatives/compare/compare.h"

#include <umbel/experimental/choose.h>

enum { GROUPS = 2 };

static umbel_status create(const um_scene *s, um_made *out, umbel_error *err)
{
    umbel_choose_params p = UMBEL_CHOOSE_INIT;
    umbel_choose_result result;

    p.like = s->like;
    UM_TRY(
        um_strategy_bloom(s, s->bytes, s->capacity, GROUPS, &out->filter, err));
    return umbel_choose(out->filter, s->members, s->never, &p, &result, err);
}

const um_strategy_row um_strategy_groups = {
    .name = "groups",
    .summary = "members go by one of two groups",
    .readers_change = true,
    .groups = GROUPS,
    .slow = true,
    .make = create};

const um_strategy_row um_strategy_groups_classic = {
    .name = "groups-classic",
    .summary = "the same on addressing classic",
    .addressing = "classic",
    .readers_change = true,
    .groups = GROUPS,
    .slow = true,
    .make = create};
