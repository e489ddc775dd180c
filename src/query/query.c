/*
 * query.c - keys against a filter of any kind.
 */
#include "query/query.h"

#include "base/error.h"
#include "query/edits.h"

#include <umbel/umbel.h>

#include <inttypes.h>

static umbel_status refuse_counts(const um_query *q, umbel_error *err)
{
    const umbel_filter *f = q->filter;

    if (q->values && umbel_is_static(umbel_kind(f)) && !umbel_value_bits(f))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "this filter has no values: make a map with umbel build "
                       "--kind %s --value-bits W",
                       umbel_kind(f));
    return umbel_count_many(f, NULL, 0, NULL, err);
}

umbel_status um_query_init(um_query *q, umbel_error *err)
{
    uint64_t limit = umbel_count_limit(q->filter);

    q->map = q->values && !q->threshold && umbel_value_bits(q->filter);
    q->counting = (q->values || q->threshold) && !q->map;
    if (!q->counting)
        return UMBEL_OK;
    if (!limit)
        return refuse_counts(q, err);
    if (!q->threshold)
        q->threshold = 1;
    if (q->threshold > limit)
        return um_fail(err, UMBEL_E_RANGE,
                       "the threshold must be 1 to %" PRIu64
                       ", where the counters of this filter end; got %" PRIu64,
                       limit, q->threshold);
    return UMBEL_OK;
}

enum { SOME = 256 }; /* keys at a time */

static umbel_status add_counts(const umbel_filter *f, const umbel_slice *keys,
                               size_t n, uint64_t *counts, umbel_error *err)
{
    uint64_t own[SOME];

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < SOME ? n - done : SOME;
        UM_TRY(umbel_count_many(f, keys + done, some, own, err));
        for (size_t i = 0; i < some; i++)
            counts[done + i] += own[i];
    }
    return UMBEL_OK;
}

static umbel_status add_hits(const umbel_filter *f, const umbel_slice *keys,
                             size_t n, bool *hit, umbel_error *err)
{
    bool own[SOME];

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < SOME ? n - done : SOME;
        UM_TRY(umbel_query_many(f, keys + done, some, own, err));
        for (size_t i = 0; i < some; i++)
            hit[done + i] |= own[i];
    }
    return UMBEL_OK;
}

static umbel_status count_keys(const um_query *q, const umbel_slice *keys,
                               size_t n, bool *hit, uint64_t *counts,
                               umbel_unless_cost *cost, umbel_error *err)
{
    UM_TRY(umbel_count_many(q->filter, keys, n, counts, err));
    for (size_t i = 0; i < q->nmore; i++)
        UM_TRY(add_counts(q->more[i], keys, n, counts, err));
    if (q->except)
        UM_TRY(umbel_query_many(q->except, keys, n, hit, err));
    for (size_t i = 0; i < n; i++)
        hit[i] = counts[i] >= q->threshold && !(q->except && hit[i]);
    cost->keys += n;
    cost->asked_filter += n;
    cost->asked_revoked += q->except ? n : 0;
    return UMBEL_OK;
}

/* The keys from that one on. */
static umbel_status query_some(const um_query *q, const umbel_slice *keys,
                               size_t from, size_t n, um_query_result *out,
                               umbel_error *err)
{
    bool *hit = out->hit + from;

    keys += from;
    if (q->counting)
        return count_keys(q, keys, n, hit, out->values + from, &out->cost, err);
    if (q->map)
        UM_TRY(umbel_values_many(q->filter, keys, n, out->values + from, err));
    if (q->except)
        return umbel_query_unless(q->filter, q->except, q->order, keys, n, hit,
                                  &out->cost, err);
    UM_TRY(umbel_query_many(q->filter, keys, n, hit, err));
    for (size_t i = 0; i < q->nmore; i++)
        UM_TRY(add_hits(q->more[i], keys, n, hit, err));
    for (size_t i = 0; q->edits && i < n; i++)
        if (!hit[i])
            UM_TRY(um_query_edits(q->filter, &keys[i], &hit[i], err));
    return UMBEL_OK;
}

umbel_status um_query_keys(const um_query *q, const umbel_slice *keys, size_t n,
                           um_query_result *out, size_t *answered,
                           umbel_error *err)
{
    umbel_status status = query_some(q, keys, 0, n, out, err);

    *answered = status == UMBEL_OK ? n : 0;
    while (status == UMBEL_E_KEY && *answered < n &&
           query_some(q, keys, *answered, 1, out, err) == UMBEL_OK)
        ++*answered;
    return status;
}

bool um_allows_denied(const umbel_filter *f, uint64_t denied)
{
    uint64_t recorded = umbel_denied(f);

    return denied <= recorded || (recorded == 0 && umbel_may_deny(f));
}
