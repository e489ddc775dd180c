/*
 * peers_call.c - calling peers, with pauses that grow while nobody answers.
 *
 * After a link that worked for a while the first pause is short. A link that
 * ends soon counts as a call that failed: two servers with the same key would
 * otherwise take turns as fast as they can.
 */
#include "clearinghouse/peering/inside.h"

#include "base/error.h"

#include <sodium.h>

enum { PAUSE_MIN = 200, PAUSE_MAX = 60000, CALLS_MOST = 128 };

void um_calls_append_off(um_peers *p, um_remote *r, bool worked)
{
    r->pause = worked || !r->pause         ? PAUSE_MIN
               : r->pause >= PAUSE_MAX / 2 ? PAUSE_MAX
                                           : 2 * r->pause;
    /* Between half and all of it: peers that lost a link at the same time do
     * not call each other, or a third one, at the same time. */
    r->call_at = um_clock_ms(p->clock) + r->pause / 2 +
                 randombytes_uniform((uint32_t)r->pause / 2 + 1);
}

static void call_remote(um_peers *p, um_remote *r)
{
    umbel_error err;
    um_conn *c = um_conn_open(p, r);

    if (!c) /* no memory */
        um_calls_append_off(p, r, false);
    else if (um_listener_call(p->listener[0], &r->to, c, &c->stream, &err))
        um_conn_discard(c, err.text);
}

void um_calls_create(um_peers *p)
{
    uint64_t now = um_clock_ms(p->clock);
    size_t calling = 0;

    for (size_t i = 0; i < p->nremotes; i++)
        calling += p->remote[i]->calling != NULL;
    for (size_t i = 0; i < p->nremotes && calling < CALLS_MOST; i++) {
        um_remote *r = p->remote[i];
        if (!r->address || r->up || r->calling || now < r->call_at)
            continue;
        call_remote(p, r);
        calling++;
    }
}
