/*
 * digest_index.c - a table of digests with open addressing.
 */
#include "query/digest_index.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

/* The slot of d, or the free one where it belongs. */
static uint32_t *place_of(const um_digest_index *r, const umbel_digest *d)
{
    /* Keys of hash integer have no hi, and a lo of few bits. */
    size_t i = (size_t)um_remix(d->lo ^ um_remix(d->hi)) & (r->nslots - 1);

    for (; r->slot[i]; i = (i + 1) & (r->nslots - 1)) {
        const umbel_digest *other = &r->digests[r->slot[i] - 1];
        if (other->lo == d->lo && other->hi == d->hi)
            break;
    }
    return &r->slot[i];
}

umbel_status um_digest_index_init(um_digest_index *r, const umbel_alloc *alloc,
                                  const umbel_digest *digests, size_t n,
                                  umbel_error *err)
{
    *r = (um_digest_index){.alloc = alloc, .digests = digests, .nslots = 16};
    if (n >= UINT32_MAX / 4)
        return um_fail(err, UMBEL_E_LIMIT, "%zu keys are too many", n);
    while (r->nslots < 2 * n)
        r->nslots *= 2;
    r->slot = um_get(alloc, r->nslots * sizeof *r->slot);
    if (!r->slot)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", n);
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot = place_of(r, &digests[i]);
        r->n += *slot == 0;
        if (*slot == 0)
            *slot = (uint32_t)i + 1;
    }
    return UMBEL_OK;
}

void um_digest_index_fini(um_digest_index *r)
{
    if (r->slot)
        um_put(r->alloc, r->slot, r->nslots * sizeof *r->slot);
    r->slot = NULL;
}

uint32_t um_digest_index_find(const um_digest_index *r, const umbel_digest *d)
{
    return *place_of(r, d);
}

umbel_status um_check_weights(const double *weights, size_t n, umbel_error *err)
{
    for (size_t i = 0; weights && i < n; i++)
        if (!(weights[i] == 0 || (weights[i] >= 1e-100 && weights[i] <= 1e100)))
            return um_fail(
                err, UMBEL_E_RANGE,
                "weight %g of key %zu: weights are 0, or from 1e-100 "
                "to 1e100",
                weights[i], i);
    return UMBEL_OK;
}
