/*
 * sync_own.c - our own filters: publishing what they say now, and restarts.
 *
 * A filter may be published by slices of pages, so that no call takes long.
 * Each slice that changed makes a version. Until all were published, a version
 * claims more keys than its cells show, which admission allows.
 */
#include "base/error.h"
#include "sync/internal.h"

/* Pages first to end - 1. */
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

/* Narrows the slice to the pages that differ, if some do. */
static umbel_status check_own(const um_copy *c, slice *x, const umbel_filter *f,
                              bool *changed, umbel_error *err)
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

/* Copies the pages that differ, and notes in old how to go back, if there is
 * something to go back to. */
static void copy_pages(um_copy *c, const slice *x, const umbel_filter *f,
                       uint64_t version, um_bytes *old)
{
    uint8_t *to = c->filter->payload;

    for (uint64_t i = x->first; i < x->end; i++) {
        if (!page_differs(x->pages, i, to, f->payload))
            continue;
        um_growth_page p = um_page_pair(x->pages, i, to, f->payload);
        um_page at = um_page_of(x->pages, i);
        if (c->now.version)
            um_copy_note_old(old, &p);
        memcpy(to + at.offset, f->payload + at.offset, at.len);
        um_tree_hash_page(to + at.offset, at.len, um_tree_leaf(&c->tree, i));
        um_tree_touch(&c->tree, i);
        c->changed[i] = version;
    }
}

static void apply_own(umbel_sync *s, um_copy *c, const slice *x,
                      const umbel_filter *f, uint64_t version)
{
    um_statement next = {.version = version, .keys = umbel_added(f)};
    um_bytes old = {.len = 0};

    copy_pages(c, x, f, version, &old);
    um_tree_end(&c->tree);
    c->filter->added = next.keys;
    memcpy(next.root, um_tree_root(&c->tree), UM_HASH_LEN);
    um_statement_sign(s, c, &next);
    um_copy_end_step(s, c, &old, &next);
    um_bytes_fini(&old);
    c->seen = s->now;
}

/* Checks that f can be published; *id is its copy. */
static umbel_status check_filter(const umbel_sync *s, size_t list,
                                 uint64_t epoch, const umbel_filter *f,
                                 um_sync_id *id, umbel_error *err)
{
    const um_sync_of_list *l = list < s->nlists ? &s->list[list] : NULL;

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
    um_copy *c = um_copy_find(s, &id, NULL);
    bool empty = !c && is_empty(&x, f);
    if (!c && !empty)
        UM_TRY(um_copy_create(s, &id, &c, err));
    /* With all pages a claim that grew alone is new as well. */
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
    um_copy *c;

    UM_TRY(check_filter(s, list, epoch, f, &id, err));
    if (version == 0 || version == UINT64_MAX || um_copy_find(s, &id, NULL))
        return um_fail(err, UMBEL_E_RANGE,
                       "a version to restore is not 0, and the first of its "
                       "filter");
    UM_TRY(um_copy_create(s, &id, &c, err));
    apply_own(s, c, &(slice){&s->list[list].pages, 0, s->list[list].pages.n}, f,
              version);
    return UMBEL_OK;
}

/* --- going on as another incarnation -------------------------------------- */

/* By the clock, as at a first start: backups may not know all of ours. */
static uint64_t next_incarnation(const umbel_sync *s)
{
    uint64_t last = s->incarnation;

    for (size_t i = 0; i < s->norder; i++) {
        const um_copy *c = s->copy[s->order[i]];
        if (memcmp(c->id.origin, s->origin, UMBEL_ORIGIN_LEN) == 0 &&
            c->id.incarnation > last)
            last = c->id.incarnation;
    }
    return last < s->now ? s->now : last + 1;
}

/* Some peer has this version, as far as it said. */
static bool is_known(const umbel_sync *s, size_t slot)
{
    for (size_t i = 0; i < s->npeers; i++) {
        const um_peer *p = &s->peer[i];
        if (p->used && slot < p->ncopies && !p->copy[slot].disputed &&
            p->copy[slot].acked == s->copy[slot]->now.version)
            return true;
    }
    return false;
}

static void move_copy(umbel_sync *s, size_t slot, uint64_t incarnation)
{
    um_copy *from = s->copy[slot], *to;
    um_sync_id id = from->id;
    um_tree tree = from->tree;
    umbel_filter *filter = from->filter;
    um_statement first = {.version = 1, .keys = from->now.keys};
    um_bytes none = {.len = 0};

    id.incarnation = incarnation;
    if (um_copy_create(s, &id, &to, NULL))
        return;
    from->tree = to->tree;
    from->filter = to->filter;
    to->tree = tree;
    to->filter = filter;
    to->own = false;
    to->seen = s->now;
    for (uint64_t i = 0; i < s->list[id.list].pages.n; i++)
        to->changed[i] = from->changed[i] > 0;
    memcpy(first.root, um_tree_root(&tree), UM_HASH_LEN);
    um_statement_sign(s, to, &first);
    um_copy_end_step(s, to, &none, &first);
    um_copy_free(s, slot);
}

void um_sync_rescue(umbel_sync *s, bool all)
{
    uint64_t incarnation = next_incarnation(s);

    for (size_t i = 0, n = s->ncopies; i < n; i++)
        if (s->copy[i] && s->copy[i]->own && s->copy[i]->now.version &&
            (all || (s->copy[i]->published && !is_known(s, i))))
            move_copy(s, i, incarnation);
    um_peers_restart(s);
}

void um_sync_renew(umbel_sync *s, int peer)
{
    s->incarnation = next_incarnation(s);
    for (size_t i = 0; i < s->norder; i++)
        s->copy[s->order[i]]->own = false;
    s->changes++;
    um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_RENEWED,
                                        .peer = peer,
                                        .origin = s->origin,
                                        .incarnation = s->incarnation,
                                        .list = -1});
}
