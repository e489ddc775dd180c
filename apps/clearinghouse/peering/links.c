/*
 * links.c - connections with peers: calling, accepting, and the messages that
 * are exchanged over them.
 *
 * A connection becomes a link when both sides have proved their keys. If two
 * servers call each other at the same time, both keep the link whose caller has
 * the smaller key. Later a new link replaces an old one: a server calls only
 * when it has no link, so the old one is dead.
 *
 * Nothing is queued. The sync engine creates the next message when the system
 * has accepted the last one, so a peer that does not read costs one message.
 * All links together get a fraction of a millisecond of each loop iteration,
 * and the engine works on some pages at a time; links that have to wait are
 * paused, and come first in the next iteration.
 *
 * Pauses between calls grow while nobody answers. After a link that worked for
 * a while the first pause is short. A link that ends soon counts as a failed
 * call: otherwise two servers with the same key would replace each other's
 * links as fast as they can.
 */
#include "clearinghouse/peering/internal.h"

#include "base/error.h"
#include "publish/manifest.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
    HANDSHAKE_MS = 10000,    /* until both sides have proved their keys */
    MAX_HANDSHAKES = 64,     /* accepted connections in that time ... */
    MAX_HANDSHAKES_EACH = 8, /* ... and from one network */
    MAX_ACCEPTED = 200,      /* per second: each costs a key agreement */
    CROSSING_MS = 10000,     /* within which both calls may cross */
    WORKED_MS = 10000,       /* a link of this age counts as working */
    ALIVE_MS = 15000,        /* without other messages, an empty one is sent */
    SILENCE_MS = 60000,      /* without a byte received, the link is dead */
    SLICE_US = 200 /* of each iteration for receiving, and again for sending: a
                      check may wait this long */
};

enum { PAUSE_MIN = 200, PAUSE_MAX = 60000, MAX_CALLS = 128 };

/* Delays the next call, after a link or a call has ended. */
static void delay_call(um_peers *p, um_remote *r, bool worked)
{
    r->pause = worked || !r->pause         ? PAUSE_MIN
               : r->pause >= PAUSE_MAX / 2 ? PAUSE_MAX
                                           : 2 * r->pause;
    /* Waits between half and all of it, so that peers that lost a link at the
     * same time do not all call at the same time. */
    r->call_at = um_clock_ms(p->clock) + r->pause / 2 +
                 randombytes_uniform((uint32_t)r->pause / 2 + 1);
}

static uint64_t now_ms(const um_conn *c)
{
    return um_clock_ms(c->peers->clock);
}

/* --- ending a connection -------------------------------------------------- */

/* Detaches a connection from its peer. */
static void detach_remote(um_conn *c)
{
    um_remote *r = c->remote;

    if (r && r->calling == c)
        r->calling = NULL;
    if (r && r->up == c) {
        r->up = NULL;
        um_remote_down(c->peers, r);
    }
    if (r && c->adopted) {
        r->bytes_in += c->bytes_in;
        r->bytes_out += c->bytes_out;
    }
    c->remote = NULL;
}

/* Logs a refused caller; key is the one it sent, or "". */
static void log_stranger(um_peers *p, const um_stream *s, const char *text,
                         const char *key)
{
    char where[UM_ADDRESS_TEXT];

    p->refused_strangers++;
    if (!um_log_wants(p->log, &p->strangers))
        return;
    um_address_print(um_stream_peer(s), where);
    um_log_limited(p->log, &p->strangers, "peers: refused %s: %s%s%s", where,
                   text, key[0] ? ": " : "", key);
}

/* Logs why a connection ended, and delays the next call. A peer that cannot be
 * reached for days, always for the same reason, is logged once. */
static void record_end(um_conn *c, const char *text)
{
    um_remote *r = c->remote;
    bool was_link = r && r->up == c;
    char why[sizeof r->error];

    if (!r) {
        log_stranger(c->peers, c->stream, text, c->stranger);
        return;
    }
    if (c->stranger[0])
        snprintf(why, sizeof why,
                 "the server at its address has another key than the one "
                 "configured here: %s",
                 c->stranger);
    else
        snprintf(why, sizeof why, "%s", text);
    if (was_link || strcmp(why, r->error) != 0)
        um_peers_log(c->peers, r, was_link ? UM_PEER_DOWN : UM_PEER_NO_CALL,
                     "%s: %s", was_link ? "link ended" : "no link", why);
    snprintf(r->error, sizeof r->error, "%s", why);
    if (was_link || c->caller)
        delay_call(c->peers, r, was_link && now_ms(c) - c->begun >= WORKED_MS);
}

static void free_conn(um_conn *c)
{
    um_peers *p = c->peers;

    if (c->prev)
        c->prev->next = c->next;
    else
        p->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    for (um_conn **at = &p->waiting; *at; at = &(*at)->next_waiting)
        if (*at == c) {
            *at = c->next_waiting;
            break;
        }
    p->handshakes -= !c->caller && !c->adopted;
    um_link_close(c->link);
    free(c);
}

void um_conn_end(um_conn *c, const char *text)
{
    if (c->over)
        return;
    c->over = true;
    if (text && !c->peers->closing)
        record_end(c, text);
    detach_remote(c);
    um_stream_close(c->stream, UM_END_DONE); /* conn_closed frees it */
}

/* Ends a connection whose call could not be made. */
static void discard_conn(um_conn *c, const char *text)
{
    record_end(c, text);
    detach_remote(c);
    free_conn(c);
}

static void conn_closed(um_stream *s)
{
    um_conn *c = um_stream_data(s);

    if (!c)
        return;
    if (!c->over && !c->peers->closing)
        record_end(c, um_stream_why(s));
    c->over = true;
    detach_remote(c);
    free_conn(c);
}

/* --- messages ------------------------------------------------------------- */

static void write_output(um_conn *c)
{
    umbel_slice out = um_link_output(c->link);

    if (!out.len || c->over)
        return;
    c->sent_at = now_ms(c);
    c->bytes_out += out.len;
    um_stream_write(c->stream, out);
    um_link_sent(c->link, out.len);
}

/* Decides between two links of a peer. Returns true if the new one replaces the
 * old one, which is ended. */
static bool choose_link(um_conn *old, um_conn *new)
{
    const uint8_t *ours = new->peers->keys.origin;
    bool smaller = memcmp(ours, new->remote->key, UMBEL_TRUST_KEY_LEN) < 0;

    if (old->caller != new->caller && now_ms(new) - old->begun < CROSSING_MS &&
        old->caller == smaller)
        return false;
    um_conn_end(old, NULL);
    return true;
}

/* Makes a connection the link of its peer, once both keys are proved. */
static umbel_status adopt(um_conn *c, umbel_error *err)
{
    um_peers *p = c->peers;
    um_remote *r = um_remote_find(p, um_link_peer(c->link));

    if (!r)
        return um_fail(err, UMBEL_E_REFUSED, "the peer was removed");
    p->handshakes -= !c->caller;
    c->adopted = true;
    c->remote = r;
    if (r->calling == c)
        r->calling = NULL;
    if (r->up && !choose_link(r->up, c)) {
        um_conn_end(c, NULL);
        return um_fail(err, UMBEL_E_REFUSED, "there is a link already");
    }
    UM_TRY(umbel_sync_connect(p->machine, &r->number, err));
    r->up = c;
    r->since = p->clock->now;
    r->wants = p->wanted = true;
    um_peers_log(p, r, UM_PEER_UP, "linked, %s called",
                 c->caller ? "this server" : "the peer");
    return UMBEL_OK;
}

static umbel_status apply_message(void *ctx, umbel_slice message,
                                  umbel_error *err)
{
    um_conn *c = ctx;

    if (!c->adopted)
        UM_TRY(adopt(c, err));
    if (!message.len || c->over)
        return UMBEL_OK;
    um_remote *r = c->remote;
    r->wants = c->peers->wanted = true;
    /* A refusal is counted by its event. */
    umbel_sync_receive(c->peers->machine, r->number, message.data, message.len,
                       c->peers->clock->now, NULL);
    return UMBEL_OK;
}

/* Returns true for the key of a configured peer; if we called, for the key of
 * that peer only. */
static bool is_known(void *ctx, const uint8_t key[UMBEL_TRUST_KEY_LEN])
{
    um_conn *c = ctx;
    const um_remote *r = um_remote_find(c->peers, key);

    if (r && (!c->caller || r == c->remote))
        return true;
    um_digest_text(key, c->stranger);
    return false;
}

/* Returns true while the engine works on a message or has one to send, or if
 * this iteration has taken long enough. */
static bool must_wait(const um_peers *p)
{
    return p->receiving > SLICE_US || p->unfinished ||
           umbel_sync_busy(p->machine);
}

static bool is_busy(void *ctx)
{
    const um_conn *c = ctx;

    return c->adopted && must_wait(c->peers);
}

/* Pauses a connection, which stays in the list until it is resumed. */
static void pause_conn(um_conn *c)
{
    um_peers *p = c->peers;
    um_conn **end = &p->waiting;

    while (*end && *end != c)
        end = &(*end)->next_waiting;
    if (!*end) {
        *end = c;
        c->next_waiting = NULL;
        um_stream_pause(c->stream);
    }
    um_timer_set(p->again, 0, 0);
}

static void receive(um_conn *c, umbel_slice bytes)
{
    umbel_error err;
    uint64_t begin = um_clock_us();
    umbel_status status = um_link_receive(c->link, bytes, &err);

    if (!status && !c->adopted && um_link_is_ready(c->link))
        status = adopt(c, &err);
    if (status)
        um_conn_end(c, err.text);
    write_output(c);
    c->peers->receiving += um_clock_us() - begin;
    if (!c->over &&
        (um_link_holds(c->link) || umbel_sync_busy(c->peers->machine)))
        pause_conn(c);
}

static size_t apply_bytes(um_stream *s, const uint8_t *bytes, size_t len)
{
    um_conn *c = um_stream_data(s);

    if (!c || c->over)
        return len;
    c->received_at = now_ms(c);
    if (is_busy(c)) {
        pause_conn(c);
        return 0;
    }
    c->bytes_in += len;
    receive(c, (umbel_slice){bytes, len});
    return len;
}

/* --- opening -------------------------------------------------------------- */

static um_conn *open_conn(um_peers *p, um_remote *call)
{
    um_conn *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    *c = (um_conn){.peers = p, .caller = call, .remote = call};
    um_link_config config = {.sign_key = p->keys.sign_key,
                             .caller = call,
                             .is_known = is_known,
                             .take = apply_message,
                             .is_busy = is_busy,
                             .ctx = c,
                             .message_max = UM_PEERS_MESSAGE};
    if (um_link_open(&config, &c->link, NULL) != UMBEL_OK) {
        free(c);
        return NULL;
    }
    c->begun = c->received_at = c->sent_at = c->drained = now_ms(c);
    c->next = p->first;
    if (c->next)
        c->next->prev = c;
    p->first = c;
    p->handshakes += !call;
    if (call)
        call->calling = c;
    return c;
}

/* Returns true if there are too many unproved callers, in all or from this
 * network. */
static bool is_crowded(const um_peers *p, const um_stream *s)
{
    const um_address *from = um_stream_peer(s);
    um_network network = um_address_network(from, NULL);
    size_t n = 0;

    if (p->handshakes >= MAX_HANDSHAKES || p->accepted >= MAX_ACCEPTED)
        return true;
    if (um_address_is_loopback(from))
        return false;
    for (const um_conn *c = p->first; c; c = c->next)
        if (!c->caller && !c->adopted)
            n += um_network_equal(
                um_address_network(um_stream_peer(c->stream), NULL), network);
    return n >= MAX_HANDSHAKES_EACH;
}

static um_conn *accept_conn(um_stream *s)
{
    um_peers *p = um_stream_ctx(s);
    um_conn *c = is_crowded(p, s) ? NULL : open_conn(p, NULL);

    p->accepted++;
    if (!c) {
        log_stranger(p, s, "too many callers that have proved no key yet", "");
        um_stream_close(s, UM_END_ALL_FULL);
        return NULL;
    }
    um_stream_set_data(s, c);
    c->stream = s;
    return c;
}

static void conn_opened(um_stream *s)
{
    um_conn *c = um_stream_data(s) ? um_stream_data(s) : accept_conn(s);

    if (!c || c->over)
        return;
    c->opened = true;
    c->begun = c->received_at = c->drained = now_ms(c);
    write_output(c);
}

const um_stream_protocol um_peers_protocol = {
    .opened = conn_opened, .take = apply_bytes, .closed = conn_closed};

/* --- time ----------------------------------------------------------------- */

static const char *find_fault(um_conn *c, uint64_t now)
{
    size_t unread = um_stream_unread(c->stream);

    if (unread == 0 || unread < c->unread)
        c->drained = now;
    c->unread = unread;
    if (!c->adopted && now - c->begun >= HANDSHAKE_MS)
        return c->opened ? "no handshake within 10 s" : "no answer within 10 s";
    if (now - c->received_at >= SILENCE_MS)
        return "silent for 60 s";
    if (now - c->drained >= SILENCE_MS)
        return "it did not read for 60 s";
    return NULL;
}

static void check_conn(um_conn *c, uint64_t now)
{
    const char *fault = c->over ? NULL : find_fault(c, now);

    if (fault) {
        um_conn_end(c, fault);
    } else if (c->adopted && !c->over && now - c->sent_at >= ALIVE_MS) {
        um_link_send(c->link, (umbel_slice){NULL, 0}, NULL);
        write_output(c);
    }
}

void um_conns_tick(um_peers *p)
{
    uint64_t now = um_clock_ms(p->clock);

    p->accepted = 0;
    for (um_conn *c = p->first, *next; c; c = next) {
        next = c->next;
        check_conn(c, now);
    }
}

/* --- iterations of the loop ----------------------------------------------- */

/* Fills the token bucket; returns true if something may be sent. */
static bool has_tokens(um_peers *p, um_remote *r)
{
    uint64_t now = um_clock_ms(p->clock);
    double rate = (double)p->config->peers.bandwidth;

    r->tokens += (double)(now - r->filled) * rate / 1000;
    /* Without a limit there is no debt: a reload may set a limit. */
    if (r->tokens > rate || rate <= 0)
        r->tokens = rate;
    r->filled = now;
    return rate <= 0 || r->tokens > 0;
}

/* Sends the next message; false if nothing can be sent now. */
static bool send_next(um_peers *p, um_remote *r)
{
    umbel_slice message;
    um_conn *c = r->up;
    uint64_t before = c->bytes_out;

    if (um_stream_unread(
            c->stream)) /* the next one follows when it is written */
        return false;
    if (!has_tokens(p, r))
        return false;
    r->wants = umbel_sync_next(p->machine, r->number, p->clock->now, &message);
    if (!r->wants) {
        r->wants = umbel_sync_busy(p->machine);
        return false;
    }
    um_link_send(c->link, message, NULL);
    write_output(c);
    r->tokens -= (double)(c->bytes_out - before);
    return r->up == c && !c->over;
}

/* Sends a message to each peer, round-robin, until nobody wants one or the time
 * is over. A peer whose message takes several iterations comes first in the
 * next one. */
static void send_round(um_peers *p)
{
    uint64_t end = um_clock_us() + SLICE_US;
    size_t idle = 0, wanting = 0;

    while (idle < p->nremotes) {
        um_remote *r = p->remote[p->next_remote++ % p->nremotes];
        bool sent = r->up && r->wants && send_next(p, r);

        idle = sent ? 0 : idle + 1;
        wanting = (sent ? 0 : wanting) + (r->up && r->wants);
        p->unfinished = umbel_sync_busy(p->machine);
        if (p->unfinished)
            p->next_remote--;
        else if (!sent || um_clock_us() <= end)
            continue;
        um_timer_set(p->again, 0, 0);
        return;
    }
    p->wanted = wanting;
}

/* Sends the message that took several iterations. */
static void send_finished(um_peers *p)
{
    um_remote *r = p->nremotes ? p->remote[p->next_remote % p->nremotes] : NULL;

    p->unfinished = false;
    if (r && r->up)
        send_next(p, r);
}

/* Resumes paused connections: each first processes what it has received. */
static void resume_waiting(um_peers *p)
{
    while (p->waiting && !must_wait(p)) {
        um_conn *c = p->waiting;

        if (!c->over)
            receive(c, (umbel_slice){NULL, 0});
        if (p->waiting != c || must_wait(p))
            continue; /* it ended, or continues in the next iteration */
        p->waiting = c->next_waiting;
        if (!c->over)
            um_stream_resume(c->stream);
    }
}

/* Continues a message that takes several iterations. */
static void continue_message(um_peers *p)
{
    uint64_t end = um_clock_us() + SLICE_US;

    while (umbel_sync_work(p->machine) && um_clock_us() < end)
        ;
    um_timer_set(p->again, 0, 0);
}

void um_conns_work(um_peers *p)
{
    p->receiving = 0;
    if (umbel_sync_busy(p->machine)) {
        continue_message(p);
        return;
    }
    if (p->unfinished)
        send_finished(p);
    resume_waiting(p);
    if (p->wanted && !umbel_sync_busy(p->machine) && !um_publish_holds(p))
        send_round(p);
}

/* --- calls ---------------------------------------------------------------- */

static void call_remote(um_peers *p, um_remote *r)
{
    umbel_error err;
    um_conn *c = open_conn(p, r);

    if (!c) /* no memory */
        delay_call(p, r, false);
    else if (um_listener_call(p->listener[0], &r->to, c, &c->stream, &err))
        discard_conn(c, err.text);
}

void um_calls_start(um_peers *p)
{
    uint64_t now = um_clock_ms(p->clock);
    size_t calling = 0;

    for (size_t i = 0; i < p->nremotes; i++)
        calling += p->remote[i]->calling != NULL;
    for (size_t i = 0; i < p->nremotes && calling < MAX_CALLS; i++) {
        um_remote *r = p->remote[i];
        if (!r->address || r->up || r->calling || now < r->call_at)
            continue;
        call_remote(p, r);
        calling++;
    }
}

/* --- a new configuration -------------------------------------------------- */

static void end_links(um_remote *r, const char *why)
{
    if (r->calling)
        um_conn_end(r->calling, why);
    if (r->up)
        um_conn_end(r->up, why);
}

/* Moves name and address of fresh, which is freed, to a peer that keeps its
 * link and statistics. */
static um_remote *change_remote(um_remote *r, um_remote *fresh)
{
    um_remote old = *r;
    bool moved = strcmp(old.address ? old.address : "",
                        fresh->address ? fresh->address : "") != 0;

    r->name = fresh->name;
    r->address = fresh->address;
    r->to = fresh->to;
    fresh->name = old.name;
    fresh->address = old.address;
    um_free_remote(fresh);
    if (moved && r->calling)
        um_conn_end(r->calling, NULL);
    if (moved && r->up && r->up->caller)
        um_conn_end(r->up, "its address was changed");
    if (moved)
        r->pause = r->call_at = 0;
    return r;
}

void um_replace_remotes(um_peers *p, um_remote **fresh, size_t n)
{
    um_remote **old = p->remote;
    size_t nold = p->nremotes;

    for (size_t i = 0; i < n; i++) /* a new peer is not down since the start */
        fresh[i]->since = p->clock->now;
    for (size_t i = 0; i < nold; i++) {
        size_t j = 0;
        while (j < n &&
               memcmp(fresh[j]->key, old[i]->key, sizeof old[i]->key) != 0)
            j++;
        if (j < n)
            fresh[j] = change_remote(old[i], fresh[j]);
        else
            end_links(old[i], "its key was removed from the configuration");
        if (j == n)
            um_free_remote(old[i]);
    }
    free(old);
    p->remote = fresh;
    p->nremotes = n;
}
