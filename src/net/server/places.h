/*
 * places.h - how many connections there may be, per client network and in all.
 */
#ifndef UM_NET_PLACES_H
#define UM_NET_PLACES_H

#include "net/server/address.h"

typedef struct um_places um_places;

typedef struct um_places_config {
    size_t total;         /* connections in all: 1 to UM_PLACES_MAX */
    size_t per_network;   /* of one client network; 0: no limit */
    um_prefixes prefixes; /* both 0: the defaults */
    bool limit_loopback;  /* per_network holds for local clients, too */
} um_places_config;

enum { UM_PLACES_MAX = 1 << 20 };

typedef enum um_place {
    UM_PLACE_GIVEN,
    UM_PLACE_NETWORK_FULL,
    UM_PLACE_ALL_FULL
} um_place;

umbel_status um_places_open(const um_places_config *c, um_places **out,
                            umbel_error *err);
void um_places_close(um_places *p);

/* Changes the limits; connections that have a place keep it. */
umbel_status um_places_set(um_places *p, const um_places_config *c,
                           umbel_error *err);

/* Takes a place for a client; if it is given, um_places_leave gives it back. */
um_place um_places_parse(um_places *p, const um_address *client);
void um_places_leave(um_places *p, const um_address *client);

/* Returns the number of places that are taken. */
size_t um_places_used(const um_places *p);

#endif
