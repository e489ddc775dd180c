/*
 * sync_history.c - how to go back some versions of a copy.
 *
 * As long as history_bytes allow, each version leaves a step, so that a peer
 * that has one of these gets the difference: of each entry that changed the
 * count that it had before.
 *
 *   a step    for each page: its number, length of what follows, and for each
 *             entry the gap since the last one and its old count; varints.
 *             Nothing follows if the page was empty
 */
#include "sync/internal.h"

#include <stdlib.h>

const um_statement *um_copy_statement(const um_copy *c, uint64_t version)
{
    if (c->now.version == version)
        return &c->now;
    for (size_t i = c->nsteps; i--;)
        if (c->step[i].from.version == version)
            return &c->step[i].from;
    return NULL;
}

void um_copy_note_old(um_bytes *out, const um_growth_page *p)
{
    um_bytes entries = {.len = 0};
    bool empty = um_all_zero(p->old, um_entry_bytes(p->form, p->n));
    uint64_t from = 0;

    for (uint64_t i = 0; !empty && um_growth_differs(p, &i); from = ++i) {
        um_bytes_varint(&entries, i - from);
        um_bytes_varint(&entries, um_entry_get(p->form, p->old, i).count);
    }
    um_bytes_varint(out, p->number);
    um_bytes_varint(out, entries.len);
    um_bytes_append(out, entries.at, entries.len);
    out->failed |= entries.failed;
    um_bytes_fini(&entries);
}

/* Finds the pages in the bytes of a step. */
bool um_step_index(um_step *step)
{
    um_reader r = {step->old.at, step->old.at + step->old.len, false};

    while (r.at < r.end) {
        uint64_t number = um_get_varint(&r);
        size_t len = (size_t)um_get_varint(&r);
        um_step_page *all =
            um_grow_array(step->page, &step->npages, sizeof *all);
        if (!all)
            return false;
        step->page = all;
        all[step->npages - 1] =
            (um_step_page){number, (size_t)(r.at - step->old.at), len};
        r.at += len;
    }
    return true;
}

void um_step_fini(um_step *step)
{
    um_bytes_fini(&step->old);
    free(step->page);
    step->page = NULL;
}

size_t um_step_bytes(const um_step *step)
{
    return sizeof *step + step->old.len + step->npages * sizeof *step->page;
}

void um_drop_steps(um_copy *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        c->history_bytes -= um_step_bytes(&c->step[i]);
        um_step_fini(&c->step[i]);
    }
    c->nsteps -= n;
    if (n)
        memmove(c->step, c->step + n, c->nsteps * sizeof *c->step);
}

static void undo_page(const um_entry_form *f, um_reader r, uint8_t *page)
{
    for (uint64_t i = 0; r.at < r.end; i++) {
        i += um_get_varint(&r);
        um_entry_value v = um_entry_get(f, page, i);
        v.count = um_get_varint(&r);
        um_entry_set(f, page, i, v);
    }
}

static int compare_page(const void *number, const void *page)
{
    uint64_t a = *(const uint64_t *)number,
             b = ((const um_step_page *)page)->number;
    return (a > b) - (a < b);
}

/* Where a step has a page; NULL: it has not. */
static const um_step_page *find_page(const um_step *step, uint64_t number)
{
    /* Most steps are a slice of pages, and lie elsewhere. */
    if (!step->npages || number < step->page[0].number ||
        number > step->page[step->npages - 1].number)
        return NULL;
    return bsearch(&number, step->page, step->npages, sizeof *step->page,
                   compare_page);
}

static void undo_step(const um_step *step, const um_entry_form *f,
                      uint64_t number, size_t len, uint8_t *page)
{
    const um_step_page *p = find_page(step, number);

    if (!p)
        return;
    const uint8_t *at = step->old.at + p->at;
    if (!p->len)
        memset(page, 0, len);
    undo_page(f, (um_reader){at, at + p->len, false}, page);
}

bool um_copy_page_differs(const um_copy *c, uint64_t number, uint64_t base,
                          uint64_t version)
{
    for (size_t i = c->nsteps; i-- && c->step[i].from.version >= base;)
        if (c->step[i].from.version < version && find_page(&c->step[i], number))
            return true;
    return false;
}

void um_copy_page_at(const umbel_sync *s, const um_copy *c, uint64_t number,
                     uint64_t version, uint8_t *out)
{
    const um_pages *pages = &s->list[c->id.list].pages;
    um_page p = um_page_of(pages, number);

    memcpy(out, c->filter->payload + p.offset, p.len);
    for (size_t i = c->nsteps; i-- && c->step[i].from.version >= version;)
        undo_step(&c->step[i], &pages->section[p.section].form, number, p.len,
                  out);
}

uint64_t um_copy_reach(const um_copy *c, uint64_t base, size_t pages)
{
    size_t sum = 0, i = 0;

    if (!um_copy_statement(c, base))
        return c->now.version;
    while (i < c->nsteps && c->step[i].from.version < base)
        i++;
    for (; i < c->nsteps; i++) {
        if (sum && sum + c->step[i].npages > pages)
            return c->step[i].from.version;
        sum += c->step[i].npages;
    }
    return c->now.version;
}

static uint64_t bytes_of_all(const umbel_sync *s)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->ncopies; i++)
        bytes += s->copy[i] ? s->copy[i]->history_bytes : 0;
    return bytes;
}

/* By default, an eighth of the filter. When the history of all copies takes
 * more than an eighth of the memory of copies, each has the same share of it.
 */
static uint64_t history_limit(const umbel_sync *s, const um_copy *c)
{
    enum { LEAST = 1 << 20, SHARE = 8 };
    uint64_t share = s->list[c->id.list].pages.bytes / SHARE;
    uint64_t all = s->limit.memory / SHARE;
    uint64_t limit = s->limit.history_bytes ? s->limit.history_bytes
                     : share > LEAST        ? share
                                            : LEAST;
    uint64_t fair = all / (s->norder ? s->norder : 1);

    return limit > fair && bytes_of_all(s) > all ? fair : limit;
}

/* Appends the step that old describes. */
static bool retain_step(const umbel_sync *s, um_copy *c, um_bytes *old)
{
    um_step step = {.from = c->now, .old = *old, .ended = s->now}, *all = NULL;

    if (c->now.version && !old->failed && um_step_index(&step))
        all = um_grow_array(c->step, &c->nsteps, sizeof *all);
    if (!all) {
        free(step.page);
        return false;
    }
    c->step = all;
    c->step[c->nsteps - 1] = step;
    c->history_bytes += um_step_bytes(&step);
    *old = (um_bytes){.len = 0};
    return true;
}

void um_copy_end_step(umbel_sync *s, um_copy *c, um_bytes *old,
                      const um_statement *next)
{
    uint64_t limit = history_limit(s, c);
    size_t some = 0, bytes;

    if (!retain_step(s, c, old))
        um_drop_steps(c, c->nsteps); /* what is before cannot be reached */
    bytes = c->history_bytes;
    if (bytes > limit) /* some at a time: those that stay are moved */
        limit -= limit / 8;
    while (some < c->nsteps && bytes > limit)
        bytes -= um_step_bytes(&c->step[some++]);
    um_drop_steps(c, some);
    c->now = *next;
    s->changes++;
}
