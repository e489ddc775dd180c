/*
 * sync_peer.c - what to send to a peer, and what came from it.
 *
 * Per peer there is a version for each copy: what the peer has, as it said.
 * Whatever it lacks is sent, as a difference from that. Nothing is queued: the
 * next message is made when it can be sent. What is not answered within
 * retry_seconds is sent again.
 *
 * Each side has another session with each connection. What the other had before
 * is forgotten, and messages of an old session are ignored.
 */
#include "base/error.h"
#include "base/rng.h"
#include "exchange/sync_inside.h"
#include "filter/head.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* What the machine keeps is taken for lost, and arrays that are as long as
 * their number says for NULL. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#pragma GCC diagnostic ignored "-Wanalyzer-null-dereference"
#endif

enum {
    PROTOCOL = 1,
    WORD = 8,       /* bytes of a root that tell roots apart */
    FLAG_FINAL = 1, /* HAVE: all was said; HELLO: say what you have */
    FLAG_RULES = 2, /* HAVE: who is not wanted, and who is out */
    FLAG_DONE = 4,  /* HAVE: you have all that I have */
    MARGIN = 512,   /* of a message, for what stands before the pages */
    MINUTE = 60,
    UPDATE_BYTES = 8 << 20 /* of pages, that one step of versions changes */
};

#define HAS_IT UINT64_MAX

/* --- peers ---------------------------------------------------------------- */

umbel_status umbel_sync_connect(umbel_sync *s, int *peer, umbel_error *err)
{
    size_t i = 0;

    while (i < s->npeers && s->peer[i].used)
        i++;
    if (i >= s->limit.peers)
        return um_fail(err, UMBEL_E_LIMIT,
                       "there are %u peers already: raise the limit peers",
                       s->limit.peers);
    if (i == s->npeers) {
        um_peer *all = um_grow_array(s->peer, &s->npeers, sizeof *all);
        if (!all)
            return um_no_memory(err, sizeof *all);
        s->peer = all;
    }
    s->peer[i] = (um_peer){.used = true, .greet = true};
    s->peer[i].own_session = s->connections
                                 ? um_mix(s->set.session + s->connections) | 1
                                 : s->set.session;
    s->connections++;
    *peer = (int)i;
    return UMBEL_OK;
}

static void forget_session(umbel_sync *s, um_peer *p)
{
    um_staging_fini(s, &p->staging);
    free(p->copy);
    free(p->log);
    free(p->proved);
    free(p->unwanted);
    p->copy = NULL;
    p->log = NULL;
    p->proved = NULL;
    p->unwanted = NULL;
    p->ncopies = p->nlogs = p->nproved = p->nunwanted = 0;
    p->known = p->done = p->said_done = false;
}

void umbel_sync_disconnect(umbel_sync *s, int peer)
{
    um_peer *p = &s->peer[peer];

    if (!p->used)
        return;
    forget_session(s, p);
    *p = (um_peer){.used = false};
}

static void *extend(void *array, size_t *have, size_t want, size_t size)
{
    if (*have >= want)
        return array;
    void *all = realloc(array, want * size);
    if (!all)
        return NULL;
    memset((uint8_t *)all + *have * size, 0, (want - *have) * size);
    *have = want;
    return all;
}

/* As many places as there are things to talk about. */
static bool keep_up(const umbel_sync *s, um_peer *p)
{
    void *copy = extend(p->copy, &p->ncopies, s->ncopies, sizeof *p->copy);
    if (copy || !s->ncopies)
        p->copy = copy;
    void *log = extend(p->log, &p->nlogs, s->nlogs, sizeof *p->log);
    if (log || !s->nlogs)
        p->log = log;
    void *proved =
        extend(p->proved, &p->nproved, s->ncontradictions, sizeof *p->proved);
    if (proved || !s->ncontradictions)
        p->proved = proved;
    return p->ncopies >= s->ncopies && p->nlogs >= s->nlogs &&
           p->nproved >= s->ncontradictions;
}

umbel_status um_sync_refuse(umbel_sync *s, int peer, umbel_sync_reason reason,
                            const um_sync_id *id, umbel_status status,
                            const char *text, umbel_error *err)
{
    char copy[sizeof err->text];
    um_peer *p = peer >= 0 ? &s->peer[peer] : NULL;

    snprintf(copy, sizeof copy, "%s", text);
    um_set_error(err, status, "%s", copy);
    if (p) {
        p->stats.refused[reason]++;
        if (p->logged[reason] && s->now < p->logged[reason] + MINUTE)
            return status;
        p->logged[reason] = s->now + !s->now;
    }
    um_sync_tell(s, &(umbel_sync_event){.kind = UMBEL_SYNC_REFUSED,
                                        .peer = peer,
                                        .origin = id ? id->origin : NULL,
                                        .incarnation = id ? id->incarnation : 0,
                                        .epoch = id ? id->epoch : 0,
                                        .list = id ? (int)id->list : -1,
                                        .reason = reason,
                                        .text = copy});
    return status;
}

/* When the version after that one came, or one that is not much younger. */
static uint64_t replaced_at(const um_copy *c, uint64_t version)
{
    for (size_t i = 0; i < c->nsteps; i++)
        if (c->step[i].from.version >= version && c->step[i].ended)
            return c->step[i].ended;
    return c->seen;
}

void umbel_sync_peer_stats_get(const umbel_sync *s, int peer,
                               umbel_sync_peer_stats *out)
{
    const um_peer *p = &s->peer[peer];

    *out = p->stats;
    out->known = p->known;
    out->behind = out->lacks_since = 0;
    for (size_t i = 0; i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        uint64_t acked = i < p->ncopies ? p->copy[i].acked : 0;
        if (!c || c->now.version <= acked)
            continue;
        uint64_t since = replaced_at(c, acked);
        out->behind++;
        if (!out->lacks_since || since < out->lacks_since)
            out->lacks_since = since;
    }
}

/* --- HELLO ---------------------------------------------------------------- */

static void put_hello(umbel_sync *s, um_peer *p)
{
    um_bytes *b = &s->out;
    uint8_t first[2] = {PROTOCOL, p->known ? 0 : FLAG_FINAL};

    um_message_begin(b, UM_MSG_HELLO);
    um_bytes_put(b, first, sizeof first);
    um_bytes_u64(b, p->own_session);
    um_bytes_u64(b, p->session);
    um_bytes_put(b, s->origin, UMBEL_ORIGIN_LEN);
    um_bytes_varint(b, s->nlists);
    for (size_t i = 0; i < s->nlists; i++) {
        const um_sync_of_list *l = &s->list[i];
        uint8_t head[UM_HEAD_MAX];
        size_t len = um_head_put(&l->shape->shape, 0, NULL, head);
        um_bytes_varint(b, strlen(l->name));
        um_bytes_put(b, l->name, strlen(l->name));
        um_bytes_varint(b, l->set.epoch_seconds);
        um_bytes_varint(b, l->set.page_bytes);
        um_bytes_varint(b, len);
        um_bytes_put(b, head, len);
    }
    p->greet = false;
    p->greeted = s->now + 1;
}

/* Says which field of a list differs. */
static umbel_status compare_list(umbel_sync *s, int peer, um_reader *r,
                                 umbel_error *err)
{
    char name[UMBEL_SYNC_MAX_NAME] = "";
    uint8_t bytes[UM_HEAD_MAX];
    umbel_error why = {.text = "another epoch length or page size"};
    um_head head;
    uint64_t len = um_get_varint(r);

    if (len >= sizeof name)
        return um_fail(err, UMBEL_E_FORMAT, "the name of a list is too long");
    um_get_bytes(r, name, (size_t)len);
    uint64_t seconds = um_get_varint(r), page = um_get_varint(r);
    len = um_get_varint(r);
    if (r->bad || len > sizeof bytes)
        return um_fail(err, UMBEL_E_FORMAT, "a greeting is cut short");
    um_get_bytes(r, bytes, (size_t)len);
    UM_TRY(um_head_decode(bytes, (size_t)len, &head, err));
    for (size_t i = 0; i < s->nlists; i++) {
        const um_sync_of_list *l = &s->list[i];
        if (strcmp(l->name, name) != 0)
            continue;
        if (um_same_shape(&l->shape->shape, &head.shape, &why) ||
            seconds != l->set.epoch_seconds || page != l->set.page_bytes) {
            um_sync_id id = {.list = i};
            um_sync_refuse(s, peer, UMBEL_SYNC_SHAPE, &id, UMBEL_E_MISMATCH,
                           why.text, err);
        }
    }
    return UMBEL_OK;
}

static umbel_status get_hello(umbel_sync *s, int peer, um_reader *r,
                              umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    uint8_t first[2], origin[UMBEL_ORIGIN_LEN];

    um_get_bytes(r, first, sizeof first);
    uint64_t session = um_get_u64(r), echo = um_get_u64(r);
    um_get_bytes(r, origin, sizeof origin);
    uint64_t n = um_get_varint(r);
    if (r->bad || !session || n > UMBEL_SYNC_MAX_LISTS)
        return um_fail(err, UMBEL_E_FORMAT, "a greeting is damaged");
    if (first[0] != PROTOCOL)
        return um_fail(err, UMBEL_E_VERSION,
                       "the peer speaks version %u of the protocol, not %d",
                       first[0], PROTOCOL);
    if (session != p->session) {
        forget_session(s, p);
        p->session = session;
        for (uint64_t i = 0; i < n; i++)
            UM_TRY(compare_list(s, peer, r, err));
    }
    if (echo != p->own_session)
        p->greet = true;
    if (echo != p->own_session || first[1] & FLAG_FINAL) {
        p->tell_all = p->tell_rules = true;
        if (keep_up(s, p)) {
            for (size_t i = 0; i < p->ncopies; i++)
                p->copy[i].tell = true;
            for (size_t i = 0; i < p->nlogs; i++)
                p->log[i].tell = true;
        }
    }
    return UMBEL_OK;
}

/* --- HAVE ----------------------------------------------------------------- */

static size_t put_copies(umbel_sync *s, um_peer *p, size_t room, um_bytes *b)
{
    size_t n = 0;

    for (size_t i = 0; i < p->ncopies && b->len < room; i++) {
        const um_copy *c = i < s->ncopies ? s->copy[i] : NULL;
        if (!p->copy[i].tell)
            continue;
        p->copy[i].tell = false;
        if (!c)
            continue;
        um_put_id(b, s, &c->id);
        um_bytes_varint(b, c->now.version);
        um_bytes_put(b, c->now.root, WORD);
        um_bytes_varint(b, c->refused);
        n++;
    }
    return n;
}

static size_t put_logs(const umbel_sync *s, um_peer *p, size_t room,
                       um_bytes *b)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nlogs && b->len < room; i++) {
        if (!p->log[i].tell)
            continue;
        p->log[i].tell = false;
        um_bytes_put(b, s->log[i].origin, UMBEL_ORIGIN_LEN);
        um_bytes_u64(b, s->log[i].incarnation);
        um_bytes_varint(b, s->log[i].n);
        um_bytes_u64(b, um_log_word(&s->log[i], s->log[i].n));
        n++;
    }
    return n;
}

static void put_rules(const umbel_sync *s, um_bytes *b)
{
    size_t n = 0;

    um_bytes_varint(b, s->ncontradictions);
    for (size_t i = 0; i < s->ncontradictions; i++) {
        um_bytes_put(b, s->contradiction[i].id.origin, UMBEL_ORIGIN_LEN);
        um_bytes_u64(b, s->contradiction[i].id.incarnation);
    }
    for (size_t i = 0; i < s->nrules; i++)
        n += s->rule[i].standing == UM_DROPPED;
    um_bytes_varint(b, n);
    for (size_t i = 0; i < s->nrules; i++)
        if (s->rule[i].standing == UM_DROPPED)
            um_bytes_put(b, s->rule[i].origin, UMBEL_ORIGIN_LEN);
}

static bool has_news(const um_peer *p)
{
    for (size_t i = 0; i < p->ncopies; i++)
        if (p->copy[i].tell)
            return true;
    for (size_t i = 0; i < p->nlogs; i++)
        if (p->log[i].tell)
            return true;
    return p->tell_all || p->tell_rules;
}

static bool put_have(umbel_sync *s, um_peer *p, bool done)
{
    um_bytes part = {.len = 0}, *b = &s->out;
    size_t room = s->limit.message_bytes / 4;

    if (!has_news(p) && !done)
        return false;
    um_message_begin(b, UM_MSG_HAVE);
    um_bytes_u64(b, p->own_session);
    um_bytes_u64(b, p->session);
    size_t flags_at = b->len;
    um_bytes_put(b, "", 1);
    size_t n = put_copies(s, p, room, &part);
    um_bytes_varint(b, n);
    um_bytes_put(b, part.at, part.len);
    part.len = 0;
    n = put_logs(s, p, room, &part);
    um_bytes_varint(b, n);
    um_bytes_put(b, part.at, part.len);
    uint8_t flags =
        (uint8_t)((p->tell_rules ? FLAG_RULES : 0) | (done ? FLAG_DONE : 0));
    if (p->tell_rules)
        put_rules(s, b);
    bool all = p->tell_all, failed = part.failed || b->failed;
    p->tell_all = p->tell_rules = false;
    if (all && !has_news(p))
        flags |= FLAG_FINAL;
    else
        p->tell_all = all;
    um_bytes_fini(&part);
    if (failed || !b->at)
        return false;
    b->at[flags_at] = flags;
    return true;
}

static void prove(um_peer_copy *pc, uint64_t version)
{
    pc->prove = true;
    pc->proof = version;
}

static void note_version(umbel_sync *s, um_peer *p, const um_sync_id *id,
                         uint64_t version, const uint8_t *word,
                         uint64_t refused)
{
    size_t slot;
    const um_copy *c = um_copy_find(s, id, &slot);

    if (!c || slot >= p->ncopies)
        return;
    um_peer_copy *pc = &p->copy[slot];
    const um_statement *ours = um_copy_statement(c, version);
    if (version && ours && memcmp(ours->root, word, WORD) != 0)
        prove(pc, version);
    else
        pc->again = 0;
    pc->refused = refused;
    if (version > pc->acked)
        pc->acked = version;
    if (pc->sent && version >= pc->sent)
        pc->sent = pc->part = 0;
    else if (pc->sent && !pc->part) /* it does not fit: try from there */
        pc->sent = version < pc->from ? pc->sent : 0;
}

static umbel_status get_rules(umbel_sync *s, um_peer *p, um_reader *r,
                              umbel_error *err)
{
    uint64_t n = um_get_varint(r);
    uint8_t origin[UMBEL_ORIGIN_LEN];

    for (uint64_t i = 0; i < n && !r->bad; i++) {
        um_get_bytes(r, origin, sizeof origin);
        uint64_t incarnation = um_get_u64(r);
        for (size_t j = 0; j < p->nproved; j++)
            if (s->contradiction[j].id.incarnation == incarnation &&
                memcmp(s->contradiction[j].id.origin, origin, sizeof origin) ==
                    0)
                p->proved[j] = HAS_IT;
    }
    n = um_get_varint(r);
    if (r->bad || n > (uint64_t)(r->end - r->at) / UMBEL_ORIGIN_LEN)
        return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: rules");
    free(p->unwanted);
    p->nunwanted = 0;
    p->unwanted = malloc((size_t)n * UMBEL_ORIGIN_LEN + 1);
    if (!p->unwanted)
        return um_no_memory(err, n);
    for (; p->nunwanted < n; p->nunwanted++)
        um_get_bytes(r, p->unwanted[p->nunwanted], UMBEL_ORIGIN_LEN);
    return UMBEL_OK;
}

static void note_log(umbel_sync *s, um_peer *p, const uint8_t *origin,
                     uint64_t incarnation, uint64_t n, uint64_t word)
{
    const um_sync_log *log = um_log_find(s, origin, incarnation, false);
    size_t i = log ? (size_t)(log - s->log) : 0;

    if (!log || i >= p->nlogs)
        return;
    if (n <= log->n && word != um_log_word(log, n)) {
        if (s->now >= p->log[i].retry) /* it has other entries */
            p->log[i].acked = p->log[i].sent = 0;
        return;
    }
    if (n > p->log[i].acked)
        p->log[i].acked = n < log->n ? n : log->n;
    if (p->log[i].acked >= p->log[i].sent)
        p->log[i].sent = 0;
}

static umbel_status get_have(umbel_sync *s, int peer, um_reader *r,
                             umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    uint8_t flags, word[WORD], origin[UMBEL_ORIGIN_LEN];
    uint64_t session = um_get_u64(r), echo = um_get_u64(r);

    um_get_bytes(r, &flags, 1);
    uint64_t n = um_get_varint(r);
    if (r->bad)
        return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: have");
    if (!s->rules->same_session(p->session, session) ||
        !s->rules->same_session(p->own_session, echo))
        return UMBEL_OK; /* of another life of one of us */
    if (!keep_up(s, p))
        return um_no_memory(err, s->ncopies);
    for (uint64_t i = 0; i < n; i++) {
        um_sync_id id;
        umbel_status status = um_get_id(r, s, &id, err);
        uint64_t version = um_get_varint(r);
        um_get_bytes(r, word, sizeof word);
        uint64_t refused = um_get_varint(r);
        if (r->bad)
            return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: have");
        if (!status)
            note_version(s, p, &id, version, word, refused);
    }
    n = um_get_varint(r);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        um_get_bytes(r, origin, sizeof origin);
        uint64_t incarnation = um_get_u64(r), entries = um_get_varint(r);
        note_log(s, p, origin, incarnation, entries, um_get_u64(r));
    }
    if (r->bad)
        return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: logs");
    if (flags & FLAG_RULES)
        UM_TRY(get_rules(s, p, r, err));
    p->known |= flags & FLAG_FINAL;
    p->done |= (flags & FLAG_DONE) != 0;
    return UMBEL_OK;
}

/* --- STATEMENT, CONTRADICTION --------------------------------------------- */

static bool put_statement(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->ncopies && i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        const um_statement *st;
        um_peer_copy *pc = &p->copy[i];
        if (!c || !(pc->prove || (pc->again && s->now >= pc->again)))
            continue;
        pc->prove = false;
        pc->again = s->now + s->limit.retry_seconds;
        st = um_copy_statement(c, pc->proof);
        if (!st || !st->version) {
            pc->again = 0;
            continue;
        }
        um_message_begin(&s->out, UM_MSG_STATEMENT);
        um_put_id(&s->out, s, &c->id);
        um_put_statement(&s->out, st);
        return true;
    }
    return false;
}

static umbel_status get_statement(umbel_sync *s, int peer, um_reader *r,
                                  umbel_error *err)
{
    um_sync_id id;
    um_statement st;
    umbel_error why;
    umbel_status status = um_get_id(r, s, &id, &why);

    um_get_statement(r, &st);
    if (r->bad || status == UMBEL_E_FORMAT)
        return um_fail(err, UMBEL_E_FORMAT, "a statement is cut short");
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LIST, NULL, status, why.text,
                              err);
    const um_copy *c = um_copy_find(s, &id, NULL);
    const um_statement *ours = c ? um_copy_statement(c, st.version) : NULL;
    if (!ours || memcmp(ours->root, st.root, UM_HASH_LEN) == 0)
        return UMBEL_OK;
    if (!um_statement_holds(s, &id, &st))
        return um_sync_refuse(s, peer, UMBEL_SYNC_ROOT, &id, UMBEL_E_REFUSED,
                              "a statement is not signed by its origin", err);
    um_statement mine = *ours;
    return um_contradiction_add(s, &id, &mine, &st, peer, err);
}

static bool put_contradiction(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->nproved && i < s->ncontradictions; i++) {
        const um_contradiction *c = &s->contradiction[i];
        if (p->proved[i] == HAS_IT || s->now + 1 < p->proved[i])
            continue;
        p->proved[i] = s->now + 1 + s->limit.retry_seconds;
        um_message_begin(&s->out, UM_MSG_CONTRADICTION);
        um_put_id(&s->out, s, &c->id);
        um_put_statement(&s->out, &c->one);
        um_put_statement(&s->out, &c->other);
        return true;
    }
    return false;
}

static umbel_status get_contradiction(umbel_sync *s, int peer, um_reader *r,
                                      umbel_error *err)
{
    um_sync_id id;
    um_statement one, other;
    umbel_error why;
    umbel_status status = um_get_id(r, s, &id, &why);

    um_get_statement(r, &one);
    um_get_statement(r, &other);
    if (r->bad || status == UMBEL_E_FORMAT)
        return um_fail(err, UMBEL_E_FORMAT, "a contradiction is cut short");
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LIST, NULL, status, why.text,
                              err);
    s->peer[peer].tell_rules = true;
    if (um_is_contradicted(s, id.origin, id.incarnation))
        return UMBEL_OK;
    if (one.version != other.version ||
        memcmp(one.root, other.root, UM_HASH_LEN) == 0 ||
        !um_statement_holds(s, &id, &one) ||
        !um_statement_holds(s, &id, &other))
        return um_sync_refuse(s, peer, UMBEL_SYNC_ROOT, &id, UMBEL_E_REFUSED,
                              "a contradiction that is none", err);
    return um_contradiction_add(s, &id, &one, &other, peer, err);
}

/* --- LOG ------------------------------------------------------------------ */

static bool is_wanted(const um_peer *p, const uint8_t *origin)
{
    for (size_t i = 0; i < p->nunwanted; i++)
        if (memcmp(p->unwanted[i], origin, UMBEL_ORIGIN_LEN) == 0)
            return false;
    return true;
}

static size_t put_entries(const um_sync_log *log, uint64_t from, size_t room,
                          um_bytes *b)
{
    size_t n = 0;

    for (uint64_t i = from; i < log->n && (!n || b->len < room); i++, n++) {
        const um_log_entry *e = &log->entry[i];
        um_bytes_put(b, &e->type, 1);
        um_bytes_varint(b, e->len);
        um_bytes_put(b, e->body, e->len);
        um_bytes_put(b, e->signature, sizeof e->signature);
    }
    return n;
}

static bool put_log(umbel_sync *s, um_peer *p)
{
    um_bytes part = {.len = 0};

    for (size_t i = 0; i < p->nlogs && i < s->nlogs; i++) {
        const um_sync_log *log = &s->log[i];
        uint64_t from = p->log[i].acked;
        if (from >= log->n || !is_wanted(p, log->origin) ||
            (p->log[i].sent && s->now < p->log[i].retry))
            continue;
        size_t n = put_entries(log, from, s->limit.message_bytes / 4, &part);
        um_message_begin(&s->out, UM_MSG_LOG);
        um_bytes_u64(&s->out, p->own_session);
        um_bytes_put(&s->out, log->origin, UMBEL_ORIGIN_LEN);
        um_bytes_u64(&s->out, log->incarnation);
        um_bytes_varint(&s->out, from + 1);
        um_bytes_varint(&s->out, n);
        um_bytes_put(&s->out, part.at, part.len);
        p->log[i].sent = from + n;
        p->log[i].retry = s->now + s->limit.retry_seconds;
        s->out.failed |= part.failed;
        um_bytes_fini(&part);
        return true;
    }
    return false;
}

/* What an incarnation said in its log stays when its filters are out. */
static umbel_status check_standing(umbel_sync *s, int peer,
                                   const um_sync_id *id, umbel_error *err)
{
    if (um_standing_of(s, id->origin) == UM_DROPPED) {
        s->peer[peer].tell_rules = true;
        return um_sync_refuse(s, peer, UMBEL_SYNC_ORIGIN, id, UMBEL_E_REFUSED,
                              "an origin that was dropped, or is not allowed",
                              err);
    }
    return UMBEL_OK;
}

static umbel_status check_origin(umbel_sync *s, int peer, const um_sync_id *id,
                                 umbel_error *err)
{
    UM_TRY(check_standing(s, peer, id, err));
    if (um_is_contradicted(s, id->origin, id->incarnation)) {
        s->peer[peer].tell_rules = true;
        return um_sync_refuse(s, peer, UMBEL_SYNC_INCARNATION, id,
                              UMBEL_E_REFUSED,
                              "an incarnation that contradicted itself", err);
    }
    return UMBEL_OK;
}

static umbel_status get_log(umbel_sync *s, int peer, um_reader *r,
                            umbel_error *err)
{
    um_sync_id id = {.list = 0};
    umbel_status status = UMBEL_OK;
    umbel_error why;
    bool same = true;

    uint64_t session = um_get_u64(r);
    um_get_bytes(r, id.origin, sizeof id.origin);
    id.incarnation = um_get_u64(r);
    uint64_t seq = um_get_varint(r), n = um_get_varint(r);
    if (r->bad)
        return um_fail(err, UMBEL_E_FORMAT, "a log is cut short");
    UM_TRY(check_standing(s, peer, &id, err));
    for (uint64_t i = 0; i < n && !status; i++) {
        um_log_entry e;
        um_get_bytes(r, &e.type, 1);
        uint64_t len = um_get_varint(r);
        if (r->bad || len > (uint64_t)(r->end - r->at))
            return um_fail(err, UMBEL_E_FORMAT, "a log is cut short");
        uint8_t *body = malloc((size_t)len + 1);
        if (!body)
            return um_no_memory(err, len);
        um_get_bytes(r, body, (size_t)len);
        um_get_bytes(r, e.signature, sizeof e.signature);
        e.body = body;
        e.len = (uint32_t)len;
        e.taken_back = false;
        status = um_fail(&why, UMBEL_E_FORMAT, "a log is cut short");
        if (!r->bad)
            status = um_log_take(s, peer, id.origin, id.incarnation, seq + i,
                                 &e, &why);
        free(body);
        same = same && !status &&
               um_log_has(um_log_find(s, id.origin, id.incarnation, false),
                          seq + i, &e);
    }
    um_peer *p = &s->peer[peer];
    const um_sync_log *log = um_log_find(s, id.origin, id.incarnation, false);
    if (log && keep_up(s, p)) {
        size_t i = (size_t)(log - s->log);
        p->log[i].tell = true;
        if (!status && !same) /* ours stay: it should have them */
            p->log[i].acked = p->log[i].sent = 0;
        else if (!status && s->rules->same_session(p->session, session) &&
                 seq + n - 1 > p->log[i].acked)
            p->log[i].acked = seq + n - 1 < log->n ? seq + n - 1 : log->n;
    }
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LOG, &id, status, why.text,
                              err);
    return UMBEL_OK;
}

/* --- UPDATE --------------------------------------------------------------- */

/* What is to be sent of a copy: from where, and which version. */
static bool plan_update(const umbel_sync *s, const um_copy *c, um_peer_copy *pc)
{
    bool going_on = pc->part && um_copy_statement(c, pc->sent);

    if (going_on)
        return true;
    pc->part = pc->page = 0;
    if (!c->now.version || c->now.version <= pc->acked ||
        c->now.version <= pc->refused || (pc->sent && s->now < pc->retry))
        return false;
    pc->from = pc->acked;
    pc->sent = um_copy_reach(c, pc->acked,
                             UPDATE_BYTES / s->list[c->id.list].pages.max_page);
    return true;
}

static bool put_update_of(umbel_sync *s, um_peer *p, size_t slot)
{
    const um_copy *c = s->copy[slot];
    um_peer_copy *pc = &p->copy[slot];
    const um_statement *st = um_copy_statement(c, pc->sent),
                       *base = um_copy_statement(c, pc->from);
    uint8_t none[WORD] = {0}, last = 0;
    um_bytes *b = &s->out;

    um_message_begin(b, UM_MSG_UPDATE);
    um_bytes_u64(b, p->own_session);
    um_put_id(b, s, &c->id);
    um_bytes_varint(b, pc->from);
    um_bytes_put(b, base && pc->from ? base->root : none, WORD);
    um_bytes_varint(b, st->version);
    um_bytes_varint(b, st->keys);
    um_bytes_varint(b, pc->part);
    size_t last_at = b->len;
    um_bytes_put(b, &last, 1);
    um_bytes_put(b, st->signature, UM_SIGNATURE_LEN);
    if (um_update_put(s, c, pc->from, pc->sent, &pc->page,
                      s->limit.message_bytes / 2 - MARGIN, b,
                      &p->stats.changed_out, NULL))
        return false;
    last = pc->page == s->list[c->id.list].pages.n;
    b->at[last_at] = last;
    pc->part = last ? 0 : pc->part + 1;
    pc->retry = s->now + s->limit.retry_seconds;
    return true;
}

static bool put_update(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->ncopies && i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        if (c && is_wanted(p, c->id.origin) && plan_update(s, c, &p->copy[i]) &&
            put_update_of(s, p, i))
            return true;
    }
    return false;
}

static umbel_status check_epoch(umbel_sync *s, int peer, const um_sync_id *id,
                                umbel_error *err)
{
    const um_sync_of_list *l = &s->list[id->list];
    uint64_t seconds = l->set.epoch_seconds;

    if (s->rules->is_expired(id->epoch, l->oldest))
        return um_sync_refuse(s, peer, UMBEL_SYNC_EPOCH, id, UMBEL_E_REFUSED,
                              "an epoch that is over", err);
    if (seconds ? id->epoch > (s->now + s->limit.clock_skew) / seconds
                : id->epoch > 0)
        return um_sync_refuse(s, peer, UMBEL_SYNC_EPOCH, id, UMBEL_E_REFUSED,
                              "an epoch that has not begun: a clock is wrong",
                              err);
    return UMBEL_OK;
}

/* What an update says before its pages. */
typedef struct update_head {
    um_sync_id id;
    uint64_t session; /* of the sender: what it has now, unless it restarted */
    uint64_t base, version, keys, part;
    uint8_t word[WORD], last, signature[UM_SIGNATURE_LEN];
} update_head;

static umbel_status get_update_head(umbel_sync *s, int peer, um_reader *r,
                                    update_head *h, umbel_error *err)
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
    UM_TRY(check_origin(s, peer, &h->id, err));
    UM_TRY(check_epoch(s, peer, &h->id, err));
    if (h->version == 0 || h->version == UINT64_MAX)
        return um_sync_refuse(s, peer, UMBEL_SYNC_VERSION, &h->id,
                              UMBEL_E_REFUSED, "a version out of range", err);
    return UMBEL_OK;
}

static bool goes_on(const um_staging *g, const update_head *h, uint64_t have)
{
    return g->active && um_same_id(&g->id, &h->id) && g->have == have &&
           g->base == h->base && g->version == h->version &&
           g->keys == h->keys && g->next_part == h->part;
}

static umbel_status begin_staging(umbel_sync *s, um_staging *g,
                                  const update_head *h, uint64_t have,
                                  umbel_error *err)
{
    um_staging_fini(s, g);
    *g = (um_staging){.active = true,
                      .id = h->id,
                      .base = h->base,
                      .version = h->version,
                      .keys = h->keys};
    memcpy(g->signature, h->signature, sizeof g->signature);
    return um_staging_begin(s, g, have, err);
}

static umbel_status stage_part(umbel_sync *s, int peer, const update_head *h,
                               uint64_t have, um_reader *r, umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    um_staging *g = &p->staging;
    umbel_sync_reason reason = UMBEL_SYNC_MEMORY;
    umbel_status status = UMBEL_OK;
    umbel_error why;

    if (!h->part)
        status = begin_staging(s, g, h, have, &why);
    else if (!goes_on(g, h, have))
        return UMBEL_OK; /* a part was lost: it comes again */
    if (!status)
        status = um_update_get(s, g, r, &reason, &why);
    if (status)
        status = um_sync_refuse(s, peer, reason, &h->id, status, why.text, err);
    g->next_part++;
    if (!status && h->last) {
        status = um_copy_take(s, peer, g, err);
        if (!status)
            p->stats.changed_in += g->changed;
    }
    if (status || h->last)
        um_staging_fini(s, g);
    return status;
}

static umbel_status get_update(umbel_sync *s, int peer, um_reader *r,
                               umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    umbel_status status = UMBEL_OK;
    update_head h;
    size_t slot;

    UM_TRY(get_update_head(s, peer, r, &h, err));
    um_copy *c = um_copy_find(s, &h.id, &slot);
    uint64_t have = c ? c->now.version : 0;
    bool newer = s->rules->is_newer(have, h.version),
         fits = s->rules->fits_base(have, h.base);
    if (newer && fits && c && h.base && !um_all_zero(h.word, WORD) &&
        memcmp(c->now.root, h.word, WORD) != 0) {
        if (keep_up(s, p))
            prove(&p->copy[slot], have);
        fits = false;
    }
    if (newer && fits)
        status = stage_part(s, peer, &h, have, r, err);
    c = um_copy_find(s, &h.id, &slot);
    if (!c || !keep_up(s, p))
        return status;
    p->copy[slot].tell |= !newer || !fits || h.last || status;
    if (!status && h.last && c->now.version == h.version &&
        s->rules->same_session(p->session, h.session) &&
        p->copy[slot].acked < h.version)
        p->copy[slot].acked = h.version;
    return status;
}

/* --- the two verbs -------------------------------------------------------- */

typedef umbel_status get_fn(umbel_sync *s, int peer, um_reader *r,
                            umbel_error *err);

static get_fn *const getters[] = {[UM_MSG_HELLO] = get_hello,
                                  [UM_MSG_HAVE] = get_have,
                                  [UM_MSG_UPDATE] = get_update,
                                  [UM_MSG_STATEMENT] = get_statement,
                                  [UM_MSG_CONTRADICTION] = get_contradiction,
                                  [UM_MSG_LOG] = get_log};

umbel_status umbel_sync_receive(umbel_sync *s, int peer, const void *message,
                                size_t len, uint64_t now, umbel_error *err)
{
    um_message_type type;
    umbel_error why;
    um_reader r;
    um_peer *p = &s->peer[peer];

    umbel_sync_tick(s, now);
    p->idle = false;
    p->stats.messages_in++;
    p->stats.bytes_in += len;
    umbel_status status = um_message_open(s, message, len, &type, &r, &why);
    if (!status) {
        uint64_t refused = 0, after = 0;
        for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
            refused += p->stats.refused[i];
        status = getters[type](s, peer, &r, &why);
        for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
            after += p->stats.refused[i];
        if (status && after != refused) { /* it has been counted */
            um_set_error(err, status, "%s", why.text);
            return status;
        }
    }
    if (status)
        return um_sync_refuse(s, peer,
                              status == UMBEL_E_CHECKSUM ? UMBEL_SYNC_CHECKSUM
                                                         : UMBEL_SYNC_FORMAT,
                              NULL, status, why.text, err);
    return UMBEL_OK;
}

static bool make_message(umbel_sync *s, um_peer *p)
{
    if (p->greet ||
        (!p->known && s->now + 1 >= p->greeted + s->limit.retry_seconds)) {
        put_hello(s, p);
        return true;
    }
    if (!p->session || !keep_up(s, p))
        return false;
    if (put_have(s, p, false))
        return true;
    if (p->known && (put_contradiction(s, p) || put_statement(s, p) ||
                     put_log(s, p) || put_update(s, p)))
        return true;
    if (!s->set.announce || p->said_done ||
        !umbel_sync_settled(s, (int)(p - s->peer)))
        return false;
    p->said_done = true;
    return put_have(s, p, true);
}

/* Nothing was to be sent, and neither time nor anything else has changed. */
static bool is_idle(const umbel_sync *s, const um_peer *p)
{
    return p->idle && p->idle_at == s->now && p->idle_changes == s->changes;
}

bool umbel_sync_next(umbel_sync *s, int peer, uint64_t now,
                     umbel_slice *message)
{
    um_peer *p = &s->peer[peer];

    umbel_sync_tick(s, now);
    if (!p->used || is_idle(s, p))
        return false;
    if (!make_message(s, p)) {
        p->idle = true;
        p->idle_at = s->now;
        p->idle_changes = s->changes;
        return false;
    }
    um_message_end(&s->out);
    if (s->out.failed)
        return false;
    *message = (umbel_slice){s->out.at, s->out.len};
    p->stats.messages_out++;
    p->stats.bytes_out += s->out.len;
    return true;
}

bool umbel_sync_settled(const umbel_sync *s, int peer)
{
    const um_peer *p = &s->peer[peer];

    if (!p->known || has_news(p) || p->greet || p->nproved < s->ncontradictions)
        return false;
    for (size_t i = 0; i < s->ncopies; i++) {
        const um_copy *c = s->copy[i];
        const um_peer_copy *pc = i < p->ncopies ? &p->copy[i] : NULL;
        if (c && c->now.version && is_wanted(p, c->id.origin) &&
            (!pc || pc->prove ||
             (pc->acked < c->now.version && pc->refused < c->now.version)))
            return false;
    }
    for (size_t i = 0; i < s->nlogs; i++)
        if (s->log[i].n && is_wanted(p, s->log[i].origin) &&
            (i >= p->nlogs || p->log[i].acked < s->log[i].n))
            return false;
    for (size_t i = 0; i < p->nproved; i++)
        if (p->proved[i] != HAS_IT)
            return false;
    return true;
}

bool umbel_sync_finished(const umbel_sync *s, int peer)
{
    const um_peer *p = &s->peer[peer];

    return p->done && p->said_done && umbel_sync_settled(s, peer);
}
