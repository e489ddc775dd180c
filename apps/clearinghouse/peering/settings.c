/*
 * peers_settings.c - the keys that a configuration names, and what is wrong
 * with them.
 */
#include "clearinghouse/peering/settings.h"

#include "base/error.h"
#include "base/text.h"
#include "clearinghouse/peering/peers.h"

#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_MAX_LEN = 63,
    LOG_BYTES = 16 << 20, /* of exceptions, for the most part; at least */
    ENTRY_BYTES = 256,    /* of one, or of an account */
    HISTORY_SHARE = 8,    /* of memory, for differences: as in umbel/sync.h */
    TREE_SHARE = 64,      /* hashes of pages; a page has 4096 bytes */
    LINK_BYTES =
        5 * UM_PEERS_MESSAGE /* in, out, a message and what is unread */
};

static const char *const make_it =
    "make one with: umbel keygen --sign -o FILE, and give its public key, "
    "which FILE.pub has, to the peers";

static umbel_status read_origin(const um_config *c, um_peers_keys *k,
                                umbel_error *err)
{
    umbel_error why;

    if (access(c->origin, F_OK) != 0)
        return um_fail(err, UMBEL_E_IO, "origin: there is no %s%s; %s",
                       um_path_dots(c->origin), um_path_tail(c->origin),
                       make_it);
    umbel_status status = umbel_sign_key_load(c->origin, k->sign_key, &why);
    if (status != UMBEL_OK)
        return um_fail(err, status,
                       "origin: %s (keys of servers: umbel keygen "
                       "--sign)",
                       why.text);
    crypto_sign_ed25519_sk_to_pk(k->origin, k->sign_key);
    return UMBEL_OK;
}

/* Names stand in logs and metrics. */
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
                       "server, which umbel keygen --sign printed there and "
                       "its file that ends in .pub has",
                       s->name);
    umbel_status status = umbel_trust_key_load(s->key, key, &why);
    if (status != UMBEL_OK)
        return um_fail(err, status,
                       "peer \"%s\": key: %s; it stands in the file of umbel "
                       "keygen --sign that ends in .pub",
                       s->name, why.text);
    return UMBEL_OK;
}

/* Refuses a key that this server, or a peer before it, has. */
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
                       c->peer[0].name, make_it);
    if (!c->origin && c->peers.listen.n)
        return um_fail(err, UMBEL_E_RANGE,
                       "peers.listen needs origin = \"FILE\", the key of this "
                       "server; %s",
                       make_it);
    if (c->npeers > UM_PEERS_MOST)
        return um_fail(err, UMBEL_E_LIMIT, "%zu peers; at most %d", c->npeers,
                       UM_PEERS_MOST);
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

/* Streams lose nothing, but peers restart: what they did not answer is repeated
 * so often that they agree within a few intervals. */
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
                               .peers = UM_PEERS_MOST,
                               .message_bytes = UM_PEERS_MESSAGE,
                               .slice_pages = UM_PEERS_SLICE,
                               .log_entries = (uint32_t)c->peers.log_entries,
                               .log_bytes = log_bytes(&c->peers),
                               .retry_seconds = retry_seconds(&c->peers)};
}

uint64_t um_peers_bytes(const um_config *c)
{
    uint64_t m = c->peers.memory;

    return m + m / HISTORY_SHARE + m / TREE_SHARE + log_bytes(&c->peers) +
           c->npeers * LINK_BYTES;
}
