/*
 * slice.c - arbitrary facts of a slice of umbel packets witness.
 *
 * They are rejected, or the slice has the name of a possible router, times in
 * order, a probability as its error, and answers.
 */
#include "fuzz.h"

#include "packets/witness/witness.h"

#include <umbel/file.h>

static umbel_filter *filter; /* of an empty slice; its data changes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    const uint64_t digests[] = {0, 1, UINT64_MAX};
    bool hit[3];
    umbel_error err;
    pk_slice slice;

    params.capacity = 10;
    if (!filter)
        UM_WANT(umbel_create("bloom", &params, &filter, &err) == UMBEL_OK);
    if (umbel_set_data(filter, data, size, &err) != UMBEL_OK)
        return 0;
    umbel_status status = pk_slice_attach(filter, &slice, &err);
    if (status) {
        um_fuzz_check_error(status, &err);
        return 0;
    }
    UM_WANT(pk_router_name(slice.facts.router));
    UM_WANT(slice.facts.from <= slice.facts.to);
    UM_WANT(slice.error >= 0 && slice.error <= 1);
    UM_WANT(pk_slice_query(&slice, digests, 3, hit, &err) == UMBEL_OK);
    return 0;
}
