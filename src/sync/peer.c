/*
 * peer.c - chooses what to send to a peer, and handles what it sent.
 *
 * For each replica we store the version that the peer has, as reported in its
 * HAVE messages, which also serve as acknowledgements. Versions that it lacks
 * are sent as differences from that one. Nothing is queued: a message is made
 * when it can be sent. A message that is not acknowledged within retry_seconds
 * is sent again.
 */
#include "base/error.h"
#include "filter/head.h"
#include "sync/internal.h"

#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer reports memory owned by a peer as leaked. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum {
    PROTOCOL = 1,
    FLAG_FINAL = 1, /* HAVE: report complete; HELLO: report what you have */
    FLAG_RULES = 2, /* HAVE: contradicted and dropped origins follow */
    FLAG_DONE = 4   /* HAVE: you have everything that I have */
};

/* --- HELLO ---------------------------------------------------------------- */

/* Writes the `agree` texts, which must be equal for a list to be synced. Lists
 * are numbered as in the HELLO. */
static void write_agreed(const umbel_sync *s, um_buffer *b)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->nlists; i++)
        n += s->list[i].agree[0] != '\0';
    if (!n)
        return;
    um_append_varint(b, n);
    for (size_t i = 0; i < s->nlists; i++) {
        size_t len = strlen(s->list[i].agree);
        if (!len)
            continue;
        um_append_varint(b, i);
        um_append_varint(b, len);
        um_buffer_append(b, s->list[i].agree, len);
    }
}

static void send_hello(umbel_sync *s, um_peer *p)
{
    um_buffer *b = &s->out;
    uint8_t first[2] = {PROTOCOL, p->known ? 0 : FLAG_FINAL};

    um_message_begin(b, UM_MSG_HELLO);
    um_buffer_append(b, first, sizeof first);
    um_append_u64(b, p->own_session);
    um_append_u64(b, p->session);
    um_buffer_append(b, s->origin, UMBEL_ORIGIN_LEN);
    um_append_varint(b, s->nlists);
    for (size_t i = 0; i < s->nlists; i++) {
        const um_sync_list *l = &s->list[i];
        uint8_t head[UM_HEAD_MAX];
        size_t len = um_head_encode(um_shape_of(l->shape), 0, NULL, head);
        um_append_varint(b, strlen(l->name));
        um_buffer_append(b, l->name, strlen(l->name));
        um_append_varint(b, l->set.epoch_seconds);
        um_append_varint(b, l->set.page_bytes);
        um_append_varint(b, len);
        um_buffer_append(b, head, len);
    }
    write_agreed(s, b);
    p->hello = false;
    p->hello_at = s->now + 1;
}

/* A list of a HELLO: our list of that name, and its `agree` text. */
typedef struct hello_list {
    size_t list; /* nlists: none, or its shape differs */
    char agree[UMBEL_SYNC_MAX_AGREE];
} hello_list;

/* Reads a list of a HELLO and compares it with ours. If the shapes differ, the
 * refusal names the field. */
static umbel_status compare_list(umbel_sync *s, int peer, um_reader *r,
                                 hello_list *out, umbel_error *err)
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
        return um_fail(err, UMBEL_E_FORMAT, "a HELLO is cut short");
    um_get_bytes(r, bytes, (size_t)len);
    UM_TRY(um_head_decode(bytes, (size_t)len, &head, err));
    for (size_t i = 0; i < s->nlists; i++) {
        const um_sync_list *l = &s->list[i];
        if (strcmp(l->name, name) != 0)
            continue;
        if (um_same_shape(um_shape_of(l->shape), &head.shape, &why) ||
            seconds != l->set.epoch_seconds || page != l->set.page_bytes) {
            um_sync_id id = {.list = i};
            um_sync_refuse(s, peer, UMBEL_SYNC_SHAPE, &id, UMBEL_E_MISMATCH,
                           why.text, err);
        } else {
            out->list = i;
        }
    }
    return UMBEL_OK;
}

/* Reads the `agree` texts; older HELLOs may end before them. */
static umbel_status get_agreed(um_reader *r, hello_list *g, uint64_t n,
                               umbel_error *err)
{
    uint64_t left = r->at < r->end ? um_get_varint(r) : 0;

    for (; left && !r->bad; left--) {
        uint64_t i = um_get_varint(r), len = um_get_varint(r);
        if (r->bad || i >= n || len >= UMBEL_SYNC_MAX_AGREE)
            return um_fail(err, UMBEL_E_FORMAT, "a HELLO is damaged");
        um_get_bytes(r, g[i].agree, (size_t)len);
        g[i].agree[len] = '\0';
        if (r->bad || !um_is_agree(g[i].agree))
            return um_fail(err, UMBEL_E_FORMAT, "a HELLO is damaged");
    }
    return r->bad ? um_fail(err, UMBEL_E_FORMAT, "a HELLO is cut short")
                  : UMBEL_OK;
}

/* Compares the `agree` texts. If "seed=1-2" and "seed=1-3" differ, the message
 * names the part before "=". */
static void apply_agreed(umbel_sync *s, int peer, const hello_list *g)
{
    const char *ours = s->list[g->list].agree;
    const char *name = ours[0] ? ours : g->agree;
    um_sync_id id = {.list = g->list};
    umbel_error why, ignored;

    if (strcmp(ours, g->agree) == 0) {
        s->peer[peer].lists |= (uint64_t)1 << g->list;
        return;
    }
    um_set_error(&why, UMBEL_E_MISMATCH,
                 "the servers differ in %.*s of the list: %s here, %s at the "
                 "peer; configure both alike",
                 (int)strcspn(name, "="), name, ours[0] ? ours : "none",
                 g->agree[0] ? g->agree : "none");
    um_sync_refuse(s, peer, UMBEL_SYNC_SHAPE, &id, UMBEL_E_MISMATCH, why.text,
                   &ignored);
}

static umbel_status compare_lists(umbel_sync *s, int peer, um_reader *r,
                                  uint64_t n, umbel_error *err)
{
    hello_list g[UMBEL_SYNC_MAX_LISTS];

    for (uint64_t i = 0; i < n; i++) {
        g[i] = (hello_list){.list = s->nlists};
        UM_TRY(compare_list(s, peer, r, &g[i], err));
    }
    UM_TRY(get_agreed(r, g, n, err));
    for (uint64_t i = 0; i < n; i++)
        if (g[i].list < s->nlists)
            apply_agreed(s, peer, &g[i]);
    return UMBEL_OK;
}

static umbel_status receive_hello(umbel_sync *s, int peer, um_reader *r,
                                  umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    uint8_t first[2], origin[UMBEL_ORIGIN_LEN];

    um_get_bytes(r, first, sizeof first);
    uint64_t session = um_get_u64(r), echo = um_get_u64(r);
    um_get_bytes(r, origin, sizeof origin);
    uint64_t n = um_get_varint(r);
    if (r->bad || !session || n > UMBEL_SYNC_MAX_LISTS)
        return um_fail(err, UMBEL_E_FORMAT, "a HELLO is damaged");
    if (first[0] != PROTOCOL)
        return um_fail(err, UMBEL_E_VERSION,
                       "the peer speaks version %u of the protocol, not %d",
                       first[0], PROTOCOL);
    if (session != p->session) {
        um_peer_forget(s, p);
        p->session = session;
        p->twin = s->set.sign_key && um_is_our_origin(s, origin);
        p->lists = 0;
        UM_TRY(compare_lists(s, peer, r, n, err));
    }
    if (echo != p->own_session)
        p->hello = true;
    if (echo != p->own_session || first[1] & FLAG_FINAL) {
        p->report_all = p->report_rules = true;
        if (um_peer_extend(s, p)) {
            for (size_t i = 0; i < p->nreplicas; i++)
                p->replica[i].report = true;
            for (size_t i = 0; i < p->nlogs; i++)
                p->log[i].report = true;
        }
    }
    return UMBEL_OK;
}

/* --- HAVE ----------------------------------------------------------------- */

static size_t write_replicas(umbel_sync *s, um_peer *p, size_t room,
                             um_buffer *b)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nreplicas && b->len < room; i++) {
        const um_replica *c = i < s->nreplicas ? s->replica[i] : NULL;
        if (!p->replica[i].report)
            continue;
        p->replica[i].report = false;
        if (!c || !um_peer_has_list(p, c))
            continue;
        um_write_id(b, s, &c->id);
        const um_statement *st = um_replica_signed(c, p->replica[i].disputed);
        if (!p->replica[i].disputed || !st)
            st = &c->now;
        um_append_varint(b, st->version);
        um_buffer_append(b, st->root, UM_ROOT_WORD);
        um_append_varint(b, c->refused);
        n++;
    }
    return n;
}

static size_t write_logs(const umbel_sync *s, um_peer *p, size_t room,
                         um_buffer *b)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nlogs && b->len < room; i++) {
        if (!p->log[i].report)
            continue;
        p->log[i].report = false;
        um_buffer_append(b, s->log[i].origin, UMBEL_ORIGIN_LEN);
        um_append_u64(b, s->log[i].incarnation);
        um_append_varint(b, s->log[i].n);
        um_append_u64(b, um_log_word(&s->log[i], s->log[i].n));
        n++;
    }
    return n;
}

static void write_rules(const umbel_sync *s, const um_peer *p, um_buffer *b)
{
    size_t n = p->ndeclined;

    um_append_varint(b, s->ncontradictions);
    for (size_t i = 0; i < s->ncontradictions; i++) {
        um_buffer_append(b, s->contradiction[i].id.origin, UMBEL_ORIGIN_LEN);
        um_append_u64(b, s->contradiction[i].id.incarnation);
    }
    for (size_t i = 0; i < s->nrules; i++)
        n += s->rule[i].status == UM_DROPPED;
    um_append_varint(b, n);
    for (size_t i = 0; i < s->nrules; i++)
        if (s->rule[i].status == UM_DROPPED)
            um_buffer_append(b, s->rule[i].origin, UMBEL_ORIGIN_LEN);
    if (p->ndeclined)
        um_buffer_append(b, p->declined, p->ndeclined * UMBEL_ORIGIN_LEN);
}

static bool has_news(const um_peer *p)
{
    for (size_t i = 0; i < p->nreplicas; i++)
        if (p->replica[i].report)
            return true;
    for (size_t i = 0; i < p->nlogs; i++)
        if (p->log[i].report)
            return true;
    return p->report_all || p->report_rules;
}

static bool send_have(umbel_sync *s, um_peer *p, bool done)
{
    um_buffer part = {.len = 0}, *b = &s->out;
    size_t room = s->limit.message_bytes / 4;

    if (!has_news(p) && !done)
        return false;
    um_message_begin(b, UM_MSG_HAVE);
    um_append_u64(b, p->own_session);
    um_append_u64(b, p->session);
    size_t flags_at = b->len;
    um_buffer_append(b, "", 1);
    size_t n = write_replicas(s, p, room, &part);
    um_append_varint(b, n);
    um_buffer_append(b, part.data, part.len);
    part.len = 0;
    n = write_logs(s, p, room, &part);
    um_append_varint(b, n);
    um_buffer_append(b, part.data, part.len);
    uint8_t flags =
        (uint8_t)((p->report_rules ? FLAG_RULES : 0) | (done ? FLAG_DONE : 0));
    if (p->report_rules)
        write_rules(s, p, b);
    bool all = p->report_all, failed = part.failed || b->failed;
    p->report_all = p->report_rules = false;
    if (all && !has_news(p))
        flags |= FLAG_FINAL;
    else
        p->report_all = all;
    um_buffer_fini(&part);
    if (failed || !b->data)
        return false;
    b->data[flags_at] = flags;
    return true;
}

/* Records what a peer has. Returns true if it claims to have another version of
 * a filter of ours, so old that it cannot be proved. */
static bool record_version(umbel_sync *s, um_peer *p, const um_sync_id *id,
                           uint64_t version, const uint8_t *word,
                           uint64_t refused)
{
    size_t slot;
    const um_replica *c = um_replica_find(s, id, &slot);

    if (!c || slot >= p->nreplicas)
        return false;
    um_peer_replica *pc = &p->replica[slot];
    const um_statement *ours = um_replica_signed(c, version);
    bool of_ours = um_is_our_origin(s, id->origin);
    bool differs =
        version && ours && memcmp(ours->root, word, UM_ROOT_WORD) != 0;
    /* We send no proof against ourselves, but the peer's statement tells us
     * what we signed. Of two copies of a machine, one acts, and the other one
     * sends its statement. */
    uint64_t disputed = differs && of_ours ? version : 0;
    pc->report |= disputed != pc->disputed;
    pc->disputed = disputed;
    if (differs && (!of_ours || (s->set.announce && p->twin &&
                                 p->session < p->own_session)))
        um_peer_prove(pc, version);
    else
        pc->again = 0;
    pc->refused = refused;
    if (version > pc->acked)
        pc->acked = version;
    if (pc->sent && version >= pc->sent)
        pc->sent = pc->part = 0;
    else if (pc->sent && !pc->part) /* not accepted: retry from its version */
        pc->sent = version < pc->from ? pc->sent : 0;
    return of_ours && s->set.announce && version && !ours &&
           version < c->now.version && refused >= c->now.version;
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
                p->proved[j] = UM_HAS_IT;
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

static void record_log(umbel_sync *s, um_peer *p, const uint8_t *origin,
                       uint64_t incarnation, uint64_t n, uint64_t word)
{
    const um_sync_log *log = um_log_find(s, origin, incarnation, false);
    size_t i = log ? (size_t)(log - s->log) : 0;

    if (!log || i >= p->nlogs)
        return;
    if (n <= log->n && word != um_log_word(log, n)) {
        if (s->now >= p->log[i].retry) /* its entries differ from ours */
            p->log[i].acked = p->log[i].sent = 0;
        return;
    }
    if (n > p->log[i].acked)
        p->log[i].acked = n < log->n ? n : log->n;
    if (p->log[i].acked >= p->log[i].sent)
        p->log[i].sent = 0;
}

static umbel_status receive_have(umbel_sync *s, int peer, um_reader *r,
                                 umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    uint8_t flags, word[UM_ROOT_WORD], origin[UMBEL_ORIGIN_LEN];
    uint64_t session = um_get_u64(r), echo = um_get_u64(r);
    bool disputed = false;
    um_sync_id claim;

    um_get_bytes(r, &flags, 1);
    uint64_t n = um_get_varint(r);
    if (r->bad)
        return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: have");
    if (!um_sync_is_session(p->session, session) ||
        !um_sync_is_session(p->own_session, echo))
        return UMBEL_OK; /* from an old session */
    if (!um_peer_extend(s, p))
        return um_no_memory(err, s->nreplicas);
    for (uint64_t i = 0; i < n; i++) {
        um_sync_id id;
        umbel_status status = um_get_id(r, s, &id, err);
        uint64_t version = um_get_varint(r);
        um_get_bytes(r, word, sizeof word);
        uint64_t refused = um_get_varint(r);
        if (r->bad)
            return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: have");
        if (!status && record_version(s, p, &id, version, word, refused)) {
            claim = id;
            disputed = true;
        }
    }
    n = um_get_varint(r);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        um_get_bytes(r, origin, sizeof origin);
        uint64_t incarnation = um_get_u64(r), entries = um_get_varint(r);
        record_log(s, p, origin, incarnation, entries, um_get_u64(r));
    }
    if (r->bad)
        return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: logs");
    if (flags & FLAG_RULES)
        UM_TRY(get_rules(s, p, r, err));
    p->known |= flags & FLAG_FINAL;
    p->done |= (flags & FLAG_DONE) != 0;
    /* A former filter of ours came back without its history, so the claim may
     * be true, and joining it changes nothing for the filter in use. */
    const um_replica *c = disputed ? um_replica_find(s, &claim, NULL) : NULL;
    if (c && !c->own)
        um_sync_reconcile(s, peer, &claim);
    else if (disputed)
        return um_sync_refuse(s, peer, UMBEL_SYNC_DISPUTED, &claim,
                              UMBEL_E_REFUSED,
                              "the peer claims another version of a filter of "
                              "ours, and proves nothing",
                              err);
    return UMBEL_OK;
}

/* --- STATEMENT ------------------------------------------------------------ */

static bool send_statement(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->nreplicas && i < s->nreplicas; i++) {
        const um_replica *c = s->replica[i];
        const um_statement *st;
        um_peer_replica *pc = &p->replica[i];
        if (!c || !(pc->prove || (pc->again && s->now >= pc->again)))
            continue;
        pc->prove = false;
        pc->again = s->now + s->limit.retry_seconds;
        st = um_replica_signed(c, pc->proof);
        if (!st || !st->version) {
            pc->again = 0;
            continue;
        }
        um_message_begin(&s->out, UM_MSG_STATEMENT);
        um_write_id(&s->out, s, &c->id);
        um_write_statement(&s->out, st);
        return true;
    }
    return false;
}

static umbel_status receive_statement(umbel_sync *s, int peer, um_reader *r,
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
    const um_replica *c = um_replica_find(s, &id, NULL);
    const um_statement *ours = c ? um_replica_signed(c, st.version) : NULL;
    if (!ours || memcmp(ours->root, st.root, UM_HASH_LEN) == 0)
        return UMBEL_OK;
    if (!um_statement_holds(s, &id, &st))
        return um_sync_refuse(s, peer, UMBEL_SYNC_ROOT, &id, UMBEL_E_REFUSED,
                              "a statement is not signed by its origin", err);
    if (um_is_our_origin(s, id.origin)) {
        um_sync_reconcile(s, peer, &id);
        return UMBEL_OK;
    }
    um_statement mine = *ours;
    return um_contradiction_add(s, &id, &mine, &st, peer, err);
}

/* --- CONTRADICTION -------------------------------------------------------- */

static bool send_contradiction(umbel_sync *s, um_peer *p)
{
    for (size_t i = 0; i < p->nproved && i < s->ncontradictions; i++) {
        const um_contradiction *c = &s->contradiction[i];
        if (p->proved[i] == UM_HAS_IT || s->now + 1 < p->proved[i])
            continue;
        p->proved[i] = s->now + 1 + s->limit.retry_seconds;
        um_message_begin(&s->out, UM_MSG_CONTRADICTION);
        um_write_id(&s->out, s, &c->id);
        um_write_statement(&s->out, &c->one);
        um_write_statement(&s->out, &c->other);
        return true;
    }
    return false;
}

static umbel_status receive_contradiction(umbel_sync *s, int peer, um_reader *r,
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
    s->peer[peer].report_rules = true;
    if (um_is_contradicted(s, id.origin, id.incarnation))
        return UMBEL_OK;
    if (one.version != other.version ||
        memcmp(one.root, other.root, UM_HASH_LEN) == 0 ||
        !um_statement_holds(s, &id, &one) ||
        !um_statement_holds(s, &id, &other))
        return um_sync_refuse(s, peer, UMBEL_SYNC_ROOT, &id, UMBEL_E_REFUSED,
                              "not a contradiction", err);
    return um_contradiction_add(s, &id, &one, &other, peer, err);
}

/* --- LOG ------------------------------------------------------------------ */

static size_t write_entries(const um_sync_log *log, uint64_t from, size_t room,
                            um_buffer *b)
{
    size_t n = 0;

    for (uint64_t i = from; i < log->n && (!n || b->len < room); i++, n++) {
        const um_log_entry *e = &log->entry[i];
        um_buffer_append(b, &e->type, 1);
        um_append_varint(b, e->len);
        um_buffer_append(b, e->body, e->len);
        um_buffer_append(b, e->signature, sizeof e->signature);
    }
    return n;
}

static bool send_log(umbel_sync *s, um_peer *p)
{
    um_buffer part = {.len = 0};

    for (size_t i = 0; i < p->nlogs && i < s->nlogs; i++) {
        const um_sync_log *log = &s->log[i];
        uint64_t from = p->log[i].acked;
        if (from >= log->n || !um_peer_wants(p, log->origin) ||
            (p->log[i].sent && s->now < p->log[i].retry))
            continue;
        size_t n = write_entries(log, from, s->limit.message_bytes / 4, &part);
        um_message_begin(&s->out, UM_MSG_LOG);
        um_append_u64(&s->out, p->own_session);
        um_buffer_append(&s->out, log->origin, UMBEL_ORIGIN_LEN);
        um_append_u64(&s->out, log->incarnation);
        um_append_varint(&s->out, from + 1);
        um_append_varint(&s->out, n);
        um_buffer_append(&s->out, part.data, part.len);
        p->log[i].sent = from + n;
        p->log[i].retry = s->now + s->limit.retry_seconds;
        s->out.failed |= part.failed;
        um_buffer_fini(&part);
        return true;
    }
    return false;
}

static umbel_status receive_log(umbel_sync *s, int peer, um_reader *r,
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
    UM_TRY(um_check_origin(s, peer, &id, err));
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
        e.retracted = false;
        status = um_fail(&why, UMBEL_E_FORMAT, "a log is cut short");
        bool applied = false;
        if (!r->bad)
            status = um_log_apply(s, peer, id.origin, id.incarnation, seq + i,
                                  &e, &applied, &why);
        if (applied)
            um_sync_honour_entry(s, peer, &id, &e);
        free(body);
        same = same && !status &&
               um_log_has(um_log_find(s, id.origin, id.incarnation, false),
                          seq + i, &e);
    }
    um_peer *p = &s->peer[peer];
    const um_sync_log *log = um_log_find(s, id.origin, id.incarnation, false);
    if (log && um_peer_extend(s, p)) {
        size_t i = (size_t)(log - s->log);
        p->log[i].report = true;
        if (!status && !same) /* ours outrank its entries: send them */
            p->log[i].acked = p->log[i].sent = 0;
        else if (!status && um_sync_is_session(p->session, session) &&
                 seq + n - 1 > p->log[i].acked)
            p->log[i].acked = seq + n - 1 < log->n ? seq + n - 1 : log->n;
    }
    if (status)
        return um_sync_refuse(s, peer, UMBEL_SYNC_LOG, &id, status, why.text,
                              err);
    return UMBEL_OK;
}

/* --- receiving and sending ------------------------------------------------ */

static umbel_status (*const receivers[])(umbel_sync *, int, um_reader *,
                                         umbel_error *) = {
    [UM_MSG_HELLO] = receive_hello,
    [UM_MSG_HAVE] = receive_have,
    [UM_MSG_UPDATE] = um_receive_update,
    [UM_MSG_STATEMENT] = receive_statement,
    [UM_MSG_CONTRADICTION] = receive_contradiction,
    [UM_MSG_LOG] = receive_log};

umbel_status umbel_sync_receive(umbel_sync *s, int peer, const void *message,
                                size_t len, uint64_t now, umbel_error *err)
{
    um_message_type type;
    umbel_error why;
    um_reader r;
    um_peer *p = &s->peer[peer];

    um_work_finish(s);
    umbel_sync_tick(s, now);
    p->idle = false;
    p->stats.messages_in++;
    p->stats.bytes_in += len;
    if (s->limit.slice_pages) { /* it is still read after this call */
        um_buffer_clear(&s->work.message, SIZE_MAX);
        um_buffer_append(&s->work.message, message, len);
        if (s->work.message.failed)
            return um_no_memory(err, len);
        message = s->work.message.data;
    }
    umbel_status status = um_message_open(s, message, len, &type, &r, &why);
    if (!status) {
        uint64_t refused = 0, after = 0;
        for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
            refused += p->stats.refused[i];
        status = receivers[type](s, peer, &r, &why);
        for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
            after += p->stats.refused[i];
        if (status && after != refused) { /* counted already */
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

bool umbel_sync_settled(const umbel_sync *s, int peer)
{
    const um_peer *p = &s->peer[peer];

    if (!p->known || has_news(p) || p->hello || p->nproved < s->ncontradictions)
        return false;
    for (size_t i = 0; i < s->nreplicas; i++) {
        const um_replica *c = s->replica[i];
        const um_peer_replica *pc = i < p->nreplicas ? &p->replica[i] : NULL;
        if (c && c->now.version && um_peer_has_list(p, c) &&
            um_peer_wants(p, c->id.origin) &&
            (!pc || pc->prove ||
             (pc->acked < c->now.version && pc->refused < c->now.version)))
            return false;
    }
    for (size_t i = 0; i < s->nlogs; i++)
        if (s->log[i].n && um_peer_wants(p, s->log[i].origin) &&
            (i >= p->nlogs || p->log[i].acked < s->log[i].n))
            return false;
    for (size_t i = 0; i < p->nproved; i++)
        if (p->proved[i] != UM_HAS_IT)
            return false;
    return true;
}

bool umbel_sync_finished(const umbel_sync *s, int peer)
{
    const um_peer *p = &s->peer[peer];

    return p->done && p->said_done && umbel_sync_settled(s, peer);
}

static bool create_message(umbel_sync *s, um_peer *p)
{
    if (p->hello ||
        (!p->known && s->now + 1 >= p->hello_at + s->limit.retry_seconds)) {
        send_hello(s, p);
        return true;
    }
    if (!p->session || !um_peer_extend(s, p))
        return false;
    if (send_have(s, p, false))
        return true;
    if (p->known && (send_contradiction(s, p) || send_statement(s, p) ||
                     send_log(s, p) || um_send_update(s, p)))
        return true;
    if (!s->set.announce || p->said_done ||
        !umbel_sync_settled(s, (int)(p - s->peer)))
        return false;
    p->said_done = true;
    return send_have(s, p, true);
}

/* Returns true if there was nothing to send, and neither the time nor anything
 * else has changed since. */
static bool is_idle(const umbel_sync *s, const um_peer *p)
{
    return p->idle && p->idle_at == s->now && p->idle_changes == s->changes;
}

bool umbel_sync_next(umbel_sync *s, int peer, uint64_t now,
                     umbel_slice *message)
{
    um_peer *p = &s->peer[peer];

    umbel_sync_tick(s, now);
    if (!p->used || is_idle(s, p) || umbel_sync_busy(s))
        return false;
    um_work_yield(s, peer);
    if (s->work.kind != UM_WORK_READY && !create_message(s, p)) {
        p->idle = true;
        p->idle_at = s->now;
        p->idle_changes = s->changes;
        return false;
    }
    if (umbel_sync_busy(s))
        return false;
    s->work.kind = UM_WORK_NONE;
    um_message_end(&s->out);
    if (s->out.failed)
        return false;
    *message = (umbel_slice){s->out.data, s->out.len};
    p->stats.messages_out++;
    p->stats.bytes_out += s->out.len;
    return true;
}
