/*
 * query_each.h - one question for many digests, one answer at a time.
 */
#ifndef UM_OPS_QUERY_EACH_H
#define UM_OPS_QUERY_EACH_H

#include <umbel/filter.h>

typedef void um_take_hit(void *ctx, size_t i, bool hit);

/*
 * Queries f for n digests, a batch at a time, and hands each answer to take.
 * Digests that match unless, a filter of exceptions or NULL, do not match.
 */
umbel_status um_query_each(const umbel_filter *f, const umbel_filter *unless,
                           const umbel_digest *digests, size_t n,
                           um_take_hit *take, void *ctx, umbel_error *err);

#endif
