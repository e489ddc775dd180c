/*
 * peers_renew.c - going on as a new incarnation.
 *
 * What was published stays as copies of the old incarnation, and the store's
 * lists are emptied. Counts that were not published yet are in no copy: the
 * latest ones are remembered, and counted again; mails are in peers_mails.c.
 */
#include "clearinghouse/peering/inside.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LATEST_LEAST = 1024 };

/* --- the latest counts ---------------------------------------------------- */

umbel_status um_latest_open(um_peers *p, umbel_error *err)
{
    p->latest.item = malloc(LATEST_LEAST * sizeof *p->latest.item);
    if (!p->latest.item)
        return um_no_memory(err, LATEST_LEAST * sizeof *p->latest.item);
    p->latest.cap = LATEST_LEAST;
    return UMBEL_OK;
}

/* Once it has failed, later counts take the places of earlier ones. */
static bool reserve(um_latest *l)
{
    if (!um_array_resize(&l->item, 2 * l->cap, sizeof *l->item))
        return false;
    l->cap *= 2;
    return true;
}

/* The place of the oldest count is taken: it is lost, unless it is published.
 */
static void note_loss(um_latest *l)
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

    if (l->n == l->cap && l->cap < UM_LATEST_MOST && !reserve(l))
        um_log_event(p->log,
                     "peers: out of memory: of counts that no peer has yet "
                     "only the last %zu are remembered, in case this server "
                     "has to go on as a new incarnation; restart it with more "
                     "memory",
                     l->cap);
    if (l->n >= l->cap)
        note_loss(l);
    um_entry *to = &l->item[l->n++ % l->cap];
    *to = *e;
    to->request_id = 0; /* the store has the mark */
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

/* Returns what our own copies say of a digest. */
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

/* Returns how much of an amount the list has and the copies have not. */
static uint32_t unpublished(const um_peers *p, const um_entry *e,
                            uint64_t amount)
{
    uint64_t published = count_published(p, e), count, more;

    um_store_count(p->store, e->list, &e->digest, 1, &count);
    more = count > published ? count - published : 0;
    more = more < amount ? more : amount;
    return more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
}

/* The journal says what was counted, and not which of it a slice of pages had:
 * the copies do. What was not remembered may be lost until the lists are
 * published. */
void um_latest_settle(um_peers *p)
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

/* Copies those that are not published; *n is how many. NULL: no memory. */
static um_entry *copy_unpublished(const um_latest *l, size_t *n)
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

/* In the block of the renewal, as far as they fit: a crash keeps both or
 * neither. */
static umbel_status count_again(um_peers *p, const um_entry *e, size_t n,
                                umbel_error *err)
{
    for (size_t i = 0; i < UM_MAX_LISTS; i++)
        um_latest_published(p, i, p->latest.n);
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < UM_STORE_BATCH ? n - i : UM_STORE_BATCH;
        UM_TRY(um_store_add(p->store, e + i, some, p->clock->now,
                            &p->publishing.ticket, err));
    }
    return UMBEL_OK;
}

/* What is in no copy. */
typedef struct unpublished_things {
    um_entry *entry;
    um_latest_mail *mail;
    size_t entries, mails;
} unpublished_things;

static umbel_status renew_store(um_peers *p, const unpublished_things *u)
{
    uint8_t number[8];
    umbel_error err;

    um_store64(number, umbel_sync_incarnation(p->machine));
    UM_TRY(um_store_reset(p->store, (umbel_slice){number, sizeof number},
                          p->clock->now, &p->publishing.ticket, NULL));
    if (count_again(p, u->entry, u->entries, &err) != UMBEL_OK)
        um_log_event(p->log,
                     "peers: of %zu counts that were not published some are "
                     "lost: %s",
                     u->entries, err.text);
    if (um_mails_write_again(p, u->mail, u->mails, &err) != UMBEL_OK)
        um_log_event(p->log,
                     "peers: of %zu mails that were not published some are "
                     "lost: %s",
                     u->mails, err.text);
    return UMBEL_OK;
}

static void log_lost_counts(um_peers *p, const uint64_t lost[UM_MAX_LISTS])
{
    for (unsigned i = 0; um_list_name(i); i++)
        if (lost[i])
            um_log_event(p->log,
                         "peers: list %s: up to %" PRIu64
                         " counts are lost that no peer had yet: this server "
                         "remembers the last %zu of all lists; report again "
                         "what came since the last exchange with one",
                         um_list_name(i), lost[i], p->latest.cap);
}

/*
 * What the lists held is in copies now, which must be on disk before the lists
 * are emptied: a kill between loses nothing. It is waited for, once in the life
 * of a backup.
 */
void um_peers_renew(um_peers *p)
{
    unpublished_things u = {.entries = 0};
    uint64_t lost = um_mails_lost(p), counts[UM_MAX_LISTS];

    memcpy(counts, p->latest.lost, sizeof counts);
    u.entry = copy_unpublished(&p->latest, &u.entries);
    u.mail = um_mails_unpublished(p, &u.mails);
    bool renewed = u.entry && u.mail &&
                   um_replica_store_save(p->copies, NULL) == UMBEL_OK &&
                   renew_store(p, &u) == UMBEL_OK;

    free(u.entry);
    free(u.mail);
    if (!renewed)
        return; /* the disk fails, or memory: tried again in the next turn */
    log_lost_counts(p, counts);
    if (lost)
        um_log_event(p->log,
                     "peers: list fuzzy: up to %" PRIu64
                     " mails are lost that no peer had yet: write or delete "
                     "again what came since the last exchange with one",
                     lost);
    p->renewed = p->publishing.running = p->publishing.unmarked = false;
    p->publishing.restored = false;
    p->logged = 0;
    um_peers_want_all(p);
}
