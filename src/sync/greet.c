/*
 * sync_greet.c - HELLO and HAVE: who we are, and what we have.
 *
 * HAVE also acknowledges: what a peer has is known by nothing else.
 */
#include "base/error.h"
#include "filter/head.h"
#include "sync/internal.h"

#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
/* What a peer keeps is taken for lost. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum {
    PROTOCOL = 1,
    FLAG_FINAL = 1, /* HAVE: all was said; HELLO: say what you have */
    FLAG_RULES = 2, /* HAVE: who is not wanted, and who is out */
    FLAG_DONE = 4   /* HAVE: you have all that I have */
};

/* --- HELLO ---------------------------------------------------------------- */

/* What lists agree on beside their shape, by their place in the greeting. */
static void write_agreed(const umbel_sync *s, um_bytes *b)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->nlists; i++)
        n += s->list[i].agree[0] != '\0';
    if (!n)
        return;
    um_bytes_varint(b, n);
    for (size_t i = 0; i < s->nlists; i++) {
        size_t len = strlen(s->list[i].agree);
        if (!len)
            continue;
        um_bytes_varint(b, i);
        um_bytes_varint(b, len);
        um_bytes_append(b, s->list[i].agree, len);
    }
}

void um_send_hello(umbel_sync *s, um_peer *p)
{
    um_bytes *b = &s->out;
    uint8_t first[2] = {PROTOCOL, p->known ? 0 : FLAG_FINAL};

    um_message_begin(b, UM_MSG_HELLO);
    um_bytes_append(b, first, sizeof first);
    um_bytes_u64(b, p->own_session);
    um_bytes_u64(b, p->session);
    um_bytes_append(b, s->origin, UMBEL_ORIGIN_LEN);
    um_bytes_varint(b, s->nlists);
    for (size_t i = 0; i < s->nlists; i++) {
        const um_sync_of_list *l = &s->list[i];
        uint8_t head[UM_HEAD_MAX];
        size_t len = um_head_append(um_shape_of(l->shape), 0, NULL, head);
        um_bytes_varint(b, strlen(l->name));
        um_bytes_append(b, l->name, strlen(l->name));
        um_bytes_varint(b, l->set.epoch_seconds);
        um_bytes_varint(b, l->set.page_bytes);
        um_bytes_varint(b, len);
        um_bytes_append(b, head, len);
    }
    write_agreed(s, b);
    p->greet = false;
    p->greeted = s->now + 1;
}

/* Lists of a greeting: which of ours each is, and what it agrees on. */
typedef struct greeted {
    size_t list; /* nlists: none, or of another shape */
    char agree[UMBEL_SYNC_MAX_AGREE];
} greeted;

/* Says which field of a list differs. */
static umbel_status compare_list(umbel_sync *s, int peer, um_reader *r,
                                 greeted *out, umbel_error *err)
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

/* Reads what lists agree on; a greeting may end before. */
static umbel_status get_agreed(um_reader *r, greeted *g, uint64_t n,
                               umbel_error *err)
{
    uint64_t left = r->at < r->end ? um_get_varint(r) : 0;

    for (; left && !r->bad; left--) {
        uint64_t i = um_get_varint(r), len = um_get_varint(r);
        if (r->bad || i >= n || len >= UMBEL_SYNC_MAX_AGREE)
            return um_fail(err, UMBEL_E_FORMAT, "a greeting is damaged");
        um_get_bytes(r, g[i].agree, (size_t)len);
        g[i].agree[len] = '\0';
        if (r->bad || !um_is_agree(g[i].agree))
            return um_fail(err, UMBEL_E_FORMAT, "a greeting is damaged");
    }
    return r->bad ? um_fail(err, UMBEL_E_FORMAT, "a greeting is cut short")
                  : UMBEL_OK;
}

/* "seed=1-2" and "seed=1-3": what differs is the name before "=". */
static void apply_agreed(umbel_sync *s, int peer, const greeted *g)
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
    greeted g[UMBEL_SYNC_MAX_LISTS];

    for (uint64_t i = 0; i < n; i++) {
        g[i] = (greeted){.list = s->nlists};
        UM_TRY(compare_list(s, peer, r, &g[i], err));
    }
    UM_TRY(get_agreed(r, g, n, err));
    for (uint64_t i = 0; i < n; i++)
        if (g[i].list < s->nlists)
            apply_agreed(s, peer, &g[i]);
    return UMBEL_OK;
}

umbel_status um_get_hello_message(umbel_sync *s, int peer, um_reader *r,
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
        um_peer_forget(s, p);
        p->session = session;
        p->lists = 0;
        UM_TRY(compare_lists(s, peer, r, n, err));
    }
    if (echo != p->own_session)
        p->greet = true;
    if (echo != p->own_session || first[1] & FLAG_FINAL) {
        p->tell_all = p->tell_rules = true;
        if (um_peer_retain_up(s, p)) {
            for (size_t i = 0; i < p->ncopies; i++)
                p->copy[i].tell = true;
            for (size_t i = 0; i < p->nlogs; i++)
                p->log[i].tell = true;
        }
    }
    return UMBEL_OK;
}

/* --- HAVE ----------------------------------------------------------------- */

static size_t write_copies(umbel_sync *s, um_peer *p, size_t room, um_bytes *b)
{
    size_t n = 0;

    for (size_t i = 0; i < p->ncopies && b->len < room; i++) {
        const um_copy *c = i < s->ncopies ? s->copy[i] : NULL;
        if (!p->copy[i].tell)
            continue;
        p->copy[i].tell = false;
        if (!c || !um_peer_has_list(p, c))
            continue;
        um_write_id(b, s, &c->id);
        const um_statement *st = um_copy_statement(c, p->copy[i].disputed);
        if (!p->copy[i].disputed || !st)
            st = &c->now;
        um_bytes_varint(b, st->version);
        um_bytes_append(b, st->root, UM_ROOT_WORD);
        um_bytes_varint(b, c->refused);
        n++;
    }
    return n;
}

static size_t write_logs(const umbel_sync *s, um_peer *p, size_t room,
                         um_bytes *b)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nlogs && b->len < room; i++) {
        if (!p->log[i].tell)
            continue;
        p->log[i].tell = false;
        um_bytes_append(b, s->log[i].origin, UMBEL_ORIGIN_LEN);
        um_bytes_u64(b, s->log[i].incarnation);
        um_bytes_varint(b, s->log[i].n);
        um_bytes_u64(b, um_log_word(&s->log[i], s->log[i].n));
        n++;
    }
    return n;
}

static void write_rules(const umbel_sync *s, um_bytes *b)
{
    size_t n = 0;

    um_bytes_varint(b, s->ncontradictions);
    for (size_t i = 0; i < s->ncontradictions; i++) {
        um_bytes_append(b, s->contradiction[i].id.origin, UMBEL_ORIGIN_LEN);
        um_bytes_u64(b, s->contradiction[i].id.incarnation);
    }
    for (size_t i = 0; i < s->nrules; i++)
        n += s->rule[i].standing == UM_DROPPED;
    um_bytes_varint(b, n);
    for (size_t i = 0; i < s->nrules; i++)
        if (s->rule[i].standing == UM_DROPPED)
            um_bytes_append(b, s->rule[i].origin, UMBEL_ORIGIN_LEN);
}

bool um_peer_has_news(const um_peer *p)
{
    for (size_t i = 0; i < p->ncopies; i++)
        if (p->copy[i].tell)
            return true;
    for (size_t i = 0; i < p->nlogs; i++)
        if (p->log[i].tell)
            return true;
    return p->tell_all || p->tell_rules;
}

bool um_send_have(umbel_sync *s, um_peer *p, bool done)
{
    um_bytes part = {.len = 0}, *b = &s->out;
    size_t room = s->limit.message_bytes / 4;

    if (!um_peer_has_news(p) && !done)
        return false;
    um_message_begin(b, UM_MSG_HAVE);
    um_bytes_u64(b, p->own_session);
    um_bytes_u64(b, p->session);
    size_t flags_at = b->len;
    um_bytes_append(b, "", 1);
    size_t n = write_copies(s, p, room, &part);
    um_bytes_varint(b, n);
    um_bytes_append(b, part.at, part.len);
    part.len = 0;
    n = write_logs(s, p, room, &part);
    um_bytes_varint(b, n);
    um_bytes_append(b, part.at, part.len);
    uint8_t flags =
        (uint8_t)((p->tell_rules ? FLAG_RULES : 0) | (done ? FLAG_DONE : 0));
    if (p->tell_rules)
        write_rules(s, b);
    bool all = p->tell_all, failed = part.failed || b->failed;
    p->tell_all = p->tell_rules = false;
    if (all && !um_peer_has_news(p))
        flags |= FLAG_FINAL;
    else
        p->tell_all = all;
    um_bytes_fini(&part);
    if (failed || !b->at)
        return false;
    b->at[flags_at] = flags;
    return true;
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
    bool differs =
        version && ours && memcmp(ours->root, word, UM_ROOT_WORD) != 0;
    /* We prove nothing against ourselves, but hear what we signed. */
    uint64_t disputed = differs && c->own ? version : 0;
    pc->tell |= disputed != pc->disputed;
    pc->disputed = disputed;
    if (differs && !c->own)
        um_peer_prove(pc, version);
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

umbel_status um_get_have_message(umbel_sync *s, int peer, um_reader *r,
                                 umbel_error *err)
{
    um_peer *p = &s->peer[peer];
    uint8_t flags, word[UM_ROOT_WORD], origin[UMBEL_ORIGIN_LEN];
    uint64_t session = um_get_u64(r), echo = um_get_u64(r);

    um_get_bytes(r, &flags, 1);
    uint64_t n = um_get_varint(r);
    if (r->bad)
        return um_fail(err, UMBEL_E_FORMAT, "a message is cut short: have");
    if (!s->rules->same_session(p->session, session) ||
        !s->rules->same_session(p->own_session, echo))
        return UMBEL_OK; /* of another life of one of us */
    if (!um_peer_retain_up(s, p))
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
