/*
 * given.c - keys of fixed width, made into slices a batch at a time.
 */
#include "filter/given.h"

#include "base/error.h"

static void slice_up(const um_given *keys, size_t from, size_t n,
                     umbel_slice s[UM_BATCH])
{
    const uint8_t *base = keys->width ? keys->fixed : (const uint8_t *)"";

    for (size_t i = 0; i < n; i++)
        s[i] = (umbel_slice){base + (from + i) * keys->width, keys->width};
}

umbel_status um_given_accept_fixed(const umbel_filter *f, const um_given *keys,
                                   umbel_error *err)
{
    umbel_slice s[UM_BATCH];

    for (size_t i = 0, some; i < keys->n; i += some) {
        some = um_next_batch(keys->n - i);
        slice_up(keys, i, some, s);
        UM_TRY(f->hasher.row->accept(s, some, err));
    }
    return UMBEL_OK;
}

void um_given_digest_fixed(const umbel_filter *f, const um_given *keys,
                           size_t from, size_t n, umbel_digest d[UM_BATCH])
{
    umbel_slice s[UM_BATCH];

    slice_up(keys, from, n, s);
    f->hasher.row->digest(&f->hasher, s, n, d);
}
