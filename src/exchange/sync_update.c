/*
 * sync_update.c - the pages of an update as bytes, and back.
 *
 *   runs       varint: pages that come whole, in runs of one section
 *   each run   first page, pages, bytes: varints; its code (coding/code.h)
 *   the rest   pages that are coded given those of the base (coding/growth.h)
 *
 * A page comes whole where the base is nothing, or not known here any more, or
 * where that takes less.
 */
#include "base/error.h"
#include "coding/code.h"
#include "exchange/sync_inside.h"

#include <stdlib.h>

enum {
    /* Pages of one message, in its longest length: so that none takes long. */
    WHOLE_SHARE = 2,
    CHANGES_SHARE = 8,
    MOST_SHARE = 16, /* that are taken */
    RUN_MARGIN = 64  /* of a run, beside the cells of its pages */
};

/* --- making one ----------------------------------------------------------- */

typedef struct update {
    umbel_sync *s;
    const um_copy *c;
    const um_pages *pages;
    uint64_t base, version;
} update;

static uint8_t *old_page(const update *u)
{
    return u->s->scratch;
}

static uint8_t *new_page(const update *u)
{
    return u->s->scratch + u->pages->max_page;
}

/* Whether the receiver lacks this page. */
static bool is_due(const update *u, uint64_t number)
{
    um_page p = um_page_of(u->pages, number);

    if (u->c->changed[number] <= u->base)
        return false;
    um_copy_page_at(u->s, u->c, number, u->version, new_page(u));
    if (!u->base)
        return !um_all_zero(new_page(u), p.len);
    if (!um_copy_statement(u->c, u->base))
        return true;
    um_copy_page_at(u->s, u->c, number, u->base, old_page(u));
    return memcmp(old_page(u), new_page(u), p.len) != 0;
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

static bool put_run(const update *u, uint64_t number, uint64_t n,
                    uint8_t *cells, um_bytes *out)
{
    um_packed run = um_pages_cells(u->pages, number, n, cells);
    um_bytes code = {.len = 0};

    run.at = cells;
    uint8_t *at =
        um_bytes_room(&code, (size_t)um_code_most(&run) + UM_CODE_ROOM);
    if (!at)
        return false;
    code.len = um_code_encode(&run, UM_CODE_NOW, at);
    um_bytes_varint(out, number);
    um_bytes_varint(out, n);
    um_bytes_varint(out, code.len);
    um_bytes_put(out, code.at, code.len);
    um_bytes_fini(&code);
    return !out->failed;
}

/* Pages that come whole: a code for each run, which takes no more than they. */
static umbel_status put_whole(const update *u, uint64_t *page, size_t room,
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
        if (n && !put_run(u, *page, n, cells, &runs))
            break;
        nruns += n > 0;
        left -= len;
        *page += n ? n : 1;
    }
    um_bytes_varint(out, nruns);
    um_bytes_put(out, runs.at, runs.len);
    bool fine = cells && !runs.failed && !out->failed;
    free(cells);
    um_bytes_fini(&runs);
    return fine ? UMBEL_OK : um_no_memory(err, room);
}

static umbel_status put_changes(const update *u, uint64_t *page, size_t room,
                                um_bytes *out, uint64_t *changed,
                                umbel_error *err)
{
    um_growth *g = u->s->growth;
    /* The last page may take more than its bytes, but not twice as much. */
    size_t full = room - 2 * u->pages->max_page - RUN_MARGIN;
    size_t left = (size_t)CHANGES_SHARE * u->s->limit.message_bytes;
    um_bytes_varint(out, 0);
    uint8_t *at = um_bytes_room(out, room);
    if (!at)
        return um_no_memory(err, room);
    um_writer w = {at, at + room, false};

    um_growth_encoder(g, &w);
    for (; *page < u->pages->n && um_growth_len(g) < full; ++*page) {
        if (!is_due(u, *page))
            continue;
        um_page p = um_page_of(u->pages, *page);
        if (p.len > left)
            break;
        left -= p.len;
        um_growth_page growth = {.form = &u->pages->section[p.section].form,
                                 .section = p.section,
                                 .number = *page,
                                 .old = old_page(u),
                                 .now = new_page(u),
                                 .n = p.n};
        um_growth_put(g, &growth);
        *changed += growth.changed;
    }
    um_growth_end(g);
    if (w.bad)
        return um_fail(err, UMBEL_E_LIMIT, "pages take more than they may");
    out->len += (size_t)um_growth_len(g);
    return UMBEL_OK;
}

umbel_status um_update_put(umbel_sync *s, const um_copy *c, uint64_t base,
                           uint64_t version, uint64_t *page, size_t room,
                           um_bytes *out, uint64_t *changed, umbel_error *err)
{
    update u = {s, c, &s->list[c->id.list].pages, base, version};
    bool whole = !base || !um_copy_statement(c, base);

    return whole ? put_whole(&u, page, room, out, changed, err)
                 : put_changes(&u, page, room, out, changed, err);
}

/* --- using one ------------------------------------------------------------ */

static umbel_status bad_page(umbel_sync_reason *reason, const char *what,
                             umbel_error *err)
{
    *reason = UMBEL_SYNC_PAGE;
    return um_fail(err, UMBEL_E_FORMAT, "an update is damaged: %s", what);
}

static umbel_status stage_run(umbel_sync *s, um_staging *g, const um_copy *c,
                              uint64_t first, uint64_t n, const uint8_t *cells,
                              umbel_sync_reason *reason, umbel_error *err)
{
    const um_pages *pages = &s->list[g->id.list].pages;

    for (uint64_t i = first; i < first + n; i++) {
        size_t len = um_page_of(pages, i).len;
        uint8_t *page;
        UM_TRY(um_stage_page(s, g, c, i, &page, reason, err));
        memcpy(page, cells, len);
        um_stage_end(s, g, c);
        cells += len;
    }
    return UMBEL_OK;
}

static umbel_status get_run(umbel_sync *s, um_staging *g, const um_copy *c,
                            um_reader *r, umbel_sync_reason *reason,
                            umbel_error *err)
{
    const um_pages *pages = &s->list[g->id.list].pages;
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
    uint8_t *cells = calloc(1, room + 8);
    if (!cells)
        return um_no_memory(err, room);
    um_packed run = um_pages_cells(pages, first, n, cells);
    run.at = cells;
    umbel_status status = um_code_decode(code, (size_t)len, UM_CODE_NOW, &run)
                              ? stage_run(s, g, c, first, n, cells, reason, err)
                              : bad_page(reason, "the code of a page", err);
    free(cells);
    return status;
}

static umbel_status get_changes(umbel_sync *s, um_staging *g, const um_copy *c,
                                um_reader *r, umbel_sync_reason *reason,
                                umbel_error *err)
{
    const um_pages *pages = &s->list[g->id.list].pages;
    uint64_t number;

    if (!g->base || !um_growth_decoder(s->growth, r))
        return bad_page(reason, "changes", err);
    while (um_growth_next(s->growth, pages->n - 1, &number)) {
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
    }
    return um_growth_ended(s->growth) ? UMBEL_OK
                                      : bad_page(reason, "changes", err);
}

umbel_status um_update_get(umbel_sync *s, um_staging *g, um_reader *r,
                           umbel_sync_reason *reason, umbel_error *err)
{
    const um_copy *c = um_copy_find(s, &g->id, NULL);
    uint64_t runs = um_get_varint(r);

    g->most_bytes = g->bytes + (uint64_t)MOST_SHARE * s->limit.message_bytes;
    for (uint64_t i = 0; i < runs; i++)
        UM_TRY(get_run(s, g, c, r, reason, err));
    if (r->bad)
        return bad_page(reason, "cut short", err);
    return r->at < r->end ? get_changes(s, g, c, r, reason, err) : UMBEL_OK;
}
