/*
 * peers.c - starts, runs, reloads and stops the exchange with peers.
 *
 * The order of a start: keys are read first, so that a wrong one is refused
 * before anything is created. The store is opened next; it passes on the
 * publish markers (publisher.c), for which the sync engine is opened. Then come
 * replicas of other origins, and links.
 */
#include "clearinghouse/peering/internal.h"

#include "base/error.h"
#include "base/hex.h"

#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    BEAT_MS = 100,
    SHORT_BEAT_MS = 2,  /* while we publish */
    INDEX_BEAT_MS = 10, /* while replicas are indexed */
    MAX_UNREAD = 4 * UM_PEERS_MESSAGE
};

umbel_status um_peers_reload(um_peers *p, umbel_error *err)
{
    um_peers_keys keys;
    um_remote **fresh;

    if (!p)
        return UMBEL_OK;
    UM_TRY(um_peers_keys_read(p->config, &keys, err));
    umbel_status status = um_create_remotes(p->config, &keys, &fresh, err);
    um_peers_keys_fini(&keys);
    UM_TRY(status);
    status = um_peers_allow(p, fresh, p->config->npeers, err);
    if (status) {
        um_free_remotes(fresh, p->config->npeers);
        return status;
    }
    um_replace_remotes(p, fresh, p->config->npeers);
    um_config now = *p->config; /* only read */
    now.peers.memory = p->opened->peers.memory;
    um_peers_full_memory(&now, &p->full_memory, NULL);
    um_peers_set_trust(p);
    um_peers_want_all(p);
    return UMBEL_OK;
}

/* --- opening -------------------------------------------------------------- */

/* Names the addresses in the line "ready". */
static const um_service peers_service = {.name = "peers"};

static void free_peers(um_peers *p)
{
    um_free_remotes(p->remote, p->nremotes);
    um_peers_keys_fini(&p->keys);
    free(p->latest.item);
    free(p->mails.item);
    free(p->listener);
    free(p);
}

static void listener_gone(void *ctx)
{
    um_peers *p = ctx;

    if (--p->open == 0)
        free_peers(p);
}

static umbel_status open_listener(um_peers *p, int fd, umbel_error *err)
{
    um_listener_config c = {.protocol = &um_peers_protocol,
                            .limits = {.request = MAX_UNREAD,
                                       .unread = MAX_UNREAD,
                                       .idle_ms = 120000,
                                       .total_ms = UINT64_MAX},
                            .duplex = true,
                            .gone = listener_gone,
                            .ctx = p};

    UM_TRY(um_listener_open(p->loop, fd, &c, &p->listener[p->nlisteners], err));
    p->nlisteners++;
    p->open++;
    return UMBEL_OK;
}

static umbel_status open_listeners(um_peers *p, umbel_error *err)
{
    const um_texts *listen = &p->config->peers.listen;
    int fd;

    p->listener = calloc(listen->n + 1, sizeof(um_listener *));
    if (!p->listener)
        return um_no_memory(err, sizeof(um_listener *));
    UM_TRY(open_listener(p, -1, err));
    for (size_t i = 0; i < listen->n; i++) {
        UM_TRY(um_addresses_listen(p->addresses, &peers_service,
                                   listen->item[i], SOCK_STREAM, 0, &fd, err));
        UM_TRY(open_listener(p, fd, err));
    }
    return UMBEL_OK;
}

static umbel_status append_for_lists(void *ctx, uint8_t type, umbel_slice body,
                                     uint64_t *ticket, umbel_error *err)
{
    return um_peers_append(ctx, type, body, ticket, err);
}

umbel_status um_peers_open(const um_peers_params *params, um_peers **out,
                           umbel_error *err)
{
    if (!params->config->origin)
        return UMBEL_OK;
    um_peers *p = calloc(1, sizeof *p);
    if (!p)
        return um_no_memory(err, sizeof *p);
    *out = p; /* closed by the server */
    p->opened = params->opened;
    p->config = params->config;
    p->clock = params->clock;
    p->log = params->log;
    p->lists = params->lists;
    p->addresses = params->addresses;
    um_lists_set_peers(p->lists, append_for_lists, p);
    p->strangers = (um_log_topic){.source = "peers", .name = "stranger"};
    UM_TRY(um_peers_full_memory(p->config, &p->full_memory, err));
    UM_TRY(um_latest_open(p, err));
    UM_TRY(um_mails_open(p, err));
    UM_TRY(um_peers_keys_read(p->config, &p->keys, err));
    UM_TRY(um_create_remotes(p->config, &p->keys, &p->remote, err));
    p->nremotes = p->config->npeers;
    return UMBEL_OK;
}

/* --- iterations of the loop ----------------------------------------------- */

/* Updates the indexes that make look-ups fast: of replicas, and of our own
 * lists. Returns true if there is more to do. */
static bool continue_indexing(um_peers *p)
{
    bool ours = um_store_build_totals(p->store);

    return umbel_sync_index(p->machine) || ours;
}

static void beat(void *ctx)
{
    um_peers *p = ctx;

    if (p->news)
        um_peers_want_all(p);
    p->news = false;
    um_calls_start(p);
    if (um_publish_beat(p))
        um_timer_set(p->beat, SHORT_BEAT_MS, BEAT_MS);
    else if (p->indexing && (p->indexing = continue_indexing(p)))
        um_timer_set(p->beat, INDEX_BEAT_MS, BEAT_MS);
}

/* Does nothing: the timer only starts an iteration of the loop. */
static void no_work(void *ctx)
{
    (void)ctx;
}

static void log_replicas(void *ctx, const char *text)
{
    um_peers *p = ctx;

    um_peers_log(p, NULL, 0, "%s", text);
}

static umbel_status load_replicas(um_peers *p, umbel_error *err)
{
    const um_config *c = p->config;
    char dir[PATH_MAX];
    um_replica_store_config config = {.dir = dir,
                                      .machine = p->machine,
                                      .list = um_list_name,
                                      .interval = c->peers.save / 1000,
                                      .memory = c->peers.memory,
                                      .log = log_replicas,
                                      .ctx = p};

    if ((size_t)snprintf(dir, sizeof dir, "%s/peers", c->data) >= sizeof dir)
        return um_fail(err, UMBEL_E_IO,
                       "the name of the data directory is too "
                       "long");
    UM_TRY(um_replica_store_open(&config, &p->replicas, err));
    return um_replica_store_load(p->replicas, err);
}

umbel_status um_peers_start(um_peers *p, um_loop *loop, umbel_error *err)
{
    if (!p)
        return UMBEL_OK;
    p->loop = loop;
    UM_TRY(um_peers_load_log(p, err));
    um_lists_set_log_read(p->lists);
    /* The saved state, which is loaded next, may override this. */
    UM_TRY(um_peers_allow(p, p->remote, p->nremotes, err));
    UM_TRY(load_replicas(p, err));
    UM_TRY(open_listeners(p, err));
    UM_TRY(um_timer_open(p->loop, BEAT_MS, BEAT_MS, beat, p, &p->beat, err));
    return um_timer_open(p->loop, 0, 0, no_work, p, &p->again, err);
}

void um_peers_tick(um_peers *p)
{
    if (!p || p->closing)
        return;
    umbel_sync_tick(p->machine, p->clock->now);
    p->indexing = true;
    um_conns_tick(p);
    um_replica_store_tick(p->replicas, p->clock->now);
    um_peers_want_all(p); /* repeats messages that were not answered */
}

void um_peers_end_iteration(um_peers *p)
{
    if (!p || p->closing)
        return;
    if (p->renewed)
        um_peers_renew(p);
    um_conns_work(p);
}

uint64_t um_peers_strangers(const um_peers *p)
{
    return p->refused_strangers;
}

um_replica_store *um_peers_replicas(const um_peers *p)
{
    return p->replicas;
}

void um_peers_child_ended(um_peers *p)
{
    if (p && p->replicas)
        um_replica_store_tick(p->replicas, p->clock->now);
}

void um_peers_save(um_peers *p)
{
    if (p && p->replicas)
        um_replica_store_save_now(p->replicas);
}

bool um_peers_saving(const um_peers *p)
{
    return p && p->replicas && um_replica_store_saving(p->replicas);
}

static void close_replicas(um_peers *p)
{
    umbel_error err;

    if (p->replicas && um_replica_store_saving(p->replicas))
        um_peers_log(p, NULL, 0,
                     "stopped before all replicas were saved: peers send the "
                     "others again");
    if (p->replicas &&
        um_replica_store_finish_state(p->replicas, &err) != UMBEL_OK)
        um_peers_log(p, NULL, 0, "the state of origins was not saved: %s",
                     err.text);
    um_replica_store_close(p->replicas);
    p->replicas = NULL;
}

void um_peers_close(um_peers *p)
{
    if (!p)
        return;
    p->closing = true;
    um_lists_set_peers(p->lists, NULL, NULL);
    p->open++; /* until all listeners are closed */
    um_timer_close(p->beat);
    um_timer_close(p->again);
    for (um_conn *c = p->first, *next; c; c = next) {
        next = c->next;
        um_conn_end(c, NULL);
    }
    for (size_t i = 0; i < p->nlisteners; i++)
        um_listener_close(p->listener[i]);
    close_replicas(p);
    umbel_sync_close(p->machine);
    p->machine = NULL;
    um_lists_set_machine(p->lists, NULL);
    listener_gone(p);
}
