/*
 * digest_source.c - the digests of a list as a source.
 */
#include "query/digest_source.h"

#include "base/batch.h"
#include "base/error.h"

static umbel_status each_of_list(const void *ctx, size_t from, size_t to,
                                 um_take_some *take, void *take_ctx,
                                 umbel_error *err)
{
    const umbel_key_list *list = ctx;

    for (size_t i = from, some; i < to; i += some) {
        some = um_next_batch(to - i);
        UM_TRY(take(take_ctx, list->digests + i, some, err));
    }
    return UMBEL_OK;
}

um_digest_source um_source_of_list(const umbel_key_list *list)
{
    return (um_digest_source){list, list->n, true, each_of_list};
}
