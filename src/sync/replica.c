/*
 * sync_copy.c - copies: the filter of one origin, incarnation, epoch and list.
 *
 * A copy is at a version that its origin signed. It keeps its slot as long as
 * it is there, so that peers can have a place for it as well; `order` has the
 * slots by what they hold.
 */
#include "base/error.h"
#include "sync/internal.h"

#include <stdlib.h>

/* --- what is signed ------------------------------------------------------- */

enum { TEXT_LEN = 12 + UM_HASH_LEN + 4 * 8 + UM_HASH_LEN };

static void statement_text(const umbel_sync *s, const um_sync_id *id,
                           const um_statement *st, uint8_t out[TEXT_LEN])
{
    um_writer w = {out, out + TEXT_LEN, false};

    um_write_bytes(&w, "umbel-sync-1", 12);
    um_write_bytes(&w, s->list[id->list].digest, UM_HASH_LEN);
    um_write_u64(&w, id->incarnation);
    um_write_u64(&w, id->epoch);
    um_write_u64(&w, st->version);
    um_write_u64(&w, st->keys);
    um_write_bytes(&w, st->root, UM_HASH_LEN);
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

/* --- finding -------------------------------------------------------------- */

static int compare_ids(const um_sync_id *a, const um_sync_id *b)
{
    if (a->list != b->list)
        return a->list < b->list ? -1 : 1;
    int origins = memcmp(a->origin, b->origin, UMBEL_ORIGIN_LEN);
    if (origins)
        return origins;
    if (a->incarnation != b->incarnation)
        return a->incarnation < b->incarnation ? -1 : 1;
    return (a->epoch > b->epoch) - (a->epoch < b->epoch);
}

bool um_same_id(const um_sync_id *a, const um_sync_id *b)
{
    return compare_ids(a, b) == 0;
}

/* The place in order of the first copy that is not before id. */
static size_t place_of(const umbel_sync *s, const um_sync_id *id)
{
    size_t from = 0, end = s->norder;

    while (from < end) {
        size_t mid = from + (end - from) / 2;
        if (compare_ids(&s->copy[s->order[mid]]->id, id) < 0)
            from = mid + 1;
        else
            end = mid;
    }
    return from;
}

um_copy *um_copy_find(const umbel_sync *s, const um_sync_id *id, size_t *slot)
{
    size_t at = place_of(s, id);

    if (at == s->norder || !um_same_id(&s->copy[s->order[at]]->id, id))
        return NULL;
    if (slot)
        *slot = s->order[at];
    return s->copy[s->order[at]];
}

/* --- limits --------------------------------------------------------------- */

static um_held_origin *find_origin(const umbel_sync *s, const uint8_t *origin)
{
    for (size_t i = 0; i < s->norigins; i++)
        if (memcmp(s->held[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return &s->held[i];
    return NULL;
}

static bool count_origin(umbel_sync *s, const uint8_t *origin)
{
    um_held_origin *o = find_origin(s, origin);

    if (!o) {
        um_held_origin *all = um_grow_array(s->held, &s->norigins, sizeof *all);
        if (!all)
            return false;
        s->held = all;
        o = &all[s->norigins - 1];
        memcpy(o->origin, origin, UMBEL_ORIGIN_LEN);
    }
    o->copies++;
    return true;
}

static void discount_origin(umbel_sync *s, const uint8_t *origin)
{
    um_held_origin *o = find_origin(s, origin);

    if (o && --o->copies == 0)
        *o = s->held[--s->norigins];
}

static size_t count_incarnations(const umbel_sync *s, const um_sync_id *id)
{
    um_sync_id from = *id;
    size_t n = 0;

    from.incarnation = from.epoch = 0;
    for (size_t i = place_of(s, &from); i < s->norder; i++) {
        const um_copy *c = s->copy[s->order[i]];
        if (c->id.list != id->list ||
            memcmp(c->id.origin, id->origin, UMBEL_ORIGIN_LEN) != 0)
            break;
        n += c->id.epoch == id->epoch;
    }
    return n;
}

bool um_sync_has_room(umbel_sync *s, uint64_t bytes)
{
    if (um_sync_room(s) < bytes)
        um_columns_pass_up(s);
    if (um_sync_room(s) < bytes)
        um_sums_pass_up(s);
    return um_sync_room(s) >= bytes;
}

static umbel_status check_limits(umbel_sync *s, const um_sync_id *id,
                                 umbel_error *err)
{
    if (memcmp(id->origin, s->origin, UMBEL_ORIGIN_LEN) == 0)
        return UMBEL_OK;
    if (s->norigins >= s->limit.origins && !find_origin(s, id->origin) &&
        !um_is_allowed_by_name(s, id->origin))
        return um_fail(err, UMBEL_E_LIMIT,
                       "there are %u origins already: raise the limit origins",
                       s->limit.origins);
    if (count_incarnations(s, id) >= s->limit.incarnations)
        return um_fail(err, UMBEL_E_LIMIT,
                       "an origin has %u incarnations in one epoch already: "
                       "raise the limit incarnations",
                       s->limit.incarnations);
    if (!um_sync_has_room(s, s->list[id->list].pages.bytes))
        return um_fail(err, UMBEL_E_LIMIT,
                       "another copy takes %zu bytes: raise the limit memory",
                       s->list[id->list].pages.bytes);
    return UMBEL_OK;
}

/* --- making --------------------------------------------------------------- */

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
        size_t *order = realloc(s->order, (s->ncopies + 1) * sizeof *order);
        if (!order)
            return false;
        s->order = order;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
        um_copy **all = um_grow_array(s->copy, &s->ncopies, sizeof *all);
        if (!all)
            return false;
        s->copy = all;
    }
    for (size_t i = 0; i < s->npeers; i++)
        if (*slot < s->peer[i].ncopies)
            s->peer[i].copy[*slot] = (um_peer_copy){.acked = 0};
    return true;
}

static void enter_slot(umbel_sync *s, um_copy *c, size_t slot)
{
    size_t at = place_of(s, &c->id);

    memmove(s->order + at + 1, s->order + at,
            (s->norder++ - at) * sizeof *s->order);
    s->order[at] = slot;
    s->copy[slot] = c;
    s->memory += s->list[c->id.list].pages.bytes;
    s->changes++;
}

static void release_copy(um_copy *c)
{
    um_drop_steps(c, c->nsteps);
    free(c->step);
    um_tree_fini(&c->tree);
    umbel_close(c->filter);
    free(c->changed);
    free(c);
}

umbel_status um_filter_like(const umbel_filter *shape, umbel_filter **out,
                            umbel_error *err)
{
    UM_TRY(um_filter_create(um_shape_of(shape), &shape->alloc, out, err));
    um_hasher_pass(&(*out)->hasher, &shape->hasher);
    return UMBEL_OK;
}

umbel_status um_copy_create(umbel_sync *s, const um_sync_id *id, um_copy **out,
                            umbel_error *err)
{
    const um_sync_of_list *l = &s->list[id->list];
    size_t slot;

    UM_TRY(check_limits(s, id, err));
    um_copy *c = calloc(1, sizeof *c);
    if (!c)
        return um_no_memory(err, sizeof *c);
    c->id = *id;
    c->own = memcmp(id->origin, s->origin, UMBEL_ORIGIN_LEN) == 0 &&
             id->incarnation == s->incarnation;
    c->changed = calloc((size_t)l->pages.n, sizeof *c->changed);
    umbel_status status = um_filter_like(l->shape, &c->filter, err);
    if (!status && (!c->changed || !um_tree_copy(&c->tree, &l->tree) ||
                    !add_slot(s, &slot) || !count_origin(s, id->origin)))
        status = um_no_memory(err, (size_t)l->pages.n * UM_HASH_LEN);
    if (status) {
        release_copy(c);
        return status;
    }
    enter_slot(s, c, slot);
    *out = c;
    return UMBEL_OK;
}

void um_copy_free(umbel_sync *s, size_t slot)
{
    um_copy *c = s->copy[slot];

    if (!c)
        return;
    size_t at = place_of(s, &c->id);
    memmove(s->order + at, s->order + at + 1,
            (--s->norder - at) * sizeof *s->order);
    s->copy[slot] = NULL;
    um_columns_leave(s, c);
    um_sums_leave(s, c);
    s->memory -= s->list[c->id.list].pages.bytes;
    discount_origin(s, c->id.origin);
    release_copy(c);
    s->changes++;
}

um_growth_page um_page_pair(const um_pages *pages, uint64_t number,
                            const uint8_t *old, uint8_t *now)
{
    um_page p = um_page_of(pages, number);

    return (um_growth_page){.form = &pages->section[p.section].form,
                            .section = p.section,
                            .number = number,
                            .old = old + p.offset,
                            .now = now ? now + p.offset : NULL,
                            .n = p.n};
}
