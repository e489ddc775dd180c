/*
 * peers_events.c - what is logged of peers: a line for each kind of event, peer
 * and minute.
 */
#include "clearinghouse/peering/inside.h"

#include "base/error.h"
#include "base/text.h"
#include "publish/manifest.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MINUTE = 60, SHORT_KEY = 8 };

void um_peers_log(um_peers *p, um_remote *r, unsigned topic, const char *format,
                  ...)
{
    char text[UM_LOG_LINE_LEN];
    va_list args;

    if (r && r->logged[topic] && p->clock->now < r->logged[topic] + MINUTE)
        return;
    if (r)
        r->logged[topic] = p->clock->now;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    um_disarm(text);
    um_log_event(p->log, "peers: %s%s%s", r ? r->name : "", r ? ": " : "",
                 text);
}

/* An origin as a person knows it: the peer of that key, or its first digits. A
 * refusal that is about no origin names none. */
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

/* Writes what an event means; false: nothing that is logged. */
static bool describe(const um_peers *p, const umbel_sync_event *e, char *out,
                     size_t cap)
{
    const char *list = e->list >= 0 ? um_list_name((size_t)e->list) : "";
    const char *in = e->list >= 0 ? ", list " : "";
    char who[UM_LOG_LINE_LEN / 4] = "";

    if (e->kind == UMBEL_SYNC_APPLIED || e->kind == UMBEL_SYNC_LOGGED)
        return false; /* there may be thousands a second */
    origin_name(p, e->origin, who, sizeof who);
    switch (e->kind) {
    case UMBEL_SYNC_APPLIED:
    case UMBEL_SYNC_LOGGED:
        break;
    case UMBEL_SYNC_REFUSED:
        snprintf(out, cap, "refused (%s)%s%s%s%s: %s",
                 umbel_sync_reason_name(e->reason), who[0] ? " of " : "", who,
                 in, list, e->text ? e->text : "");
        break;
    case UMBEL_SYNC_CONTRADICTED:
        snprintf(out, cap,
                 "%s contradicted itself in list %s (epoch %" PRIu64
                 ", version %" PRIu64
                 "): what it said in this incarnation is out",
                 who, list, e->epoch, e->version);
        break;
    case UMBEL_SYNC_HELD:
        snprintf(out, cap,
                 "%s is held at its capacity in list %s: raise capacity "
                 "at all servers",
                 who, list);
        break;
    case UMBEL_SYNC_RENEWED:
        snprintf(out, cap,
                 "others have more of what this server counted than its data "
                 "directory: it goes on as a new incarnation");
        break;
    case UMBEL_SYNC_DROPPED:
        snprintf(out, cap, "%s was dropped: others asked for it", who);
        break;
    case UMBEL_SYNC_EXPIRED:
        snprintf(out, cap, "epoch %" PRIu64 " of list %s is over", e->epoch,
                 list);
        break;
    }
    return true;
}

void um_peers_event(void *ctx, const umbel_sync_event *e)
{
    um_peers *p = ctx;
    char text[UM_LOG_LINE_LEN];
    unsigned topic = UM_PEER_EVENT + (e->kind == UMBEL_SYNC_REFUSED
                                          ? (unsigned)e->reason
                                          : UMBEL_SYNC_REASONS + e->kind);

    p->news = true;
    if (e->kind == UMBEL_SYNC_RENEWED)
        p->renewed = true;
    /* Who is out stays out after a restart, and entries of logs stay known. */
    if ((e->kind == UMBEL_SYNC_CONTRADICTED || e->kind == UMBEL_SYNC_DROPPED ||
         e->kind == UMBEL_SYNC_LOGGED) &&
        p->copies)
        um_replica_store_note_change(p->copies);
    if (e->kind == UMBEL_SYNC_EXPIRED)
        um_publish_forget(p, (size_t)e->list);
    if (describe(p, e, text, sizeof text))
        um_peers_log(p, um_remote_of_number(p, e->peer), topic, "%s", text);
}
