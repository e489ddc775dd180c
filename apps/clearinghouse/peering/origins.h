/*
 * origins.h - peers and origins as the operator sees them: names, reports, and
 * how far they are behind.
 *
 * A peer is a configured server, an origin is a server that has reported; most
 * are both, and have one row. Our own is the first.
 */
#ifndef UM_CLEARINGHOUSE_ORIGINS_H
#define UM_CLEARINGHOUSE_ORIGINS_H

#include "clearinghouse/peering/peers.h"
#include "clearinghouse/peering/replica_store.h"

#include <stdio.h>

enum { UM_ORIGIN_HEX = 2 * UMBEL_ORIGIN_LEN + 1 };

typedef struct um_origin {
    char key[UM_ORIGIN_HEX]; /* in hexadecimal digits */
    const char *name;    /* of the peer; NULL if it is not a configured peer */
    const char *address; /* that we call, or NULL */
    const char *state;   /* "self", "dropped" or "muted"; of a peer "up",
                            "calling" or "down"; of others "forwarded": their
                            reports come through peers */
    const char *error;   /* why there is no link, or "" */
    bool own, up, held;
    uint64_t notices; /* of other servers that ask to drop it */
    uint64_t since;   /* when the link went up or down; 0 if it is not a peer */
    uint64_t version; /* the highest of its replicas */
    uint64_t digests; /* in all its replicas */
    uint64_t memory;  /* bytes of its replicas */
    double fill;      /* used share of its fullest replica */
    uint64_t seen;    /* when its last version came; 0 if before the start */
    double lag;       /* in seconds; NaN if unknown */
    uint64_t bytes_in, bytes_out;
    uint64_t refused[UMBEL_SYNC_REASONS];
    uint64_t refused_at[UMBEL_SYNC_REASONS]; /* when last; 0 if never */
} um_origin;

/* What documents show; valid until the next iteration of the loop. */
typedef struct um_origins_view {
    const um_origin *item;
    size_t n;
    uint64_t agreement[UM_MAX_LISTS];
    bool alone[UM_MAX_LISTS]; /* an epoch of the list is not published */
    um_replica_store_stats saved;
    uint64_t strangers; /* connections that were refused */
    uint64_t needs;     /* um_peers_needs */
} um_origins_view;

typedef struct um_origins um_origins;

umbel_status um_origins_open(const um_peers *peers, const um_clock *clock,
                             const um_store *store, um_origins **out,
                             umbel_error *err);
/* Accepts NULL. */
void um_origins_close(um_origins *o);
/* Records which peers have everything that we have. Call it once a second.
 * Accepts NULL. */
void um_origins_tick(um_origins *o);

/* Returns the current state; NULL without a configured origin or memory. */
const um_origins_view *um_origins_look(um_origins *o);

/* Finds an origin by the name of a peer, by its key, or by the first digits of
 * the key. The error for E_RANGE says what to type instead. */
umbel_status um_origins_find(um_origins *o, const char *text,
                             uint8_t key[UMBEL_ORIGIN_LEN], umbel_error *err);

uint64_t um_origin_refusals(const um_origin *o);
/* Prints the table for a terminal, or a JSON array. now is in seconds since
 * 1970. */
void um_origins_print_text(FILE *out, const um_origins_view *v, uint64_t now);
void um_origins_print_json(FILE *out, const um_origins_view *v, uint64_t now);

#endif
