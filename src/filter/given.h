/*
 * given.h - keys as a caller gives them, digested a batch at a time.
 */
#ifndef UM_FILTER_GIVEN_H
#define UM_FILTER_GIVEN_H

#include "base/batch.h"
#include "filter/handle.h"

/* n keys: slices, or width bytes each from fixed on. */
typedef struct um_given {
    size_t n;
    const umbel_slice *slices; /* NULL: fixed */
    const void *fixed;
    size_t width;
} um_given;

/* Looks at all keys before the first is used: all are accepted, or none. */
umbel_status um_given_accept(const umbel_filter *f, const um_given *keys,
                             umbel_error *err);
/* Digests the batch that begins with key from; returns its length. */
size_t um_given_digest(const umbel_filter *f, const um_given *keys, size_t from,
                       umbel_digest d[UM_BATCH]);

#endif
