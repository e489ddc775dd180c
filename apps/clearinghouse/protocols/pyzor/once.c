/*
 * pyzor_once.c - which reporter has reported which digest lately.
 */
#include "clearinghouse/protocols/pyzor/once.h"

#include "base/error.h"
#include "base/hash.h"
#include "filter/handle.h"

#include <umbel/umbel.h>

#include <stdlib.h>
#include <string.h>

struct um_pyzor_once {
    umbel_filter *filter;
};

/* What the filter's keys are made of. The digest is keyed with the store's
 * secret, so strangers cannot make two keys that collide. */
typedef struct once_key {
    umbel_digest digest;
    um_network network;
    uint64_t account, list;
} once_key;

static once_key key_of(const um_reporter *r, const umbel_digest *d)
{
    once_key k = {.digest = *d, .list = r->list};

    if (r->account)
        k.account = um_checksum(r->account, strlen(r->account));
    else
        k.network = r->network;
    return k;
}

umbel_status um_pyzor_once_open(uint64_t capacity, um_pyzor_once **out,
                                umbel_error *err)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    um_pyzor_once *o = calloc(1, sizeof *o);

    if (!o)
        return um_no_memory(err, sizeof *o);
    params.capacity = capacity;
    params.fpr = 1e-6;
    umbel_status status = umbel_create("aging", &params, &o->filter, err);
    if (status == UMBEL_OK)
        *out = o;
    else
        free(o);
    return status;
}

uint64_t um_pyzor_once_bytes(const um_pyzor_once *o)
{
    return o->filter->payload_len + sizeof *o->filter;
}

void um_pyzor_once_close(um_pyzor_once *o)
{
    if (!o)
        return;
    umbel_close(o->filter);
    free(o);
}

bool um_pyzor_once_seen(const um_pyzor_once *o, const um_reporter *r,
                        const umbel_digest *d)
{
    once_key k = key_of(r, d);
    bool seen = false;

    return umbel_query(o->filter, &k, sizeof k, &seen, NULL) == UMBEL_OK &&
           seen;
}

void um_pyzor_once_add(um_pyzor_once *o, const um_reporter *r,
                       const umbel_digest *d)
{
    once_key k = key_of(r, d);

    umbel_add(o->filter, &k, sizeof k, NULL, NULL);
}
