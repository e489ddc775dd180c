/*
 * sync_update.c - the pages of an update as bytes, and back.
 *
 *   runs       varint: pages that come whole, in runs of one section
 *   each run   first page, pages, bytes: varints; its code (coding/code.h)
 *   the rest   pages that are coded given those of the base (coding/entries.h)
 *
 * A page comes whole where the base is nothing, or not known here any more, or
 * where that takes less.
 */
#include "base/error.h"
#include "coding/code.h"
#include "sync/internal.h"

#include <stdlib.h>

enum {
    /* Pages of one message, in its longest length: so that none takes long. */
    WHOLE_SHARE = 2,
    CHANGES_SHARE = 8,
    MAX_SHARE = 16, /* that are taken */
    RUN_MARGIN = 64 /* of a run, beside the cells of its pages */
};

/* --- making one ----------------------------------------------------------- */

typedef struct update {
    umbel_sync *s;
    const um_copy *c;
    const um_pages *pages;
    uint64_t base, version;
    bool known; /* the base can be reached */
} update;

static update update_of(umbel_sync *s, const um_update_writer *to)
{
    const um_copy *c = um_copy_find(s, &to->id, NULL);

    return (update){.s = s,
                    .c = c,
                    .pages = &s->list[to->id.list].pages,
                    .base = to->base,
                    .version = to->version,
                    .known = to->base && um_copy_statement(c, to->base)};
}

static uint8_t *old_page(const update *u)
{
    return u->s->scratch;
}

static uint8_t *new_page(const update *u)
{
    return u->s->scratch + u->pages->max_page;
}

/* Returns true if the receiver lacks this page, which lies in new_page then;
 * and in old_page, if the base is known, what it has. */
static bool is_due(const update *u, uint64_t number)
{
    um_page p = um_page_of(u->pages, number);

    if (u->c->changed[number] <= u->base ||
        (u->known && !um_copy_page_differs(u->c, number, u->base, u->version)))
        return false;
    um_copy_page_at(u->s, u->c, number, u->version, new_page(u));
    if (u->known)
        um_copy_page_at(u->s, u->c, number, u->base, old_page(u));
    return u->base || !um_all_zero(new_page(u), p.len);
}

/* Entries of the new page that are not free. */
static uint64_t count_used(const update *u, const um_page *p)
{
    um_growth_page page = {.form = &u->pages->section[p->section].form,
                           .old = memset(old_page(u), 0, p->len),
                           .now = new_page(u),
                           .n = p->n};
    uint64_t n = 0;

    for (uint64_t i = 0; um_growth_differs(&page, &i); i++)
        n++;
    return n;
}

/* Pages from number on that lie in one section, are due, and fit. */
static uint64_t run_of(const update *u, uint64_t number, size_t room,
                       uint8_t *cells, size_t *bytes, uint64_t *changed)
{
    unsigned section = um_page_of(u->pages, number).section;
    size_t len = 0;
    uint64_t n = 0;

    for (; number + n < u->pages->n; n++) {
        um_page p = um_page_of(u->pages, number + n);
        if (p.section != section || len + p.len > room ||
            !is_due(u, number + n))
            break;
        memcpy(cells + len, new_page(u), p.len);
        len += p.len;
        *changed += count_used(u, &p);
    }
    *bytes = len;
    return n;
}

static bool write_run(const update *u, uint64_t number, uint64_t n,
                      uint8_t *cells, um_bytes *out)
{
    um_packed run = um_pages_cells(u->pages, number, n, cells);
    um_bytes code = {.len = 0};

    run.at = cells;
    uint8_t *at =
        um_bytes_room(&code, (size_t)um_code_max(&run) + UM_CODE_ROOM);
    if (!at)
        return false;
    code.len = um_code_encode(&run, UM_CODE_NOW, at);
    um_bytes_varint(out, number);
    um_bytes_varint(out, n);
    um_bytes_varint(out, code.len);
    um_bytes_append(out, code.at, code.len);
    um_bytes_fini(&code);
    return !out->failed;
}

/* Pages that come whole: a code for each run, which takes no more than they. */
static umbel_status write_whole(const update *u, uint64_t *page, size_t room,
                                um_bytes *out, uint64_t *changed,
                                umbel_error *err)
{
    size_t left = (size_t)WHOLE_SHARE * u->s->limit.message_bytes;
    um_bytes runs = {.len = 0};
    uint8_t *cells = malloc(room + 8);
    uint64_t nruns = 0;

    while (cells && *page < u->pages->n) {
        size_t cap = room - runs.len < left ? room - runs.len : left;
        if (cap < u->pages->max_page + RUN_MARGIN)
            break;
        size_t len = 0;
        uint64_t n = run_of(u, *page, cap - RUN_MARGIN, cells, &len, changed);
        if (n && !write_run(u, *page, n, cells, &runs))
            break;
        nruns += n > 0;
        left -= len;
        *page += n ? n : 1;
    }
    um_bytes_varint(out, nruns);
    um_bytes_append(out, runs.at, runs.len);
    bool fine = cells && !runs.failed && !out->failed;
    free(cells);
    um_bytes_fini(&runs);
    return fine ? UMBEL_OK : um_no_memory(err, room);
}

umbel_status um_update_append_more(umbel_sync *s, um_update_writer *to,
                                   uint64_t *page, uint64_t pages,
                                   uint64_t *changed, bool *more,
                                   umbel_error *err)
{
    update u = update_of(s, to);
    um_growth *g = s->growth;

    for (; *page < u.pages->n && um_growth_len(g) < to->full; ++*page) {
        if (!is_due(&u, *page))
            continue;
        um_page p = um_page_of(u.pages, *page);
        if (p.len > to->left)
            break;
        *more = pages-- == 0;
        if (*more)
            return UMBEL_OK;
        to->left -= p.len;
        um_growth_page growth = {.form = &u.pages->section[p.section].form,
                                 .section = p.section,
                                 .number = *page,
                                 .old = old_page(&u),
                                 .now = new_page(&u),
                                 .n = p.n};
        um_growth_append(g, &growth);
        *changed += growth.changed;
    }
    *more = false;
    um_growth_end(g);
    if (to->w.bad)
        return um_fail(err, UMBEL_E_LIMIT, "pages take more than they may");
    s->out.len += (size_t)um_growth_len(g);
    return UMBEL_OK;
}

static umbel_status begin_changes(const update *u, um_update_writer *to,
                                  size_t room, umbel_error *err)
{
    um_bytes_varint(&u->s->out, 0);
    uint8_t *at = um_bytes_room(&u->s->out, room);
    if (!at)
        return um_no_memory(err, room);
    to->w = (um_writer){at, at + room, false};
    /* The last page may take more than its bytes, but not twice as much. */
    to->full = room - 2 * u->pages->max_page - RUN_MARGIN;
    to->left = (size_t)CHANGES_SHARE * u->s->limit.message_bytes;
    um_growth_encoder(u->s->growth, &to->w);
    return UMBEL_OK;
}

umbel_status um_update_append(umbel_sync *s, um_update_writer *to,
                              uint64_t *page, size_t room, uint64_t *changed,
                              bool *more, umbel_error *err)
{
    update u = update_of(s, to);

    *more = u.known;
    return *more ? begin_changes(&u, to, room, err)
                 : write_whole(&u, page, room, &s->out, changed, err);
}

/* --- using one ------------------------------------------------------------ */

static umbel_status bad_page(umbel_sync_reason *reason, const char *what,
                             umbel_error *err)
{
    *reason = UMBEL_SYNC_PAGE;
    return um_fail(err, UMBEL_E_FORMAT, "an update is damaged: %s", what);
}

/* Decodes the cells of a run. */
static umbel_status get_run(umbel_sync *s, const um_pages *pages,
                            um_update_reader *u, umbel_sync_reason *reason,
                            umbel_error *err)
{
    um_reader *r = &u->r;
    uint64_t first = um_get_varint(r), n = um_get_varint(r),
             len = um_get_varint(r);

    if (r->bad || len > (uint64_t)(r->end - r->at) || !n)
        return bad_page(reason, "a run is cut short", err);
    if (first >= pages->n || n > pages->n - first)
        return bad_page(reason, "a page number past the end", err);
    const uint8_t *code = r->at;
    r->at += len;
    um_page a = um_page_of(pages, first), b = um_page_of(pages, first + n - 1);
    size_t room = b.offset + b.len - a.offset;
    if (a.section != b.section || room > s->limit.message_bytes)
        return bad_page(reason, "a run is too long", err);
    um_bytes_reset(&u->cells);
    uint8_t *cells = um_bytes_room(&u->cells, room + 8);
    if (!cells)
        return um_no_memory(err, room);
    memset(cells, 0, room + 8);
    um_packed run = um_pages_cells(pages, first, n, cells);
    run.at = cells;
    if (!um_code_decode(code, (size_t)len, UM_CODE_NOW, &run))
        return bad_page(reason, "the code of a page", err);
    u->page = first;
    u->end = first + n;
    u->at = 0;
    return UMBEL_OK;
}

/* Stages the next page of the run. */
static umbel_status get_whole(umbel_sync *s, um_staging *g, const um_copy *c,
                              um_update_reader *u, umbel_sync_reason *reason,
                              umbel_error *err)
{
    const um_pages *pages = &s->list[g->id.list].pages;
    uint8_t *page;

    if (u->page == u->end) {
        u->runs--;
        UM_TRY(get_run(s, pages, u, reason, err));
    }
    size_t len = um_page_of(pages, u->page).len;
    UM_TRY(um_stage_page(s, g, c, u->page++, &page, reason, err));
    memcpy(page, u->cells.at + u->at, len);
    u->at += len;
    um_stage_end(s, g, c);
    return UMBEL_OK;
}

static umbel_status get_page(umbel_sync *s, um_staging *g, const um_copy *c,
                             uint64_t number, umbel_sync_reason *reason,
                             umbel_error *err)
{
    const um_pages *pages = &s->list[g->id.list].pages;
    um_page p = um_page_of(pages, number);
    um_growth_page growth = {.form = &pages->section[p.section].form,
                             .section = p.section,
                             .number = number,
                             .n = p.n};

    UM_TRY(um_stage_page(s, g, c, number, &growth.now, reason, err));
    growth.old = c->filter->payload + p.offset;
    if (!um_growth_get(s->growth, &growth))
        return bad_page(reason, "changes of a page", err);
    um_stage_end(s, g, c);
    return UMBEL_OK;
}

static umbel_status get_changes(umbel_sync *s, um_staging *g, const um_copy *c,
                                uint64_t pages, bool *more,
                                umbel_sync_reason *reason, umbel_error *err)
{
    uint64_t last = s->list[g->id.list].pages.n - 1, number;

    for (; pages; pages--) {
        if (!um_growth_next(s->growth, last, &number))
            return um_growth_ended(s->growth)
                       ? UMBEL_OK
                       : bad_page(reason, "changes", err);
        UM_TRY(get_page(s, g, c, number, reason, err));
    }
    *more = true;
    return UMBEL_OK;
}

umbel_status um_update_get_more(umbel_sync *s, um_staging *g,
                                um_update_reader *u, uint64_t pages, bool *more,
                                umbel_sync_reason *reason, umbel_error *err)
{
    const um_copy *c = um_copy_find(s, &g->id, NULL);

    *more = false;
    for (; u->runs || u->page < u->end; pages--) {
        if (!pages) {
            *more = true;
            return UMBEL_OK;
        }
        UM_TRY(get_whole(s, g, c, u, reason, err));
    }
    if (u->r.bad)
        return bad_page(reason, "cut short", err);
    if (!u->changes && u->r.at == u->r.end)
        return UMBEL_OK;
    if (!u->changes && (!g->base || !um_growth_decoder(s->growth, &u->r)))
        return bad_page(reason, "changes", err);
    u->changes = true;
    return get_changes(s, g, c, pages, more, reason, err);
}

void um_update_get(umbel_sync *s, um_staging *g, um_update_reader *u,
                   um_reader r)
{
    *u = (um_update_reader){.r = r, .cells = u->cells};
    u->runs = um_get_varint(&u->r);
    g->most_bytes = g->bytes + (uint64_t)MAX_SHARE * s->limit.message_bytes;
}
