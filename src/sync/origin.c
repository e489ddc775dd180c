/*
 * origin.c - the status of origins: dropped, muted or allowed ones,
 * incarnations that contradicted themselves, and new incarnations of our own.
 */
#include "base/error.h"
#include "base/rng.h"
#include "sync/internal.h"

/* --- origin status -------------------------------------------------------- */

static umbel_status set_origin_status(umbel_sync *s, const uint8_t *origin,
                                      um_origin_status status, umbel_error *err)
{
    um_origin_rule *all;

    s->log_changes++;
    s->changes++;
    for (size_t i = 0; i < s->npeers; i++)
        s->peer[i].report_rules = true;
    for (size_t i = 0; i < s->nrules; i++)
        if (memcmp(s->rule[i].origin, origin, UMBEL_ORIGIN_LEN) == 0) {
            s->rule[i].status = status;
            return UMBEL_OK;
        }
    all = um_grow_array(s->rule, &s->nrules, sizeof *all);
    if (!all)
        return um_no_memory(err, sizeof *all);
    s->rule = all;
    memcpy(s->rule[s->nrules - 1].origin, origin, UMBEL_ORIGIN_LEN);
    s->rule[s->nrules - 1].status = status;
    return UMBEL_OK;
}

static void forget_origin(umbel_sync *s, const uint8_t *origin,
                          const uint64_t *incarnation)
{
    for (size_t i = 0; i < s->nreplicas; i++) {
        const um_replica *c = s->replica[i];
        if (c && memcmp(c->id.origin, origin, UMBEL_ORIGIN_LEN) == 0 &&
            (!incarnation || c->id.incarnation == *incarnation))
            um_replica_free(s, i);
    }
    for (size_t i = 0; i < s->nlogs && !incarnation; i++)
        if (memcmp(s->log[i].origin, origin, UMBEL_ORIGIN_LEN) == 0)
            um_log_forget(s, &s->log[i]);
}

umbel_status umbel_sync_drop(umbel_sync *s, const uint8_t *origin, bool notice,
                             umbel_error *err)
{
    uint8_t name[UMBEL_ORIGIN_LEN]; /* origin may be freed */

    memcpy(name, origin, sizeof name);
    if (um_is_our_origin(s, name))
        return um_fail(err, UMBEL_E_RANGE, "we cannot drop ourselves");
    UM_TRY(set_origin_status(s, name, UM_DROPPED, err));
    forget_origin(s, name, NULL);
    return notice ? umbel_sync_log_append(s, UMBEL_SYNC_LOG_DROP,
                                          (umbel_slice){name, sizeof name},
                                          NULL, err)
                  : UMBEL_OK;
}

umbel_status umbel_sync_mute(umbel_sync *s, const uint8_t *origin,
                             umbel_error *err)
{
    return set_origin_status(s, origin, UM_MUTED, err);
}

umbel_status umbel_sync_allow(umbel_sync *s, const uint8_t *origin,
                              umbel_error *err)
{
    bool was_dropped = um_origin_status_of(s, origin) == UM_DROPPED;

    UM_TRY(set_origin_status(s, origin, UM_ALLOWED, err));
    if (was_dropped) /* peers assume that we still have their data */
        um_peers_restart(s);
    return UMBEL_OK;
}

bool umbel_sync_next_origin_status(const umbel_sync *s, size_t *at,
                                   umbel_sync_origin_status *out)
{
    if (*at >= s->nrules)
        return false;
    const um_origin_rule *r = &s->rule[(*at)++];
    *out = (umbel_sync_origin_status){.origin = r->origin,
                                      .dropped = r->status == UM_DROPPED,
                                      .muted = r->status == UM_MUTED};
    return true;
}

/* --- incarnations --------------------------------------------------------- */

/* Returns the number of a new incarnation. It is above the clock, as at the
 * first start, because a backup may not know all of ours. A random part gives
 * a restored server and a copy of one that still runs different numbers, even
 * in the same second or with a clock that was set back. */
static uint64_t next_incarnation(const umbel_sync *s)
{
    enum { SPREAD = 1 << 24 };
    uint64_t last = s->incarnation > s->now ? s->incarnation : s->now;

    for (size_t i = 0; i < s->norder; i++) {
        const um_replica *c = s->replica[s->order[i]];
        if (um_is_our_origin(s, c->id.origin) && c->id.incarnation > last)
            last = c->id.incarnation;
    }
    return last + 1 +
           um_mix(um_mix(s->set.session) + s->connections + last) % SPREAD;
}

/* Returns true if some peer has reported that it has our version. */
static bool is_known(const umbel_sync *s, size_t slot)
{
    for (size_t i = 0; i < s->npeers; i++) {
        const um_peer *p = &s->peer[i];
        if (p->used && slot < p->nreplicas && !p->replica[slot].disputed &&
            p->replica[slot].acked == s->replica[slot]->now.version)
            return true;
    }
    return false;
}

/* Makes the cells of a replica the first version of another incarnation. */
static void move_replica(umbel_sync *s, size_t slot, uint64_t incarnation)
{
    um_replica *from = s->replica[slot], *to;
    um_sync_id id = from->id;
    um_tree tree = from->tree;
    umbel_filter *filter = from->filter;
    um_statement first = {.version = 1, .keys = from->now.keys};
    um_buffer none = {.len = 0};
    uint64_t written = from->written;

    id.incarnation = incarnation;
    if (um_replica_create(s, &id, &to, NULL))
        return;
    from->tree = to->tree;
    from->filter = to->filter;
    from->written = to->written;
    to->tree = tree;
    to->filter = filter;
    to->written = written;
    to->own = false;
    to->used = from->used;
    to->seen = s->now;
    for (uint64_t i = 0; i < s->list[id.list].pages.n; i++)
        to->changed[i] = from->changed[i] > 0;
    memcpy(first.root, um_tree_root(&tree), UM_HASH_LEN);
    um_statement_sign(s, to, &first);
    um_replica_end_step(s, to, &none, &first);
    um_replica_free(s, slot);
}

/* Returns true if another replica of ours has all that is in this one, as after
 * a fork that was resolved before. */
static bool is_saved_elsewhere(const umbel_sync *s, const um_replica *c)
{
    for (size_t i = 0; i < s->norder; i++) {
        const um_replica *o = s->replica[s->order[i]];
        if (o != c && o->id.list == c->id.list && o->id.epoch == c->id.epoch &&
            um_is_our_origin(s, o->id.origin) && um_replica_contains(s, o, c))
            return true;
    }
    return false;
}

void um_sync_rescue(umbel_sync *s, uint64_t incarnation,
                    const um_sync_id *forked)
{
    uint64_t next = next_incarnation(s);

    for (size_t i = 0, n = s->nreplicas; i < n; i++) {
        const um_replica *c = s->replica[i];
        if (!c || !c->now.version || !um_is_our_origin(s, c->id.origin) ||
            c->id.incarnation != incarnation)
            continue;
        if (forked && !c->own && um_same_id(&c->id, forked) &&
            is_saved_elsewhere(s, c))
            um_replica_free(s, i);
        else if (!forked || um_same_id(&c->id, forked) ||
                 (c->own && c->published && !is_known(s, i)))
            move_replica(s, i, next);
    }
    s->resigned++;
    um_peers_restart(s);
}

void um_sync_renew(umbel_sync *s, int peer)
{
    s->incarnation = next_incarnation(s);
    s->resigned++;
    for (size_t i = 0; i < s->norder; i++)
        s->replica[s->order[i]]->own = false;
    s->changes++;
    um_sync_emit(s, &(umbel_sync_event){.kind = UMBEL_SYNC_RENEWED,
                                        .peer = peer,
                                        .origin = s->origin,
                                        .incarnation = s->incarnation,
                                        .list = -1});
}

void um_sync_resolve_fork(umbel_sync *s, int peer, const um_sync_id *id)
{
    um_sync_id forked = *id; /* id may lie in what is freed */
    bool own = forked.incarnation == s->incarnation;

    um_sync_rescue(s, forked.incarnation, &forked);
    if (own)
        um_sync_renew(s, peer);
}

umbel_status um_sync_adopt(umbel_sync *s, size_t list, uint64_t epoch,
                           const umbel_filter *f, umbel_error *err)
{
    um_sync_id id = {
        .incarnation = next_incarnation(s), .epoch = epoch, .list = list};

    memcpy(id.origin, s->origin, sizeof id.origin);
    return um_replica_adopt(s, &id, f, err);
}

umbel_status um_sync_adopt_origin(umbel_sync *s, const uint8_t *origin,
                                  size_t *n, umbel_error *err)
{
    *n = 0;
    for (size_t i = 0, slots = s->nreplicas; i < slots; i++) {
        const um_replica *c = s->replica[i];
        if (!c || !c->now.version || um_is_our_origin(s, origin) ||
            memcmp(c->id.origin, origin, UMBEL_ORIGIN_LEN) != 0)
            continue;
        UM_TRY(um_sync_adopt(s, c->id.list, c->id.epoch, c->filter, err));
        um_replica_free(s, i);
        ++*n;
    }
    return UMBEL_OK;
}

/* Peers may have another version by the last number: what they have can be no
 * base of an update. */
static void forget_disputes(umbel_sync *s, const um_replica *c)
{
    size_t slot;

    um_replica_find(s, &c->id, &slot);
    for (size_t i = 0; i < s->npeers; i++)
        if (slot < s->peer[i].nreplicas)
            s->peer[i].replica[slot].disputed = 0;
}

/* Signs a further version of an earlier incarnation of ours: all that we have
 * of our own in the same list and epoch. Returns false if that is nothing new,
 * or the kind cannot be merged. */
static bool join_own(umbel_sync *s, um_replica *into)
{
    uint64_t capacity = s->list[into->id.list].shape->capacity;
    uint64_t keys = into->now.keys;
    umbel_filter *f;
    bool joined = true;

    if (umbel_copy(into->filter, &f, NULL))
        return false;
    for (size_t i = 0; i < s->norder && joined; i++) {
        const um_replica *c = s->replica[s->order[i]];
        if (c == into || c->id.list != into->id.list ||
            c->id.epoch != into->id.epoch || !um_is_our_origin(s, c->id.origin))
            continue;
        joined = !umbel_merge(f, c->filter, UMBEL_MAX, NULL) ||
                 !umbel_merge(f, c->filter, UMBEL_OR, NULL);
        keys += c->now.keys;
    }
    /* Keys that are in several count several times: a claim may be too high. */
    f->added = capacity && keys > capacity ? capacity : keys;
    joined = joined && um_replica_sign_next(s, into, f);
    umbel_close(f);
    if (!joined)
        return false;
    s->resigned++;
    forget_disputes(s, into);
    return true;
}

void um_sync_reconcile(umbel_sync *s, int peer, const um_sync_id *id)
{
    um_replica *c = um_replica_find(s, id, NULL);

    if (c && (c->own || !s->set.announce || !join_own(s, c)))
        um_sync_resolve_fork(s, peer, id);
}

umbel_status um_contradiction_add(umbel_sync *s, const um_sync_id *id,
                                  const um_statement *a, const um_statement *b,
                                  int peer, umbel_error *err)
{
    um_sync_id out = *id; /* copied: id may point into freed memory */
    um_contradiction *all, both = {out, *a, *b};

    if (um_is_contradicted(s, id->origin, id->incarnation))
        return UMBEL_OK;
    if (s->ncontradictions >= (size_t)s->limit.origins * s->limit.incarnations)
        return um_fail(err, UMBEL_E_LIMIT, "too many contradictions");
    all = um_grow_array(s->contradiction, &s->ncontradictions, sizeof *all);
    if (!all)
        return um_no_memory(err, sizeof *all);
    s->contradiction = all;
    s->contradiction[s->ncontradictions - 1] = both;
    s->changes++;
    bool ours = um_is_our_origin(s, out.origin);
    bool own = ours && out.incarnation == s->incarnation;
    if (ours)
        um_sync_rescue(s, out.incarnation, NULL);
    forget_origin(s, out.origin, &out.incarnation);
    um_sync_emit(s, &(umbel_sync_event){.kind = UMBEL_SYNC_CONTRADICTED,
                                        .peer = peer,
                                        .origin = out.origin,
                                        .incarnation = out.incarnation,
                                        .epoch = out.epoch,
                                        .list = (int)out.list,
                                        .version = both.one.version});
    if (own)
        um_sync_renew(s, peer);
    return UMBEL_OK;
}

/* --- notices -------------------------------------------------------------- */

/* Returns true if a log contains a notice to drop this origin. */
static bool asks_to_drop(const um_sync_log *l, const uint8_t *origin)
{
    for (size_t i = 0; i < l->n; i++) {
        const um_log_entry *e = &l->entry[i];
        if (e->type == UMBEL_SYNC_LOG_DROP && !e->retracted &&
            e->len == UMBEL_ORIGIN_LEN &&
            memcmp(e->body, origin, UMBEL_ORIGIN_LEN) == 0)
            return true;
    }
    return false;
}

/* Returns true if an earlier log of the same origin contains such a notice:
 * each origin has one vote, whatever the number of its entries and
 * incarnations. */
static bool asked_before(const umbel_sync *s, size_t log, const uint8_t *origin)
{
    for (size_t i = 0; i < log; i++)
        if (memcmp(s->log[i].origin, s->log[log].origin, UMBEL_ORIGIN_LEN) ==
                0 &&
            asks_to_drop(&s->log[i], origin))
            return true;
    return false;
}

static size_t count_notices(const umbel_sync *s, const uint8_t *origin)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nlogs; i++)
        n += um_origin_status_of(s, s->log[i].origin) == UM_ALLOWED &&
             asks_to_drop(&s->log[i], origin) && !asked_before(s, i, origin);
    return n;
}

static void honour_notice(umbel_sync *s, int peer, const um_log_entry *e)
{
    uint8_t name[UMBEL_ORIGIN_LEN]; /* e may be freed */

    if (e->len != UMBEL_ORIGIN_LEN || !s->set.drop_quorum ||
        um_is_our_origin(s, e->body) ||
        um_origin_status_of(s, e->body) == UM_DROPPED ||
        count_notices(s, e->body) < s->set.drop_quorum)
        return;
    memcpy(name, e->body, sizeof name);
    umbel_sync_drop(s, name, false, NULL);
    um_sync_emit(s, &(umbel_sync_event){.kind = UMBEL_SYNC_DROPPED,
                                        .peer = peer,
                                        .origin = name,
                                        .list = -1});
}

void um_sync_honour_entry(umbel_sync *s, int peer, const um_sync_id *id,
                          const um_log_entry *e)
{
    if (um_is_our_origin(s, id->origin) && id->incarnation == s->incarnation)
        um_sync_renew(s, peer);
    if (e->type == UMBEL_SYNC_LOG_DROP)
        honour_notice(s, peer, e);
}
