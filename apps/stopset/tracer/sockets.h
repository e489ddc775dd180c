/*
 * sockets.h - the tracer's packets on a real network: the only file with
 * sockets.
 */
#ifndef UM_STOPSET_SOCKETS_H
#define UM_STOPSET_SOCKETS_H

#include "stopset/tracer/prober.h"

typedef struct ss_sockets_config {
    const char *method;    /* "icmp", "udp" */
    bool v4, v6;           /* which versions of IP are needed */
    const char *interface; /* packets leave by it; NULL: as routed */
    const char *contact;   /* stands in each probe; NULL: nothing */
    ss_stamp stamp;
} ss_sockets_config;

/*
 * Opens what the method needs. E_IO: no permission, no such interface; the
 * message says what to do. config is copied, contact and interface are kept.
 */
umbel_status ss_sockets_open(const ss_sockets_config *config, ss_prober *out,
                             umbel_error *err);

/* Our address on the way to a destination; none when there is no route. */
ss_addr ss_sockets_source(ss_addr to);

/* Becomes that user for good, if it is root; the sockets stay. */
umbel_status ss_drop_privileges(const char *user, umbel_error *err);

#endif
