/*
 * duplicates.c - remembers which reporter recently reported which digest.
 */
#include "clearinghouse/protocols/duplicates.h"

#include "base/error.h"
#include "base/hash.h"
#include "filter/handle.h"

#include <umbel/umbel.h>

#include <stdlib.h>
#include <string.h>

struct um_duplicates {
    umbel_filter *filter;
};

/* Hashed into the filter's keys. The digest is keyed with the store's secret,
 * so that clients cannot construct keys that collide. */
typedef struct report_key {
    umbel_digest digest;
    um_network network;
    uint64_t account, list;
} report_key;

static report_key key_of(const um_reporter *r, const umbel_digest *d)
{
    report_key k = {.digest = *d, .list = r->list};

    if (r->account)
        k.account = um_checksum(r->account, strlen(r->account));
    else
        k.network = r->network;
    return k;
}

umbel_status um_duplicates_open(uint64_t capacity, um_duplicates **out,
                                umbel_error *err)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    um_duplicates *o = calloc(1, sizeof *o);

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

uint64_t um_duplicates_bytes(const um_duplicates *o)
{
    return o->filter->payload_len + sizeof *o->filter;
}

void um_duplicates_close(um_duplicates *o)
{
    if (!o)
        return;
    umbel_close(o->filter);
    free(o);
}

bool um_duplicates_seen(const um_duplicates *o, const um_reporter *r,
                        const umbel_digest *d)
{
    report_key k = key_of(r, d);
    bool seen = false;

    return umbel_query(o->filter, &k, sizeof k, &seen, NULL) == UMBEL_OK &&
           seen;
}

void um_duplicates_add(um_duplicates *o, const um_reporter *r,
                       const umbel_digest *d)
{
    report_key k = key_of(r, d);

    umbel_add(o->filter, &k, sizeof k, NULL, NULL);
}
