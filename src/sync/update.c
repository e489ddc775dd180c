/*
 * update.c - UPDATE: sends a version of a replica that a peer lacks.
 *
 *   runs       varint: number of runs of whole pages of one section
 *   each run   first page, pages, bytes: varints; its code (coding/section.h)
 *   the rest   changed pages, coded relative to the base (coding/entries.h)
 *
 * Pages are sent whole if there is no base, or if it is no longer in the
 * history here.
 *
 * The receiver collects pages in a receive buffer and applies the version as a
 * whole. The expensive work is done as pages arrive: each is compared with the
 * one that it replaces, and hashed. At the end only the nodes above them are
 * hashed, and pages are swapped. Pages of a first version are written to their
 * final place, the cells of a new filter.
 *
 * An update has up to some hundred pages, each of which is compared, coded and
 * hashed. That takes milliseconds, during which a server would answer nobody.
 * With slice_pages a call handles that many pages, and the next one continues.
 * Nothing incomplete is visible: received pages are in the receive buffer, and
 * an unfinished message is not sent. In between, other calls may count,
 * publish, expire or drop; if the replica has changed, the work is abandoned,
 * and the update is sent again. There is one piece of work at a time, since
 * there is one coder.
 */
#include "base/error.h"
#include "coding/section.h"
#include "sync/internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    /* Limits on the pages of one message, in multiples of message_bytes, so
     * that no message takes long. */
    WHOLE_SHARE = 2,
    CHANGES_SHARE = 8,
    MAX_SHARE = 16, /* accepted from a peer */
    RUN_MARGIN = 64 /* bytes of a run besides its cells */
};

enum {
    MARGIN = 512,           /* bytes of a message before the pages */
    ADMISSION_SECONDS = 60, /* between two admissions after a refusal */
    UPDATE_BYTES = 8 << 20, /* pages that one update changes ... */
    UPDATE_SLICES = 16      /* ... or slices: applied in one call */
};

/* Returns the maximum number of pages that one call handles. */
static uint64_t slice_pages_of(const umbel_sync *s)
{
    return s->limit.slice_pages ? s->limit.slice_pages : UINT64_MAX;
}

/* --- receive buffer ------------------------------------------------------- */

/* Returns the memory of a buffer with that many bytes of pages, and of what the
 * replica will take in addition when they are applied. */
static uint64_t memory_with(const um_sync_list *l, const um_receive_buffer *g,
                            const um_replica *c, uint64_t bytes,
                            uint64_t written)
{
    if (g->filter) /* it becomes that of the replica */
        return um_replica_bytes(l, written);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): c is the replica */
    return bytes + um_replica_bytes(l, c->written + written) -
           um_replica_bytes(l, c->written);
}

static umbel_status begin_page(umbel_sync *s, um_receive_buffer *g,
                               const um_replica *c, uint64_t number,
                               uint8_t **out, umbel_sync_reason *reason,
                               umbel_error *err)
{
    const um_sync_list *l = &s->list[g->id.list];
    um_page p = um_page_of(&l->pages, number);
    bool first = !c || !c->changed[number];
    uint64_t written = first ? um_replica_page_bytes(l, number) : 0;
    um_received_page *all;

    *reason = UMBEL_SYNC_PAGE;
    if (number < g->next_page)
        return um_fail(err, UMBEL_E_FORMAT,
                       "an update has a page twice, or out of order");
    if (g->bytes + p.len > g->max_bytes)
        return um_fail(err, UMBEL_E_LIMIT,
                       "a message has more pages than message_bytes allow");
    *reason = UMBEL_SYNC_MEMORY;
    uint64_t memory =
        memory_with(l, g, c, g->bytes + p.len, g->written + written);
    if (!um_sync_has_memory(s, memory - g->memory))
        return um_fail(
            err, UMBEL_E_LIMIT,
            "no memory left for the pages of an update; raise memory");
    uint8_t *cells = g->filter ? NULL : calloc(1, p.len);
    all = g->filter || cells ? um_grow_array(g->page, &g->npages, sizeof *all)
                             : NULL;
    if (!all) {
        free(cells);
        return um_no_memory(err, p.len);
    }
    g->page = all;
    all[g->npages - 1] = (um_received_page){.number = number, .cells = cells};
    g->next_page = number + 1;
    g->bytes += p.len;
    g->written += written;
    s->memory += memory - g->memory;
    g->memory = memory;
    if (g->base && cells)
        memcpy(cells, c->filter->payload + p.offset, p.len);
    *out = cells ? cells : g->filter->payload + p.offset;
    return UMBEL_OK;
}

static void end_page(umbel_sync *s, um_receive_buffer *g, const um_replica *c)
{
    const um_sync_list *l = &s->list[g->id.list];
    um_received_page *at = &g->page[g->npages - 1];
    um_page page = um_page_of(&l->pages, at->number);
    const umbel_filter *was = g->have ? c->filter : l->shape;
    um_growth_page p = um_page_pair(&l->pages, at->number, was->payload,
                                    g->filter ? g->filter->payload : NULL);

    if (at->cells)
        p.now = at->cells;
    g->shrank |= !um_sync_has_grown(&p);
    g->changed += p.changed;
    g->fresh += p.fresh;
    if (p.changed && g->have)
        um_replica_record_old(&g->old, &p);
    um_tree_hash_page(p.now, page.len, at->hash);
}

/* --- applying ------------------------------------------------------------- */

static void swap_bytes(uint8_t *a, uint8_t *b, size_t len)
{
    uint8_t some[512];

    for (size_t i = 0, n; i < len; i += n) {
        n = len - i < sizeof some ? len - i : sizeof some;
        memcpy(some, a + i, n);
        memcpy(a + i, b + i, n);
        memcpy(b + i, some, n);
    }
}

/* Swaps the hashes of the received pages with those of the tree. Self-inverse:
 * a second call undoes the first. */
static void swap_hashes(um_replica *c, um_receive_buffer *g)
{
    for (size_t i = 0; i < g->npages; i++) {
        um_received_page *p = &g->page[i];
        swap_bytes(um_tree_leaf(&c->tree, p->number), p->hash, UM_HASH_LEN);
        um_tree_touch(&c->tree, p->number);
    }
    um_tree_end(&c->tree);
}

static void swap_cells(const umbel_sync *s, um_replica *c, um_receive_buffer *g)
{
    const um_pages *pages = &s->list[c->id.list].pages;
    umbel_filter *was = c->filter;

    if (g->filter) {
        c->filter = g->filter;
        g->filter = was;
        return;
    }
    for (size_t i = 0; i < g->npages; i++) {
        um_page p = um_page_of(pages, g->page[i].number);
        swap_bytes(c->filter->payload + p.offset, g->page[i].cells, p.len);
    }
}

/* Returns true unless the update has no base and leaves out a page that is not
 * empty in the replica. */
static bool rest_is_empty(umbel_sync *s, um_replica *c,
                          const um_receive_buffer *g)
{
    um_sync_list *l = &s->list[c->id.list];

    if (g->base || !g->have)
        return true;
    for (uint64_t i = 0, at = 0; i < l->pages.n; i++) {
        if (at < g->npages && g->page[at].number == i)
            at++;
        else if (memcmp(um_tree_leaf(&c->tree, i), um_tree_leaf(&l->tree, i),
                        UM_HASH_LEN) != 0)
            return false;
    }
    return true;
}

static double max_error_of(const um_sync_list *l)
{
    uint64_t capacity = l->shape->capacity;

    if (l->set.max_error > 0)
        return l->set.max_error;
    if (!capacity)
        return 0.5;
    return fmin(1, fmax(umbel_target_fpr(l->shape),
                        umbel_fpr_at(l->shape, (double)capacity)));
}

static bool grew_by_a_tenth(uint64_t from, uint64_t to)
{
    return to > from && to - from >= from / 10;
}

static bool is_admitted(umbel_sync *s, um_replica *c,
                        const um_receive_buffer *g, umbel_error *why)
{
    const um_sync_list *l = &s->list[c->id.list];
    const um_kind *kind = l->shape->kind;
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling ruling;

    if (!(c->used + g->fresh)) /* nothing to check in an empty filter */
        return true;
    if (c->admitted && !grew_by_a_tenth(c->admitted, c->used + g->fresh) &&
        !grew_by_a_tenth(c->claimed, g->keys))
        return true;
    wants.claimed = kind->bits || kind->entries ? g->keys : 0;
    wants.max_error = max_error_of(l);
    if (umbel_admit(c->filter, &wants, &ruling, why) != UMBEL_OK)
        return false;
    for (size_t i = 0; i < ruling.n; i++) {
        /* Allowed: some pages may not have been published yet. */
        if (ruling.reason[i].code == UMBEL_REFUSED_TOO_EMPTY)
            continue;
        um_set_error(why, UMBEL_E_REFUSED, "%s", ruling.reason[i].text);
        return false;
    }
    c->admitted = c->used + g->fresh;
    c->claimed = g->keys;
    return true;
}

/* Checks the contents of a version whose signature is valid. */
static umbel_status admit_version(umbel_sync *s, um_replica *c,
                                  um_receive_buffer *g,
                                  umbel_sync_reason *reason, umbel_error *err)
{
    uint64_t capacity = s->list[c->id.list].shape->capacity;
    umbel_error why;

    *reason = UMBEL_SYNC_SHRANK;
    if (g->shrank || !rest_is_empty(s, c, g))
        return um_fail(err, UMBEL_E_REFUSED,
                       "a later version has less than an earlier one");
    *reason = UMBEL_SYNC_CAPACITY;
    if (capacity && g->keys > capacity)
        return um_fail(err, UMBEL_E_REFUSED,
                       "it has more keys than its capacity");
    *reason = UMBEL_SYNC_ADMISSION;
    swap_cells(s, c, g);
    c->filter->added = g->keys;
    if (is_admitted(s, c, g, &why))
        return UMBEL_OK;
    c->filter->added = c->now.keys;
    swap_cells(s, c, g);
    if (!g->filter) /* pages were written, though they are empty again */
        um_replica_add_written(s, c, g->written);
    return um_fail(err, UMBEL_E_REFUSED, "%.200s", why.text);
}

static void accept_update(umbel_sync *s, int peer, um_replica *c,
                          um_receive_buffer *g, const um_statement *next)
{
    for (size_t i = 0; i < g->npages; i++)
        c->changed[g->page[i].number] = g->version;
    um_replica_add_written(s, c, g->written);
    um_index_update(s, c, g);
    um_totals_update(s, c, g);
    c->used += g->fresh;
    c->held = false;
    c->seen = s->now;
    um_replica_end_step(s, c, &g->old, next);
    if (g->unrooted) /* the sender may have joined two pasts, of which we know
                        one: the other one is no contradiction any more */
        um_replica_forget_past(c);
    um_sync_emit(s, &(umbel_sync_event){.kind = UMBEL_SYNC_APPLIED,
                                        .peer = peer,
                                        .origin = c->id.origin,
                                        .incarnation = c->id.incarnation,
                                        .epoch = c->id.epoch,
                                        .list = (int)c->id.list,
                                        .version = g->version,
                                        .changed = g->changed});
}

static void record_refused(umbel_sync *s, int peer, um_replica *c,
                           const um_receive_buffer *g, umbel_sync_reason reason)
{
    if (g->version > c->refused)
        c->refused = g->version;
    if (reason == UMBEL_SYNC_ADMISSION)
        c->not_admitted = s->now + 1;
    if (reason != UMBEL_SYNC_CAPACITY || c->held)
        return;
    c->held = true;
    um_sync_emit(s, &(umbel_sync_event){.kind = UMBEL_SYNC_HELD,
                                        .peer = peer,
                                        .origin = c->id.origin,
                                        .incarnation = c->id.incarnation,
                                        .epoch = c->id.epoch,
                                        .list = (int)c->id.list,
                                        .version = g->version});
}

static umbel_status apply_update(umbel_sync *s, int peer, um_receive_buffer *g,
                                 umbel_error *err)
{
    um_statement next = {.version = g->version, .keys = g->keys};
    umbel_sync_reason reason = UMBEL_SYNC_MEMORY;
    umbel_error why;
    um_sync_id id = g->id;
    size_t slot = 0;
    um_replica *c = um_replica_find(s, &id, NULL);
    bool fresh = !c, signed_right = false;
    umbel_status status = UMBEL_OK;

    s->memory -= g->memory; /* the replica has it now, or it is freed soon */
    g->memory = 0;
    if (!c)
        status = um_replica_check_limits(s, &id, &reason, &why);
    if (!c && !status)
        status = um_replica_create(s, &id, &c, &why);
    if (status)
        return um_sync_refuse(s, peer, reason, &id, status, why.text, err);
    swap_hashes(c, g);
    memcpy(next.root, um_tree_root(&c->tree), UM_HASH_LEN);
    memcpy(next.signature, g->signature, UM_SIGNATURE_LEN);
    reason = UMBEL_SYNC_ROOT;
    signed_right = um_statement_holds(s, &id, &next);
    if (signed_right)
        status = admit_version(s, c, g, &reason, &why);
    else
        status = um_fail(&why, UMBEL_E_REFUSED,
                         "its pages do not give the root that was signed");
    if (status) {
        swap_hashes(c, g);
        if (signed_right && reason == UMBEL_SYNC_SHRANK &&
            um_is_our_origin(s, id.origin)) {
            um_sync_resolve_fork(s, peer, &id);
            return UMBEL_OK; /* it comes again */
        }
        if (signed_right)
            record_refused(s, peer, c, g, reason);
        else if (fresh && um_replica_find(s, &id, &slot))
            um_replica_free(s, slot);
        return um_sync_refuse(s, peer, reason, &id, status, why.text, err);
    }
    bool own = c->own;
    accept_update(s, peer, c, g, &next);
    if (own) /* we signed it, and lost it */
        um_sync_renew(s, peer);
    return UMBEL_OK;
}

/* --- writing pages -------------------------------------------------------- */

typedef struct update {
    umbel_sync *s;
    const um_replica *c;
    const um_pages *pages;
    uint64_t base, version;
    bool known; /* the base is in the history */
} update;

static update update_of(umbel_sync *s, const um_update_writer *to)
{
    const um_replica *c = um_replica_find(s, &to->id, NULL);

    return (update){.s = s,
                    .c = c,
                    .pages = &s->list[to->id.list].pages,
                    .base = to->base,
                    .version = to->version,
                    .known = to->base && um_replica_statement(c, to->base)};
}

static uint8_t *old_page(const update *u)
{
    return u->s->scratch;
}

static uint8_t *new_page(const update *u)
{
    return u->s->scratch + u->pages->max_page;
}

/* Returns true if the receiver lacks this page, and copies it to new_page. If
 * the base is known, copies the receiver's page to old_page. */
static bool is_due(const update *u, uint64_t number)
{
    um_page p = um_page_of(u->pages, number);

    if (u->c->changed[number] <= u->base ||
        (u->known &&
         !um_replica_page_differs(u->c, number, u->base, u->version)))
        return false;
    um_replica_page_at(u->s, u->c, number, u->version, new_page(u));
    if (u->known)
        um_replica_page_at(u->s, u->c, number, u->base, old_page(u));
    return u->base || !um_all_zero(new_page(u), p.len);
}

/* Returns the number of non-empty entries of the new page. */
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

/* Copies to cells the pages from number on that are in the same section, are
 * due and fit into room bytes; returns their number. */
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
                      uint8_t *cells, um_buffer *out)
{
    um_packed run = um_pages_cells(u->pages, number, n, cells);
    um_buffer code = {.len = 0};

    run.at = cells;
    uint8_t *at =
        um_buffer_reserve(&code, (size_t)um_code_max(&run) + UM_CODE_SPACE);
    if (!at)
        return false;
    code.len = um_code_encode(&run, UM_CODE_NOW, at);
    um_append_varint(out, number);
    um_append_varint(out, n);
    um_append_varint(out, code.len);
    um_buffer_append(out, code.data, code.len);
    um_buffer_fini(&code);
    return !out->failed;
}

/* Writes whole pages in runs. The code of a run takes no more bytes than its
 * pages. */
static umbel_status write_whole(const update *u, uint64_t *page, size_t room,
                                um_buffer *out, uint64_t *changed,
                                umbel_error *err)
{
    size_t left = (size_t)WHOLE_SHARE * u->s->limit.message_bytes;
    um_buffer runs = {.len = 0};
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
    um_append_varint(out, nruns);
    um_buffer_append(out, runs.data, runs.len);
    bool fine = cells && !runs.failed && !out->failed;
    free(cells);
    um_buffer_fini(&runs);
    return fine ? UMBEL_OK : um_no_memory(err, room);
}

static umbel_status write_more(umbel_sync *s, um_update_writer *to,
                               uint64_t *page, uint64_t pages,
                               uint64_t *changed, bool *more, umbel_error *err)
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
    um_append_varint(&u->s->out, 0);
    uint8_t *at = um_buffer_reserve(&u->s->out, room);
    if (!at)
        return um_no_memory(err, room);
    to->w = (um_writer){at, at + room, false};
    /* The last page may take more bytes than its cells, but less than twice as
     * many. */
    to->full = room - 2 * u->pages->max_page - RUN_MARGIN;
    to->left = (size_t)CHANGES_SHARE * u->s->limit.message_bytes;
    um_growth_encoder(u->s->growth, &to->w);
    return UMBEL_OK;
}

static umbel_status begin_writing(umbel_sync *s, um_update_writer *to,
                                  uint64_t *page, size_t room,
                                  uint64_t *changed, bool *more,
                                  umbel_error *err)
{
    update u = update_of(s, to);

    *more = u.known;
    return *more ? begin_changes(&u, to, room, err)
                 : write_whole(&u, page, room, &s->out, changed, err);
}

/* --- reading pages -------------------------------------------------------- */

static umbel_status bad_page(umbel_sync_reason *reason, const char *what,
                             umbel_error *err)
{
    *reason = UMBEL_SYNC_PAGE;
    return um_fail(err, UMBEL_E_FORMAT, "an update is damaged: %s", what);
}

/* Decodes the cells of the next run. */
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
    um_buffer_clear(&u->cells, SIZE_MAX);
    uint8_t *cells = um_buffer_reserve(&u->cells, room + 8);
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

/* Copies the next page of the run to the receive buffer. */
static umbel_status get_whole(umbel_sync *s, um_receive_buffer *g,
                              const um_replica *c, um_update_reader *u,
                              umbel_sync_reason *reason, umbel_error *err)
{
    const um_pages *pages = &s->list[g->id.list].pages;
    uint8_t *page;

    if (u->page == u->end) {
        u->runs--;
        UM_TRY(get_run(s, pages, u, reason, err));
    }
    size_t len = um_page_of(pages, u->page).len;
    UM_TRY(begin_page(s, g, c, u->page++, &page, reason, err));
    memcpy(page, u->cells.data + u->at, len);
    u->at += len;
    end_page(s, g, c);
    return UMBEL_OK;
}

static umbel_status get_page(umbel_sync *s, um_receive_buffer *g,
                             const um_replica *c, uint64_t number,
                             umbel_sync_reason *reason, umbel_error *err)
{
    const um_pages *pages = &s->list[g->id.list].pages;
    um_page p = um_page_of(pages, number);
    um_growth_page growth = {.form = &pages->section[p.section].form,
                             .section = p.section,
                             .number = number,
                             .n = p.n};

    UM_TRY(begin_page(s, g, c, number, &growth.now, reason, err));
    growth.old = c->filter->payload + p.offset;
    if (!um_growth_get(s->growth, &growth))
        return bad_page(reason, "changes of a page", err);
    end_page(s, g, c);
    return UMBEL_OK;
}

static umbel_status get_changes(umbel_sync *s, um_receive_buffer *g,
                                const um_replica *c, uint64_t pages, bool *more,
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

static umbel_status read_more(umbel_sync *s, um_receive_buffer *g,
                              um_update_reader *u, uint64_t pages, bool *more,
                              umbel_sync_reason *reason, umbel_error *err)
{
    const um_replica *c = um_replica_find(s, &g->id, NULL);

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

static void begin_reading(umbel_sync *s, um_receive_buffer *g,
                          um_update_reader *u, um_reader r)
{
    *u = (um_update_reader){.r = r, .cells = u->cells};
    u->runs = um_get_varint(&u->r);
    g->max_bytes = g->bytes + (uint64_t)MAX_SHARE * s->limit.message_bytes;
}

/* --- work: receiving ------------------------------------------------------ */

/* Abandons the message being written; it will be made again later. */
static void abandon_sending(umbel_sync *s)
{
    um_sync_work *w = &s->work;
    um_peer *p = &s->peer[w->peer];

    w->kind = UM_WORK_NONE;
    if (w->slot < p->nreplicas)
        p->replica[w->slot].part = p->replica[w->slot].page =
            p->replica[w->slot].sent = 0;
}

static umbel_status end_part(umbel_sync *s, int peer, const um_update_head *h,
                             umbel_sync_reason reason, umbel_status status,
                             const umbel_error *why, umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    um_receive_buffer *g = &p->receive;

    if (status)
        status =
            um_sync_refuse(s, peer, reason, &h->id, status, why->text, err);
    g->next_part++;
    if (!status && h->last) {
        status = apply_update(s, peer, g, err);
        if (!status)
            p->stats.changed_in += g->changed;
    }
    if (status || h->last)
        um_receive_buffer_fini(s, g);
    return status;
}

/* Records that the peer has our version, or that it has another one with the
 * same number. */
static void record_sent_version(const umbel_sync *s, const um_replica *c,
                                um_peer_replica *pc, const um_update_head *h)
{
    bool same = memcmp(c->now.signature, h->signature, UM_SIGNATURE_LEN) == 0;

    if (same && pc->acked < h->version)
        pc->acked = h->version;
    if (!same && !um_is_our_origin(s, c->id.origin))
        um_peer_prove(pc, h->version);
}

static void answer_update(umbel_sync *s, int peer, const um_update_head *h,
                          bool wanted, umbel_status status)
{
    um_peer *p = &s->peer[peer];
    size_t slot;
    const um_replica *c = um_replica_find(s, &h->id, &slot);

    if (!c || !um_peer_extend(s, p))
        return;
    p->replica[slot].report |= !wanted || h->last || status;
    if (!status && h->last && c->now.version == h->version &&
        um_sync_is_session(p->session, h->session))
        record_sent_version(s, c, &p->replica[slot], h);
}

static bool has_changed(const umbel_sync *s, const um_sync_work *w)
{
    const um_sync_id *id = &w->head.id;
    const um_replica *c = um_replica_find(s, id, NULL);

    return (c ? c->now.version : 0) != w->have ||
           um_sync_is_expired(id->epoch, s->list[id->list].oldest) ||
           um_origin_status_of(s, id->origin) == UM_DROPPED ||
           um_is_contradicted(s, id->origin, id->incarnation);
}

static umbel_status receive_more(umbel_sync *s, uint64_t pages,
                                 umbel_error *err)
{
    um_sync_work *w = &s->work;
    um_receive_buffer *g = &s->peer[w->peer].receive;
    umbel_sync_reason reason = UMBEL_SYNC_MEMORY;
    umbel_error why;
    bool more;

    if (has_changed(s, w)) {
        w->kind = UM_WORK_NONE;
        um_receive_buffer_fini(s, g);
        answer_update(s, w->peer, &w->head, false, UMBEL_OK);
        return UMBEL_OK;
    }
    umbel_status status = read_more(s, g, &w->in, pages, &more, &reason, &why);
    if (!status && more)
        return UMBEL_OK;
    w->kind = UM_WORK_NONE;
    status = end_part(s, w->peer, &w->head, reason, status, &why, err);
    answer_update(s, w->peer, &w->head, true, status);
    return status;
}

static umbel_status begin_receiving(umbel_sync *s, int peer,
                                    const um_update_head *h, uint64_t have,
                                    const um_reader *r, umbel_error *err)
{
    um_sync_work *w = &s->work;

    if (w->kind == UM_WORK_READY)
        abandon_sending(s);
    w->kind = UM_WORK_RECEIVE;
    w->peer = peer;
    w->head = *h;
    w->have = have;
    begin_reading(s, &s->peer[peer].receive, &w->in, *r);
    return receive_more(s, slice_pages_of(s), err);
}

/* --- work: sending -------------------------------------------------------- */

/* Returns true if the replica no longer exists, or its history no longer
 * contains the base or the version. */
static bool is_gone(const umbel_sync *s, const um_sync_work *w)
{
    const um_peer *p = &s->peer[w->peer];
    const um_replica *c = um_replica_find(s, &w->out.id, NULL);

    return !c || s->replica[w->slot] != c || w->slot >= p->nreplicas ||
           !um_replica_statement(c, w->out.base) ||
           !um_replica_statement(c, w->out.version);
}

static void end_sending(umbel_sync *s)
{
    um_sync_work *w = &s->work;
    um_peer_replica *pc = &s->peer[w->peer].replica[w->slot];
    uint8_t last = pc->page == s->list[w->out.id.list].pages.n;

    s->out.data[w->last_at] = last;
    pc->part = last ? 0 : pc->part + 1;
    pc->retry = s->now + s->limit.retry_seconds;
    w->kind = UM_WORK_READY;
}

static bool send_more(umbel_sync *s, uint64_t pages)
{
    um_sync_work *w = &s->work;
    um_peer *p = &s->peer[w->peer];
    bool more, fine = !is_gone(s, w);

    if (fine)
        fine = write_more(s, &w->out, &p->replica[w->slot].page, pages,
                          &p->stats.changed_out, &more, NULL) == UMBEL_OK;
    if (!fine)
        abandon_sending(s);
    else if (!more)
        end_sending(s);
    return fine;
}

static bool begin_sending(umbel_sync *s, int peer, size_t slot, size_t last_at,
                          size_t room)
{
    um_sync_work *w = &s->work;
    um_peer *p = &s->peer[peer];
    um_peer_replica *pc = &p->replica[slot];
    bool more;

    w->kind = UM_WORK_SEND;
    w->peer = peer;
    w->slot = slot;
    w->last_at = last_at;
    w->out = (um_update_writer){
        .id = s->replica[slot]->id, .base = pc->from, .version = pc->sent};
    if (begin_writing(s, &w->out, &pc->page, room, &p->stats.changed_out, &more,
                      NULL)) {
        abandon_sending(s);
        return false;
    }
    if (more)
        return send_more(s, slice_pages_of(s));
    end_sending(s);
    return true;
}

/* --- work: both ----------------------------------------------------------- */

bool umbel_sync_busy(const umbel_sync *s)
{
    return s->work.kind == UM_WORK_RECEIVE || s->work.kind == UM_WORK_SEND;
}

static void work_on(umbel_sync *s, uint64_t pages)
{
    if (s->work.kind == UM_WORK_RECEIVE)
        receive_more(s, pages, NULL);
    else if (s->work.kind == UM_WORK_SEND)
        send_more(s, pages);
}

bool umbel_sync_work(umbel_sync *s)
{
    work_on(s, slice_pages_of(s));
    return umbel_sync_busy(s);
}

void um_work_finish(umbel_sync *s)
{
    work_on(s, UINT64_MAX);
}

void um_work_yield(umbel_sync *s, int peer)
{
    um_work_finish(s);
    if (s->work.kind == UM_WORK_READY && s->work.peer != peer)
        abandon_sending(s);
}

/* --- sending a message ---------------------------------------------------- */

static uint64_t update_pages(const umbel_sync *s, const um_replica *c)
{
    return s->limit.slice_pages
               ? (uint64_t)UPDATE_SLICES * s->limit.slice_pages
               : UPDATE_BYTES / s->list[c->id.list].pages.max_page;
}

/* Chooses the base and the version to send of a replica; returns false if there
 * is nothing to send. */
static bool plan_update(const umbel_sync *s, const um_replica *c,
                        um_peer_replica *pc)
{
    bool going_on = pc->part && um_replica_statement(c, pc->sent);

    if (going_on)
        return true;
    pc->part = pc->page = 0;
    if (!c->now.version || c->now.version <= pc->acked ||
        c->now.version <= pc->refused || (pc->sent && s->now < pc->retry))
        return false;
    pc->from = pc->acked;
    pc->sent = um_replica_reach(c, pc->acked, update_pages(s, c));
    return true;
}

/* Begins the message with the fields before the pages. */
static bool write_update(umbel_sync *s, um_peer *p, size_t slot)
{
    const um_replica *c = s->replica[slot];
    um_peer_replica *pc = &p->replica[slot];
    const um_statement *st = um_replica_statement(c, pc->sent),
                       *base = um_replica_statement(c, pc->from);
    uint8_t none[UM_ROOT_WORD] = {0}, last = 0;
    um_buffer *b = &s->out;

    um_message_begin(b, UM_MSG_UPDATE);
    um_append_u64(b, p->own_session);
    um_write_id(b, s, &c->id);
    um_append_varint(b, pc->from);
    um_buffer_append(b, base && pc->from ? base->root : none, UM_ROOT_WORD);
    um_append_varint(b, st->version);
    um_append_varint(b, st->keys);
    um_append_varint(b, pc->part);
    size_t last_at = b->len;
    um_buffer_append(b, &last, 1);
    um_buffer_append(b, st->signature, UM_SIGNATURE_LEN);
    return begin_sending(s, (int)(p - s->peer), slot, last_at,
                         s->limit.message_bytes - MARGIN);
}

bool um_send_update(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->nreplicas && i < s->nreplicas; i++) {
        const um_replica *c = s->replica[i];
        if (c && !p->replica[i].disputed && um_peer_has_list(p, c) &&
            um_peer_wants(p, c->id.origin) &&
            plan_update(s, c, &p->replica[i]) && write_update(s, p, i))
            return true;
    }
    return false;
}

/* --- receiving a message -------------------------------------------------- */

static umbel_status check_epoch(umbel_sync *s, int peer, const um_sync_id *id,
                                umbel_error *err)
{
    const um_sync_list *l = &s->list[id->list];
    uint64_t seconds = l->set.epoch_seconds;

    if (um_sync_is_expired(id->epoch, l->oldest))
        return um_sync_refuse(s, peer, UMBEL_SYNC_EPOCH, id, UMBEL_E_REFUSED,
                              "an epoch that is over", err);
    if (seconds ? id->epoch > (s->now + s->limit.clock_skew) / seconds
                : id->epoch > 0)
        return um_sync_refuse(s, peer, UMBEL_SYNC_EPOCH, id, UMBEL_E_REFUSED,
                              "an epoch that has not begun: a clock is wrong",
                              err);
    return UMBEL_OK;
}

static umbel_status get_update_head(umbel_sync *s, int peer, um_reader *r,
                                    um_update_head *h, umbel_error *err)
{
    umbel_error why;

    h->session = um_get_u64(r);
    umbel_status status = um_get_id(r, s, &h->id, &why);
    h->base = um_get_varint(r);
    um_get_bytes(r, h->word, sizeof h->word);
    h->version = um_get_varint(r);
    h->keys = um_get_varint(r);
    h->part = um_get_varint(r);
    um_get_bytes(r, &h->last, 1);
    um_get_bytes(r, h->signature, sizeof h->signature);
    if (r->bad || status == UMBEL_E_FORMAT || h->last > 1)
        return um_fail(err, UMBEL_E_FORMAT, "an update is cut short");
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LIST, NULL, status, why.text,
                              err);
    UM_TRY(um_check_incarnation(s, peer, &h->id, err));
    UM_TRY(check_epoch(s, peer, &h->id, err));
    if (h->version == 0 || h->version == UINT64_MAX)
        return um_sync_refuse(s, peer, UMBEL_SYNC_VERSION, &h->id,
                              UMBEL_E_REFUSED, "a version out of range", err);
    return UMBEL_OK;
}

static bool goes_on(const um_receive_buffer *g, const um_update_head *h,
                    uint64_t have)
{
    return g->active && um_same_id(&g->id, &h->id) && g->have == have &&
           g->base == h->base && g->version == h->version &&
           g->keys == h->keys && g->next_part == h->part;
}

static umbel_status begin_buffer(umbel_sync *s, um_receive_buffer *g,
                                 const um_update_head *h, uint64_t have,
                                 umbel_sync_reason *reason, umbel_error *err)
{
    um_receive_buffer_fini(s, g);
    *reason = UMBEL_SYNC_MEMORY;
    if (!um_replica_find(s, &h->id, NULL))
        UM_TRY(um_replica_check_limits(s, &h->id, reason, err));
    *g = (um_receive_buffer){.active = true,
                             .id = h->id,
                             .base = h->base,
                             .version = h->version,
                             .keys = h->keys};
    g->unrooted = h->base && um_all_zero(h->word, UM_ROOT_WORD);
    memcpy(g->signature, h->signature, sizeof g->signature);
    g->have = have;
    return have ? UMBEL_OK
                : um_filter_like(s->list[g->id.list].shape, &g->filter, err);
}

/* Prepares the receive buffer for a part; *begun is false if the part does not
 * continue the last one. */
static umbel_status begin_part(umbel_sync *s, int peer, const um_update_head *h,
                               uint64_t have, bool *begun, umbel_error *err)
{
    um_receive_buffer *g = &s->peer[peer].receive;
    umbel_error why;

    *begun = true;
    if (h->part) {
        *begun = goes_on(g, h, have); /* else one was lost */
        return UMBEL_OK;
    }
    umbel_sync_reason reason;
    umbel_status status = begin_buffer(s, g, h, have, &reason, &why);
    if (!status)
        return UMBEL_OK;
    um_receive_buffer_fini(s, g);
    return um_sync_refuse(s, peer, reason, &h->id, status, why.text, err);
}

/* Returns true if the update is based on the replica's version and is newer. */
static bool is_wanted(umbel_sync *s, um_peer *p, const um_update_head *h,
                      const um_replica *c, size_t slot)
{
    uint64_t have = c ? c->now.version : 0;

    if (!um_sync_is_newer(have, h->version) ||
        !um_sync_fits_base(have, h->base))
        return false;
    if (!c || !h->base || um_all_zero(h->word, UM_ROOT_WORD) ||
        memcmp(c->now.root, h->word, UM_ROOT_WORD) == 0)
        return true;
    if (um_peer_extend(s, p) && !um_is_our_origin(s, c->id.origin))
        um_peer_prove(&p->replica[slot], have);
    return false;
}

umbel_status um_receive_update(umbel_sync *s, int peer, um_reader *r,
                               umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    umbel_status status = UMBEL_OK;
    um_update_head h;
    size_t slot = 0;
    bool begun;

    UM_TRY(get_update_head(s, peer, r, &h, err));
    const um_replica *c = um_replica_find(s, &h.id, &slot);
    uint64_t have = c ? c->now.version : 0;
    bool wanted = is_wanted(s, p, &h, c, slot);
    /* Admission reads all cells, so a refused origin must not trigger it with
     * every message. */
    if (wanted && c && c->not_admitted &&
        s->now < c->not_admitted + ADMISSION_SECONDS)
        return um_sync_refuse(s, peer, UMBEL_SYNC_ADMISSION, &h.id,
                              UMBEL_E_REFUSED,
                              "it was refused less than a minute ago", err);
    if (wanted) {
        status = begin_part(s, peer, &h, have, &begun, err);
        if (!status && begun)
            return begin_receiving(s, peer, &h, have, r, err);
    }
    answer_update(s, peer, &h, wanted, status);
    return status;
}
