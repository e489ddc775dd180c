/*
 * state.c - saves and restores an engine: each replica as a filter with the
 * rest attached as data, everything else as bytes.
 *
 *   data of a replica "umbel-copy-1", incarnation 8, epoch 8, origin 32, name
 *                     of the list (length 1), statement; used, pages (varints),
 *                     the version that changed each page, as gaps below that of
 *                     the replica; steps: statement, length, bytes; in later
 *                     versions the statements before these steps
 *   state             "umbel-sync-state-1", oldest epoch of each list (name,
 *                     number), rules, contradictions, logs
 */
#include "base/error.h"
#include "sync/internal.h"

#include <stdlib.h>

#define REPLICA_MAGIC "umbel-copy-1"
#define STATE_MAGIC "umbel-sync-state-1"
enum { REPLICA_MAGIC_LEN = 12, STATE_MAGIC_LEN = 18 };

/* --- replicas ------------------------------------------------------------- */

static void write_name(um_buffer *b, const char *name)
{
    uint8_t len = (uint8_t)strlen(name);

    um_buffer_append(b, &len, 1);
    um_buffer_append(b, name, len);
}

static bool get_list(um_reader *r, const umbel_sync *s, size_t *list)
{
    char name[256] = "";
    uint8_t len;

    um_get_bytes(r, &len, 1);
    um_get_bytes(r, name, len);
    for (*list = 0; !r->bad && *list < s->nlists; ++*list)
        if (strcmp(s->list[*list].name, name) == 0)
            return true;
    return false;
}

static void write_replica_data(const umbel_sync *s, const um_replica *c,
                               um_buffer *b)
{
    const um_sync_list *l = &s->list[c->id.list];

    um_buffer_append(b, REPLICA_MAGIC, REPLICA_MAGIC_LEN);
    um_append_u64(b, c->id.incarnation);
    um_append_u64(b, c->id.epoch);
    um_buffer_append(b, c->id.origin, UMBEL_ORIGIN_LEN);
    write_name(b, l->name);
    um_write_statement(b, &c->now);
    um_append_varint(b, c->used);
    um_append_varint(b, l->pages.n);
    for (uint64_t i = 0; i < l->pages.n; i++)
        um_append_varint(b, c->now.version - c->changed[i]);
    um_append_varint(b, c->nsteps);
    for (size_t i = 0; i < c->nsteps; i++) {
        um_write_statement(b, &c->step[i].from);
        um_append_varint(b, c->step[i].old.len);
        um_buffer_append(b, c->step[i].old.data, c->step[i].old.len);
    }
    um_append_varint(b, c->npast);
    for (size_t i = 0; i < c->npast; i++)
        um_write_statement(b, &c->past[i]);
}

umbel_status umbel_sync_export(const umbel_sync *s, size_t at,
                               umbel_filter **out, umbel_error *err)
{
    um_buffer data = {.len = 0};
    umbel_filter *f;

    if (!at || at > s->norder)
        return um_fail(err, UMBEL_E_RANGE, "there is no such replica");
    const um_replica *c = s->replica[s->order[at - 1]];
    UM_TRY(umbel_copy(c->filter, &f, err));
    write_replica_data(s, c, &data);
    umbel_status status = um_no_memory(err, data.len);
    if (!data.failed)
        status = umbel_set_data(f, data.data, data.len, err);
    um_buffer_fini(&data);
    if (status)
        umbel_close(f);
    else
        *out = f;
    return status;
}

/* Checks a step. It comes from our own disk, but a damaged one must do no
 * harm. */
static bool is_sound_step(const um_pages *pages, um_reader r)
{
    while (r.at < r.end) {
        uint64_t number = um_get_varint(&r), len = um_get_varint(&r), i = 0;
        if (r.bad || number >= pages->n || len > (uint64_t)(r.end - r.at))
            return false;
        um_page p = um_page_of(pages, number);
        uint64_t most = um_entry_max(&pages->section[p.section].form);
        um_reader e = {r.at, r.at + len, false};
        for (; e.at < e.end; i++) {
            uint64_t gap = um_get_varint(&e);
            uint64_t count = um_get_varint(&e);
            if (e.bad || i >= p.n || gap >= p.n - i || count > most)
                return false;
            i += gap;
        }
        r.at += len;
    }
    return !r.bad;
}

static umbel_status get_steps(const umbel_sync *s, um_replica *c, um_reader *r,
                              umbel_error *err)
{
    const um_pages *pages = &s->list[c->id.list].pages;
    uint64_t n = um_get_varint(r);

    for (uint64_t i = 0; i < n && !r->bad; i++) {
        um_version_step step = {.old = {.len = 0}};
        um_get_statement(r, &step.from);
        uint64_t len = um_get_varint(r);
        if (r->bad || len > (uint64_t)(r->end - r->at) ||
            !is_sound_step(pages, (um_reader){r->at, r->at + len, false}))
            return um_fail(err, UMBEL_E_FORMAT, "a saved replica is damaged");
        um_buffer_append(&step.old, r->at, (size_t)len);
        r->at += len;
        um_version_step *all = NULL;
        if (!step.old.failed && um_step_index(&step))
            all = um_grow_array(c->step, &c->nsteps, sizeof *all);
        if (!all) {
            um_step_fini(&step);
            return um_no_memory(err, len);
        }
        c->step = all;
        c->step[c->nsteps - 1] = step;
        c->history_bytes += um_step_bytes(&step);
    }
    n = r->bad || r->at == r->end ? 0 : um_get_varint(r);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        um_statement st;
        um_get_statement(r, &st);
        if (!r->bad && !um_replica_add_past(c, &st))
            return um_no_memory(err, n);
    }
    return r->bad ? um_fail(err, UMBEL_E_FORMAT, "a saved replica is damaged")
                  : UMBEL_OK;
}

static umbel_status fill_replica(umbel_sync *s, um_replica *c,
                                 const umbel_filter *f, um_reader *r,
                                 umbel_error *err)
{
    const um_sync_list *l = &s->list[c->id.list];
    um_statement now;
    uint64_t written = 0;

    um_get_statement(r, &now);
    c->used = um_get_varint(r);
    if (um_get_varint(r) != l->pages.n)
        r->bad = true;
    for (uint64_t i = 0; i < l->pages.n && !r->bad; i++) {
        c->changed[i] = now.version - um_get_varint(r);
        written += c->changed[i] ? um_replica_page_bytes(l, i) : 0;
    }
    UM_TRY(get_steps(s, c, r, err));
    if (!um_is_our_origin(s, c->id.origin) && !um_sync_has_memory(s, written))
        return um_fail(err, UMBEL_E_LIMIT,
                       "no memory left for its pages; raise memory");
    um_replica_add_written(s, c, written);
    for (uint64_t i = 0; i < l->pages.n; i++) {
        um_page p = um_page_of(&l->pages, i);
        if (!c->changed[i]) /* it is empty, or else the root differs */
            continue;
        memcpy(c->filter->payload + p.offset, f->payload + p.offset, p.len);
        um_tree_hash_page(c->filter->payload + p.offset, p.len,
                          um_tree_leaf(&c->tree, i));
        um_tree_touch(&c->tree, i);
    }
    um_tree_end(&c->tree);
    if (memcmp(now.root, um_tree_root(&c->tree), UM_HASH_LEN) != 0 ||
        !um_statement_holds(s, &c->id, &now))
        return um_fail(err, UMBEL_E_REFUSED,
                       "a saved replica is not what its origin signed");
    c->now = now;
    c->filter->added = now.keys;
    c->admitted = c->used;
    c->claimed = now.keys;
    c->published = c->own; /* maybe after a restore, and nobody has it */
    return UMBEL_OK;
}

umbel_status umbel_sync_import(umbel_sync *s, const umbel_filter *f,
                               umbel_error *err)
{
    umbel_slice data = umbel_data(f);
    um_reader r = {data.data, (const uint8_t *)data.data + data.len, false};
    char magic[REPLICA_MAGIC_LEN];
    um_sync_id id;
    um_replica *c;
    size_t slot;

    um_get_bytes(&r, magic, sizeof magic);
    id.incarnation = um_get_u64(&r);
    id.epoch = um_get_u64(&r);
    um_get_bytes(&r, id.origin, sizeof id.origin);
    if (r.bad || memcmp(magic, REPLICA_MAGIC, sizeof magic) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the filter is not a saved replica");
    if (!get_list(&r, s, &id.list))
        return um_fail(err, UMBEL_E_MISMATCH,
                       "the replica is of a list that is not here");
    UM_TRY(umbel_same_shape(s->list[id.list].shape, f, err));
    if (id.epoch < s->list[id.list].oldest ||
        um_origin_status_of(s, id.origin) == UM_DROPPED ||
        um_is_contradicted(s, id.origin, id.incarnation) ||
        um_replica_find(s, &id, NULL))
        return um_fail(err, UMBEL_E_REFUSED,
                       "the replica is of an epoch that is over, of an origin "
                       "that was dropped, or there already");
    UM_TRY(um_replica_create(s, &id, &c, err));
    umbel_status status = fill_replica(s, c, f, &r, err);
    if (status && um_replica_find(s, &id, &slot))
        um_replica_free(s, slot);
    return status;
}

/* --- everything else ------------------------------------------------------ */

static void write_log_state(const um_sync_log *log, um_buffer *b)
{
    um_buffer_append(b, log->origin, UMBEL_ORIGIN_LEN);
    um_append_u64(b, log->incarnation);
    um_append_varint(b, log->n);
    for (size_t i = 0; i < log->n; i++) {
        const um_log_entry *e = &log->entry[i];
        um_buffer_append(b, &e->type, 1);
        um_append_varint(b, e->len);
        um_buffer_append(b, e->body, e->len);
        um_buffer_append(b, e->signature, sizeof e->signature);
    }
}

static void write_state(const umbel_sync *s, um_buffer *b)
{
    um_buffer_append(b, STATE_MAGIC, STATE_MAGIC_LEN);
    um_append_varint(b, s->nlists);
    for (size_t i = 0; i < s->nlists; i++) {
        write_name(b, s->list[i].name);
        um_append_varint(b, s->list[i].oldest);
    }
    um_append_varint(b, s->nrules);
    for (size_t i = 0; i < s->nrules; i++) {
        uint8_t status = (uint8_t)s->rule[i].status;
        um_buffer_append(b, s->rule[i].origin, UMBEL_ORIGIN_LEN);
        um_buffer_append(b, &status, 1);
    }
    um_append_varint(b, s->ncontradictions);
    for (size_t i = 0; i < s->ncontradictions; i++) {
        um_write_id(b, s, &s->contradiction[i].id);
        um_write_statement(b, &s->contradiction[i].one);
        um_write_statement(b, &s->contradiction[i].other);
    }
    um_append_varint(b, s->nlogs);
    for (size_t i = 0; i < s->nlogs; i++)
        write_log_state(&s->log[i], b);
}

umbel_status umbel_sync_export_state(const umbel_sync *s, void *out, size_t cap,
                                     size_t *len, umbel_error *err)
{
    um_buffer b = {.len = 0};
    umbel_status status = UMBEL_OK;

    write_state(s, &b);
    *len = b.len;
    if (b.failed)
        status = um_no_memory(err, b.len);
    else if (b.len > cap)
        status =
            um_fail(err, UMBEL_E_RANGE, "the state takes %zu bytes", b.len);
    else
        memcpy(out, b.data, b.len);
    um_buffer_fini(&b);
    return status;
}

static umbel_status bad_state(umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT, "the saved state is damaged");
}

static umbel_status get_state_rules(umbel_sync *s, um_reader *r,
                                    umbel_error *err)
{
    uint64_t n = um_get_varint(r);
    uint8_t origin[UMBEL_ORIGIN_LEN], rule;

    for (uint64_t i = 0; i < n; i++) {
        um_get_bytes(r, origin, sizeof origin);
        um_get_bytes(r, &rule, 1);
        if (r->bad || rule > UM_DROPPED)
            return bad_state(err);
        UM_TRY(rule == UM_DROPPED ? umbel_sync_drop(s, origin, false, err)
               : rule == UM_MUTED ? umbel_sync_mute(s, origin, err)
                                  : umbel_sync_allow(s, origin, err));
    }
    n = um_get_varint(r);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        um_sync_id id;
        um_statement one, other;
        umbel_status status = um_get_id(r, s, &id, NULL);
        um_get_statement(r, &one);
        um_get_statement(r, &other);
        if (!r->bad && !status)
            UM_TRY(um_contradiction_add(s, &id, &one, &other, -1, err));
    }
    return r->bad ? bad_state(err) : UMBEL_OK;
}

static umbel_status get_state_log(umbel_sync *s, um_reader *r, umbel_error *err)
{
    uint8_t origin[UMBEL_ORIGIN_LEN];

    um_get_bytes(r, origin, sizeof origin);
    uint64_t incarnation = um_get_u64(r), n = um_get_varint(r);
    for (uint64_t i = 0; i < n; i++) {
        um_log_entry e = {.retracted = false};
        um_get_bytes(r, &e.type, 1);
        uint64_t len = um_get_varint(r);
        if (r->bad || len > (uint64_t)(r->end - r->at))
            return bad_state(err);
        um_buffer body = {.len = 0};
        um_buffer_append(&body, r->at, (size_t)len);
        r->at += len;
        um_get_bytes(r, e.signature, sizeof e.signature);
        e.body = body.data;
        e.len = (uint32_t)len;
        umbel_status status = bad_state(err);
        bool applied; /* ignored: notices took effect when they came */
        if (!r->bad && !body.failed)
            status = um_log_apply(s, -1, origin, incarnation, i + 1, &e,
                                  &applied, err);
        um_buffer_fini(&body);
        UM_TRY(status);
    }
    return r->bad ? bad_state(err) : UMBEL_OK;
}

umbel_status umbel_sync_import_state(umbel_sync *s, const void *bytes,
                                     size_t len, umbel_error *err)
{
    um_reader r = {bytes, (const uint8_t *)bytes + len, false};
    char magic[STATE_MAGIC_LEN];

    um_get_bytes(&r, magic, sizeof magic);
    if (r.bad || memcmp(magic, STATE_MAGIC, sizeof magic) != 0)
        return bad_state(err);
    uint64_t n = um_get_varint(&r);
    for (uint64_t i = 0; i < n && !r.bad; i++) {
        size_t list;
        bool here = get_list(&r, s, &list);
        uint64_t oldest = um_get_varint(&r);
        if (here && oldest > s->list[list].oldest)
            s->list[list].oldest = oldest;
    }
    UM_TRY(get_state_rules(s, &r, err));
    n = um_get_varint(&r);
    for (uint64_t i = 0; i < n && !r.bad; i++)
        UM_TRY(get_state_log(s, &r, err));
    return r.bad || r.at != r.end ? bad_state(err) : UMBEL_OK;
}
