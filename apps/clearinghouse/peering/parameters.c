/*
 * parameters.c - the peering part of a configuration: keys, limits, and the
 * parameters of the exchange of each list.
 */
#include "clearinghouse/peering/internal.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "clearinghouse/peering/peers.h"

#include <ctype.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME_MAX_LEN = 63,
    LOG_BYTES = 16 << 20, /* at least; most entries are exceptions */
    ENTRY_BYTES = 256,    /* bytes of an exception, or of an account */
    HISTORY_SHARE =
        8, /* of memory, for differences, as in umbel/experimental/sync.h */
    MEGABYTE = 1000000,
    LINK_BYTES = 5 * UM_PEERS_MESSAGE /* in, out, a message and unread bytes */
};

static const char *const how_to_create =
    "create one with: umbel keygen --sign -o FILE, and give the public key "
    "in FILE.pub to the peers";

/* --- keys ----------------------------------------------------------------- */

static umbel_status read_origin(const um_config *c, um_peers_keys *k,
                                umbel_error *err)
{
    umbel_error why;

    if (access(c->origin, F_OK) != 0)
        return um_fail(err, UMBEL_E_IO, "origin: there is no %s%s; %s",
                       um_path_dots(c->origin), um_path_tail(c->origin),
                       how_to_create);
    umbel_status status = umbel_sign_key_load(c->origin, k->sign_key, &why);
    if (status != UMBEL_OK)
        return um_fail(err, status,
                       "origin: %s (keys of servers: umbel keygen "
                       "--sign)",
                       why.text);
    crypto_sign_ed25519_sk_to_pk(k->origin, k->sign_key);
    return UMBEL_OK;
}

/* Returns true for a name that may appear in logs and metrics. */
static bool is_name(const char *name)
{
    size_t len = strlen(name), i = 0;

    while (i < len &&
           (isalnum((unsigned char)name[i]) || strchr("._-", name[i])))
        i++;
    return len && len <= NAME_MAX_LEN && i == len;
}

static umbel_status check_name(const um_peer_settings *s, umbel_error *err)
{
    char shown[NAME_MAX_LEN + 1];

    if (is_name(s->name))
        return UMBEL_OK;
    snprintf(shown, sizeof shown, "%s", s->name);
    um_disarm(shown);
    return um_fail(err, UMBEL_E_RANGE,
                   "peer \"%s\": a name has 1 to %d letters, digits and . _ -",
                   shown, NAME_MAX_LEN);
}

static umbel_status read_key(const um_peer_settings *s, uint8_t *key,
                             umbel_error *err)
{
    umbel_error why;

    if (!s->key)
        return um_fail(err, UMBEL_E_RANGE,
                       "peer \"%s\" has no key: give the public key of its "
                       "server, which umbel keygen --sign printed there; it is "
                       "also in the file that ends in .pub",
                       s->name);
    umbel_status status = umbel_trust_key_load(s->key, key, &why);
    if (status != UMBEL_OK)
        return um_fail(err, status,
                       "peer \"%s\": key: %s; it is in the file of umbel "
                       "keygen --sign that ends in .pub",
                       s->name, why.text);
    return UMBEL_OK;
}

/* Refuses the key of this server, or of an earlier peer. */
static umbel_status check_key(const um_config *c, const um_peers_keys *k,
                              size_t i, umbel_error *err)
{
    if (memcmp(k->peer[i], k->origin, sizeof k->origin) == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "peer \"%s\" has the key of this server (origin); give "
                       "each server a key of its own, with umbel keygen --sign",
                       c->peer[i].name);
    for (size_t j = 0; j < i; j++)
        if (memcmp(k->peer[i], k->peer[j], sizeof k->peer[i]) == 0)
            return um_fail(err, UMBEL_E_RANGE,
                           "peers \"%s\" and \"%s\" have the same key; give "
                           "each server a key of its own, with umbel keygen "
                           "--sign",
                           c->peer[j].name, c->peer[i].name);
    return UMBEL_OK;
}

static umbel_status check_numbers(const um_config *c, umbel_error *err)
{
    if (!c->origin && c->npeers)
        return um_fail(err, UMBEL_E_RANGE,
                       "peer \"%s\" needs origin = \"FILE\", the key of this "
                       "server; %s",
                       c->peer[0].name, how_to_create);
    if (!c->origin && c->peers.listen.n)
        return um_fail(err, UMBEL_E_RANGE,
                       "peers.listen needs origin = \"FILE\", the key of this "
                       "server; %s",
                       how_to_create);
    if (c->npeers > UM_PEERS_MAX)
        return um_fail(err, UMBEL_E_LIMIT, "%zu peers; at most %d", c->npeers,
                       UM_PEERS_MAX);
    return UMBEL_OK;
}

static umbel_status read_peers(const um_config *c, um_peers_keys *k,
                               umbel_error *err)
{
    UM_TRY(check_numbers(c, err));
    if (!c->origin)
        return UMBEL_OK;
    UM_TRY(read_origin(c, k, err));
    k->peer = calloc(c->npeers + 1, sizeof *k->peer);
    if (!k->peer)
        return um_no_memory(err, c->npeers);
    for (size_t i = 0; i < c->npeers; i++) {
        UM_TRY(check_name(&c->peer[i], err));
        UM_TRY(read_key(&c->peer[i], k->peer[i], err));
        UM_TRY(check_key(c, k, i, err));
    }
    return UMBEL_OK;
}

umbel_status um_peers_keys_read(const um_config *c, um_peers_keys *out,
                                umbel_error *err)
{
    *out = (um_peers_keys){.peer = NULL};
    umbel_status status = read_peers(c, out, err);
    if (status != UMBEL_OK)
        um_peers_keys_fini(out);
    return status;
}

void um_peers_keys_fini(um_peers_keys *k)
{
    sodium_memzero(k->sign_key, sizeof k->sign_key);
    free(k->peer);
    k->peer = NULL;
}

umbel_status um_peers_check(const um_config *c, umbel_error *err)
{
    um_peers_keys k;

    UM_TRY(um_peers_keys_read(c, &k, err));
    um_peers_keys_fini(&k);
    return UMBEL_OK;
}

/* --- limits --------------------------------------------------------------- */

/* Returns how long the engine waits for an answer. Streams lose nothing, but
 * peers restart: messages are repeated often enough that servers agree within a
 * few intervals. */
static uint32_t retry_seconds(const um_peers_settings *s)
{
    return s->interval < 1000 ? 1 : (uint32_t)(s->interval / 1000);
}

static uint64_t log_bytes(const um_peers_settings *s)
{
    uint64_t bytes = s->log_entries * ENTRY_BYTES;

    return bytes > LOG_BYTES ? bytes : LOG_BYTES;
}

umbel_sync_limits um_peers_limits(const um_config *c)
{
    return (umbel_sync_limits){.memory = c->peers.memory,
                               .origins = (uint32_t)c->peers.origins,
                               .peers = UM_PEERS_MAX,
                               .message_bytes = UM_PEERS_MESSAGE,
                               .slice_pages = UM_PEERS_SLICE,
                               .log_entries = (uint32_t)c->peers.log_entries,
                               .log_bytes = log_bytes(&c->peers),
                               .retry_seconds = retry_seconds(&c->peers)};
}

uint64_t um_peers_bytes(const um_config *c)
{
    uint64_t m = c->peers.memory;

    return m + m / HISTORY_SHARE + log_bytes(&c->peers) +
           c->npeers * LINK_BYTES;
}

/* Rounds up to whole megabytes. */
static uint64_t round_up(uint64_t bytes)
{
    return (bytes + MEGABYTE - 1) / MEGABYTE * MEGABYTE;
}

umbel_status um_peers_full_memory(const um_config *c, uint64_t *out,
                                  umbel_error *err)
{
    static const uint8_t secret[UMBEL_SECRET_LEN]; /* any has this size */
    umbel_sync_list list[UM_MAX_LISTS] = {{0}};
    umbel_filter *shape[UM_MAX_LISTS] = {NULL};
    char agree[UM_MAX_LISTS][UMBEL_SYNC_MAX_AGREE];
    umbel_sync_memory need;
    umbel_status status =
        um_peers_create_shapes(c, secret, list, shape, agree, err);

    if (status == UMBEL_OK)
        status = umbel_sync_full_memory(list, UM_LISTS, c->npeers, &need, err);
    for (size_t i = 0; i < UM_LISTS; i++)
        umbel_close(shape[i]);
    if (status == UMBEL_OK)
        *out = need.replicas <= c->peers.memory
                   ? 0
                   : round_up(need.replicas + need.index);
    return status;
}

/* --- lists ---------------------------------------------------------------- */

/* Returns the quorum of a list; lists of revocations have one of their own. */
uint32_t um_peers_quorum(const um_config *c, size_t list)
{
    return (uint32_t)(um_list_rows[list].revokes ? c->peers.revoke_quorum
                                                 : c->peers.quorum);
}

um_sync_parameters um_peers_parameters(const um_config *c, size_t list,
                                       const uint8_t *key)
{
    um_list_config l = um_list_config_of(c, list);
    um_sync_parameters t = {.epoch_seconds = l.epoch_seconds,
                            .epochs = l.epochs,
                            .page_bytes = UM_PEERS_PAGE,
                            .quorum = um_peers_quorum(c, list),
                            .origin_cap = c->peers.origin_cap,
                            .has_server = true};

    snprintf(t.list, sizeof t.list, "%s", l.name);
    memcpy(t.server, key, sizeof t.server);
    um_list_agree(c, list, t.agree);
    return t;
}

umbel_status um_peers_create_shapes(const um_config *c, const uint8_t *secret,
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
                                    .quorum = um_peers_quorum(c, i),
                                    .origin_cap = c->peers.origin_cap,
                                    .agree = agree[i][0] ? agree[i] : NULL,
                                    .indexed = true};
    }
    return UMBEL_OK;
}
