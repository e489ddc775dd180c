/*
 * unpublished.c - the latest counts and mails that no replica contains yet.
 *
 * A server that goes on as a new incarnation empties its lists: what was
 * published stays in the replicas of the old incarnation. What was not
 * published would be lost, so the latest writes are remembered here, to be
 * repeated in the same order. Memory is bounded: the oldest are dropped,
 * and the number of lost ones is reported.
 */
#include "clearinghouse/peering/internal.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LATEST_MIN = 1024 };

/* --- counts --------------------------------------------------------------- */

umbel_status um_latest_open(um_peers *p, umbel_error *err)
{
    p->latest.item = malloc(LATEST_MIN * sizeof *p->latest.item);
    if (!p->latest.item)
        return um_no_memory(err, LATEST_MIN * sizeof *p->latest.item);
    p->latest.cap = LATEST_MIN;
    return UMBEL_OK;
}

/* Doubles the capacity. If that fails, later counts overwrite earlier ones. */
static bool reserve(um_latest *l)
{
    if (!um_array_resize(&l->item, 2 * l->cap, sizeof *l->item))
        return false;
    l->cap *= 2;
    return true;
}

/* Counts the oldest count as lost, unless it is published: it is about to be
 * overwritten. */
static void record_loss(um_latest *l)
{
    uint64_t i = l->n - l->cap;
    unsigned list = l->item[i % l->cap].list;

    if (i < l->published[list])
        return;
    l->lost[list]++;
    l->lost_end[list] = i + 1;
}

void um_peers_counted(void *ctx, const um_entry *e)
{
    um_peers *p = ctx;
    um_latest *l = &p->latest;

    if (l->n == l->cap && l->cap < UM_LATEST_MAX && !reserve(l))
        um_log_event(
            p->log,
            "peers: out of memory: only the last %zu counts that no peer "
            "has yet are remembered, in case this server has to "
            "continue as a new incarnation; restart it with more "
            "memory",
            l->cap);
    if (l->n >= l->cap)
        record_loss(l);
    um_entry *to = &l->item[l->n++ % l->cap];
    *to = *e;
    to->request_id = 0; /* the replay guard is in the store */
}

void um_latest_published(um_peers *p, size_t list, uint64_t n)
{
    um_latest *l = &p->latest;

    l->published[list] = n;
    if (l->lost_end[list] <= n)
        l->lost[list] = 0;
}

static uint64_t oldest_of(const um_latest *l)
{
    return l->n > l->cap ? l->n - l->cap : 0;
}

static int compare_entries(const void *a, const void *b)
{
    const um_entry *x = a, *y = b;

    if (x->list != y->list)
        return x->list < y->list ? -1 : 1;
    if (x->digest.lo != y->digest.lo)
        return x->digest.lo < y->digest.lo ? -1 : 1;
    return (x->digest.hi > y->digest.hi) - (x->digest.hi < y->digest.hi);
}

/* Returns the count of a digest in our own replicas. */
static uint64_t count_published(const um_peers *p, const um_entry *e)
{
    umbel_sync_replica c;
    uint64_t sum = 0, count;

    for (size_t at = 0; umbel_sync_next_replica(p->machine, &at, &c);)
        if (c.own && c.list == e->list &&
            umbel_count_digests(c.filter, &e->digest, 1, &count, NULL) ==
                UMBEL_OK)
            sum += count;
    return sum;
}

/* Returns how much of an amount is in the list but not in the replicas. */
static uint32_t unpublished(const um_peers *p, const um_entry *e,
                            uint64_t amount)
{
    uint64_t published = count_published(p, e), count, more;

    um_store_count(p->store, e->list, &e->digest, 1, &count);
    more = count > published ? count - published : 0;
    more = more < amount ? more : amount;
    return more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
}

/* Drops what is published: after a start the ring has all counts of the
 * journal. Counts that did not fit may be reported as lost until the lists are
 * published. */
void um_latest_prune(um_peers *p)
{
    um_latest *l = &p->latest;
    size_t n = (size_t)(l->n - oldest_of(l)), kept = 0;

    if (n)
        qsort(l->item, n, sizeof *l->item, compare_entries);
    for (size_t i = 0, next; i < n; i = next) {
        um_entry e = l->item[i];
        uint64_t amount = 0;
        for (next = i;
             next < n && compare_entries(&l->item[i], &l->item[next]) == 0;
             next++)
            amount += l->item[next].amount;
        e.amount = unpublished(p, &e, amount);
        if (e.amount)
            l->item[kept++] = e;
    }
    l->n = kept;
    for (size_t i = 0; i < UM_MAX_LISTS; i++)
        l->published[i] = l->lost_end[i] = 0;
}

/* --- renewal -------------------------------------------------------------- */

/* Copies the *n unpublished counts; NULL without memory. */
um_entry *um_latest_unpublished(const um_latest *l, size_t *n)
{
    uint64_t first = oldest_of(l);
    um_entry *all = malloc((size_t)(l->n - first + 1) * sizeof *all);

    *n = 0;
    for (uint64_t i = first; all && i < l->n; i++) {
        const um_entry *e = &l->item[i % l->cap];
        if (i >= l->published[e->list])
            all[(*n)++] = *e;
    }
    return all;
}

/* --- mails ---------------------------------------------------------------- */

umbel_status um_mails_open(um_peers *p, umbel_error *err)
{
    p->mails.item = malloc(UM_MAILS_MIN * sizeof *p->mails.item);
    if (!p->mails.item)
        return um_no_memory(err, UM_MAILS_MIN * sizeof *p->mails.item);
    p->mails.cap = UM_MAILS_MIN;
    return UMBEL_OK;
}

/* Doubles the capacity. If that fails, later mails overwrite earlier ones. */
static bool reserve_mails(um_latest_mails *l)
{
    size_t cap = l->cap < UM_MAILS_MIN ? UM_MAILS_MIN : 2 * l->cap;

    if (!um_array_resize(&l->item, cap, sizeof *l->item))
        return false;
    l->cap = cap;
    return true;
}

void um_peers_written(void *ctx, unsigned list, const um_near_write *w)
{
    um_peers *p = ctx;
    um_latest_mails *l = &p->mails;

    if (l->n == l->cap && l->cap < UM_MAILS_MAX && !reserve_mails(l))
        um_log_event(
            p->log,
            "peers: out of memory: only the last %zu mails that no peer "
            "has yet are remembered, in case this server has to "
            "continue as a new incarnation; restart it with more "
            "memory",
            l->cap);
    l->item[l->n++ % l->cap] = (um_latest_mail){list, *w};
}

static uint64_t oldest_mail(const um_latest_mails *l)
{
    return l->n > l->cap ? l->n - l->cap : 0;
}

static bool same_record(const um_near_record *a, const um_near_record *b)
{
    return a->flag == b->flag && a->gone == b->gone && a->value == b->value &&
           a->stamp == b->stamp;
}

/* Returns true if one of our replicas has this record. */
static bool is_in_replica(const um_peers *p, const um_latest_mail *m,
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

/* Returns true if our replicas have the same records of the mail as the list.
 */
static bool is_published(const um_peers *p, const um_latest_mail *m)
{
    const um_list *l = um_store_list(p->store, m->list);
    um_near_record ours;

    for (unsigned i = 0; i < um_list_epochs(l); i++)
        if (um_near_find(um_list_filter(l, i), &m->write.digest, m->write.name,
                         &ours) &&
            !is_in_replica(p, m, &ours))
            return false;
    return true;
}

/* Returns the array size for a copy of all mails; never 0. */
static size_t places_of(const um_latest_mails *l)
{
    return (size_t)(l->n - oldest_mail(l)) + 1;
}

/* Copies the mails that wanted selects, in order; NULL without memory. */
static um_latest_mail *copy_mails(const um_peers *p, size_t *n,
                                  bool (*wanted)(const um_peers *p, uint64_t i))
{
    const um_latest_mails *l = &p->mails;
    um_latest_mail *all = malloc(places_of(l) * sizeof *all);

    *n = 0;
    for (uint64_t i = oldest_mail(l); all && i < l->n; i++)
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

void um_mails_prune(um_peers *p)
{
    size_t n, cap = places_of(&p->mails);
    um_latest_mail *all = copy_mails(p, &n, is_missing);

    if (!all)
        return; /* then some may be written twice */
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
    return oldest_mail(l) > first ? oldest_mail(l) - first : 0;
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
