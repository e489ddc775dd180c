/*
 * digests.c - the digests of a key source.
 */
#include "keys/digests.h"

#include "base/error.h"

typedef struct taking {
    um_take_some *take;
    void *ctx;
} taking;

static umbel_status take_batch(void *ctx, const um_key_batch *batch,
                               const umbel_digest *digests, umbel_error *err)
{
    const taking *t = ctx;

    return t->take(t->ctx, digests, batch->n, err);
}

static umbel_status each_of_keys(const void *ctx, um_take_some *take,
                                 void *take_ctx, umbel_error *err)
{
    const um_key_digests *d = ctx;
    taking t = {take, take_ctx};

    return um_keys_each_digest(&d->keys, d->filter, take_batch, &t, err);
}

umbel_status um_key_digests_init(um_key_digests *d, const um_key_source *keys,
                                 const umbel_filter *filter,
                                 um_digest_source *out, umbel_error *err)
{
    um_key_list_params keep = {.filter = filter};
    uint64_t n = 0;

    *d = (um_key_digests){.keys = *keys, .filter = filter};
    d->keys.pass = "choosing cells of members";
    if (um_keys_rereadable(keys)) {
        UM_TRY(um_keys_count(keys, &n, err));
        *out = (um_digest_source){d, (size_t)n, each_of_keys};
        return UMBEL_OK;
    }
    UM_TRY(um_key_list_read(&d->list, keys, &keep, err));
    d->view = um_key_list_view(&d->list);
    *out = um_source_of_list(&d->view);
    return UMBEL_OK;
}

void um_key_digests_fini(um_key_digests *d)
{
    um_key_list_fini(&d->list);
}
