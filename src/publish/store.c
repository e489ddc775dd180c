/*
 * store.c - calls of a store that need more than the call.
 */
#include "publish/store.h"

#include "base/error.h"

umbel_status um_store_check(const umbel_store *s, bool for_reader,
                            umbel_error *err)
{
    bool both = s && s->size >= sizeof *s && s->lock && s->unlock && s->get &&
                s->release && s->put && s->list && s->remove;

    if (!both || (for_reader && !(s->resume && s->append && s->move)))
        return um_fail(err, UMBEL_E_RANGE,
                       "the store's size is not set, or it lacks a call");
    return UMBEL_OK;
}

umbel_status um_store_object_digest(const umbel_store *s, const char *name,
                                    um_blob *out, umbel_error *err)
{
    umbel_slice all;

    if (s->digest)
        return s->digest(s->ctx, name, out->digest, &out->len, err);
    UM_TRY(s->get(s->ctx, name, &all, err));
    um_digest_parts(&all, 1, out->digest);
    out->len = all.len;
    s->release(s->ctx, all);
    return UMBEL_OK;
}

const char *um_store_where(const umbel_store *s, const char *name)
{
    return s->where ? s->where(s->ctx, name) : name;
}
