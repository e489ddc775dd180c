/*
 * sync_sums.c - what all copies count together, at most.
 *
 * Most digests that a server is asked for come less often than the number that
 * matters. The cells of all copies of others are added up (filter/kind.h): one
 * look-up there gives a number that is never below the sum of their counts. If
 * that and our own count together do not reach a threshold, no copy is asked.
 *
 * A copy is in the sums with its pages up to `summed`, as they are now: an
 * update of these adds by how much they grew, later ones are added in small
 * steps. Until all copies are in as a whole, the copies are asked. A copy that
 * goes, or is muted, leaves its counts there: the sums are too large, and
 * answers the same. They are made anew, in steps, when a copy has gone.
 *
 * Our own copies are left out: a server knows its own lists better.
 */
#include "sync/internal.h"

#include <stdlib.h>

enum { LEAST_COPIES = 2 }; /* that sums are worth while for */

static const um_row_totals *row_of(const um_sync_of_list *l)
{
    return l->set.indexed ? l->shape->kind->totals : NULL;
}

bool um_sums_know(const umbel_sync *s, size_t list)
{
    const um_sync_of_list *l = &s->list[list];

    if (!l->sums.cells.at || l->sums.cleared < l->sums.cells.len)
        return false;
    for (size_t i = 0; i < s->norder; i++) {
        const um_copy *c = s->copy[s->order[i]];
        if (c->id.list == list && !c->own && c->summed < l->pages.n)
            return false;
    }
    return true;
}

void um_sums_bound(const um_sync_of_list *l, const umbel_digest *d, size_t n,
                   uint8_t *most)
{
    row_of(l)->bound(l->shape->self, &l->sums.cells, d, n, most);
}

/* --- copies ---------------------------------------------------------------
 */

static void add_page(const um_sync_of_list *l, const um_copy *c,
                     uint64_t number, const uint8_t *old)
{
    const um_row_totals *row = row_of(l);
    um_page p = um_page_of(&l->pages, number);

    if (row) /* else no copy is in sums */
        row->add(c->filter->self, &l->sums.cells, old, p.offset, p.len);
}

void um_sums_update(umbel_sync *s, um_copy *c, const um_staging *g)
{
    const um_sync_of_list *l = &s->list[c->id.list];

    if (!g->have) /* it was empty, and added nothing */
        c->summed = 0;
    for (size_t i = 0; i < g->npages && g->page[i].number < c->summed; i++)
        add_page(l, c, g->page[i].number, g->page[i].cells);
}

void um_sums_leave(umbel_sync *s, const um_copy *c)
{
    if (c->summed)
        s->list[c->id.list].sums.stale = true;
}

/* --- steps ---------------------------------------------------------------- */

static void forget_copies(const umbel_sync *s, size_t list)
{
    for (size_t i = 0; i < s->ncopies; i++)
        if (s->copy[i] && s->copy[i]->id.list == list)
            s->copy[i]->summed = 0;
}

void um_sums_fini(umbel_sync *s, um_sync_of_list *l)
{
    s->memory -= l->sums.cells.len;
    free(l->sums.cells.at);
    l->sums = (um_sync_sums){.stale = false};
    forget_copies(s, (size_t)(l - s->list));
}

void um_sums_pass_up(umbel_sync *s)
{
    for (size_t i = 0; i < s->nlists; i++)
        um_sums_fini(s, &s->list[i]);
}

static void begin_sums(umbel_sync *s, um_sync_of_list *l)
{
    uint64_t len = row_of(l)->len(l->shape->self);
    size_t room = ((size_t)len / UM_LINE + 1) * UM_LINE;

    if (um_index_copies(s, (size_t)(l - s->list)) < LEAST_COPIES ||
        len + UM_INDEX_SPARE_COPIES * l->pages.bytes > um_sync_room(s))
        return;
    l->sums.cells.at = aligned_alloc(UM_LINE, room);
    if (!l->sums.cells.at)
        return;
    l->sums.cells.len = (size_t)len;
    s->memory += len;
    l->sums.stale = true;
}

static size_t clear_sums(umbel_sync *s, um_sync_of_list *l, size_t most)
{
    um_sync_sums *k = &l->sums;

    if (k->stale) {
        k->stale = false;
        k->cleared = 0;
        forget_copies(s, (size_t)(l - s->list));
    }
    size_t left = k->cells.len - k->cleared, some = left < most ? left : most;
    memset(k->cells.at + k->cleared, 0, some);
    k->cleared += some;
    return some;
}

static size_t fill_sums(const um_sync_of_list *l, um_copy *c, size_t most)
{
    size_t done = 0;

    for (; c->summed < l->pages.n && done < most; c->summed++) {
        add_page(l, c, c->summed, NULL);
        done += um_page_of(&l->pages, c->summed).len;
    }
    return done;
}

size_t um_sums_work(umbel_sync *s, size_t bytes)
{
    for (size_t i = 0; i < s->nlists; i++) {
        um_sync_of_list *l = &s->list[i];
        if (row_of(l) && !l->sums.cells.at)
            begin_sums(s, l);
        if (l->sums.cells.at)
            bytes -= clear_sums(s, l, bytes);
    }
    for (size_t i = 0; bytes && i < s->ncopies; i++) {
        um_copy *c = s->copy[i];
        const um_sync_sums *k = c ? &s->list[c->id.list].sums : NULL;
        if (!c || c->own || !k->cells.at || k->cleared < k->cells.len)
            continue;
        size_t done = fill_sums(&s->list[c->id.list], c, bytes);
        bytes -= done < bytes ? done : bytes;
    }
    return bytes;
}
