/*
 * list.c - counts that expire: sums over epochs, each a filter that counts.
 */
#include "store/list_private.h"

#include "analysis/plan_counts.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "filter/envelope.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdio.h>

/* Kinds fetch ahead by themselves within a batch of more than that. */
enum { FEW = 16 };

/* --- open and close ------------------------------------------------------ */

umbel_status um_list_check(const um_list_config *c, umbel_error *err)
{
    if (!umbel_is_counting(c->kind))
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "list %.32s: there is no kind \"%.32s\" that counts",
                       c->name, c->kind);
    if (c->epochs < 1 || c->epochs > UM_LIST_MAX_EPOCHS)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: epochs must be 1..%d, got %u", c->name,
                       UM_LIST_MAX_EPOCHS, c->epochs);
    if (c->capacity < 1 || c->capacity > UM_MAX_CELLS - UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: capacity must be 1..2^48, got %" PRIu64,
                       c->name, c->capacity);
    if (!(c->error > 0 && c->error < 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: error must lie between 0 and 1, got %g",
                       c->name, c->error);
    if (c->threshold > UM_LIST_MAX_THRESHOLD)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: the threshold must be at most %d, got %u",
                       c->name, UM_LIST_MAX_THRESHOLD, c->threshold);
    return UMBEL_OK;
}

umbel_status um_list_create(const um_list_config *c, const uint8_t *secret,
                            um_list **out, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(c->alloc);

    UM_TRY(um_list_check(c, err));
    um_list *l = um_get(&alloc, sizeof *l);
    if (!l)
        return um_no_memory(err, sizeof *l);
    l->config = *c;
    l->alloc = alloc;
    snprintf(l->name, sizeof l->name, "%s", c->name);
    snprintf(l->kind, sizeof l->kind, "%s", c->kind);
    l->config.name = l->name;
    l->config.kind = l->kind;
    l->config.alloc = &l->alloc;
    memcpy(l->secret, secret, sizeof l->secret);
    *out = l;
    return UMBEL_OK;
}

umbel_status um_list_open(const um_list_config *c, const uint8_t *secret,
                          uint64_t now, um_list **out, umbel_error *err)
{
    um_list *l;

    UM_TRY(um_list_create(c, secret, &l, err));
    umbel_status status = um_list_turn(l, now, err);
    if (status == UMBEL_OK)
        *out = l;
    else
        um_list_close(l);
    return status;
}

void um_list_drop(um_list *l, unsigned from)
{
    while (l->n > from)
        umbel_close(l->epoch[--l->n].filter);
}

void um_list_close(um_list *l)
{
    if (!l)
        return;
    um_list_drop(l, 0);
    um_list_sums_fini(l);
    umbel_alloc alloc = l->alloc;
    um_put(&alloc, l, sizeof *l);
}

/* --- digests ------------------------------------------------------------- */

void um_list_digest(const um_list *l, const umbel_slice *keys, size_t n,
                    umbel_digest *out)
{
    umbel_digest_many(l->epoch[0].filter, keys, n, out, NULL);
}

/* Notes that a digest came more often: to times instead of from times. */
static void move_times(um_epoch *e, uint64_t from, uint64_t to)
{
    from = from < e->threshold ? from : e->threshold;
    to = to < e->threshold ? to : e->threshold;
    if (e->times[from] && from)
        e->times[from]--;
    e->times[to]++;
}

/* Counts go in one by one, since a digest may be among them twice. */
static umbel_status add_noted(um_epoch *e, const umbel_digest *d,
                              const uint64_t *amount, size_t n,
                              umbel_error *err)
{
    um_fetch_counts(e->filter, d, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t before, after;
        umbel_count_digests(e->filter, d + i, 1, &before, NULL);
        UM_TRY(umbel_add_digest_amounts(e->filter, d + i, amount + i, 1, NULL,
                                        err));
        after = before + amount[i];
        if (after > before)
            move_times(e, before, after);
    }
    return UMBEL_OK;
}

umbel_status um_list_add(um_list *l, const umbel_digest *d,
                         const uint32_t *amount, size_t n, umbel_error *err)
{
    um_epoch *newest = &l->epoch[0];
    uint64_t wide[UM_LIST_BATCH];

    if (n > UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_RANGE, "at most %d digests, got %zu",
                       UM_LIST_BATCH, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = amount[i];
    l->changes++;
    if (newest->threshold)
        return add_noted(newest, d, wide, n, err);
    return umbel_add_digest_amounts(newest->filter, d, wide, n, NULL, err);
}

/* --- mails --------------------------------------------------------------- */

umbel_status um_list_write(um_list *l, const um_near_write *w, umbel_error *err)
{
    if (!um_is_near(l->epoch[0].filter))
        return um_fail(err, UMBEL_E_UNSUPPORTED, "list %s has no mails",
                       l->name);
    l->changes++;
    return um_near_append(l->epoch[0].filter, w, err);
}

bool um_list_has_room(const um_list *l, const um_near_write *w)
{
    const umbel_filter *newest = l->epoch[0].filter;

    return um_is_near(newest) && ((!um_list_is_held(l) && um_list_room(l)) ||
                                  !um_near_needs_room(newest, w));
}

/* --- counts -------------------------------------------------------------- */

uint64_t um_list_changes(const um_list *l)
{
    return l->changes;
}

void um_list_fetch(const um_list *l, const umbel_digest *d, size_t n)
{
    for (unsigned e = 0; e < l->n; e++)
        um_fetch_counts(l->epoch[e].filter, d, n);
}

static void count_batch(const um_list *l, const umbel_digest *d, size_t n,
                        uint64_t *count)
{
    uint64_t some[UM_LIST_BATCH];

    if (n <= FEW)
        um_list_fetch(l, d, n);
    umbel_count_digests(l->epoch[0].filter, d, n, count, NULL);
    for (unsigned e = 1; e < l->n; e++) {
        umbel_count_digests(l->epoch[e].filter, d, n, some, NULL);
        for (size_t i = 0; i < n; i++)
            count[i] += some[i];
    }
}

void um_list_count(const um_list *l, const umbel_digest *d, size_t n,
                   uint64_t *count)
{
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < UM_LIST_BATCH ? n - i : UM_LIST_BATCH;
        count_batch(l, d + i, some, count + i);
    }
}

unsigned um_list_count_epochs(const um_list *l, const umbel_digest *d,
                              uint64_t count[UM_LIST_MAX_EPOCHS])
{
    for (unsigned e = 0; e < l->n; e++)
        umbel_count_digests(l->epoch[e].filter, d, 1, &count[e], NULL);
    return l->n;
}

uint64_t um_list_oldest(const um_list *l)
{
    return l->epoch[l->n - 1].begin;
}

bool um_list_times(const um_list *l, const umbel_digest *d, uint64_t now,
                   uint64_t *entered, uint64_t *updated)
{
    bool found = false;
    uint64_t count[UM_LIST_MAX_EPOCHS];
    unsigned n = um_list_count_epochs(l, d, count);

    for (unsigned e = 0; e < n; e++) {
        if (!count[e])
            continue;
        if (!found)
            *updated = e ? l->epoch[e].end : now;
        *entered = l->epoch[e].begin;
        found = true;
    }
    return found;
}

/* --- statistics ---------------------------------------------------------- */

static void epoch_stats(const um_epoch *e, um_epoch_stats *out)
{
    uint64_t digests = umbel_added(e->filter);
    umbel_count_plan plan = {0};

    if (e->threshold)
        um_plan_times(um_shape_of(e->filter), e->threshold, e->times, &plan,
                      NULL);

    *out = (um_epoch_stats){.begin = e->begin,
                            .end = e->end,
                            .digests = digests,
                            .capacity = um_epoch_capacity(e->filter),
                            .error = umbel_fpr_at(e->filter, (double)digests),
                            .f_compound = plan.f_compound,
                            .f_paper = plan.f_paper};
}

void um_list_stats_get(const um_list *l, um_list_stats *out)
{
    *out = (um_list_stats){.name = l->name,
                           .kind = l->kind,
                           .max_error = l->config.error,
                           .count_limit = UINT64_MAX,
                           .bytes = sizeof *l + l->sums.cells.len,
                           .threshold = l->config.threshold,
                           .held = um_list_is_held(l),
                           .over_at = um_list_over_at(l),
                           .n = l->n};
    for (unsigned i = 0; i < l->n; i++) {
        const umbel_filter *f = l->epoch[i].filter;
        uint64_t limit = umbel_count_limit(f);
        epoch_stats(&l->epoch[i], &out->epoch[i]);
        out->digests += out->epoch[i].digests;
        out->error += out->epoch[i].error;
        out->f_compound += out->epoch[i].f_compound;
        out->f_paper += out->epoch[i].f_paper;
        out->bytes += f->payload_len + sizeof *f;
        if (limit < out->count_limit)
            out->count_limit = limit;
    }
    out->fill = (double)out->epoch[0].digests / (double)out->epoch[0].capacity;
}
