/*
 * prober.h - the interface that sends probes and receives answers: sockets, or
 * a running scamper.
 */
#ifndef UM_STOPSET_PROBER_H
#define UM_STOPSET_PROBER_H

#include "stopset/tracer/probe.h"

#include <umbel/base.h>

/* Called for each answer. */
typedef void ss_deliver(void *ctx, const ss_answer *answer);

typedef struct ss_prober {
    void *self;
    /* Sends a probe. Returns E_IO with the system's reason, such as no
     * route. */
    umbel_status (*send)(void *self, const ss_probe *p, umbel_error *err);
    /*
     * Waits at most that many microseconds, and delivers the answers received.
     * Returns E_IO if there will be no more.
     */
    umbel_status (*wait)(void *self, uint64_t timeout, ss_deliver *deliver,
                         void *ctx, umbel_error *err);
    void (*close)(void *self);
    /* Of IPv4 and IPv6, 0 if unknown: bytes of a probe's IP packet; ports of
     * UDP. */
    uint16_t probe_size[2], sport[2], dport;
} ss_prober;

/*
 * The tracer's packets on a real network: only sockets.c uses sockets.
 */

typedef struct ss_sockets_config {
    const char *method;    /* "icmp", "udp" */
    bool v4, v6;           /* IP versions that are needed */
    const char *interface; /* packets leave through it; NULL for the routing
                              table's choice */
    const char *contact;   /* sent in each probe; NULL for none */
    ss_stamp stamp;
} ss_sockets_config;

/*
 * Opens the sockets for the method. Returns E_IO without permission, or if
 * there is no such interface; the message says what to do. config is copied,
 * but contact and interface must outlive the prober.
 */
umbel_status ss_sockets_open(const ss_sockets_config *config, ss_prober *out,
                             umbel_error *err);

/* Returns our source address for a destination; zero if there is no route. */
ss_addr ss_sockets_source(ss_addr to);

/* Switches to that user permanently, if run by root; the sockets stay open. */
umbel_status ss_drop_privileges(const char *user, umbel_error *err);

/* --- a running scamper as the prober: its control socket ----------------- */

/*
 * scamper -U PATH listens on a unix socket. It sends "MORE" for each command
 * that it will accept, and results as "DATA len", here in JSON. A trace whose
 * first and last TTL are equal is one probe.
 */

enum {
    SS_SCAMPER_MAX = 1 << 20
}; /* bytes of a result; a hop has about 1,000 */

typedef enum ss_scamper_event {
    SS_SCAMPER_PART, /* incomplete */
    SS_SCAMPER_OK,
    SS_SCAMPER_MORE,
    SS_SCAMPER_DATA,
    SS_SCAMPER_ERR,
    SS_SCAMPER_BAD /* not a message of scamper */
} ss_scamper_event;

/*
 * Parses one message from scamper. *used is its length, 0 with PART; for DATA,
 * *data and *data_len are the result.
 */
ss_scamper_event ss_scamper_parse(const uint8_t *bytes, size_t len,
                                  size_t *used, const uint8_t **data,
                                  size_t *data_len);

/* Parses a result; false if it contains no answer, as at the end of a cycle. */
bool ss_scamper_answer(const uint8_t *json, size_t len, ss_answer *out);

/* Connects to the socket. Returns E_IO if nobody listens, or if it is not
 * scamper. */
umbel_status ss_scamper_open(const char *path, ss_prober *out,
                             umbel_error *err);

#endif
