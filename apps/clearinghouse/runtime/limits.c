/*
 * limits.c - token buckets: one for each limit of each client network.
 *
 * A bucket is one number: the time at which it will be full again (the generic
 * cell rate algorithm, ATM Forum 1996). At r tokens per second, taking n tokens
 * moves that time n / r seconds ahead; it may be at most the burst ahead of
 * now. A full bucket equals one that never existed, so the table can be small:
 * in sets of eight entries, a new entry replaces the one that will be full
 * first.
 */
#include "clearinghouse/runtime/limits.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/rng.h"

#include <sodium.h>
#include <stdlib.h>

enum { WAYS = 8 };

typedef struct bucket {
    um_network network;
    uint64_t full_at[UM_LIMIT_COUNT]; /* when it is full, in microseconds */
} bucket;

struct um_limits {
    um_limit_settings settings;
    um_prefixes prefixes;
    uint64_t seed; /* so that strangers cannot aim at one set */
    uint64_t sets;
    bucket bucket[];
};

static uint64_t sets_of(const um_limit_settings *s)
{
    return (s->networks + WAYS - 1) / WAYS;
}

uint64_t um_limits_bytes(const um_limit_settings *s)
{
    return sizeof(um_limits) + sets_of(s) * WAYS * sizeof(bucket);
}

umbel_status um_limits_open(const um_limit_settings *s, um_limits **out,
                            umbel_error *err)
{
    size_t len = (size_t)um_limits_bytes(s);
    um_limits *l = calloc(1, len);

    if (!l)
        return um_no_memory(err, len);
    l->sets = sets_of(s);
    randombytes_buf(&l->seed, sizeof l->seed);
    um_limits_set(l, s);
    *out = l;
    return UMBEL_OK;
}

void um_limits_close(um_limits *l)
{
    free(l);
}

void um_limits_set(um_limits *l, const um_limit_settings *s)
{
    l->settings = *s;
    l->prefixes = (um_prefixes){(unsigned)s->prefix_v4, (unsigned)s->prefix_v6};
}

um_network um_limits_network(const um_limits *l, const um_address *client)
{
    return um_address_network(client, &l->prefixes);
}

const um_prefixes *um_limits_prefixes(const um_limits *l)
{
    return &l->prefixes;
}

static uint64_t busy_until(const bucket *b)
{
    return b->full_at[0] > b->full_at[1] ? b->full_at[0] : b->full_at[1];
}

/* Returns the bucket of a network; a new one replaces the least busy of its
 * set. */
static bucket *bucket_of(um_limits *l, um_network n)
{
    uint64_t hash = um_mix(um_mix(n.hi ^ l->seed) ^ n.lo);
    bucket *set = &l->bucket[um_scale(hash, l->sets) * WAYS], *idle = set;

    for (size_t i = 0; i < WAYS; i++) {
        if (um_network_equal(set[i].network, n))
            return &set[i];
        if (busy_until(&set[i]) < busy_until(idle))
            idle = &set[i];
    }
    *idle = (bucket){.network = n};
    return idle;
}

static uint64_t rate_of(const um_limits *l, um_limit which)
{
    return which == UM_LIMIT_REQUESTS ? l->settings.requests
                                      : l->settings.reports;
}

/* Returns the microseconds in which a rate yields n tokens, at most the
 * burst. */
static uint64_t cost_of(uint64_t rate, uint64_t burst_seconds, uint64_t n)
{
    uint64_t burst = burst_seconds * 1000000;
    uint64_t cost = (n * 1000000 + rate - 1) / rate;

    return cost < burst ? cost : burst;
}

/* Takes n tokens of a bucket; false: it has too few, and nothing was taken. */
static bool consume(uint64_t *full_at, uint64_t rate, uint64_t burst_seconds,
                    uint64_t n, uint64_t now)
{
    uint64_t us = now * 1000, from = *full_at > us ? *full_at : us;
    uint64_t next = from + cost_of(rate, burst_seconds, n);

    if (next - us > burst_seconds * 1000000)
        return false;
    *full_at = next;
    return true;
}

bool um_shared_rate_consume(um_shared_rate *r, uint64_t rate, uint64_t burst,
                            uint64_t now)
{
    return rate == 0 || consume(&r->full_at, rate, burst, 1, now);
}

bool um_limits_consume(um_limits *l, const um_address *client, um_limit which,
                       uint64_t n, uint64_t now)
{
    return (!l->settings.loopback && um_address_is_loopback(client)) ||
           um_limits_consume_of(l, um_limits_network(l, client), which, n, now);
}

bool um_limits_consume_of(um_limits *l, um_network network, um_limit which,
                          uint64_t n, uint64_t now)
{
    uint64_t rate = rate_of(l, which);

    return rate == 0 || consume(&bucket_of(l, network)->full_at[which], rate,
                                l->settings.burst, n, now);
}

void um_limits_refund(um_limits *l, um_network network, um_limit which,
                      uint64_t n)
{
    uint64_t rate = rate_of(l, which);

    if (rate == 0)
        return;
    uint64_t *full_at = &bucket_of(l, network)->full_at[which];
    uint64_t cost = cost_of(rate, l->settings.burst, n);
    *full_at = *full_at > cost ? *full_at - cost : 0;
}
