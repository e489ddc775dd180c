/*
 * machine.c - the sync engine of umbel/experimental/sync.h in this server:
 * opens it with our lists, sets whom it trusts, handles its events, and keeps
 * our own log.
 *
 * Each entry of our own log is a record of the store, "log/INCARNATION/SEQ":
 * its type and body. Signatures are deterministic, so a start appends the same
 * entries again. Peers get an entry after its record is committed.
 */
#include "clearinghouse/peering/internal.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "publish/manifest.h"

#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { NAME_LEN = 64, BODY_LEN = 4096, SHORT_KEY = 8 };

/* --- trust ---------------------------------------------------------------- */

static bool has_status(const um_peers *p, const uint8_t *origin)
{
    umbel_sync_origin_status s;

    for (size_t at = 0; umbel_sync_next_origin_status(p->machine, &at, &s);)
        if (memcmp(s.origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return true;
    return false;
}

/* Allows configured peers, unless the operator dropped or muted them. With the
 * setting strict nobody else is allowed; without it, the limit of origins
 * applies to others. */
umbel_status um_peers_allow(um_peers *p, um_remote *const *remote, size_t n,
                            umbel_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!has_status(p, remote[i]->key))
            UM_TRY(umbel_sync_allow(p->machine, remote[i]->key, err));
    return UMBEL_OK;
}

void um_peers_set_trust(um_peers *p)
{
    const um_config *c = p->config;

    for (size_t i = 0; i < UM_LISTS; i++)
        umbel_sync_set_trust(p->machine, i, um_peers_quorum(c, i),
                             c->peers.origin_cap);
}

uint64_t um_peers_needs(const um_peers *p)
{
    return p->full_memory;
}

/* --- events --------------------------------------------------------------- */

/* Writes the name of an origin: the name of the peer with that key, or the
 * first digits of the key. Writes nothing if a refusal concerns no origin. */
static void origin_name(const um_peers *p, const uint8_t *origin, char *out,
                        size_t cap)
{
    const um_remote *r = origin ? um_remote_find(p, origin) : NULL;
    char hex[UM_DIGEST_HEX];

    if (!origin || sodium_is_zero(origin, UMBEL_ORIGIN_LEN))
        return;
    um_digest_text(origin, hex);
    if (memcmp(origin, p->keys.origin, UMBEL_ORIGIN_LEN) == 0)
        snprintf(out, cap, "this server");
    else if (r)
        snprintf(out, cap, "origin %s", r->name);
    else
        snprintf(out, cap, "origin %.*s", SHORT_KEY, hex);
}

/* Describes a notice of another server that asks to drop an origin. */
static void describe_notice(const um_peers *p, const umbel_sync_event *e,
                            char *out, size_t cap)
{
    char who[UM_LOG_LINE_LEN / 4] = "", whom[UM_LOG_LINE_LEN / 4] = "";
    char hex[UM_DIGEST_HEX];
    uint64_t quorum = p->opened->peers.drop_quorum;

    origin_name(p, e->origin, who, sizeof who);
    origin_name(p, e->body.data, whom, sizeof whom);
    um_digest_text(e->body.data, hex);
    if (quorum)
        snprintf(out, cap,
                 "%s asks to drop %s, which happens if %" PRIu64
                 " (drop_quorum) do",
                 who, whom, quorum);
    else
        snprintf(out, cap,
                 "%s asks to drop %s; it is not dropped here, because "
                 "drop_quorum is 0. To drop it: umbel clearinghouse drop %.*s",
                 who, whom, 2 * SHORT_KEY, hex);
}

/* Describes an event; returns false if it is not logged. */
static bool describe(const um_peers *p, const umbel_sync_event *e, char *out,
                     size_t cap)
{
    const char *list = e->list >= 0 ? um_list_name((size_t)e->list) : "";
    const char *in = e->list >= 0 ? ", list " : "";
    char who[UM_LOG_LINE_LEN / 4] = "", advice[96] = "";

    if (e->kind == UMBEL_SYNC_LOGGED && e->type == UMBEL_SYNC_LOG_DROP &&
        e->body.len == UMBEL_ORIGIN_LEN && e->peer >= 0) {
        describe_notice(p, e, out, cap);
        return true;
    }
    if (e->kind == UMBEL_SYNC_APPLIED || e->kind == UMBEL_SYNC_LOGGED)
        return false; /* there may be thousands per second */
    origin_name(p, e->origin, who, sizeof who);
    if (e->kind == UMBEL_SYNC_REFUSED && e->reason == UMBEL_SYNC_MEMORY &&
        um_peers_needs(p))
        snprintf(advice, sizeof advice,
                 " to \"%" PRIu64
                 "MB\" in peers { }, for full epochs of all peers",
                 um_peers_needs(p) / 1000000);
    switch (e->kind) {
    case UMBEL_SYNC_APPLIED:
    case UMBEL_SYNC_LOGGED:
        break;
    case UMBEL_SYNC_REFUSED:
        snprintf(out, cap, "refused (%s)%s%s%s%s: %s%s",
                 umbel_sync_reason_name(e->reason), who[0] ? " of " : "", who,
                 in, list, e->text ? e->text : "", advice);
        break;
    case UMBEL_SYNC_CONTRADICTED:
        snprintf(out, cap,
                 "%s contradicted itself in list %s (epoch %" PRIu64
                 ", version %" PRIu64
                 "): its reports of this incarnation are dropped",
                 who, list, e->epoch, e->version);
        break;
    case UMBEL_SYNC_HELD:
        snprintf(out, cap,
                 "%s is held at its capacity in list %s: raise capacity "
                 "at all servers",
                 who, list);
        break;
    case UMBEL_SYNC_RENEWED:
        snprintf(
            out, cap,
            "peers have newer data of this server than its data directory: "
            "it continues as a new incarnation");
        break;
    case UMBEL_SYNC_DROPPED:
        snprintf(out, cap, "%s was dropped at the request of other servers",
                 who);
        break;
    case UMBEL_SYNC_EXPIRED:
        snprintf(out, cap, "epoch %" PRIu64 " of list %s is over", e->epoch,
                 list);
        break;
    }
    return true;
}

static void handle_event(void *ctx, const umbel_sync_event *e)
{
    um_peers *p = ctx;
    char text[UM_LOG_LINE_LEN];
    unsigned topic = UM_PEER_EVENT + (e->kind == UMBEL_SYNC_REFUSED
                                          ? (unsigned)e->reason
                                          : UMBEL_SYNC_REASONS + e->kind);

    p->news = true;
    if (e->kind == UMBEL_SYNC_RENEWED)
        p->renewed = true;
    /* These must survive a restart: they are in the saved state. */
    if ((e->kind == UMBEL_SYNC_CONTRADICTED || e->kind == UMBEL_SYNC_DROPPED ||
         e->kind == UMBEL_SYNC_LOGGED) &&
        p->replicas)
        um_replica_store_note_change(p->replicas);
    if (e->kind == UMBEL_SYNC_EXPIRED)
        p->expired[e->list] = true;
    if (describe(p, e, text, sizeof text))
        um_peers_log(p, um_remote_of_number(p, e->peer), topic, "%s", text);
}

/* --- opening -------------------------------------------------------------- */

static umbel_status open_machine(um_peers *p, uint64_t incarnation,
                                 const umbel_sync_list *list, umbel_error *err)
{
    const um_peers_settings *s = &p->config->peers;
    umbel_sync_params params = UMBEL_SYNC_INIT;

    params.lists = list;
    while (um_list_name(params.nlists))
        params.nlists++;
    params.sign_key = p->keys.sign_key;
    params.incarnation = incarnation;
    while (!params.session)
        randombytes_buf(&params.session, sizeof params.session);
    params.strict = s->strict;
    params.announce = true; /* umbel sync ends when it has everything */
    params.drop_quorum = (uint32_t)s->drop_quorum;
    params.limits = um_peers_limits(p->config);
    params.event = handle_event;
    params.ctx = p;
    return umbel_sync_open(&params, &p->machine, err);
}

umbel_status um_peers_open_machine(um_peers *p, uint64_t incarnation,
                                   const uint8_t *secret, umbel_error *err)
{
    umbel_sync_list list[UM_MAX_LISTS] = {{0}};
    umbel_filter *shape[UM_MAX_LISTS] = {NULL};
    char agree[UM_MAX_LISTS][UMBEL_SYNC_MAX_AGREE];

    umbel_sync_close(p->machine);
    p->machine = NULL;
    um_lists_set_machine(p->lists, NULL);
    umbel_status status =
        um_peers_create_shapes(p->config, secret, list, shape, agree, err);
    if (status == UMBEL_OK)
        status = open_machine(p, incarnation, list, err);
    for (size_t i = 0; i < UM_LISTS; i++)
        umbel_close(shape[i]);
    if (status == UMBEL_OK)
        umbel_sync_tick(p->machine, p->clock->now);
    um_lists_set_machine(p->lists, p->machine);
    return status;
}

umbel_sync *um_peers_machine(const um_peers *p)
{
    return p ? p->machine : NULL;
}

/* --- our own log ---------------------------------------------------------- */

static umbel_slice entry_name(const um_peers *p, uint64_t seq,
                              char out[NAME_LEN])
{
    int len = snprintf(out, NAME_LEN, "log/%" PRIu64 "/%" PRIu64,
                       umbel_sync_incarnation(p->machine), seq);

    return (umbel_slice){out, (size_t)len};
}

umbel_status um_peers_load_log(um_peers *p, umbel_error *err)
{
    char room[NAME_LEN];
    umbel_slice value;

    for (uint64_t seq = 1;
         um_store_get(p->store, entry_name(p, seq, room), &value) && value.len;
         seq++) {
        const uint8_t *bytes = value.data;
        umbel_slice body = {bytes + 1, value.len - 1};
        umbel_status status =
            umbel_sync_log_append(p->machine, bytes[0], body, &p->logged, err);
        if (status == UMBEL_E_LIMIT)
            um_set_error(err, status,
                         "the data directory has more than %" PRIu64
                         " accounts, forgotten digests and dropped origins for "
                         "peers: raise log_entries in peers { } again",
                         p->logged);
        UM_TRY(status);
    }
    return UMBEL_OK;
}

umbel_status um_peers_append(um_peers *p, uint8_t type, umbel_slice body,
                             uint64_t *ticket, umbel_error *err)
{
    uint8_t value[1 + BODY_LEN];
    char room[NAME_LEN];
    um_store *s = p->store;

    if (p->renewed || body.len > BODY_LEN)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the server's log accepts no entry now: try again");
    value[0] = type;
    memcpy(value + 1, body.data, body.len);
    umbel_slice name = entry_name(p, p->logged + 1, room);
    UM_TRY(um_store_set(s, name, (umbel_slice){value, 1 + body.len},
                        p->clock->now, ticket, err));
    umbel_status status =
        umbel_sync_log_append(p->machine, type, body, &p->logged, err);
    if (status)
        um_store_set(s, name, (umbel_slice){NULL, 0}, p->clock->now, ticket,
                     NULL);
    if (status == UMBEL_E_LIMIT)
        um_set_error(err, status,
                     "log full: %" PRIu64
                     " accounts, forgotten digests and dropped origins; raise "
                     "log_entries in peers { } at all servers",
                     p->logged);
    p->publishing.ticket = *ticket;
    um_peers_want_all(p);
    return status;
}
