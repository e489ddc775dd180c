/*
 * places.c - a hash table of the networks that have connections just now.
 *
 * It has room for twice as many networks as there are places, so its memory is
 * fixed and probing stays short. A network leaves the table with its last
 * connection.
 */
#include "net/server/places.h"

#include "base/error.h"
#include "base/rng.h"

#include <stdlib.h>
#include <sys/random.h>

typedef struct seat {
    um_network network;
    size_t n; /* 0: free */
} seat;

struct um_places {
    um_places_config config;
    uint64_t seed; /* clients choose their networks, not their slots */
    size_t used, mask;
    seat *seats;
};

static size_t table_size(size_t total)
{
    size_t n = 4;

    while (n < 2 * total)
        n *= 2;
    return n;
}

static size_t home_slot(const um_places *p, um_network n)
{
    return um_mix(um_mix(n.hi ^ p->seed) + n.lo) & p->mask;
}

/* The slot of a network, or the free one where it would go. */
static size_t find_slot(const um_places *p, um_network n)
{
    size_t i = home_slot(p, n);

    while (p->seats[i].n && !um_network_equal(p->seats[i].network, n))
        i = (i + 1) & p->mask;
    return i;
}

/* Frees slot i, and moves back whatever would not be found any more. */
static void free_slot(um_places *p, size_t i)
{
    for (size_t j = (i + 1) & p->mask; p->seats[j].n; j = (j + 1) & p->mask) {
        size_t home = home_slot(p, p->seats[j].network);

        if (((j - home) & p->mask) < ((j - i) & p->mask))
            continue;
        p->seats[i] = p->seats[j];
        i = j;
    }
    p->seats[i].n = 0;
}

static umbel_status check_total(const um_places_config *c, umbel_error *err)
{
    if (c->total < 1 || c->total > UM_PLACES_MAX)
        return um_fail(err, UMBEL_E_RANGE,
                       "connections in all must be 1 to %d, got %zu",
                       UM_PLACES_MAX, c->total);
    return UMBEL_OK;
}

static void set_config(um_places *p, const um_places_config *c)
{
    p->config = *c;
    if (!c->prefixes.v4 && !c->prefixes.v6)
        p->config.prefixes = (um_prefixes){UM_PREFIX_V4, UM_PREFIX_V6};
}

umbel_status um_places_open(const um_places_config *c, um_places **out,
                            umbel_error *err)
{
    UM_TRY(check_total(c, err));
    um_places *p = calloc(1, sizeof *p);
    seat *seats = calloc(table_size(c->total), sizeof *seats);

    if (!p || !seats) {
        free(p);
        free(seats);
        return um_no_memory(err, table_size(c->total) * sizeof *seats);
    }
    p->seats = seats;
    p->mask = table_size(c->total) - 1;
    if (getrandom(&p->seed, sizeof p->seed, 0) < 0)
        p->seed = (uintptr_t)p;
    set_config(p, c);
    *out = p;
    return UMBEL_OK;
}

void um_places_close(um_places *p)
{
    if (p)
        free(p->seats);
    free(p);
}

/* Moves every network to a table of the new size. Their prefixes stay as long
 * as there are connections, which must find their entries again. */
umbel_status um_places_set(um_places *p, const um_places_config *c,
                           umbel_error *err)
{
    UM_TRY(check_total(c, err));
    size_t need = c->total > p->used ? c->total : p->used;
    size_t old = p->mask + 1, size = table_size(need);
    seat *from = p->seats, *to = calloc(size, sizeof *to);

    if (!to)
        return um_no_memory(err, size * sizeof *to);
    p->seats = to;
    p->mask = size - 1;
    for (size_t i = 0; i < old; i++)
        if (from[i].n)
            to[find_slot(p, from[i].network)] = from[i];
    free(from);
    um_prefixes kept = p->config.prefixes;
    set_config(p, c);
    if (p->used)
        p->config.prefixes = kept;
    return UMBEL_OK;
}

um_place um_places_parse(um_places *p, const um_address *client)
{
    if (p->used >= p->config.total)
        return UM_PLACE_ALL_FULL;
    um_network n = um_address_network(client, &p->config.prefixes);
    seat *s = &p->seats[find_slot(p, n)];
    bool limited = p->config.limit_loopback || !um_address_is_loopback(client);
    if (limited && p->config.per_network && s->n >= p->config.per_network)
        return UM_PLACE_NETWORK_FULL;
    s->network = n;
    s->n++;
    p->used++;
    return UM_PLACE_GIVEN;
}

void um_places_leave(um_places *p, const um_address *client)
{
    um_network n = um_address_network(client, &p->config.prefixes);
    size_t i = find_slot(p, n);

    if (p->seats[i].n == 0)
        return;
    p->used--;
    if (--p->seats[i].n == 0)
        free_slot(p, i);
}

size_t um_places_used(const um_places *p)
{
    return p->used;
}
