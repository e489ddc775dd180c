/*
 * peers.c - opening, turns, reload and end of what servers that count together
 * need.
 *
 * The order of a start: keys are read first, so that a wrong one is refused
 * before anything is made. The store is opened next; it gives back the marks of
 * what was published (peers_publish.c), for which the machine is opened. Then
 * come copies of others, and links.
 */
#include "clearinghouse/peering/inside.h"

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
    INDEX_BEAT_MS = 10, /* while copies of others are indexed */
    UNREAD_MOST = 4 * UM_PEERS_MESSAGE
};

/* --- trust ---------------------------------------------------------------- */

static bool has_standing(const um_peers *p, const uint8_t *origin)
{
    umbel_sync_origin_status s;

    for (size_t at = 0; umbel_sync_next_origin_status(p->machine, &at, &s);)
        if (memcmp(s.origin, origin, UMBEL_ORIGIN_LEN) == 0)
            return true;
    return false;
}

/* Peers of the configuration are allowed, unless the operator dropped or muted
 * them: with strict nobody else is, and otherwise the limit of origins is for
 * others. */
static umbel_status allow_peers(um_peers *p, umbel_error *err)
{
    for (size_t i = 0; i < p->nremotes; i++)
        if (!has_standing(p, p->remote[i]->key))
            UM_TRY(umbel_sync_allow(p->machine, p->remote[i]->key, err));
    return UMBEL_OK;
}

/* The list that takes back what others report has a quorum of its own. */
static uint32_t quorum_of(const um_config *c, size_t list)
{
    return (uint32_t)(um_list_rows[list].revokes ? c->peers.revoke_quorum
                                                 : c->peers.quorum);
}

static void set_trust(um_peers *p)
{
    const um_config *c = p->config;

    for (size_t i = 0; i < UM_LISTS; i++)
        umbel_sync_set_trust(p->machine, i, quorum_of(c, i),
                             c->peers.origin_cap);
}

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
    um_replace_remotes(p, fresh, p->config->npeers);
    set_trust(p);
    um_peers_want_all(p);
    return allow_peers(p, err);
}

/* --- the machine ---------------------------------------------------------- */

um_sync_parameters um_peers_parameters(const um_config *c, size_t list,
                                       const uint8_t *key)
{
    um_list_config l = um_list_config_of(c, list);
    um_sync_parameters t = {.epoch_seconds = l.epoch_seconds,
                            .epochs = l.epochs,
                            .page_bytes = UM_PEERS_PAGE,
                            .quorum = quorum_of(c, list),
                            .origin_cap = c->peers.origin_cap,
                            .has_server = true};

    snprintf(t.list, sizeof t.list, "%s", l.name);
    memcpy(t.server, key, sizeof t.server);
    um_list_agree(c, list, t.agree);
    return t;
}

static umbel_status create_shapes(const um_config *c, const uint8_t *secret,
                                  umbel_sync_list *list, umbel_filter **shape,
                                  char agree[][UMBEL_SYNC_MAX_AGREE],
                                  umbel_error *err)
{
    for (size_t i = 0; i < UM_LISTS; i++) {
        um_list_config l = um_list_config_of(c, i);
        um_list_agree(c, i, agree[i]);
        UM_TRY(um_list_config_filter(&l, secret, &shape[i], err));
        list[i] = (umbel_sync_list){.name = l.name,
                                    .shape = shape[i],
                                    .epoch_seconds = l.epoch_seconds,
                                    .epochs = l.epochs,
                                    .page_bytes = UM_PEERS_PAGE,
                                    .quorum = quorum_of(c, i),
                                    .origin_cap = c->peers.origin_cap,
                                    .agree = agree[i][0] ? agree[i] : NULL,
                                    .indexed = true};
    }
    return UMBEL_OK;
}

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
    params.announce = true; /* umbel sync ends when it has all */
    params.drop_quorum = (uint32_t)s->drop_quorum;
    params.limits = um_peers_limits(p->config);
    params.event = um_peers_event;
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
        create_shapes(p->config, secret, list, shape, agree, err);
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

/* --- opening -------------------------------------------------------------- */

/* What the line "ready" calls the addresses. */
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
                            .limits = {.request = UNREAD_MOST,
                                       .unread = UNREAD_MOST,
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
    UM_TRY(um_latest_open(p, err));
    UM_TRY(um_mails_open(p, err));
    UM_TRY(um_peers_keys_read(p->config, &p->keys, err));
    UM_TRY(um_create_remotes(p->config, &p->keys, &p->remote, err));
    p->nremotes = p->config->npeers;
    return UMBEL_OK;
}

uint64_t um_clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* --- turns ---------------------------------------------------------------- */

/* What makes look-ups fast where there are peers: in their copies, and in our
 * own lists. */
static bool go_on_indexing(um_peers *p)
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
    um_calls_create(p);
    if (um_publish_beat(p))
        um_timer_set(p->beat, SHORT_BEAT_MS, BEAT_MS);
    else if (p->indexing && (p->indexing = go_on_indexing(p)))
        um_timer_set(p->beat, INDEX_BEAT_MS, BEAT_MS);
}

/* The turn itself is all that is wanted. */
static void no_work(void *ctx)
{
    (void)ctx;
}

static void log_copies(void *ctx, const char *text)
{
    um_peers *p = ctx;

    um_peers_log(p, NULL, 0, "%s", text);
}

static umbel_status load_copies(um_peers *p, umbel_error *err)
{
    const um_config *c = p->config;
    char dir[PATH_MAX];
    um_replica_store_config config = {.dir = dir,
                                      .machine = p->machine,
                                      .list = um_list_name,
                                      .interval = c->peers.save / 1000,
                                      .memory = c->peers.memory,
                                      .log = log_copies,
                                      .ctx = p};

    if ((size_t)snprintf(dir, sizeof dir, "%s/peers", c->data) >= sizeof dir)
        return um_fail(err, UMBEL_E_IO,
                       "the name of the data directory is too "
                       "long");
    UM_TRY(um_replica_store_open(&config, &p->copies, err));
    return um_replica_store_load(p->copies, err);
}

umbel_status um_peers_start(um_peers *p, um_loop *loop, umbel_error *err)
{
    if (!p)
        return UMBEL_OK;
    p->loop = loop;
    UM_TRY(um_peers_load_log(p, err));
    um_lists_set_log_read(p->lists);
    UM_TRY(allow_peers(p, err)); /* what was saved may say otherwise */
    UM_TRY(load_copies(p, err));
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
    um_replica_store_tick(p->copies, p->clock->now);
    um_peers_want_all(p); /* what was not answered is repeated */
}

void um_peers_end_turn(um_peers *p)
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
    return p->copies;
}

void um_peers_child_ended(um_peers *p)
{
    if (p && p->copies)
        um_replica_store_tick(p->copies, p->clock->now);
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

static void save_copies(um_peers *p)
{
    umbel_error err;

    if (p->copies && um_replica_store_save(p->copies, &err) != UMBEL_OK)
        um_peers_log(p, NULL, 0, "what others said was not saved: %s",
                     err.text);
    um_replica_store_close(p->copies);
    p->copies = NULL;
}

void um_peers_close(um_peers *p)
{
    if (!p)
        return;
    p->closing = true;
    um_lists_set_peers(p->lists, NULL, NULL);
    p->open++; /* until all of them are told */
    um_timer_close(p->beat);
    um_timer_close(p->again);
    for (um_conn *c = p->first, *next; c; c = next) {
        next = c->next;
        um_conn_end(c, NULL);
    }
    for (size_t i = 0; i < p->nlisteners; i++)
        um_listener_close(p->listener[i]);
    save_copies(p);
    umbel_sync_close(p->machine);
    p->machine = NULL;
    um_lists_set_machine(p->lists, NULL);
    listener_gone(p);
}
