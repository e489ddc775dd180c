/*
 * peers_remotes.c - the peers of the configuration, and what is known of each.
 */
#include "clearinghouse/peering/inside.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

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

static void free_remote(um_remote *r)
{
    if (!r)
        return;
    free(r->name);
    free(r->address);
    free(r);
}

static void end_links(um_remote *r, const char *why)
{
    if (r->calling)
        um_conn_end(r->calling, why);
    if (r->up)
        um_conn_end(r->up, why);
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
        free_remote(all[i]);
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

/* Gives a peer the name and address of fresh, which is freed; its link and
 * figures stay. */
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
    free_remote(fresh);
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

    for (size_t i = 0; i < n; i++) /* a new one is not away since the start */
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
            free_remote(old[i]);
    }
    free(old);
    p->remote = fresh;
    p->nremotes = n;
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
