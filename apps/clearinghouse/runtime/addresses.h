/*
 * addresses.h - the addresses on which the server listens: sockets passed by
 * systemd, and those that the server opened itself.
 */
#ifndef UM_CLEARINGHOUSE_ADDRESSES_H
#define UM_CLEARINGHOUSE_ADDRESSES_H

#include "clearinghouse/runtime/statistics.h"

enum { UM_MAX_ADDRESSES = 64 };

/* Where a service listens, with its real port. */
typedef struct um_listen_address {
    const um_service *service;
    char text[UM_ADDRESS_TEXT];
    bool made; /* false if the socket was passed: its path is not removed */
} um_listen_address;

typedef struct um_addresses um_addresses;

/* Takes over the sockets that systemd passed. */
umbel_status um_addresses_open(um_addresses **out, umbel_error *err);
/* Removes the unix sockets that the server made. Call it before they are
 * closed: afterwards another server may use the path. */
void um_addresses_remove_paths(const um_addresses *a);
/* Accepts NULL. */
void um_addresses_close(um_addresses *a);

/* Returns a socket for a service that listens on the address `text`: the one
 * that was passed, or a new one. mode is that of a new unix socket; 0 means for
 * the server's user only. */
umbel_status um_addresses_listen(um_addresses *a, const um_service *service,
                                 const char *text, int type, unsigned mode,
                                 int *fd, umbel_error *err);
/* Closes passed sockets that no service uses; returns true if there were
 * some. */
bool um_addresses_close_unused(um_addresses *a);

/* Returns the first address of a service, or NULL. */
const char *um_addresses_first(const um_addresses *a,
                               const um_service *service);
/* Returns all addresses; *n gets their number. */
const um_listen_address *um_addresses_all(const um_addresses *a, size_t *n);

#endif
