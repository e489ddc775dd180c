/*
 * given.c - keys as a caller gives them, digested a batch at a time.
 */
#include "filter/given.h"

#include "base/error.h"

/* Fills in s where keys have a fixed width; returns slices either way. */
static const umbel_slice *slice_up(const um_given *keys, size_t from, size_t n,
                                   umbel_slice s[UM_BATCH])
{
    const uint8_t *base = keys->width ? keys->fixed : (const uint8_t *)"";

    if (keys->slices)
        return keys->slices + from;
    for (size_t i = 0; i < n; i++)
        s[i] = (umbel_slice){base + (from + i) * keys->width, keys->width};
    return s;
}

umbel_status um_given_accept(const umbel_filter *f, const um_given *keys,
                             umbel_error *err)
{
    const um_hash *hash = f->shape.hash;
    umbel_slice s[UM_BATCH];

    if (!hash->accept)
        return UMBEL_OK;
    if (keys->slices)
        return hash->accept(keys->slices, keys->n, err);
    for (size_t i = 0, some; i < keys->n; i += some) {
        some = um_next_batch(keys->n - i);
        UM_TRY(hash->accept(slice_up(keys, i, some, s), some, err));
    }
    return UMBEL_OK;
}

size_t um_given_digest(const umbel_filter *f, const um_given *keys, size_t from,
                       umbel_digest d[UM_BATCH])
{
    umbel_slice s[UM_BATCH];
    size_t n = um_next_batch(keys->n - from);

    f->shape.hash->digest(&f->hasher, slice_up(keys, from, n, s), n, d);
    return n;
}
