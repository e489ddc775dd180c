/*
 * sync_copy.c - the filter of one origin, incarnation, epoch and list.
 *
 * A copy is at a version that its origin signed. It moves to a later one as a
 * whole. How to go back some versions is kept as long as history_bytes allow,
 * so that a peer that has one of these gets the difference: of each entry that
 * changed the count that it had before.
 *
 *   a step    for each page: its number, length of what follows, and for each
 *             entry the gap since the last one and its old count; varints
 */
#include "base/error.h"
#include "exchange/sync_inside.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>

/* --- what is signed ------------------------------------------------------- */

enum { TEXT_LEN = 12 + UM_HASH_LEN + 4 * 8 + UM_HASH_LEN };

static void statement_text(const umbel_sync *s, const um_sync_id *id,
                           const um_statement *st, uint8_t out[TEXT_LEN])
{
    um_writer w = {out, out + TEXT_LEN, false};

    um_put_bytes(&w, "umbel-sync-1", 12);
    um_put_bytes(&w, s->list[id->list].digest, UM_HASH_LEN);
    um_put_u64(&w, id->incarnation);
    um_put_u64(&w, id->epoch);
    um_put_u64(&w, st->version);
    um_put_u64(&w, st->keys);
    um_put_bytes(&w, st->root, UM_HASH_LEN);
}

void um_statement_sign(const umbel_sync *s, const um_copy *c, um_statement *out)
{
    uint8_t text[TEXT_LEN];

    statement_text(s, &c->id, out, text);
    s->rules->sign(s->sign_key, text, sizeof text, out->signature);
}

bool um_statement_holds(const umbel_sync *s, const um_sync_id *id,
                        const um_statement *st)
{
    uint8_t text[TEXT_LEN];

    statement_text(s, id, st, text);
    return s->rules->signed_by(id->origin, text, sizeof text, st->signature);
}

/* --- copies --------------------------------------------------------------- */

bool um_same_id(const um_sync_id *a, const um_sync_id *b)
{
    return a->list == b->list && a->epoch == b->epoch &&
           a->incarnation == b->incarnation &&
           memcmp(a->origin, b->origin, UMBEL_ORIGIN_LEN) == 0;
}

um_copy *um_copy_find(const umbel_sync *s, const um_sync_id *id, size_t *slot)
{
    for (size_t i = 0; i < s->ncopies; i++)
        if (s->copy[i] && um_same_id(&s->copy[i]->id, id)) {
            if (slot)
                *slot = i;
            return s->copy[i];
        }
    return NULL;
}

static bool origin_has_copies(const umbel_sync *s, const uint8_t *origin)
{
    for (size_t i = 0; i < s->ncopies; i++)
        if (s->copy[i] &&
            memcmp(s->copy[i]->id.origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return true;
    return false;
}

static size_t count_origins(const umbel_sync *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->ncopies; i++) {
        bool first = s->copy[i] != NULL;
        for (size_t j = 0; first && j < i; j++)
            first = !s->copy[j] ||
                    memcmp(s->copy[i]->id.origin, s->copy[j]->id.origin,
                           UMBEL_ORIGIN_LEN) != 0;
        n += first;
    }
    return n;
}

static size_t count_incarnations(const umbel_sync *s, const um_sync_id *id)
{
    size_t n = 0;

    for (size_t i = 0; i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        n += c && c->id.list == id->list && c->id.epoch == id->epoch &&
             memcmp(c->id.origin, id->origin, UMBEL_ORIGIN_LEN) == 0;
    }
    return n;
}

static umbel_status check_limits(const umbel_sync *s, const um_sync_id *id,
                                 umbel_error *err)
{
    bool own = memcmp(id->origin, s->origin, UMBEL_ORIGIN_LEN) == 0;

    if (own)
        return UMBEL_OK;
    if (!origin_has_copies(s, id->origin) &&
        count_origins(s) >= s->limit.origins)
        return um_fail(err, UMBEL_E_LIMIT,
                       "there are %u origins already: raise the limit origins",
                       s->limit.origins);
    if (count_incarnations(s, id) >= s->limit.incarnations)
        return um_fail(err, UMBEL_E_LIMIT,
                       "an origin has %u incarnations in one epoch already: "
                       "raise the limit incarnations",
                       s->limit.incarnations);
    if (s->list[id->list].pages.bytes > s->limit.memory - s->memory)
        return um_fail(err, UMBEL_E_LIMIT,
                       "another copy takes %zu bytes: raise the limit memory",
                       s->list[id->list].pages.bytes);
    return UMBEL_OK;
}

void *um_grow_array(void *array, size_t *n, size_t size)
{
    size_t cap = *n;

    /* Room is a power of two: it is full when n is one, or 0. */
    if ((cap & (cap - 1)) == 0) {
        array = realloc(array, (cap ? 2 * cap : 1) * size);
        if (!array)
            return NULL;
    }
    memset((uint8_t *)array + cap * size, 0, size);
    ++*n;
    return array;
}

static bool add_slot(umbel_sync *s, size_t *slot)
{
    for (*slot = 0; *slot < s->ncopies; ++*slot)
        if (!s->copy[*slot])
            break;
    if (*slot == s->ncopies) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
        um_copy **all = um_grow_array(s->copy, &s->ncopies, sizeof *all);
        if (!all)
            return false;
        s->copy = all;
        size_t *order = realloc(s->order, s->ncopies * sizeof *order);
        if (!order)
            return false;
        s->order = order;
    }
    for (size_t i = 0; i < s->npeers; i++)
        if (*slot < s->peer[i].ncopies)
            s->peer[i].copy[*slot] = (um_peer_copy){.acked = 0};
    return true;
}

umbel_status um_copy_make(umbel_sync *s, const um_sync_id *id, um_copy **out,
                          umbel_error *err)
{
    const um_sync_of_list *l = &s->list[id->list];
    um_copy *c = NULL;
    size_t slot;

    UM_TRY(check_limits(s, id, err));
    c = calloc(1, sizeof *c);
    if (!c)
        return um_no_memory(err, sizeof *c);
    c->id = *id;
    c->own = memcmp(id->origin, s->origin, UMBEL_ORIGIN_LEN) == 0 &&
             id->incarnation == s->incarnation;
    c->changed = calloc((size_t)l->pages.n, sizeof *c->changed);
    umbel_status status = umbel_copy(l->shape, &c->filter, err);
    if (!status && (!c->changed ||
                    !um_tree_init(&c->tree, &l->pages, c->filter->payload) ||
                    !add_slot(s, &slot)))
        status = um_no_memory(err, (size_t)l->pages.n * UM_HASH_LEN);
    if (status) {
        um_tree_fini(&c->tree);
        umbel_close(c->filter);
        free(c->changed);
        free(c);
        return status;
    }
    s->copy[slot] = c;
    s->memory += l->pages.bytes;
    um_sync_sort(s);
    *out = c;
    return UMBEL_OK;
}

static void drop_steps(um_copy *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        c->history_bytes -= c->step[i].old.len + sizeof(um_step);
        um_bytes_fini(&c->step[i].old);
    }
    c->nsteps -= n;
    if (n)
        memmove(c->step, c->step + n, c->nsteps * sizeof *c->step);
}

void um_copy_free(umbel_sync *s, size_t slot)
{
    um_copy *c = s->copy[slot];

    if (!c)
        return;
    um_columns_leave(s, c);
    s->memory -= s->list[c->id.list].pages.bytes;
    drop_steps(c, c->nsteps);
    free(c->step);
    um_tree_fini(&c->tree);
    umbel_close(c->filter);
    free(c->changed);
    free(c);
    s->copy[slot] = NULL;
    um_sync_sort(s);
}

/* --- history -------------------------------------------------------------- */

const um_statement *um_copy_statement(const um_copy *c, uint64_t version)
{
    if (c->now.version == version)
        return &c->now;
    for (size_t i = c->nsteps; i--;)
        if (c->step[i].from.version == version)
            return &c->step[i].from;
    return NULL;
}

bool um_copy_note_old(um_bytes *out, const um_growth_page *p)
{
    um_bytes entries = {.len = 0};
    uint64_t from = 0;

    for (uint64_t i = 0; um_growth_differs(p, &i); from = ++i) {
        um_bytes_varint(&entries, i - from);
        um_bytes_varint(&entries, um_entry_get(p->form, p->old, i).count);
    }
    um_bytes_varint(out, p->number);
    um_bytes_varint(out, entries.len);
    um_bytes_put(out, entries.at, entries.len);
    bool fine = !entries.failed && !out->failed;
    um_bytes_fini(&entries);
    return fine;
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

static void undo_step(const um_step *step, const um_entry_form *f,
                      uint64_t number, uint8_t *page)
{
    um_reader r = {step->old.at, step->old.at + step->old.len, false};

    while (r.at < r.end) {
        uint64_t which = um_get_varint(&r);
        size_t len = (size_t)um_get_varint(&r);
        if (which == number)
            undo_page(f, (um_reader){r.at, r.at + len, false}, page);
        r.at += len;
    }
}

void um_copy_page_at(const umbel_sync *s, const um_copy *c, uint64_t number,
                     uint64_t version, uint8_t *out)
{
    const um_pages *pages = &s->list[c->id.list].pages;
    um_page p = um_page_of(pages, number);

    memcpy(out, c->filter->payload + p.offset, p.len);
    for (size_t i = c->nsteps; i-- && c->step[i].from.version >= version;)
        undo_step(&c->step[i], &pages->section[p.section].form, number, out);
}

void um_copy_end_step(umbel_sync *s, um_copy *c, um_bytes *old,
                      const um_statement *next)
{
    size_t some = 0, bytes;
    um_step *all = NULL;

    if (c->now.version && !old->failed)
        all = um_grow_array(c->step, &c->nsteps, sizeof *all);
    if (all) {
        c->step = all;
        c->step[c->nsteps - 1] = (um_step){c->now, *old, s->now};
        c->history_bytes += old->len + sizeof(um_step);
        *old = (um_bytes){.len = 0};
    } else {
        drop_steps(c, c->nsteps); /* what is before cannot be reached */
    }
    bytes = c->history_bytes;
    while (some < c->nsteps && bytes > s->limit.history_bytes)
        bytes -= c->step[some++].old.len + sizeof(um_step);
    drop_steps(c, some);
    c->now = *next;
}

um_growth_page um_page_pair(const um_pages *pages, uint64_t number,
                            const uint8_t *old, uint8_t *now)
{
    um_page p = um_page_of(pages, number);

    return (um_growth_page){.form = &pages->section[p.section].form,
                            .section = p.section,
                            .number = number,
                            .old = old + p.offset,
                            .now = now + p.offset,
                            .n = p.n};
}

/* --- updates of others ---------------------------------------------------- */

void um_staging_fini(umbel_sync *s, um_staging *g)
{
    for (size_t i = 0; i < g->npages; i++)
        free(g->page[i]);
    free(g->page);
    s->memory -= g->bytes;
    *g = (um_staging){.active = false};
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t len)
{
    for (size_t i = 0; i < len; i += 8) {
        uint64_t x = um_load64(a + i);
        um_store64(a + i, um_load64(b + i));
        um_store64(b + i, x);
    }
}

/* Twice is as never. */
static void swap_pages(const umbel_sync *s, um_copy *c, um_staging *g)
{
    const um_pages *pages = &s->list[c->id.list].pages;

    for (size_t i = 0; i < g->npages; i++) {
        if (!g->page[i])
            continue;
        um_page p = um_page_of(pages, i);
        swap_bytes(c->filter->payload + p.offset, g->page[i], p.len);
        um_tree_update(&c->tree, pages, i, c->filter->payload);
    }
}

/* All pages are in the filter, the old ones in the staging. */
static bool pages_grew(umbel_sync *s, um_copy *c, um_staging *g, um_bytes *old)
{
    const um_pages *pages = &s->list[c->id.list].pages;

    g->changed = g->fresh = 0;
    for (size_t i = 0; i < g->npages; i++) {
        if (!g->page[i] && g->base)
            continue;
        um_growth_page p =
            um_page_pair(pages, i, c->filter->payload, c->filter->payload);
        um_page at = um_page_of(pages, i);
        if (!g->page[i]) {
            if (!um_all_zero(p.old, at.len))
                return false;
            continue;
        }
        p.old = g->page[i];
        if (!s->rules->has_grown(&p))
            return false;
        g->changed += p.changed;
        g->fresh += p.fresh;
        if (p.changed)
            um_copy_note_old(old, &p);
    }
    return true;
}

static double max_error_of(const um_sync_of_list *l)
{
    uint64_t capacity = l->shape->shape.capacity;

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
    const um_kind *kind = l->shape->shape.kind;
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling ruling;

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
                                 um_bytes *old, umbel_sync_reason *reason,
                                 umbel_error *err)
{
    const um_sync_of_list *l = &s->list[c->id.list];
    uint64_t capacity = l->shape->shape.capacity;
    umbel_error why;

    *reason = UMBEL_SYNC_SHRANK;
    if (!pages_grew(s, c, g, old))
        return um_fail(err, UMBEL_E_REFUSED,
                       "a later version has less than an earlier one");
    *reason = UMBEL_SYNC_CAPACITY;
    if (capacity && g->keys > capacity)
        return um_fail(err, UMBEL_E_REFUSED,
                       "it has more keys than its capacity");
    *reason = UMBEL_SYNC_ADMISSION;
    c->filter->shape.added = g->keys;
    if (!is_admitted(s, c, g, &why)) {
        c->filter->shape.added = c->now.keys;
        return um_fail(err, UMBEL_E_REFUSED, "%.200s", why.text);
    }
    return UMBEL_OK;
}

static void accept_update(umbel_sync *s, int peer, um_copy *c, um_staging *g,
                          um_bytes *old, const um_statement *next)
{
    for (size_t i = 0; i < g->npages; i++)
        if (g->page[i])
            c->changed[i] = g->version;
    um_columns_update(s, c, g);
    c->used += g->fresh;
    c->held = false;
    c->seen = s->now;
    um_copy_end_step(s, c, old, next);
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

umbel_status um_copy_take(umbel_sync *s, int peer, um_staging *g,
                          umbel_error *err)
{
    um_statement next = {.version = g->version, .keys = g->keys};
    umbel_sync_reason reason = UMBEL_SYNC_MEMORY;
    um_bytes old = {.len = 0};
    umbel_error why;
    um_sync_id id = g->id;
    size_t slot = 0;
    um_copy *c = um_copy_find(s, &id, &slot);
    bool fresh = !c, signed_right = false;
    umbel_status status = UMBEL_OK;

    if (!c)
        status = um_copy_make(s, &id, &c, &why);
    if (status)
        return um_sync_refuse(s, peer, reason, &id, status, why.text, err);
    swap_pages(s, c, g);
    memcpy(next.root, um_tree_root(&c->tree), UM_HASH_LEN);
    memcpy(next.signature, g->signature, UM_SIGNATURE_LEN);
    reason = UMBEL_SYNC_ROOT;
    signed_right = um_statement_holds(s, &id, &next);
    if (signed_right)
        status = judge_signed(s, c, g, &old, &reason, &why);
    else
        status = um_fail(&why, UMBEL_E_REFUSED,
                         "its pages do not give the root that was signed");
    if (status) {
        swap_pages(s, c, g);
        if (signed_right)
            note_refused(s, peer, c, g, reason);
        else if (fresh) {
            um_copy_find(s, &id, &slot);
            um_copy_free(s, slot);
        }
        um_bytes_fini(&old);
        return um_sync_refuse(s, peer, reason, &id, status, why.text, err);
    }
    bool own = c->own;
    accept_update(s, peer, c, g, &old, &next);
    um_bytes_fini(&old);
    if (own) /* signed by us, and forgotten */
        um_sync_renew(s, peer);
    return UMBEL_OK;
}
