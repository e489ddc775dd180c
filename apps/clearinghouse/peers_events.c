/*
 * peers_events.c - what is logged of peers: a line for each kind of event, peer
 * and minute.
 */
#include "clearinghouse/peers_inside.h"

#include "base/error.h"
#include "base/text.h"
#include "exchange/manifest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MINUTE = 60, SHORT_KEY = 8 };

void um_peers_log(um_peers *p, um_remote *r, unsigned topic, const char *format,
                  ...)
{
    char text[UM_LOG_LINE_LEN];
    va_list args;

    if (r && r->logged[topic] && p->house->now < r->logged[topic] + MINUTE)
        return;
    if (r)
        r->logged[topic] = p->house->now;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    um_disarm(text);
    um_log_event(&p->house->log, "peers: %s%s%s", r ? r->name : "",
                 r ? ": " : "", text);
}

/* An origin as a person knows it: the peer of that key, or its first digits. */
static void origin_name(const um_peers *p, const uint8_t *origin, char *out,
                        size_t cap)
{
    const um_remote *r = origin ? um_remote_find(p, origin) : NULL;
    char hex[2 * UMBEL_ORIGIN_LEN + 1] = "";

    if (origin)
        um_digest_text(origin, hex);
    if (origin && memcmp(origin, p->keys.origin, UMBEL_ORIGIN_LEN) == 0)
        snprintf(out, cap, "this server");
    else if (r)
        snprintf(out, cap, "%s", r->name);
    else
        snprintf(out, cap, "%.*s", SHORT_KEY, hex);
}

static void note_refused(um_peers *p, const umbel_sync_event *e,
                         const char *who)
{
    um_remote *r = um_remote_of_number(p, e->peer);

    um_peers_log(p, r, UM_PEER_EVENT + e->reason, "refused (%s)%s%s%s%s: %s",
                 umbel_sync_reason_name(e->reason), e->origin ? " of " : "",
                 e->origin ? who : "", e->list >= 0 ? ", list " : "",
                 e->list >= 0 ? um_front_list((size_t)e->list) : "",
                 e->text ? e->text : "");
}

void um_peers_event(void *ctx, const umbel_sync_event *e)
{
    um_peers *p = ctx;
    um_log *log = &p->house->log;
    const char *list = e->list >= 0 ? um_front_list((size_t)e->list) : "";
    char who[UMBEL_SYNC_MAX_NAME];

    origin_name(p, e->origin, who, sizeof who);
    switch (e->kind) {
    case UMBEL_SYNC_TOOK:
    case UMBEL_SYNC_LOGGED:
        break;
    case UMBEL_SYNC_REFUSED:
        note_refused(p, e, who);
        break;
    case UMBEL_SYNC_CONTRADICTED:
        um_log_event(log,
                     "peers: origin %s contradicted itself in list %s (epoch "
                     "%" PRIu64 ", version %" PRIu64
                     "): what it said in this incarnation is out",
                     who, list, e->epoch, e->version);
        break;
    case UMBEL_SYNC_HELD:
        um_log_event(log,
                     "peers: origin %s is held at its capacity in list %s: it "
                     "should raise capacity there",
                     who, list);
        break;
    case UMBEL_SYNC_RENEWED:
        p->renewed = true;
        um_log_event(log, "peers: others have more of what this server "
                          "reported than its data directory: it goes on as a "
                          "new incarnation");
        break;
    case UMBEL_SYNC_DROPPED:
        um_log_event(log, "peers: origin %s was dropped: %s", who,
                     e->text ? e->text : "by notices of others");
        break;
    case UMBEL_SYNC_EXPIRED:
        um_log_event(log, "peers: epoch %" PRIu64 " of list %s is over",
                     e->epoch, list);
        um_publish_forget(p, (size_t)e->list);
        break;
    }
    um_peers_want_all(p);
}
