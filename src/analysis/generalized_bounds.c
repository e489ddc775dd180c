/*
 * generalized_bounds.c - bits from elsewhere in a generalized filter, and what
 * holds whatever they are.
 */
#include "base/error.h"
#include "filter/handle.h"

#include <umbel/experimental/generalized.h>

#include <string.h>

umbel_status umbel_bounds_of(const umbel_filter *f, umbel_bounds *out,
                             umbel_error *err)
{
    if (!f->kind->bounds)
        return um_cannot(f, "bound its errors", err);
    f->kind->bounds(f->self, out);
    return UMBEL_OK;
}

umbel_status umbel_start_from(umbel_filter *f, const void *bits, size_t len,
                              umbel_error *err)
{
    size_t want = (size_t)((f->layout.cells + 7) / 8);

    if (!f->kind->bounds)
        return um_cannot(f, "start from given bits", err);
    if (len != want)
        return um_fail(err, UMBEL_E_RANGE,
                       "a filter of this size starts from %zu bytes, got %zu",
                       want, len);
    UM_TRY(umbel_clear(f, err));
    memcpy(f->payload, bits, len);
    um_clear_padding(f);
    return UMBEL_OK;
}
