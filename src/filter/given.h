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

/* The same for keys of fixed width, which become slices first. */
umbel_status um_given_accept_fixed(const umbel_filter *f, const um_given *keys,
                                   umbel_error *err);
void um_given_digest_fixed(const umbel_filter *f, const um_given *keys,
                           size_t from, size_t n, umbel_digest d[UM_BATCH]);

/* Looks at all keys before the first is used: all are accepted, or none. */
static inline umbel_status
um_given_accept(const umbel_filter *f, const um_given *keys, umbel_error *err)
{
    const um_hash *hash = f->hasher.row;

    if (!hash->accept)
        return UMBEL_OK;
    return keys->slices ? hash->accept(keys->slices, keys->n, err)
                        : um_given_accept_fixed(f, keys, err);
}

/* Digests the batch that begins with key from; returns its length. */
static inline size_t um_given_digest(const umbel_filter *f,
                                     const um_given *keys, size_t from,
                                     umbel_digest d[UM_BATCH])
{
    size_t n = um_next_batch(keys->n - from);

    if (keys->slices)
        f->hasher.row->digest(&f->hasher, keys->slices + from, n, d);
    else
        um_given_digest_fixed(f, keys, from, n, d);
    return n;
}

#endif
