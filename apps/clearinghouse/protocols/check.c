/*
 * check.c - checks that a configuration can be served, and computes the memory
 * that it needs.
 */
#include "clearinghouse/protocols/protocol.h"

#include "base/error.h"
#include "clearinghouse/peering/peers.h"
#include "clearinghouse/runtime/format.h"
#include "store/store.h"

#include <inttypes.h>

/* For socket buffers, connections, and the code itself. */
#define BASE_BYTES UINT64_C(8000000)
#define MEGABYTE UINT64_C(1000000)

um_mail_pool_config um_protocols_pool_config(const um_config *c)
{
    return (um_mail_pool_config){.workers = (unsigned)c->mail.workers,
                                 .seconds = (unsigned)(c->mail.time / 1000),
                                 .limits = {.bytes = c->mail.bytes}};
}

/* Adds the bytes of a list once it has all its epochs, and checks that its
 * counters can reach the threshold. */
static umbel_status add_list(const um_config *c, size_t i, uint64_t *need,
                             umbel_error *err)
{
    static const uint8_t secret[UMBEL_SECRET_LEN];
    um_list_config config = um_list_config_of(c, i);
    um_list_stats stats;
    um_list *list;

    UM_TRY(um_list_open(&config, secret, 0, &list, err));
    um_list_stats_get(list, &stats);
    *need += stats.bytes * c->list[i].epochs;
    umbel_status status = um_list_check_threshold(list, err);
    um_list_close(list);
    return status;
}

static umbel_status add_protocols(const um_config *c, uint64_t *need,
                                  umbel_error *err)
{
    for (size_t i = 0; um_protocols[i]; i++)
        if (um_protocols[i]->memory)
            UM_TRY(um_protocols[i]->memory(c, need, err));
    return UMBEL_OK;
}

/* Adds the rules of the welcome file, twice because a reload has old and new
 * ones, and the exceptions. */
static umbel_status add_trust(const um_config *c, uint64_t *need,
                              umbel_error *err)
{
    um_welcome *w;

    UM_TRY(um_welcome_read(c->welcome, NULL, NULL, &w, err));
    *need += 2 * um_welcome_bytes(w) + UM_KV_MAX_BYTES;
    um_welcome_close(w);
    return UMBEL_OK;
}

/* Adds the memory of peers { }, which must hold the replicas of at least two
 * origins. */
static umbel_status add_peers(const um_config *c, uint64_t lists,
                              uint64_t *need, umbel_error *err)
{
    if (!c->origin)
        return UMBEL_OK;
    if (c->peers.memory < 2 * lists)
        return um_fail(err, UMBEL_E_LIMIT,
                       "peers: memory = %s: the lists of this server and of "
                       "one other need %s when they are full; raise it, or "
                       "lower capacity or epochs of a list",
                       um_format_bytes(c->peers.memory).text,
                       um_format_bytes(2 * lists).text);
    *need += um_peers_bytes(c);
    return UMBEL_OK;
}

/* Adds up what the server needs when its lists are full. */
static umbel_status add_all(const um_config *c, uint64_t *need,
                            umbel_error *err)
{
    um_mail_pool_config pool = um_protocols_pool_config(c);
    uint64_t lists = 0;

    *need = BASE_BYTES + um_limits_bytes(&c->limits) +
            um_recent_times_bytes(UM_STORE_RECENT) + um_mail_pool_bytes(&pool);
    for (size_t i = 0; i < UM_LISTS; i++)
        UM_TRY(add_list(c, i, &lists, err));
    *need += lists;
    UM_TRY(add_peers(c, lists, need, err));
    UM_TRY(add_protocols(c, need, err));
    return add_trust(c, need, err);
}

/* Returns the memory that the server may use beyond what it needs. */
static uint64_t memory_left(const um_config *c)
{
    uint64_t need;

    return add_all(c, &need, NULL) == UMBEL_OK && need < c->memory
               ? c->memory - need
               : 0;
}

uint64_t um_protocols_sums_bytes(const um_config *c)
{
    return c->origin ? memory_left(c) / 2 : 0;
}

uint64_t um_protocols_extra_bytes(const um_config *c)
{
    uint64_t left = memory_left(c);

    return left - left / 4 - um_protocols_sums_bytes(c);
}

bool um_protocols_short_memory(const um_config *c, char *out, size_t cap)
{
    um_config enough = *c; /* only read */
    uint64_t total;

    if (!c->origin ||
        um_peers_full_memory(c, &enough.peers.memory, NULL) != UMBEL_OK ||
        !enough.peers.memory || add_all(&enough, &total, NULL) != UMBEL_OK)
        return false;
    int len = snprintf(
        out, cap,
        "peers: memory = %s in peers { } is too small for %zu servers, this "
        "one included, when all epochs are full; write memory = \"%" PRIu64
        "MB\" there",
        um_format_bytes(c->peers.memory).text, c->npeers + 1,
        enough.peers.memory / MEGABYTE);
    if (total > c->memory && len > 0 && (size_t)len < cap)
        snprintf(out + len, cap - (size_t)len,
                 ", and memory = \"%" PRIu64 "MB\" outside of it",
                 (total + MEGABYTE - 1) / MEGABYTE);
    return true;
}

umbel_status um_protocols_check_memory(const um_config *c, umbel_error *err)
{
    uint64_t need;

    UM_TRY(add_all(c, &need, err));
    if (need > c->memory)
        return um_fail(
            err, UMBEL_E_LIMIT,
            "memory = %s: the server needs %s when its lists are full; "
            "raise it, or lower capacity or epochs of a list%s",
            um_format_bytes(c->memory).text, um_format_bytes(need).text,
            c->origin ? ", or memory in peers { }" : "");
    return UMBEL_OK;
}

umbel_status um_protocols_check(const um_config *c, umbel_error *err)
{
    um_store_config store = {.dir = c->data, .secret = c->secret};

    UM_TRY(um_config_check_listens(c, err));
    UM_TRY(um_protocols_check_memory(c, err));
    UM_TRY(um_peers_check(c, err));
    return um_store_check_dir(&store, err);
}

umbel_status um_protocols_check_files(const um_config *c, FILE *out,
                                      umbel_error *err)
{
    for (size_t i = 0; um_protocols[i]; i++)
        if (um_protocols[i]->check)
            UM_TRY(um_protocols[i]->check(c->section[i], out, err));
    return UMBEL_OK;
}
