/*
 * counts.c - the counts of the store and the peers, without revoked ones.
 */
#include "clearinghouse/lists/fuzzy_mails.h"
#include "clearinghouse/lists/internal.h"

#include "base/batch.h"

#include <umbel/counting.h>

void um_lists_fetch(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t n)
{
    um_list_fetch(um_store_list(l->store, list), d, n);
}

/* Adds up the counts of our own list and those of other servers. The engine
 * fails only for lists that it does not have, and for kinds that do not
 * count. */
static void count_all(const um_lists *l, unsigned list, const umbel_digest *d,
                      size_t n, uint64_t *count)
{
    uint64_t own[UM_BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        um_store_count(l->store, list, d + done, some,
                       l->machine ? own : count + done);
        if (l->machine)
            umbel_sync_count_with(l->machine, list, d + done, some, own,
                                  count + done, NULL);
    }
}

/* Finds the digests whose count reaches a threshold. own may be too large but
 * never too small, so a digest that does not reach it is decided. */
static void reach_with(const um_lists *l, unsigned list, const umbel_digest *d,
                       size_t n, const uint64_t *own, uint64_t threshold,
                       bool *reached)
{
    for (size_t i = 0; i < n; i++)
        reached[i] = own[i] >= threshold;
    if (l->machine)
        umbel_sync_reaches(l->machine, list, d, n, own, threshold, reached,
                           NULL);
}

/* Checks those that reached it again, with exact counts of our own list. */
static void reach_again(const um_lists *l, unsigned list, const umbel_digest *d,
                        size_t n, uint64_t threshold, bool *reached)
{
    umbel_digest some[UM_BATCH];
    uint64_t own[UM_BATCH];
    bool again[UM_BATCH];
    size_t nsome = 0;

    for (size_t i = 0; i < n; i++)
        if (reached[i])
            some[nsome++] = d[i];
    um_store_count(l->store, list, some, nsome, own);
    reach_with(l, list, some, nsome, own, threshold, again);
    for (size_t i = n; i-- > 0;)
        if (reached[i])
            reached[i] = again[--nsome];
}

static void reach_all(const um_lists *l, unsigned list, const umbel_digest *d,
                      size_t n, uint64_t threshold, bool *reached)
{
    uint64_t own[UM_BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        bool exact = um_store_upper_bound(l->store, list, d + done, some, own);
        reach_with(l, list, d + done, some, own, threshold, reached + done);
        if (!exact)
            reach_again(l, list, d + done, some, threshold, reached + done);
    }
}

/* Returns the value of each mail, at least 1 if it is there. Only digests are
 * known here, not the mails' names. */
static void count_mails(const um_lists *l, unsigned list, const umbel_digest *d,
                        size_t n, uint64_t *count)
{
    um_fuzzy_view v;
    um_fuzzy_mail m;

    um_fuzzy_look(&v, l, list);
    for (size_t i = 0; i < n; i++) {
        um_fuzzy_ask(&v, &d[i], NULL, &m);
        count[i] = !m.there ? 0 : m.value > 1 ? (uint64_t)m.value : 1;
    }
}

void um_lists_count(const um_lists *l, unsigned list, const umbel_digest *d,
                    size_t n, uint64_t *count)
{
    if (um_list_rows[list].kind)
        count_mails(l, list, d, n, count);
    else
        count_all(l, list, d, n, count);
    for (size_t i = 0; i < n; i++)
        if (count[i] && um_forgotten(l, list, &d[i]))
            count[i] = 0;
}

void um_lists_reaches(const um_lists *l, unsigned list, const umbel_digest *d,
                      size_t n, uint64_t threshold, bool *reached)
{
    reach_all(l, list, d, n, threshold, reached);
    for (size_t i = 0; i < n; i++)
        if (reached[i] && um_forgotten(l, list, &d[i]))
            reached[i] = false;
}

/* Extends the times by those of a replica: its epoch, but not beyond now. */
static void add_times(const um_lists *l, const umbel_sync_replica *c,
                      uint64_t *entered, uint64_t *updated)
{
    uint64_t begin = c->end ? c->begin : c->seen;
    uint64_t end = c->end && c->end < l->clock->now ? c->end : l->clock->now;

    if (!*entered || begin < *entered)
        *entered = begin;
    if (end > *updated)
        *updated = end;
}

bool um_lists_times(const um_lists *l, unsigned list, const umbel_digest *d,
                    uint64_t *entered, uint64_t *updated)
{
    umbel_sync_replica c;
    uint64_t count;
    bool known =
        um_store_times(l->store, list, d, l->clock->now, entered, updated);

    if (!known)
        *entered = *updated = 0;
    for (size_t at = 0; um_lists_next_replica(l, list, &at, &c);) {
        if (umbel_count_digests(c.filter, d, 1, &count, NULL) || !count)
            continue;
        add_times(l, &c, entered, updated);
        known = true;
    }
    return known;
}
