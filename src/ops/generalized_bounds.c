/*
 * generalized_bounds.c - bits from elsewhere in a generalized filter, and what
 * holds whatever they are.
 */
#include "base/error.h"
#include "filter/handle.h"
#include "kinds/generalized.h"
#include "kinds/rows.h"

#include <umbel/generalized.h>

#include <string.h>

static umbel_status want_generalized(const umbel_filter *f, const char *verb,
                                     umbel_error *err)
{
    if (f->shape.kind != &um_kind_generalized)
        return um_cannot(f, verb, err);
    return UMBEL_OK;
}

umbel_status umbel_bounds_of(const umbel_filter *f, umbel_bounds *out,
                             umbel_error *err)
{
    UM_TRY(want_generalized(f, "bound its errors", err));
    uint32_t reset = (uint32_t)f->shape.setting[UM_RESET];
    uint32_t set = (uint32_t)f->shape.setting[UM_SET];
    um_roles r = um_roles_of(&f->layout, reset, set);
    double cells = (double)f->shape.cells, keys = (double)f->shape.added;
    *out = (umbel_bounds){
        .fp_bound = reset && set ? um_roles_bound(&r) : 1,
        .fn_bound =
            keys > 0 ? umbel_generalized_fn_bound(reset, set, cells / keys) : 0,
    };
    return UMBEL_OK;
}

umbel_status umbel_start_from(umbel_filter *f, const void *bits, size_t len,
                              umbel_error *err)
{
    size_t want = (size_t)((f->shape.cells + 7) / 8);

    UM_TRY(want_generalized(f, "start from given bits", err));
    if (len != want)
        return um_fail(err, UMBEL_E_RANGE,
                       "a filter of this size starts from %zu bytes, got %zu",
                       want, len);
    UM_TRY(umbel_clear(f, err));
    memcpy(f->payload, bits, len);
    um_clear_padding(f);
    return UMBEL_OK;
}
