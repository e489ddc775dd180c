/*
 * replica.c - replicas: the filter of one origin, incarnation, epoch and list.
 *
 * A replica is at a version that its origin signed: the root of a hash tree
 * over its pages. A changed page costs its own hash and one hash of 512 bytes
 * for each level above it: four levels for a gigabyte.
 *
 * Empty pages take no memory: the cells of a large filter are mapped, and the
 * kernel provides a page when it is first written. Nothing writes a page before
 * the version that changes it, so `changed` also shows which pages exist.
 *
 * A replica keeps its slot as long as it exists, so peers can store an entry
 * for it by slot; `order` holds the slots sorted by id.
 *
 * Within history_bytes each version leaves a step, so a peer that has one of
 * these versions receives only the difference.
 *
 *   a step    for each page: its number, length of what follows, and for each
 *             entry that changed the gap since the last one and its old count;
 *             varints. Nothing follows if the page was empty
 *
 * Our own filters are replicas, too. They may be published in slices of pages,
 * so that no call takes long. Each slice that changed makes a version. Until
 * all slices were published, a version claims more keys than its cells show,
 * which admission allows.
 */
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "sync/internal.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

/* Statements that we remember without being able to reconstruct the version: a
 * peer can prove for each of them that we signed another version. */
enum { MAX_PAST = 1024 };

void *um_grow_array(void *array, size_t *n, size_t size)
{
    size_t cap = *n;

    /* The capacity is a power of two, so the array is full when n is one, or
     * 0. */
    if ((cap & (cap - 1)) == 0) {
        if (!um_array_resize(&array, cap ? 2 * cap : 1, size))
            return NULL;
    }
    memset((uint8_t *)array + cap * size, 0, size);
    ++*n;
    return array;
}

/* --- hash tree ------------------------------------------------------------ */

/* Hashes with different keys for leaves and nodes, so that neither can be
 * mistaken for the other. */
static void hash_with(const char key[16], const void *data, size_t len,
                      uint8_t out[UM_HASH_LEN])
{
    crypto_generichash(out, UM_HASH_LEN, data, len, (const uint8_t *)key, 16);
}

void um_tree_hash_page(const void *cells, size_t len, uint8_t out[UM_HASH_LEN])
{
    hash_with("umbel-sync-page1", cells, len, out);
}

static void hash_node(um_tree *t, unsigned level, uint64_t i)
{
    uint64_t from = i * UM_TREE_FAN, left = t->n[level - 1] - from;
    uint64_t n = left < UM_TREE_FAN ? left : UM_TREE_FAN;

    hash_with("umbel-sync-node1", t->level[level - 1] + from * UM_HASH_LEN,
              (size_t)n * UM_HASH_LEN, t->level[level] + i * UM_HASH_LEN);
}

static bool create_levels(um_tree *t, uint64_t pages)
{
    *t = (um_tree){.levels = 0};
    for (uint64_t n = pages;; n = (n + UM_TREE_FAN - 1) / UM_TREE_FAN) {
        t->n[t->levels] = n;
        t->level[t->levels] = malloc((size_t)n * UM_HASH_LEN);
        if (!t->level[t->levels++]) {
            um_tree_fini(t);
            return false;
        }
        if (n == 1)
            return true;
    }
}

bool um_tree_init_empty(um_tree *t, const um_pages *p, const uint8_t *zeros)
{
    size_t len = 0;

    if (!create_levels(t, p->n))
        return false;
    for (uint64_t i = 0; i < p->n; i++) {
        size_t own = um_page_of(p, i).len;
        if (own == len)
            memcpy(um_tree_leaf(t, i), um_tree_leaf(t, i - 1), UM_HASH_LEN);
        else
            um_tree_hash_page(zeros, own, um_tree_leaf(t, i));
        len = own;
    }
    for (unsigned level = 1; level < t->levels; level++)
        for (uint64_t i = 0; i < t->n[level]; i++)
            hash_node(t, level, i);
    return true;
}

static bool copy_tree(um_tree *t, const um_tree *from)
{
    if (!create_levels(t, from->n[0]))
        return false;
    for (unsigned i = 0; i < t->levels; i++)
        memcpy(t->level[i], from->level[i], (size_t)t->n[i] * UM_HASH_LEN);
    return true;
}

void um_tree_fini(um_tree *t)
{
    for (unsigned i = 0; i < t->levels; i++)
        free(t->level[i]);
    t->levels = 0;
}

uint8_t *um_tree_leaf(const um_tree *t, uint64_t number)
{
    return t->level[0] + number * UM_HASH_LEN;
}

void um_tree_touch(um_tree *t, uint64_t number)
{
    for (unsigned level = 1; level < t->levels; level++) {
        uint64_t parent = number / UM_TREE_FAN;
        if (t->touched[level] && t->touched[level] != parent + 1)
            hash_node(t, level, t->touched[level] - 1);
        else if (t->touched[level])
            return; /* already waiting, and so are the nodes above */
        t->touched[level] = parent + 1;
        number = parent;
    }
}

void um_tree_end(um_tree *t)
{
    for (unsigned level = 1; level < t->levels; level++) {
        if (t->touched[level])
            hash_node(t, level, t->touched[level] - 1);
        t->touched[level] = 0;
    }
}

const uint8_t *um_tree_root(const um_tree *t)
{
    return t->level[t->levels - 1];
}

/* --- history -------------------------------------------------------------- */

const um_statement *um_replica_statement(const um_replica *c, uint64_t version)
{
    if (c->now.version == version)
        return &c->now;
    for (size_t i = c->nsteps; i--;)
        if (c->step[i].from.version == version)
            return &c->step[i].from;
    return NULL;
}

const um_statement *um_replica_signed(const um_replica *c, uint64_t version)
{
    const um_statement *st = um_replica_statement(c, version);

    for (size_t i = c->npast; i-- && !st;)
        if (c->past[i].version == version)
            st = &c->past[i];
    return st;
}

bool um_replica_add_past(um_replica *c, const um_statement *st)
{
    um_statement *all;

    if (c->npast == MAX_PAST) { /* the oldest half goes */
        c->npast /= 2;
        memmove(c->past, c->past + c->npast, c->npast * sizeof *c->past);
    }
    all = um_grow_array(c->past, &c->npast, sizeof *all);
    if (!all)
        return false;
    c->past = all;
    all[c->npast - 1] = *st;
    return true;
}

void um_replica_record_old(um_buffer *out, const um_growth_page *p)
{
    um_buffer entries = {.len = 0};
    bool empty = um_all_zero(p->old, um_entry_bytes(p->form, p->n));
    uint64_t from = 0;

    for (uint64_t i = 0; !empty && um_growth_differs(p, &i); from = ++i) {
        um_append_varint(&entries, i - from);
        um_append_varint(&entries, um_entry_get(p->form, p->old, i).count);
    }
    um_append_varint(out, p->number);
    um_append_varint(out, entries.len);
    um_buffer_append(out, entries.data, entries.len);
    out->failed |= entries.failed;
    um_buffer_fini(&entries);
}

/* Finds the positions of the pages in the bytes of a step. */
bool um_step_index(um_version_step *step)
{
    um_reader r = {step->old.data, step->old.data + step->old.len, false};

    while (r.at < r.end) {
        uint64_t number = um_get_varint(&r);
        size_t len = (size_t)um_get_varint(&r);
        um_step_page *all =
            um_grow_array(step->page, &step->npages, sizeof *all);
        if (!all)
            return false;
        step->page = all;
        all[step->npages - 1] =
            (um_step_page){number, (size_t)(r.at - step->old.data), len};
        r.at += len;
    }
    return true;
}

void um_step_fini(um_version_step *step)
{
    um_buffer_fini(&step->old);
    free(step->page);
    step->page = NULL;
}

size_t um_step_bytes(const um_version_step *step)
{
    return sizeof *step + step->old.len + step->npages * sizeof *step->page;
}

/* Removes the n oldest steps. */
static void drop_steps(um_replica *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        c->history_bytes -= um_step_bytes(&c->step[i]);
        um_step_fini(&c->step[i]);
    }
    c->nsteps -= n;
    if (n)
        memmove(c->step, c->step + n, c->nsteps * sizeof *c->step);
}

void um_replica_forget_past(um_replica *c)
{
    drop_steps(c, c->nsteps);
    free(c->past);
    c->past = NULL;
    c->npast = 0;
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

/* Returns the position of a page in a step, or NULL if the step does not
 * contain it. */
static const um_step_page *find_page(const um_version_step *step,
                                     uint64_t number)
{
    /* Fast path: most steps are a slice of pages elsewhere. */
    if (!step->npages || number < step->page[0].number ||
        number > step->page[step->npages - 1].number)
        return NULL;
    return bsearch(&number, step->page, step->npages, sizeof *step->page,
                   compare_page);
}

static void undo_step(const um_version_step *step, const um_entry_form *f,
                      uint64_t number, size_t len, uint8_t *page)
{
    const um_step_page *p = find_page(step, number);

    if (!p)
        return;
    const uint8_t *at = step->old.data + p->at;
    if (!p->len)
        memset(page, 0, len);
    undo_page(f, (um_reader){at, at + p->len, false}, page);
}

bool um_replica_page_differs(const um_replica *c, uint64_t number,
                             uint64_t base, uint64_t version)
{
    for (size_t i = c->nsteps; i-- && c->step[i].from.version >= base;)
        if (c->step[i].from.version < version && find_page(&c->step[i], number))
            return true;
    return false;
}

void um_replica_page_at(const umbel_sync *s, const um_replica *c,
                        uint64_t number, uint64_t version, uint8_t *out)
{
    const um_pages *pages = &s->list[c->id.list].pages;
    um_page p = um_page_of(pages, number);

    memcpy(out, c->filter->payload + p.offset, p.len);
    for (size_t i = c->nsteps; i-- && c->step[i].from.version >= version;)
        undo_step(&c->step[i], &pages->section[p.section].form, number, p.len,
                  out);
}

uint64_t um_replica_reach(const um_replica *c, uint64_t base, size_t pages)
{
    size_t sum = 0, i = 0;

    if (!um_replica_statement(c, base))
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

    for (size_t i = 0; i < s->nreplicas; i++)
        bytes += s->replica[i] ? s->replica[i]->history_bytes : 0;
    return bytes;
}

/* Returns the limit of a replica's history: by default an eighth of the filter.
 * If the histories of all replicas would take more than an eighth of their
 * memory, each gets an equal share of that. */
static uint64_t history_limit(const umbel_sync *s, const um_replica *c)
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

/* Appends a step from the current version with the bytes of old. */
static bool retain_step(const umbel_sync *s, um_replica *c, um_buffer *old)
{
    um_version_step step = {.from = c->now, .old = *old, .ended = s->now},
                    *all = NULL;

    if (c->now.version && !old->failed && um_step_index(&step))
        all = um_grow_array(c->step, &c->nsteps, sizeof *all);
    if (!all) {
        free(step.page);
        return false;
    }
    c->step = all;
    c->step[c->nsteps - 1] = step;
    c->history_bytes += um_step_bytes(&step);
    *old = (um_buffer){.len = 0};
    return true;
}

void um_replica_end_step(umbel_sync *s, um_replica *c, um_buffer *old,
                         const um_statement *next)
{
    uint64_t limit = history_limit(s, c);
    bool retained = retain_step(s, c, old),
         ours = um_is_our_origin(s, c->id.origin);
    size_t some = 0, bytes = c->history_bytes;

    if (!retained) /* earlier versions are lost, too */
        limit = 0;
    else if (bytes > limit) /* in batches, because the others are moved */
        limit -= limit / 8;
    while (some < c->nsteps && (bytes > limit || !retained))
        bytes -= um_step_bytes(&c->step[some++]);
    for (size_t i = 0; i < some && ours; i++)
        um_replica_add_past(c, &c->step[i].from);
    if (!retained && c->now.version && ours)
        um_replica_add_past(c, &c->now);
    drop_steps(c, some);
    c->now = *next;
    s->changes++;
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

/* Returns the position in `order` of the first replica that is not less than
 * id. */
static size_t place_of(const umbel_sync *s, const um_sync_id *id)
{
    size_t from = 0, end = s->norder;

    while (from < end) {
        size_t mid = from + (end - from) / 2;
        if (compare_ids(&s->replica[s->order[mid]]->id, id) < 0)
            from = mid + 1;
        else
            end = mid;
    }
    return from;
}

um_replica *um_replica_find(const umbel_sync *s, const um_sync_id *id,
                            size_t *slot)
{
    size_t at = place_of(s, id);

    if (at == s->norder || !um_same_id(&s->replica[s->order[at]]->id, id))
        return NULL;
    if (slot)
        *slot = s->order[at];
    return s->replica[s->order[at]];
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
    o->replicas++;
    return true;
}

static void discount_origin(umbel_sync *s, const uint8_t *origin)
{
    um_held_origin *o = find_origin(s, origin);

    if (o && --o->replicas == 0)
        *o = s->held[--s->norigins];
}

static size_t count_incarnations(const umbel_sync *s, const um_sync_id *id)
{
    um_sync_id from = *id;
    size_t n = 0;

    from.incarnation = from.epoch = 0;
    for (size_t i = place_of(s, &from); i < s->norder; i++) {
        const um_replica *c = s->replica[s->order[i]];
        if (c->id.list != id->list ||
            memcmp(c->id.origin, id->origin, UMBEL_ORIGIN_LEN) != 0)
            break;
        n += c->id.epoch == id->epoch;
    }
    return n;
}

uint64_t um_replica_full_bytes(const um_pages *pages)
{
    uint64_t hashes = 1, n = pages->n;

    for (; n > 1; n = (n + UM_TREE_FAN - 1) / UM_TREE_FAN)
        hashes += n;
    return sizeof(um_replica) + sizeof(umbel_filter) + hashes * UM_HASH_LEN +
           pages->n * sizeof(uint64_t) /* changed */ + pages->bytes;
}

uint64_t um_replica_bytes(const um_sync_list *l, uint64_t written)
{
    uint64_t all = um_replica_full_bytes(&l->pages);

    return l->lazy_page && written < l->pages.bytes
               ? all - l->pages.bytes + written
               : all;
}

uint64_t um_replica_page_bytes(const um_sync_list *l, uint64_t number)
{
    um_page p = um_page_of(&l->pages, number);

    if (!l->lazy_page)
        return 0;
    return ((p.offset + p.len - 1) / l->lazy_page - p.offset / l->lazy_page +
            1) *
           l->lazy_page;
}

void um_replica_add_written(umbel_sync *s, um_replica *c, uint64_t bytes)
{
    const um_sync_list *l = &s->list[c->id.list];
    bool filled =
        c->written < l->pages.bytes && c->written + bytes >= l->pages.bytes;

    s->memory -= um_replica_bytes(l, c->written);
    c->written += bytes;
    s->memory += um_replica_bytes(l, c->written);
    if (filled) /* look-ups in large filters are faster with huge pages */
        um_use_huge_pages(c->filter->payload, c->filter->payload_len, true);
}

bool um_sync_has_memory(umbel_sync *s, uint64_t bytes)
{
    if (um_sync_memory_left(s) < bytes)
        um_index_release(s);
    if (um_sync_memory_left(s) < bytes)
        um_totals_release(s);
    return um_sync_memory_left(s) >= bytes;
}

umbel_status um_replica_check_limits(umbel_sync *s, const um_sync_id *id,
                                     umbel_sync_reason *reason,
                                     umbel_error *err)
{
    const um_sync_list *l = &s->list[id->list];

    if (um_is_our_origin(s, id->origin))
        return UMBEL_OK;
    *reason = UMBEL_SYNC_LIMIT;
    if (s->norigins >= s->limit.origins && !find_origin(s, id->origin) &&
        !um_is_allowed_by_name(s, id->origin))
        return um_fail(err, UMBEL_E_LIMIT,
                       "origin limit reached (%u); raise origins",
                       s->limit.origins);
    *reason = UMBEL_SYNC_INCARNATIONS;
    if (count_incarnations(s, id) >= s->limit.incarnations)
        return um_fail(err, UMBEL_E_LIMIT,
                       "incarnation limit of an origin in one epoch reached "
                       "(%u); raise incarnations",
                       s->limit.incarnations);
    *reason = UMBEL_SYNC_MEMORY;
    uint64_t need = um_replica_bytes(l, 0);
    if (!um_sync_has_memory(s, need))
        return um_fail(err, UMBEL_E_LIMIT,
                       "no memory left for a replica of %" PRIu64
                       " bytes; raise memory",
                       need);
    return UMBEL_OK;
}

/* --- creating and freeing ------------------------------------------------- */

static bool add_slot(umbel_sync *s, size_t *slot)
{
    for (*slot = 0; *slot < s->nreplicas; ++*slot)
        if (!s->replica[*slot])
            break;
    if (*slot == s->nreplicas) {
        if (!um_array_resize(&s->order, s->nreplicas + 1, sizeof *s->order))
            return false;
        um_replica **all;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
        all = um_grow_array(s->replica, &s->nreplicas, sizeof *all);
        if (!all)
            return false;
        s->replica = all;
    }
    for (size_t i = 0; i < s->npeers; i++)
        if (*slot < s->peer[i].nreplicas)
            s->peer[i].replica[*slot] = (um_peer_replica){.acked = 0};
    return true;
}

static void enter_slot(umbel_sync *s, um_replica *c, size_t slot)
{
    size_t at = place_of(s, &c->id);

    memmove(s->order + at + 1, s->order + at,
            (s->norder++ - at) * sizeof *s->order);
    s->order[at] = slot;
    s->replica[slot] = c;
    s->memory += um_replica_bytes(&s->list[c->id.list], c->written);
    s->changes++;
}

static void release_replica(um_replica *c)
{
    um_replica_forget_past(c);
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
    um_prefixes_forget(*out); /* pages do not carry prefix lengths */
    um_hasher_copy_secret(&(*out)->hasher, &shape->hasher);
    if (um_lazy_page(&shape->alloc, (*out)->payload_len))
        um_use_huge_pages((*out)->payload, (*out)->payload_len, false);
    return UMBEL_OK;
}

umbel_status um_replica_create(umbel_sync *s, const um_sync_id *id,
                               um_replica **out, umbel_error *err)
{
    const um_sync_list *l = &s->list[id->list];
    umbel_sync_reason reason;
    size_t slot;

    UM_TRY(um_replica_check_limits(s, id, &reason, err));
    um_replica *c = calloc(1, sizeof *c);
    if (!c)
        return um_no_memory(err, sizeof *c);
    c->id = *id;
    c->own =
        um_is_our_origin(s, id->origin) && id->incarnation == s->incarnation;
    c->changed = calloc((size_t)l->pages.n, sizeof *c->changed);
    umbel_status status = um_filter_like(l->shape, &c->filter, err);
    if (!status && (!c->changed || !copy_tree(&c->tree, &l->tree) ||
                    !add_slot(s, &slot) || !count_origin(s, id->origin)))
        status = um_no_memory(err, (size_t)l->pages.n * UM_HASH_LEN);
    if (status) {
        release_replica(c);
        return status;
    }
    enter_slot(s, c, slot);
    *out = c;
    return UMBEL_OK;
}

void um_replica_free(umbel_sync *s, size_t slot)
{
    um_replica *c = s->replica[slot];

    if (!c)
        return;
    size_t at = place_of(s, &c->id);
    memmove(s->order + at, s->order + at + 1,
            (--s->norder - at) * sizeof *s->order);
    s->replica[slot] = NULL;
    um_index_remove(s, c);
    um_totals_remove(s, c);
    s->memory -= um_replica_bytes(&s->list[c->id.list], c->written);
    discount_origin(s, c->id.origin);
    release_replica(c);
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

bool um_replica_contains(const umbel_sync *s, const um_replica *o,
                         const um_replica *c)
{
    const um_pages *pages = &s->list[c->id.list].pages;
    bool part = true;

    for (uint64_t page = 0; part && page < pages->n; page++) {
        um_growth_page p =
            um_page_pair(pages, page, c->filter->payload, o->filter->payload);
        part = um_growth_check(&p);
    }
    return part;
}

/* --- our own filters ------------------------------------------------------ */

/* A slice of pages, from first to end - 1. */
typedef struct slice {
    const um_pages *pages;
    uint64_t first, end;
} slice;

static bool page_differs(const um_pages *pages, uint64_t number,
                         const uint8_t *a, const uint8_t *b)
{
    um_page p = um_page_of(pages, number);
    return memcmp(a + p.offset, b + p.offset, p.len) != 0;
}

static bool is_empty(const slice *x, const umbel_filter *f)
{
    for (uint64_t i = x->first; i < x->end; i++) {
        um_page p = um_page_of(x->pages, i);
        if (!um_all_zero(f->payload + p.offset, p.len))
            return false;
    }
    return true;
}

/* Narrows the slice to the pages that differ and sets *changed; leaves both
 * alone if none differs. */
static umbel_status check_own(const um_replica *c, slice *x,
                              const umbel_filter *f, bool *changed,
                              umbel_error *err)
{
    slice differ = {.end = 0};

    for (uint64_t i = x->first; i < x->end; i++) {
        if (!page_differs(x->pages, i, c->filter->payload, f->payload))
            continue;
        um_growth_page p =
            um_page_pair(x->pages, i, c->filter->payload, f->payload);
        if (!differ.end)
            differ.first = i;
        differ.end = i + 1;
        if (!um_growth_check(&p))
            return um_fail(err, UMBEL_E_MISMATCH,
                           "the filter lacks keys that were published: it was "
                           "restored or replaced; go on as a new incarnation");
    }
    if (!differ.end)
        return UMBEL_OK;
    *changed = true;
    x->first = differ.first;
    x->end = differ.end;
    return UMBEL_OK;
}

/* Copies the pages that differ. Unless this is the first version, appends the
 * way back to old. */
static void copy_pages(umbel_sync *s, um_replica *c, const slice *x,
                       const umbel_filter *f, uint64_t version, um_buffer *old)
{
    const um_sync_list *l = &s->list[c->id.list];
    uint8_t *to = c->filter->payload;

    for (uint64_t i = x->first; i < x->end; i++) {
        if (!page_differs(x->pages, i, to, f->payload))
            continue;
        um_growth_page p = um_page_pair(x->pages, i, to, f->payload);
        um_page at = um_page_of(x->pages, i);
        if (c->now.version)
            um_replica_record_old(old, &p);
        memcpy(to + at.offset, f->payload + at.offset, at.len);
        um_tree_hash_page(to + at.offset, at.len, um_tree_leaf(&c->tree, i));
        um_tree_touch(&c->tree, i);
        if (!c->changed[i])
            um_replica_add_written(s, c, um_replica_page_bytes(l, i));
        c->changed[i] = version;
    }
}

static void apply_own(umbel_sync *s, um_replica *c, const slice *x,
                      const umbel_filter *f, uint64_t version)
{
    um_statement next = {.version = version, .keys = umbel_added(f)};
    um_buffer old = {.len = 0};

    copy_pages(s, c, x, f, version, &old);
    um_tree_end(&c->tree);
    c->filter->added = next.keys;
    memcpy(next.root, um_tree_root(&c->tree), UM_HASH_LEN);
    um_statement_sign(s, c, &next);
    um_replica_end_step(s, c, &old, &next);
    um_buffer_fini(&old);
    c->seen = s->now;
}

/* Checks that f can be published, and sets *id to the id of its replica. */
static umbel_status check_filter(const umbel_sync *s, size_t list,
                                 uint64_t epoch, const umbel_filter *f,
                                 um_sync_id *id, umbel_error *err)
{
    const um_sync_list *l = list < s->nlists ? &s->list[list] : NULL;

    if (!s->set.sign_key || !l)
        return um_fail(err, UMBEL_E_RANGE,
                       l ? "without a key that signs nothing is published"
                         : "there is no such list");
    UM_TRY(umbel_same_shape(l->shape, f, err));
    if (epoch < l->oldest)
        return um_fail(err, UMBEL_E_RANGE, "that epoch is over");
    if (l->shape->capacity && umbel_added(f) > l->shape->capacity)
        return um_fail(err, UMBEL_E_FULL,
                       "the filter has more keys than its capacity: others "
                       "would refuse it");
    *id = (um_sync_id){
        .incarnation = s->incarnation, .epoch = epoch, .list = list};
    memcpy(id->origin, s->origin, sizeof id->origin);
    return UMBEL_OK;
}

bool um_replica_sign_next(umbel_sync *s, um_replica *c, const umbel_filter *f)
{
    slice x = {&s->list[c->id.list].pages, 0, s->list[c->id.list].pages.n};
    bool changed = false;

    if (check_own(c, &x, f, &changed, NULL) || !changed)
        return false;
    um_totals_remove(s, c);
    c->summed = c->marked = 0;
    apply_own(s, c, &x, f, c->now.version + 1);
    um_replica_forget_past(c);
    return true;
}

umbel_status um_replica_adopt(umbel_sync *s, const um_sync_id *id,
                              const umbel_filter *f, umbel_error *err)
{
    const um_pages *pages = &s->list[id->list].pages;
    um_replica *c;

    UM_TRY(umbel_same_shape(s->list[id->list].shape, f, err));
    UM_TRY(um_replica_create(s, id, &c, err));
    apply_own(s, c, &(slice){pages, 0, pages->n}, f, 1);
    return UMBEL_OK;
}

uint64_t umbel_sync_pages(const umbel_sync *s, size_t list)
{
    return list < s->nlists ? s->list[list].pages.n : 0;
}

umbel_status umbel_sync_publish_pages(umbel_sync *s, size_t list,
                                      uint64_t epoch, const umbel_filter *f,
                                      uint64_t first, uint64_t end,
                                      umbel_sync_slice *out, umbel_error *err)
{
    um_sync_id id;

    UM_TRY(check_filter(s, list, epoch, f, &id, err));
    slice x = {&s->list[list].pages, first, end};
    if (first > end || end > x.pages->n)
        return um_fail(err, UMBEL_E_RANGE,
                       "a slice of pages lies outside the filter");
    um_replica *c = um_replica_find(s, &id, NULL);
    bool empty = !c && is_empty(&x, f);
    if (!c && !empty)
        UM_TRY(um_replica_create(s, &id, &c, err));
    /* If all pages are published, a change of the number of keys alone also
     * creates a version. */
    bool whole = end - first == x.pages->n;
    bool changed = c && whole && umbel_added(f) != c->now.keys;
    if (c)
        UM_TRY(check_own(c, &x, f, &changed, err));
    if (c && changed) {
        apply_own(s, c, &x, f, c->now.version + 1);
        c->published = true;
    }
    *out = (umbel_sync_slice){c ? c->now.version : 0, x.first, x.end};
    return UMBEL_OK;
}

umbel_status umbel_sync_publish(umbel_sync *s, size_t list, uint64_t epoch,
                                const umbel_filter *f, umbel_error *err)
{
    umbel_sync_slice out;

    return umbel_sync_publish_pages(s, list, epoch, f, 0,
                                    umbel_sync_pages(s, list), &out, err);
}

umbel_status umbel_sync_restore(umbel_sync *s, size_t list, uint64_t epoch,
                                uint64_t version, const umbel_filter *f,
                                umbel_error *err)
{
    um_sync_id id;
    um_replica *c;

    UM_TRY(check_filter(s, list, epoch, f, &id, err));
    if (version == 0 || version == UINT64_MAX || um_replica_find(s, &id, NULL))
        return um_fail(err, UMBEL_E_RANGE,
                       "a version to restore is not 0, and the first of its "
                       "filter");
    UM_TRY(um_replica_create(s, &id, &c, err));
    apply_own(s, c, &(slice){&s->list[list].pages, 0, s->list[list].pages.n}, f,
              version);
    return UMBEL_OK;
}
