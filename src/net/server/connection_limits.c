/*
 * connection_limits.c - limits the connections of each client network and in
 * total.
 *
 * A hash table of the networks that have connections now. It has space for
 * twice as many networks as there may be connections, so its memory is fixed
 * and probing stays short. A network is removed with its last connection.
 */
#include "base/error.h"
#include "base/map.h"
#include "base/rng.h"
#include "net/server/stream.h"

#include <stdlib.h>
#include <sys/random.h>

typedef struct slot {
    um_network network;
    size_t n; /* 0: free */
} slot;

struct um_connection_limits {
    um_connection_limits_config config;
    uint64_t seed; /* keyed, so that clients cannot choose their slots */
    size_t used, mask;
    size_t local; /* connections of loopback and unix sockets */
    slot *slots;
};

static size_t table_size(size_t total)
{
    return um_map_cap(total, 4);
}

static uint64_t hash_network(const um_connection_limits *p, um_network n)
{
    return um_mix(um_mix(n.hi ^ p->seed) + n.lo);
}

static bool is_free(const void *s)
{
    return ((const slot *)s)->n == 0;
}

static bool has_network(const void *ctx, const void *s, const void *network)
{
    (void)ctx;
    return um_network_equal(((const slot *)s)->network,
                            *(const um_network *)network);
}

static uint64_t hash_slot(const void *ctx, const void *s)
{
    return hash_network(ctx, ((const slot *)s)->network);
}

static const um_map_rule rule = {sizeof(slot), is_free, has_network, hash_slot};

/* Returns the slot of a network, or the free slot where it would go. */
static slot *find_slot(const um_connection_limits *p, um_network n)
{
    return um_map_find(&rule, p, p->slots, p->mask + 1, hash_network(p, n), &n);
}

static umbel_status check_total(const um_connection_limits_config *c,
                                umbel_error *err)
{
    if (c->total < 1 || c->total > UM_CONNECTIONS_MAX)
        return um_fail(
            err, UMBEL_E_RANGE,
            "the total number of connections must be 1 to %d, got %zu",
            UM_CONNECTIONS_MAX, c->total);
    return UMBEL_OK;
}

static void set_config(um_connection_limits *p,
                       const um_connection_limits_config *c)
{
    p->config = *c;
    if (!c->prefixes.v4 && !c->prefixes.v6)
        p->config.prefixes = (um_prefixes){UM_PREFIX_V4, UM_PREFIX_V6};
}

umbel_status um_connection_limits_open(const um_connection_limits_config *c,
                                       um_connection_limits **out,
                                       umbel_error *err)
{
    UM_TRY(check_total(c, err));
    um_connection_limits *p = calloc(1, sizeof *p);
    slot *slots = calloc(table_size(c->total), sizeof *slots);

    if (!p || !slots) {
        free(p);
        free(slots);
        return um_no_memory(err, table_size(c->total) * sizeof *slots);
    }
    p->slots = slots;
    p->mask = table_size(c->total) - 1;
    if (getrandom(&p->seed, sizeof p->seed, 0) < 0)
        p->seed = (uintptr_t)p;
    set_config(p, c);
    *out = p;
    return UMBEL_OK;
}

void um_connection_limits_close(um_connection_limits *p)
{
    if (p)
        free(p->slots);
    free(p);
}

/* Moves all networks to a table of the new size. The prefixes stay while there
 * are connections, which must find their slots again. */
umbel_status um_connection_limits_set(um_connection_limits *p,
                                      const um_connection_limits_config *c,
                                      umbel_error *err)
{
    UM_TRY(check_total(c, err));
    size_t need = c->total > p->used ? c->total : p->used;
    size_t old = p->mask + 1, size = table_size(need);
    slot *from = p->slots, *to = calloc(size, sizeof *to);

    if (!to)
        return um_no_memory(err, size * sizeof *to);
    p->slots = to;
    p->mask = size - 1;
    um_map_move(&rule, p, from, old, to, size);
    free(from);
    um_prefixes kept = p->config.prefixes;
    set_config(p, c);
    if (p->used)
        p->config.prefixes = kept;
    return UMBEL_OK;
}

um_admission um_connection_limits_acquire(um_connection_limits *p,
                                          const um_address *client)
{
    if (p->used >= p->config.total)
        return UM_ALL_FULL;
    um_network n = um_address_network(client, &p->config.prefixes);
    slot *s = find_slot(p, n);
    bool local = um_address_is_loopback(client);
    bool limited = p->config.limit_loopback || !local;
    if (limited && p->config.per_network && s->n >= p->config.per_network)
        return UM_NETWORK_FULL;
    if (local && p->config.loopback && p->local >= p->config.loopback)
        return UM_NETWORK_FULL;
    s->network = n;
    s->n++;
    p->used++;
    p->local += local;
    return UM_ADMITTED;
}

void um_connection_limits_release(um_connection_limits *p,
                                  const um_address *client)
{
    um_network n = um_address_network(client, &p->config.prefixes);
    slot *s = find_slot(p, n);

    if (s->n == 0)
        return;
    p->used--;
    p->local -= um_address_is_loopback(client);
    if (--s->n == 0)
        um_map_remove(&rule, p, p->slots, p->mask + 1, s);
}

size_t um_connection_limits_used(const um_connection_limits *p)
{
    return p->used;
}
