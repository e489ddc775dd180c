/*
 * sync_take.c - an update of a copy: staged page by page, taken as a whole.
 *
 * Whatever costs time is done as pages come: each is compared with the one
 * that it replaces, and hashed. At the end only the nodes above them are
 * hashed, and pages change places. Those of a first version lie where they
 * will stay: in the cells of a filter.
 */
#include "base/error.h"
#include "sync/internal.h"

#include <math.h>
#include <stdlib.h>

/* --- staging -------------------------------------------------------------- */

void um_staging_fini(umbel_sync *s, um_staging *g)
{
    for (size_t i = 0; i < g->npages; i++)
        free(g->page[i].cells);
    free(g->page);
    umbel_close(g->filter);
    um_bytes_fini(&g->old);
    s->memory -= g->bytes;
    *g = (um_staging){.active = false};
}

umbel_status um_staging_begin(umbel_sync *s, um_staging *g, uint64_t have,
                              umbel_error *err)
{
    g->have = have;
    return have ? UMBEL_OK
                : um_filter_like(s->list[g->id.list].shape, &g->filter, err);
}

umbel_status um_stage_page(umbel_sync *s, um_staging *g, const um_copy *c,
                           uint64_t number, uint8_t **out,
                           umbel_sync_reason *reason, umbel_error *err)
{
    um_page p = um_page_of(&s->list[g->id.list].pages, number);
    um_staged *all;

    *reason = UMBEL_SYNC_PAGE;
    if (number < g->next_page)
        return um_fail(err, UMBEL_E_FORMAT,
                       "an update has a page twice, or out of order");
    if (g->bytes + p.len > g->most_bytes)
        return um_fail(err, UMBEL_E_LIMIT,
                       "a message has more pages than message_bytes allow");
    *reason = UMBEL_SYNC_MEMORY;
    if (!um_sync_has_room(s, p.len))
        return um_fail(err, UMBEL_E_LIMIT,
                       "the pages of an update: raise the limit memory");
    uint8_t *cells = g->filter ? NULL : calloc(1, p.len);
    all = g->filter || cells ? um_grow_array(g->page, &g->npages, sizeof *all)
                             : NULL;
    if (!all) {
        free(cells);
        return um_no_memory(err, p.len);
    }
    g->page = all;
    all[g->npages - 1] = (um_staged){.number = number, .cells = cells};
    g->next_page = number + 1;
    g->bytes += p.len;
    s->memory += p.len;
    if (g->base && cells)
        memcpy(cells, c->filter->payload + p.offset, p.len);
    *out = cells ? cells : g->filter->payload + p.offset;
    return UMBEL_OK;
}

void um_stage_end(umbel_sync *s, um_staging *g, const um_copy *c)
{
    const um_sync_of_list *l = &s->list[g->id.list];
    um_staged *at = &g->page[g->npages - 1];
    um_page page = um_page_of(&l->pages, at->number);
    const umbel_filter *was = g->have ? c->filter : l->shape;
    um_growth_page p = um_page_pair(&l->pages, at->number, was->payload,
                                    g->filter ? g->filter->payload : NULL);

    if (at->cells)
        p.now = at->cells;
    g->shrank |= !s->rules->has_grown(&p);
    g->changed += p.changed;
    g->fresh += p.fresh;
    if (p.changed && g->have)
        um_copy_note_old(&g->old, &p);
    um_tree_hash_page(p.now, page.len, at->hash);
}

/* --- taking --------------------------------------------------------------- */

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

/* Twice is as never. */
static void swap_hashes(um_copy *c, um_staging *g)
{
    for (size_t i = 0; i < g->npages; i++) {
        um_staged *p = &g->page[i];
        swap_bytes(um_tree_leaf(&c->tree, p->number), p->hash, UM_HASH_LEN);
        um_tree_touch(&c->tree, p->number);
    }
    um_tree_end(&c->tree);
}

static void swap_cells(const umbel_sync *s, um_copy *c, um_staging *g)
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

/* Pages that an update without a base leaves out are empty. */
static bool rest_is_empty(umbel_sync *s, um_copy *c, const um_staging *g)
{
    um_sync_of_list *l = &s->list[c->id.list];

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

static double max_error_of(const um_sync_of_list *l)
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

static bool is_admitted(umbel_sync *s, um_copy *c, const um_staging *g,
                        umbel_error *why)
{
    const um_sync_of_list *l = &s->list[c->id.list];
    const um_kind *kind = l->shape->kind;
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling ruling;

    if (!(c->used + g->fresh)) /* an empty filter is what it seems to be */
        return true;
    if (c->admitted && !grew_by_a_tenth(c->admitted, c->used + g->fresh) &&
        !grew_by_a_tenth(c->claimed, g->keys))
        return true;
    wants.claimed = kind->bits || kind->entries ? g->keys : 0;
    wants.max_error = max_error_of(l);
    if (umbel_admit(c->filter, &wants, &ruling, why) != UMBEL_OK)
        return false;
    for (size_t i = 0; i < ruling.n; i++) {
        /* Some of its pages may not have been published yet. */
        if (ruling.reason[i].code == UMBEL_REFUSED_TOO_EMPTY)
            continue;
        um_set_error(why, UMBEL_E_REFUSED, "%s", ruling.reason[i].text);
        return false;
    }
    c->admitted = c->used + g->fresh;
    c->claimed = g->keys;
    return true;
}

/* The pages are those that were signed: is what they say to be believed? */
static umbel_status judge_signed(umbel_sync *s, um_copy *c, um_staging *g,
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
    return um_fail(err, UMBEL_E_REFUSED, "%.200s", why.text);
}

static void accept_update(umbel_sync *s, int peer, um_copy *c, um_staging *g,
                          const um_statement *next)
{
    for (size_t i = 0; i < g->npages; i++)
        c->changed[g->page[i].number] = g->version;
    um_columns_update(s, c, g);
    um_sums_update(s, c, g);
    c->used += g->fresh;
    c->held = false;
    c->seen = s->now;
    um_copy_end_step(s, c, &g->old, next);
    um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_TOOK,
                                        .peer = peer,
                                        .origin = c->id.origin,
                                        .incarnation = c->id.incarnation,
                                        .epoch = c->id.epoch,
                                        .list = (int)c->id.list,
                                        .version = g->version,
                                        .changed = g->changed});
}

static void note_refused(umbel_sync *s, int peer, um_copy *c,
                         const um_staging *g, umbel_sync_reason reason)
{
    if (g->version > c->refused)
        c->refused = g->version;
    if (reason == UMBEL_SYNC_ADMISSION)
        c->judged = s->now + 1;
    if (reason != UMBEL_SYNC_CAPACITY || c->held)
        return;
    c->held = true;
    um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_HELD,
                                        .peer = peer,
                                        .origin = c->id.origin,
                                        .incarnation = c->id.incarnation,
                                        .epoch = c->id.epoch,
                                        .list = (int)c->id.list,
                                        .version = g->version});
}

umbel_status um_copy_apply(umbel_sync *s, int peer, um_staging *g,
                           umbel_error *err)
{
    um_statement next = {.version = g->version, .keys = g->keys};
    umbel_sync_reason reason = UMBEL_SYNC_MEMORY;
    umbel_error why;
    um_sync_id id = g->id;
    size_t slot = 0;
    um_copy *c = um_copy_find(s, &id, NULL);
    bool fresh = !c, signed_right = false;
    umbel_status status = UMBEL_OK;

    if (g->filter) { /* its pages become those of the copy */
        s->memory -= g->bytes;
        g->bytes = 0;
    }
    if (!c)
        status = um_copy_create(s, &id, &c, &why);
    if (status)
        return um_sync_refuse(s, peer, reason, &id, status, why.text, err);
    swap_hashes(c, g);
    memcpy(next.root, um_tree_root(&c->tree), UM_HASH_LEN);
    memcpy(next.signature, g->signature, UM_SIGNATURE_LEN);
    reason = UMBEL_SYNC_ROOT;
    signed_right = um_statement_holds(s, &id, &next);
    if (signed_right)
        status = judge_signed(s, c, g, &reason, &why);
    else
        status = um_fail(&why, UMBEL_E_REFUSED,
                         "its pages do not give the root that was signed");
    if (status) {
        swap_hashes(c, g);
        if (signed_right)
            note_refused(s, peer, c, g, reason);
        else if (fresh && um_copy_find(s, &id, &slot))
            um_copy_free(s, slot);
        return um_sync_refuse(s, peer, reason, &id, status, why.text, err);
    }
    bool own = c->own;
    accept_update(s, peer, c, g, &next);
    if (own) /* signed by us, and forgotten */
        um_sync_renew(s, peer);
    return UMBEL_OK;
}
