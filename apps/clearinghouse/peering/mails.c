/*
 * peers_mails.c - mails that were not published yet, for a new incarnation.
 *
 * As peers_renew.c does with counts: the latest writes are remembered, and
 * written again, in their order and with their stamps.
 */
#include "clearinghouse/peering/inside.h"

#include "base/buffer.h"
#include "base/error.h"

#include <stdlib.h>

umbel_status um_mails_open(um_peers *p, umbel_error *err)
{
    p->mails.item = malloc(UM_MAILS_LEAST * sizeof *p->mails.item);
    if (!p->mails.item)
        return um_no_memory(err, UM_MAILS_LEAST * sizeof *p->mails.item);
    p->mails.cap = UM_MAILS_LEAST;
    return UMBEL_OK;
}

/* Once it has failed, later mails take the places of earlier ones. */
static bool reserve(um_latest_mails *l)
{
    size_t cap = l->cap < UM_MAILS_LEAST ? UM_MAILS_LEAST : 2 * l->cap;

    if (!um_array_resize(&l->item, cap, sizeof *l->item))
        return false;
    l->cap = cap;
    return true;
}

void um_peers_written(void *ctx, unsigned list, const um_near_write *w)
{
    um_peers *p = ctx;
    um_latest_mails *l = &p->mails;

    if (l->n == l->cap && l->cap < UM_MAILS_MOST && !reserve(l))
        um_log_event(p->log,
                     "peers: out of memory: of mails that no peer has yet only "
                     "the last %zu are remembered, in case this server has to "
                     "go on as a new incarnation; restart it with more memory",
                     l->cap);
    l->item[l->n++ % l->cap] = (um_latest_mail){list, *w};
}

static uint64_t oldest_of(const um_latest_mails *l)
{
    return l->n > l->cap ? l->n - l->cap : 0;
}

static bool same_record(const um_near_record *a, const um_near_record *b)
{
    return a->flag == b->flag && a->gone == b->gone && a->value == b->value &&
           a->stamp == b->stamp;
}

/* Returns true if a copy of ours has this record. */
static bool has_copy(const um_peers *p, const um_latest_mail *m,
                     const um_near_record *ours)
{
    um_near_record theirs;
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(p->machine, &at, &c);)
        if (c.own && c.list == m->list && um_is_near(c.filter) &&
            um_near_find(c.filter, &m->write.digest, m->write.name, &theirs) &&
            same_record(ours, &theirs))
            return true;
    return false;
}

/* Returns true if copies of ours have of the mail what the list has. */
static bool is_published(const um_peers *p, const um_latest_mail *m)
{
    const um_list *l = um_store_list(p->store, m->list);
    um_near_record ours;

    for (unsigned i = 0; i < um_list_epochs(l); i++)
        if (um_near_find(um_list_filter(l, i), &m->write.digest, m->write.name,
                         &ours) &&
            !has_copy(p, m, &ours))
            return false;
    return true;
}

/* Returns the places that copies of them all need; never 0. */
static size_t places_of(const um_latest_mails *l)
{
    return (size_t)(l->n - oldest_of(l)) + 1;
}

/* Copies some of them, in their order. NULL: no memory. */
static um_latest_mail *copy_mails(const um_peers *p, size_t *n,
                                  bool (*wanted)(const um_peers *p, uint64_t i))
{
    const um_latest_mails *l = &p->mails;
    um_latest_mail *all = malloc(places_of(l) * sizeof *all);

    *n = 0;
    for (uint64_t i = oldest_of(l); all && i < l->n; i++)
        if (wanted(p, i))
            all[(*n)++] = l->item[i % l->cap];
    return all;
}

static bool is_missing(const um_peers *p, uint64_t i)
{
    return !is_published(p, &p->mails.item[i % p->mails.cap]);
}

static bool is_later(const um_peers *p, uint64_t i)
{
    const um_latest_mails *l = &p->mails;

    return i >= l->published[l->item[i % l->cap].list];
}

void um_mails_settle(um_peers *p)
{
    size_t n, cap = places_of(&p->mails);
    um_latest_mail *all = copy_mails(p, &n, is_missing);

    if (!all)
        return; /* some may be written twice */
    free(p->mails.item);
    p->mails = (um_latest_mails){.item = all, .cap = cap, .n = n};
}

static bool has_mails(const um_list *l)
{
    return um_list_epochs(l) > 0 && um_is_near(um_list_filter(l, 0));
}

uint64_t um_mails_lost(const um_peers *p)
{
    const um_latest_mails *l = &p->mails;
    uint64_t first = l->n;

    for (unsigned i = 0; um_list_name(i); i++)
        if (has_mails(um_store_list(p->store, i)) && l->published[i] < first)
            first = l->published[i];
    return oldest_of(l) > first ? oldest_of(l) - first : 0;
}

um_latest_mail *um_mails_unpublished(const um_peers *p, size_t *n)
{
    return copy_mails(p, n, is_later);
}

umbel_status um_mails_write_again(um_peers *p, const um_latest_mail *m,
                                  size_t n, umbel_error *err)
{
    for (size_t i = 0; i < UM_MAX_LISTS; i++)
        p->mails.published[i] = p->mails.n;
    for (size_t i = 0; i < n; i++)
        UM_TRY(um_store_write_mail(p->store, m[i].list, &m[i].write,
                                   p->clock->now, &p->publishing.ticket, err));
    return UMBEL_OK;
}
