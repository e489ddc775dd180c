/*
 * index.c - finds the replicas that may contain a digest, and sums their
 * counts.
 *
 * A list of many origins and epochs has many replicas, and most digests are in
 * none of them. Two structures make lookups fast. Both cover only the replicas
 * of other origins. Both are filled, cleared and widened in small steps; a
 * replica that they do not cover completely is queried itself, so answers never
 * depend on them.
 *
 * The index has a column of bits for each replica (filter/kind.h): one lookup
 * finds the few replicas that may contain a digest. When there are more
 * replicas than columns, replicas of the same epoch share a column, since they
 * expire together.
 *
 * The totals are the cells of all replicas added up (filter/kind.h): one lookup
 * gives an upper bound of the sum of their counts. If that bound and our own
 * count together stay below a threshold, no replica is queried. A replica is
 * included with its pages up to `summed`. An update of these pages adds their
 * growth; later pages are added in steps. A replica that is removed or muted
 * leaves its counts behind, which only makes the bound too large; the totals
 * are then rebuilt in steps.
 */
#include "base/error.h"
#include "sync/internal.h"

#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer does not see that totals exist only if the kind has a totals
 * row. */
#pragma GCC diagnostic ignored "-Wanalyzer-null-dereference"
#endif

enum {
    PAGES_AT_ONCE = 64,     /* per update; later steps do the rest */
    INDEX_MIN_REPLICAS = 6, /* below this, an index does not pay */
    TOTALS_MIN_REPLICAS = 2 /* below this, totals do not pay */
};

/* --- index ---------------------------------------------------------------- */

static size_t count_replicas(const umbel_sync *s, size_t list)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nreplicas; i++)
        n += s->replica[i] && !s->replica[i]->own &&
             s->replica[i]->id.list == list;
    return n;
}

static uint64_t bit_of(unsigned column)
{
    return (uint64_t)1 << (column - 1);
}

static const um_row_index *columns_row(const um_sync_list *l)
{
    return l->set.indexed ? l->shape->kind->index : NULL;
}

bool um_index_covers(const umbel_sync *s, const um_replica *c)
{
    return c->column && !c->own && c->marked == s->list[c->id.list].pages.n;
}

void um_index_find(const um_sync_list *l, const umbel_digest *d, size_t n,
                   uint64_t *mask)
{
    columns_row(l)->find(l->shape->self, &l->index.bits, d, n, mask);
}

static void mark_page(const um_sync_list *l, const um_replica *c,
                      uint64_t number)
{
    const um_row_index *row = columns_row(l);
    um_page p = um_page_of(&l->pages, number);

    if (row) /* otherwise no replica has a column */
        row->mark(c->filter->self, &l->index.bits, c->column - 1, p.offset,
                  p.len);
}

void um_index_update(umbel_sync *s, um_replica *c, const um_receive_buffer *g)
{
    const um_sync_list *l = &s->list[c->id.list];

    for (size_t i = 0; c->column && i < g->npages; i++) {
        uint64_t number = g->page[i].number;
        if (number >= c->marked)
            return;
        if (i == PAGES_AT_ONCE) {
            c->marked = number;
            return;
        }
        mark_page(l, c, number);
    }
}

/* Marks further pages of the replica in its column; returns the bytes read. */
static size_t fill_column(const um_sync_list *l, um_replica *c, size_t most)
{
    size_t done = 0;

    for (; c->marked < l->pages.n && done < most; c->marked++) {
        if (!c->changed[c->marked]) /* empty */
            continue;
        mark_page(l, c, c->marked);
        done += um_page_of(&l->pages, c->marked).len;
    }
    return done;
}

void um_index_remove(umbel_sync *s, const um_replica *c)
{
    um_replica_index *k = &s->list[c->id.list].index;

    if (c->column && --k->replicas[c->column - 1] == 0)
        k->old |= bit_of(c->column);
}

/* Repeats a mask of `width` columns over a 64-bit word of rows. */
static uint64_t repeat(uint64_t columns, unsigned width)
{
    for (; width < 64; width *= 2)
        columns |= columns << width;
    return columns;
}

static size_t clear_index(um_replica_index *k, size_t most)
{
    size_t end;

    if (!k->clearing) {
        k->clearing = k->old;
        k->cleared = 0;
    }
    if (!k->clearing)
        return 0;
    end = k->bits.len - k->cleared < most ? k->bits.len : k->cleared + most;
    size_t begin = k->cleared;
    uint64_t keep = ~repeat(k->clearing, k->bits.width);
    for (size_t i = begin; i < end; i += 8)
        um_store64(k->bits.at + i, um_load64(k->bits.at + i) & keep);
    k->cleared = end;
    if (end == k->bits.len) {
        k->used &= ~k->clearing;
        k->old &= ~k->clearing;
        k->clearing = 0;
    }
    return end - begin;
}

static void forget_index(umbel_sync *s, size_t list)
{
    for (size_t i = 0; i < s->nreplicas; i++)
        if (s->replica[i] && s->replica[i]->id.list == list)
            s->replica[i]->column = 0;
}

void um_index_fini(umbel_sync *s, um_sync_list *l)
{
    s->memory -= l->index.bits.len;
    free(l->index.bits.at);
    l->index = (um_replica_index){.used = 0};
    forget_index(s, (size_t)(l - s->list));
}

void um_index_release(umbel_sync *s)
{
    for (size_t i = 0; i < s->nlists; i++)
        um_index_fini(s, &s->list[i]);
}

/* Starts a new, empty index with twice the columns. Returns false if it already
 * has the maximum, or if there are too few replicas or too little memory. */
static bool widen_index(umbel_sync *s, um_sync_list *l)
{
    unsigned width = l->index.bits.at ? 2 * l->index.bits.width : UM_INDEX_MIN;
    const um_row_index *row = columns_row(l);
    uint64_t len = row ? row->len(l->shape->self, width) : 0;
    uint8_t *at;

    if (!row || width > UM_INDEX_MAX ||
        count_replicas(s, (size_t)(l - s->list)) < INDEX_MIN_REPLICAS ||
        len + UM_SPARE_REPLICAS * l->pages.bytes >
            um_sync_memory_left(s) + l->index.bits.len)
        return false;
    size_t room = ((size_t)len / UM_LINE + 2) * UM_LINE;
    at = aligned_alloc(UM_LINE, room);
    if (!at)
        return false;
    memset(at, 0, room);
    um_index_fini(s, l);
    l->index.bits.at = at;
    l->index.bits.len = (size_t)len;
    l->index.bits.width = width;
    s->memory += len;
    return true;
}

uint64_t um_index_bytes(const umbel_sync_list *l, uint64_t replicas)
{
    const um_kind *kind = l->shape->kind;
    unsigned width = UM_INDEX_MIN;
    uint64_t bytes = 0;

    while (width < replicas && width < UM_INDEX_MAX)
        width *= 2;
    if (l->indexed && kind->index && replicas >= INDEX_MIN_REPLICAS)
        bytes += kind->index->len(l->shape->self, width);
    if (l->indexed && kind->totals && replicas >= TOTALS_MIN_REPLICAS)
        bytes += kind->totals->len(l->shape->self);
    return bytes;
}

/* Returns the least shared column among those of replicas of the same epoch; 0
 * if there is none. */
static unsigned shared_column(const umbel_sync *s, const um_replica *c)
{
    const um_replica_index *k = &s->list[c->id.list].index;
    unsigned best = 0;

    for (size_t i = 0; i < s->nreplicas; i++) {
        const um_replica *o = s->replica[i];
        if (o && o->column && o->id.list == c->id.list &&
            o->id.epoch == c->id.epoch &&
            (!best || k->replicas[o->column - 1] < k->replicas[best - 1]))
            best = o->column;
    }
    return best;
}

static bool choose_column(umbel_sync *s, um_replica *c)
{
    um_sync_list *l = &s->list[c->id.list];
    um_replica_index *k = &l->index;
    uint64_t all = k->bits.at ? UINT64_MAX >> (64 - k->bits.width) : 0;

    if (k->used == all && !k->old && !widen_index(s, l))
        c->column = shared_column(s, c);
    all = k->bits.at ? UINT64_MAX >> (64 - k->bits.width) : 0;
    if (!c->column && k->used != all)
        c->column = 1 + (unsigned)__builtin_ctzll(~k->used);
    if (!c->column)
        return false;
    k->used |= bit_of(c->column);
    k->replicas[c->column - 1]++;
    c->marked = 0;
    return true;
}

size_t um_index_work(umbel_sync *s, size_t bytes)
{
    for (size_t i = 0; i < s->nlists; i++)
        if (s->list[i].index.old)
            bytes -= clear_index(&s->list[i].index, bytes);
    for (size_t i = 0; bytes && i < s->nreplicas; i++) {
        um_replica *c = s->replica[i];
        if (!c || c->own || !columns_row(&s->list[c->id.list]) ||
            (!c->column && !choose_column(s, c)))
            continue;
        size_t done = fill_column(&s->list[c->id.list], c, bytes);
        bytes -= done < bytes ? done : bytes;
    }
    return bytes;
}

/* --- totals --------------------------------------------------------------- */

static const um_row_totals *totals_row(const um_sync_list *l)
{
    return l->set.indexed ? l->shape->kind->totals : NULL;
}

bool um_totals_cover(const umbel_sync *s, size_t list)
{
    const um_sync_list *l = &s->list[list];

    if (!l->totals.cells.at || l->totals.cleared < l->totals.cells.len)
        return false;
    for (size_t i = 0; i < s->norder; i++) {
        const um_replica *c = s->replica[s->order[i]];
        if (c->id.list == list && !c->own && c->summed < l->pages.n)
            return false;
    }
    return true;
}

void um_totals_bound(const um_sync_list *l, const umbel_digest *d, size_t n,
                     uint8_t *most)
{
    totals_row(l)->bound(l->shape->self, &l->totals.cells, d, n, most);
}

static void add_totals_page(const um_sync_list *l, const um_replica *c,
                            uint64_t number, const uint8_t *old)
{
    const um_row_totals *row = totals_row(l);
    um_page p = um_page_of(&l->pages, number);

    if (row) /* otherwise no replica is in the totals */
        row->add(c->filter->self, &l->totals.cells, old, p.offset, p.len);
}

void um_totals_update(umbel_sync *s, um_replica *c, const um_receive_buffer *g)
{
    const um_sync_list *l = &s->list[c->id.list];

    if (!g->have) /* the replica was empty, and added nothing */
        c->summed = 0;
    for (size_t i = 0; i < g->npages && g->page[i].number < c->summed; i++)
        add_totals_page(l, c, g->page[i].number, g->page[i].cells);
}

void um_totals_remove(umbel_sync *s, const um_replica *c)
{
    if (c->summed)
        s->list[c->id.list].totals.stale = true;
}

static void forget_totals(const umbel_sync *s, size_t list)
{
    for (size_t i = 0; i < s->nreplicas; i++)
        if (s->replica[i] && s->replica[i]->id.list == list)
            s->replica[i]->summed = 0;
}

void um_totals_fini(umbel_sync *s, um_sync_list *l)
{
    s->memory -= l->totals.cells.len;
    free(l->totals.cells.at);
    l->totals = (um_replica_totals){.stale = false};
    forget_totals(s, (size_t)(l - s->list));
}

void um_totals_release(umbel_sync *s)
{
    for (size_t i = 0; i < s->nlists; i++)
        um_totals_fini(s, &s->list[i]);
}

static void begin_totals(umbel_sync *s, um_sync_list *l)
{
    uint64_t len = totals_row(l)->len(l->shape->self);
    size_t room = ((size_t)len / UM_LINE + 1) * UM_LINE;

    if (count_replicas(s, (size_t)(l - s->list)) < TOTALS_MIN_REPLICAS ||
        len + UM_SPARE_REPLICAS * l->pages.bytes > um_sync_memory_left(s))
        return;
    l->totals.cells.at = aligned_alloc(UM_LINE, room);
    if (!l->totals.cells.at)
        return;
    l->totals.cells.len = (size_t)len;
    s->memory += len;
    l->totals.stale = true;
}

static size_t clear_totals(umbel_sync *s, um_sync_list *l, size_t most)
{
    um_replica_totals *k = &l->totals;

    if (k->stale) {
        k->stale = false;
        k->cleared = 0;
        forget_totals(s, (size_t)(l - s->list));
    }
    size_t left = k->cells.len - k->cleared, some = left < most ? left : most;
    memset(k->cells.at + k->cleared, 0, some);
    k->cleared += some;
    return some;
}

static size_t fill_totals(const um_sync_list *l, um_replica *c, size_t most)
{
    size_t done = 0;

    for (; c->summed < l->pages.n && done < most; c->summed++) {
        if (!c->changed[c->summed]) /* empty */
            continue;
        add_totals_page(l, c, c->summed, NULL);
        done += um_page_of(&l->pages, c->summed).len;
    }
    return done;
}

size_t um_totals_work(umbel_sync *s, size_t bytes)
{
    for (size_t i = 0; i < s->nlists; i++) {
        um_sync_list *l = &s->list[i];
        if (totals_row(l) && !l->totals.cells.at)
            begin_totals(s, l);
        if (l->totals.cells.at)
            bytes -= clear_totals(s, l, bytes);
    }
    for (size_t i = 0; bytes && i < s->nreplicas; i++) {
        um_replica *c = s->replica[i];
        const um_replica_totals *k = c ? &s->list[c->id.list].totals : NULL;
        if (!c || c->own || !k->cells.at || k->cleared < k->cells.len)
            continue;
        size_t done = fill_totals(&s->list[c->id.list], c, bytes);
        bytes -= done < bytes ? done : bytes;
    }
    return bytes;
}
