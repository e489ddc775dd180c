/*
 * origins.c - rows of peers and origins, from the machine and its links.
 *
 * The machine forgets a peer that is disconnected. So that its lag goes on,
 * each tick notes until when a peer had all that we have.
 */
#include "clearinghouse/peering/origins.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/hex.h"
#include "clearinghouse/peering/peers.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_LEAST = 4 };

/* What the last tick knew of a peer. */
typedef struct progress {
    uint8_t key[UMBEL_ORIGIN_LEN];
    uint64_t whole; /* until when it had all that we have */
    uint64_t refused[UMBEL_SYNC_REASONS], refused_at[UMBEL_SYNC_REASONS];
    bool found; /* it is a peer still */
} progress;

struct um_origins {
    const um_peers *peers;
    const um_clock *clock;
    const um_store *store;
    progress *progress;
    size_t nprogress;
    um_origin *item;
    size_t n, cap;
    um_origins_view view;
};

/* --- lag ------------------------------------------------------------------ */

static progress *find_progress(const um_origins *o, const uint8_t *key)
{
    for (size_t i = 0; i < o->nprogress; i++)
        if (memcmp(o->progress[i].key, key, UMBEL_ORIGIN_LEN) == 0)
            return &o->progress[i];
    return NULL;
}

/* NULL: no memory. */
static progress *add_progress(um_origins *o, const uint8_t *key)
{
    if (!um_array_resize(&o->progress, o->nprogress + 1, sizeof *o->progress))
        return NULL;
    progress *p = &o->progress[o->nprogress++];
    *p = (progress){.whole = 0};
    memcpy(p->key, key, UMBEL_ORIGIN_LEN);
    return p;
}

/* Peers that the configuration has no more are forgotten. */
static void sweep_progress(um_origins *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->nprogress; i++)
        if (o->progress[i].found)
            o->progress[n++] = o->progress[i];
    o->nprogress = n;
}

/* Returns until when a connected peer had all that we have; 0: it has not said
 * yet what it has. */
static uint64_t whole_until(const um_origins *o, int number)
{
    umbel_sync_peer_stats s;

    umbel_sync_peer_stats_get(um_peers_machine(o->peers), number, &s);
    if (!s.known)
        return 0;
    if (!s.behind)
        return o->clock->now;
    return s.lacks_since ? s.lacks_since
                         : o->clock->now - um_clock_uptime(o->clock);
}

static void note_refusals(progress *p, const um_peer_info *info, uint64_t now)
{
    for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++) {
        if (info->refused[i] > p->refused[i])
            p->refused_at[i] = now;
        p->refused[i] = info->refused[i];
    }
}

void um_origins_tick(um_origins *o)
{
    um_peer_info info;

    if (!o)
        return;
    for (size_t i = 0; i < o->nprogress; i++)
        o->progress[i].found = false;
    for (size_t at = 0; um_peers_next(o->peers, &at, &info);) {
        progress *p = find_progress(o, info.key);
        if (!p)
            p = add_progress(o, info.key);
        if (!p)
            return;
        p->found = true;
        note_refusals(p, &info, o->clock->now);
        uint64_t whole = info.number < 0 ? 0 : whole_until(o, info.number);
        if (whole)
            p->whole = whole;
    }
    sweep_progress(o);
}

static double lag_of(const progress *p, uint64_t now)
{
    if (!p || !p->whole)
        return NAN;
    return p->whole < now ? (double)(now - p->whole) : 0;
}

/* --- rows ----------------------------------------------------------------- */

static um_origin *find_row(um_origins *o, const char *key)
{
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->item[i].key, key) == 0)
            return &o->item[i];
    return NULL;
}

/* Returns the row of a key, a new one if there is none; NULL: no memory. */
static um_origin *row_of(um_origins *o, const uint8_t *key)
{
    char hex[UM_ORIGIN_HEX];
    um_origin *r;

    um_digest_text(key, hex);
    if ((r = find_row(o, hex)) != NULL)
        return r;
    if (!um_array_reserve(&o->item, &o->cap, o->n + 1, sizeof *o->item))
        return NULL;
    r = &o->item[o->n++];
    *r = (um_origin){.state = "forwarded", .error = "", .lag = NAN};
    memcpy(r->key, hex, sizeof hex);
    return r;
}

static bool add_self(um_origins *o)
{
    um_origin *r = row_of(o, umbel_sync_origin(um_peers_machine(o->peers)));

    if (!r)
        return false;
    r->own = true;
    r->state = "self";
    r->lag = 0;
    return true;
}

static bool add_peers(um_origins *o)
{
    um_peer_info info;

    for (size_t at = 0; um_peers_next(o->peers, &at, &info);) {
        um_origin *r = row_of(o, info.key);
        if (!r)
            return false;
        r->name = info.name;
        r->address = info.address;
        r->state = info.state;
        r->error = info.up ? "" : info.error;
        r->up = info.up;
        r->since =
            info.since ? info.since : o->clock->now - um_clock_uptime(o->clock);
        const progress *p = find_progress(o, info.key);
        r->lag = lag_of(p, o->clock->now);
        r->bytes_in = info.bytes_in;
        r->bytes_out = info.bytes_out;
        memcpy(r->refused, info.refused, sizeof r->refused);
        if (p)
            memcpy(r->refused_at, p->refused_at, sizeof r->refused_at);
    }
    return true;
}

static double fill_of(const um_store *store, const umbel_sync_replica *c)
{
    um_list_stats l;

    um_list_stats_get(um_store_list(store, (unsigned)c->list), &l);
    return l.n ? (double)c->keys / (double)l.epoch[0].capacity : 0;
}

static bool add_copies(um_origins *o)
{
    umbel_sync_replica c;

    for (size_t at = 0;
         umbel_sync_next_replica(um_peers_machine(o->peers), &at, &c);) {
        um_origin *r = row_of(o, c.origin);
        if (!r)
            return false;
        double fill = fill_of(o->store, &c);
        r->version = c.version > r->version ? c.version : r->version;
        r->digests += c.keys;
        r->memory += c.bytes;
        r->fill = fill > r->fill ? fill : r->fill;
        r->seen = c.seen > r->seen ? c.seen : r->seen;
        r->held |= c.held;
    }
    return true;
}

static bool add_standings(um_origins *o)
{
    umbel_sync_origin_status s;

    for (size_t at = 0;
         umbel_sync_next_origin_status(um_peers_machine(o->peers), &at, &s);) {
        um_origin *r = s.dropped || s.muted ? row_of(o, s.origin) : NULL;
        if (r)
            r->state = s.dropped ? "dropped" : "muted";
        else if (s.dropped || s.muted)
            return false;
    }
    return true;
}

static void note_agreement(um_origins *o)
{
    for (unsigned i = 0; um_list_name(i); i++) {
        o->view.agreement[i] = um_peers_agreement(o->peers, i);
        o->view.alone[i] = um_peers_counts_alone(o->peers, i);
    }
}

const um_origins_view *um_origins_look(um_origins *o)
{
    if (!o)
        return NULL;
    o->n = 0;
    um_origins_tick(o);
    note_agreement(o);
    if (!add_self(o) || !add_peers(o) || !add_copies(o) || !add_standings(o))
        return NULL;
    o->view.item = o->item;
    o->view.n = o->n;
    o->view.strangers = um_peers_strangers(o->peers);
    um_replica_store_stats_get(um_peers_replicas(o->peers), &o->view.saved);
    return &o->view;
}

umbel_status um_origins_open(const um_peers *peers, const um_clock *clock,
                             const um_store *store, um_origins **out,
                             umbel_error *err)
{
    um_origins *o = calloc(1, sizeof *o);

    if (!o)
        return um_no_memory(err, sizeof *o);
    o->peers = peers;
    o->clock = clock;
    o->store = store;
    *out = o;
    return UMBEL_OK;
}

void um_origins_close(um_origins *o)
{
    if (!o)
        return;
    free(o->progress);
    free(o->item);
    free(o);
}

/* --- finding one ---------------------------------------------------------- */

/* Rows whose key begins with text, or, if there is one, the peer of that name;
 * *found is the last. */
static size_t count_matches(const um_origins *o, const char *text,
                            const um_origin **found)
{
    size_t len = strlen(text), n = 0;

    for (size_t i = 0; i < o->n; i++) {
        const um_origin *r = &o->item[i];
        if (r->name && strcmp(r->name, text) == 0) {
            *found = r;
            return 1;
        }
        if (len >= PREFIX_LEAST && strncmp(r->key, text, len) == 0) {
            *found = r;
            n++;
        }
    }
    return n;
}

umbel_status um_origins_find(um_origins *o, const char *text,
                             uint8_t key[UMBEL_ORIGIN_LEN], umbel_error *err)
{
    const um_origin *found = NULL;

    if (!um_origins_look(o))
        return um_no_memory(err, sizeof *found);
    size_t n = count_matches(o, text, &found);
    if (n > 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "%zu origins begin with %.64s: give more digits; umbel "
                       "clearinghouse peers --json has all of them",
                       n, text);
    if (n == 1 && found->own)
        return um_fail(err, UMBEL_E_RANGE,
                       "%.64s is this server itself: name another origin, as "
                       "umbel clearinghouse peers lists them",
                       text);
    if (found)
        text = found->key;
    if (strlen(text) != UM_ORIGIN_HEX - 1 ||
        !um_hex_decode(text, UM_ORIGIN_HEX - 1, key))
        return um_fail(err, UMBEL_E_RANGE,
                       "%.64s is no peer and no origin here: give a name or "
                       "the first digits of a key, as umbel clearinghouse "
                       "peers lists them, or all 64 digits",
                       text);
    return UMBEL_OK;
}
