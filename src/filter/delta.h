/*
 * delta.h - differences of counts, and the states they lie between.
 */
#ifndef UM_FILTER_DELTA_H
#define UM_FILTER_DELTA_H

#include "filter/handle.h"

static inline bool um_is_delta(const um_delta *d)
{
    return d->from || d->to;
}

/*
 * Finds out what merging gives, before any cell changes: *out, a difference or
 * zeros, and the checksum that the cells must have then; 0: any. Refuses a
 * difference that is added to another state than it starts from.
 */
umbel_status um_delta_merge(const umbel_filter *into, const umbel_filter *from,
                            umbel_merge_op op, um_delta *out,
                            uint64_t *expected, umbel_error *err);
/* Merges cells, or leaves them as they are and refuses. */
umbel_status um_delta_apply(umbel_filter *into, const umbel_filter *from,
                            umbel_merge_op op, uint64_t expected,
                            umbel_error *err);

#endif
