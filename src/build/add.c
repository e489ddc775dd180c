/*
 * add.c - adds the keys of a source to a filter, or removes them.
 */
#include "keylist/source.h"

#include "base/error.h"

typedef struct change {
    umbel_filter *filter;
    uint64_t n; /* keys */
} change;

static umbel_status add_digests(void *ctx, const um_key_batch *batch,
                                const umbel_digest *digests, umbel_error *err)
{
    change *c = ctx;

    c->n += batch->n;
    return umbel_add_digests(c->filter, digests, batch->n, NULL, err);
}

static umbel_status add_amounts(void *ctx, const um_key_batch *batch,
                                umbel_error *err)
{
    change *c = ctx;

    c->n += batch->n;
    return umbel_add_amounts(c->filter, batch->keys, batch->amounts, batch->n,
                             NULL, err);
}

umbel_status um_keys_add(const um_key_source *s, umbel_filter *f, uint64_t *n,
                         umbel_error *err)
{
    change c = {.filter = f};
    um_key_source source = *s;

    source.pass = "adding keys";
    umbel_status status =
        um_format_has_amounts(&s->format)
            ? um_keys_each_batch(&source, add_amounts, &c, err)
            : um_keys_each_digest(&source, f, add_digests, &c, err);

    *n = c.n;
    return status;
}

/* Removes one by one, to name the key that is not in the filter. */
static umbel_status remove_batch(void *ctx, const um_key_batch *batch,
                                 umbel_error *err)
{
    change *c = ctx;

    for (size_t i = 0; i < batch->n; i++) {
        umbel_status status =
            umbel_remove_many(c->filter, &batch->keys[i], 1, err);
        int len = (int)(batch->lines[i].len < 40 ? batch->lines[i].len : 40);
        if (status == UMBEL_E_RANGE)
            return um_fail(err, status,
                           "\"%.*s\" is not in the filter, so it cannot be "
                           "removed",
                           len, (const char *)batch->lines[i].data);
        UM_TRY(status);
        c->n++;
    }
    return UMBEL_OK;
}

umbel_status um_keys_remove(const um_key_source *s, umbel_filter *f,
                            uint64_t *n, umbel_error *err)
{
    change c = {.filter = f};
    umbel_status status = um_keys_each_batch(s, remove_batch, &c, err);

    *n = c.n;
    return status;
}
