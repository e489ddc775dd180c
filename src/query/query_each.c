/*
 * query_each.c - one question for many digests, one answer at a time.
 */
#include "query/query_each.h"

#include "base/batch.h"
#include "base/error.h"

umbel_status um_query_each(const umbel_filter *f, const umbel_filter *unless,
                           const umbel_digest *digests, size_t n,
                           um_take_hit *take, void *ctx, umbel_error *err)
{
    bool hit[UM_BATCH], excepted[UM_BATCH] = {false};

    for (size_t done = 0, some; done < n; done += some) {
        const umbel_digest *d = digests + done;
        some = um_next_batch(n - done);
        UM_TRY(umbel_query_digests(f, d, some, hit, err));
        if (unless)
            UM_TRY(umbel_query_digests(unless, d, some, excepted, err));
        for (size_t i = 0; i < some; i++)
            take(ctx, done + i, hit[i] && !excepted[i]);
    }
    return UMBEL_OK;
}
