/*
 * strategy_retouch.c - a plain filter, some bits of which are cleared. Some
 * members are lost, but readers need nothing new.
 */
#include "base/error.h"
#include "negatives/compare/compare.h"

#include <umbel/experimental/retouch.h>

static umbel_status create(const um_scene *s, um_made *out, umbel_error *err)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_key_list members = UMBEL_KEY_LIST(s->members->digests, s->members->n);
    umbel_retouch_result bill;

    UM_TRY(um_strategy_plain(s, s->bytes, out, err));
    return umbel_retouch(out->filter, &members, s->never, &p, &bill, NULL, err);
}

const um_strategy_row um_strategy_retouch = {
    .name = "retouch",
    .summary = "bits cleared; some members are lost",
    .groups = 1,
    .make = create};

const um_strategy_row um_strategy_retouch_classic = {
    .name = "retouch-classic",
    .summary = "the same on addressing classic",
    .addressing = "classic",
    .groups = 1,
    .make = create};
