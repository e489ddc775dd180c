/*
 * remotes.c - the table of configured peers: what is known of each, and what
 * is logged about it.
 */
#include "clearinghouse/peering/internal.h"

#include "base/error.h"
#include "base/text.h"
#include "publish/manifest.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MINUTE = 60 };

static const char *const link_state[] = {"down", "calling", "up"};

um_remote *um_remote_find(const um_peers *p, const uint8_t *key)
{
    for (size_t i = 0; i < p->nremotes; i++)
        if (memcmp(p->remote[i]->key, key, UMBEL_TRUST_KEY_LEN) == 0)
            return p->remote[i];
    return NULL;
}

um_remote *um_remote_of_number(const um_peers *p, int number)
{
    for (size_t i = 0; number >= 0 && i < p->nremotes; i++)
        if (p->remote[i]->number == number)
            return p->remote[i];
    return NULL;
}

void um_peers_want_all(um_peers *p)
{
    for (size_t i = 0; i < p->nremotes; i++)
        p->remote[i]->wants = true;
    p->wanted = true;
}

void um_remote_down(um_peers *p, um_remote *r)
{
    umbel_sync_peer_stats stats;

    umbel_sync_peer_stats_get(p->machine, r->number, &stats);
    for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
        r->refused[i] += stats.refused[i];
    umbel_sync_disconnect(p->machine, r->number);
    r->number = -1;
    r->since = p->clock->now;
}

void um_free_remote(um_remote *r)
{
    if (!r)
        return;
    free(r->name);
    free(r->address);
    free(r);
}

static bool set_remote(um_remote *r, const um_peer_settings *s,
                       const uint8_t *key)
{
    r->name = strdup(s->name);
    r->address = s->address ? strdup(s->address) : NULL;
    memcpy(r->key, key, sizeof r->key);
    r->number = -1;
    return r->name &&
           (!s->address || (r->address && um_address_parse(r->address, &r->to,
                                                           NULL) == UMBEL_OK));
}

void um_free_remotes(um_remote **all, size_t n)
{
    for (size_t i = 0; all && i < n; i++)
        um_free_remote(all[i]);
    free(all);
}

umbel_status um_create_remotes(const um_config *c, const um_peers_keys *k,
                               um_remote ***out, umbel_error *err)
{
    um_remote **all = calloc(c->npeers + 1, sizeof(um_remote *));
    size_t i = 0;

    for (; all && i < c->npeers; i++) {
        all[i] = calloc(1, sizeof **all);
        if (!all[i] || !set_remote(all[i], &c->peer[i], k->peer[i]))
            break;
    }
    if (all && i == c->npeers) {
        *out = all;
        return UMBEL_OK;
    }
    um_free_remotes(all, c->npeers);
    return um_no_memory(err, c->npeers * sizeof **all);
}

bool um_peers_next(const um_peers *p, size_t *at, um_peer_info *out)
{
    if (!p || *at >= p->nremotes)
        return false;
    const um_remote *r = p->remote[(*at)++];
    umbel_sync_peer_stats stats = {.known = false};
    *out = (um_peer_info){
        .name = r->name,
        .key = r->key,
        .address = r->address,
        .state = link_state[r->up        ? 2
                            : r->calling ? 1
                                         : 0],
        .up = r->up,
        .number = r->number,
        .since = r->since,
        .error = r->error,
        .bytes_in = r->bytes_in + (r->up ? r->up->bytes_in : 0),
        .bytes_out = r->bytes_out + (r->up ? r->up->bytes_out : 0)};
    if (r->up)
        umbel_sync_peer_stats_get(p->machine, r->number, &stats);
    for (size_t i = 0; i < UMBEL_SYNC_REASONS; i++)
        out->refused[i] = r->refused[i] + stats.refused[i];
    return true;
}

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

void um_peers_origin_name(const um_peers *p, const uint8_t *origin,
                          char out[UM_ORIGIN_NAME])
{
    const um_remote *r = um_remote_find(p, origin);

    if (memcmp(origin, umbel_sync_origin(p->machine), UMBEL_ORIGIN_LEN) == 0)
        snprintf(out, UM_ORIGIN_NAME, "this server");
    else if (r)
        snprintf(out, UM_ORIGIN_NAME, "%s", r->name);
    else
        um_hex_write(origin, 4, out);
}
