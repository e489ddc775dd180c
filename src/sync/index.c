/*
 * sync_columns.c - which copies are worth asking for a digest.
 *
 * A list of many origins and epochs has many copies, and most digests are in
 * none of them. So each copy has a column of bits (filter/kind.h), and one
 * look-up there finds the few that may hold a digest. Those are asked. Copies
 * that have no column yet, or are not noted in it as a whole, are always asked:
 * answers are the same at any moment, only slower.
 *
 * Columns are filled, cleared and widened in small steps. When there are more
 * copies than columns, copies of the same epoch share one: they go together.
 * Our own copies have none: a server knows its own lists better.
 */
#include "base/error.h"
#include "sync/internal.h"

#include <stdlib.h>

enum {
    PAGES_AT_ONCE = 64, /* of an update; more are left to later steps */
    LEAST_COPIES = 6    /* that an index is worth while for */
};

static uint64_t bit_of(unsigned column)
{
    return (uint64_t)1 << (column - 1);
}

static const um_row_index *row_of(const um_sync_of_list *l)
{
    return l->set.indexed ? l->shape->kind->index : NULL;
}

bool um_columns_know(const umbel_sync *s, const um_copy *c)
{
    return c->column && !c->own && c->marked == s->list[c->id.list].pages.n;
}

void um_columns_find(const um_sync_of_list *l, const umbel_digest *d, size_t n,
                     uint64_t *mask)
{
    row_of(l)->find(l->shape->self, &l->columns.bits, d, n, mask);
}

/* --- filling -------------------------------------------------------------- */

static void mark_page(const um_sync_of_list *l, const um_copy *c,
                      uint64_t number)
{
    const um_row_index *row = row_of(l);
    um_page p = um_page_of(&l->pages, number);

    if (row) /* else no copy has a column */
        row->mark(c->filter->self, &l->columns.bits, c->column - 1, p.offset,
                  p.len);
}

void um_columns_update(umbel_sync *s, um_copy *c, const um_staging *g)
{
    const um_sync_of_list *l = &s->list[c->id.list];

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

/* Returns the bytes that were looked at. */
static size_t fill_column(const um_sync_of_list *l, um_copy *c, size_t most)
{
    size_t done = 0;

    for (; c->marked < l->pages.n && done < most; c->marked++) {
        mark_page(l, c, c->marked);
        done += um_page_of(&l->pages, c->marked).len;
    }
    return done;
}

/* --- clearing ------------------------------------------------------------- */

void um_columns_leave(umbel_sync *s, const um_copy *c)
{
    um_sync_columns *k = &s->list[c->id.list].columns;

    if (c->column && --k->copies[c->column - 1] == 0)
        k->old |= bit_of(c->column);
}

/* The columns of a word of rows. */
static uint64_t repeat(uint64_t columns, unsigned width)
{
    for (; width < 64; width *= 2)
        columns |= columns << width;
    return columns;
}

static size_t clear_columns(um_sync_columns *k, size_t most)
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

/* --- columns -------------------------------------------------------------- */

static void forget_columns(umbel_sync *s, size_t list)
{
    for (size_t i = 0; i < s->ncopies; i++)
        if (s->copy[i] && s->copy[i]->id.list == list)
            s->copy[i]->column = 0;
}

void um_columns_fini(umbel_sync *s, um_sync_of_list *l)
{
    s->memory -= l->columns.bits.len;
    free(l->columns.bits.at);
    l->columns = (um_sync_columns){.used = 0};
    forget_columns(s, (size_t)(l - s->list));
}

void um_columns_pass_up(umbel_sync *s)
{
    for (size_t i = 0; i < s->nlists; i++)
        um_columns_fini(s, &s->list[i]);
}

size_t um_index_copies(const umbel_sync *s, size_t list)
{
    size_t n = 0;

    for (size_t i = 0; i < s->ncopies; i++)
        n += s->copy[i] && !s->copy[i]->own && s->copy[i]->id.list == list;
    return n;
}

/* Begins anew with twice the columns; false: as many as there can be, or no
 * memory for more. */
static bool widen_columns(umbel_sync *s, um_sync_of_list *l)
{
    unsigned width =
        l->columns.bits.at ? 2 * l->columns.bits.width : UM_INDEX_MIN;
    const um_row_index *row = row_of(l);
    uint64_t len = row ? row->len(l->shape->self, width) : 0;
    uint8_t *at;

    if (!row || width > UM_INDEX_MAX ||
        um_index_copies(s, (size_t)(l - s->list)) < LEAST_COPIES ||
        len + UM_INDEX_SPARE_COPIES * l->pages.bytes >
            um_sync_room(s) + l->columns.bits.len)
        return false;
    size_t room = ((size_t)len / UM_LINE + 2) * UM_LINE;
    at = aligned_alloc(UM_LINE, room);
    if (!at)
        return false;
    memset(at, 0, room);
    um_columns_fini(s, l);
    l->columns.bits.at = at;
    l->columns.bits.len = (size_t)len;
    l->columns.bits.width = width;
    s->memory += len;
    return true;
}

/* The column of a copy that shares its epoch, and has the fewest; 0: none. */
static unsigned shared_column(const umbel_sync *s, const um_copy *c)
{
    const um_sync_columns *k = &s->list[c->id.list].columns;
    unsigned best = 0;

    for (size_t i = 0; i < s->ncopies; i++) {
        const um_copy *o = s->copy[i];
        if (o && o->column && o->id.list == c->id.list &&
            o->id.epoch == c->id.epoch &&
            (!best || k->copies[o->column - 1] < k->copies[best - 1]))
            best = o->column;
    }
    return best;
}

static bool choose_column(umbel_sync *s, um_copy *c)
{
    um_sync_of_list *l = &s->list[c->id.list];
    um_sync_columns *k = &l->columns;
    uint64_t all = k->bits.at ? UINT64_MAX >> (64 - k->bits.width) : 0;

    if (k->used == all && !k->old && !widen_columns(s, l))
        c->column = shared_column(s, c);
    all = k->bits.at ? UINT64_MAX >> (64 - k->bits.width) : 0;
    if (!c->column && k->used != all)
        c->column = 1 + (unsigned)__builtin_ctzll(~k->used);
    if (!c->column)
        return false;
    k->used |= bit_of(c->column);
    k->copies[c->column - 1]++;
    c->marked = 0;
    return true;
}

/* --- steps ---------------------------------------------------------------- */

size_t um_columns_work(umbel_sync *s, size_t bytes)
{
    for (size_t i = 0; i < s->nlists; i++)
        if (s->list[i].columns.old)
            bytes -= clear_columns(&s->list[i].columns, bytes);
    for (size_t i = 0; bytes && i < s->ncopies; i++) {
        um_copy *c = s->copy[i];
        if (!c || c->own || !row_of(&s->list[c->id.list]) ||
            (!c->column && !choose_column(s, c)))
            continue;
        size_t done = fill_column(&s->list[c->id.list], c, bytes);
        bytes -= done < bytes ? done : bytes;
    }
    return bytes;
}
