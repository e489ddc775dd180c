/*
 * prober.h - what sends probes and receives answers: sockets, or a running
 * scamper.
 */
#ifndef UM_STOPSET_PROBER_H
#define UM_STOPSET_PROBER_H

#include "stopset/tracer/probe.h"

#include <umbel/base.h>

/*
 * The interface of probers, which send probes and receive answers: our own
 * sockets, or a running scamper.
 */

typedef void ss_deliver(void *ctx, const ss_answer *answer);

typedef struct ss_prober {
    void *self;
    /* E_IO, with the system's reason: no route to the destination, perhaps. */
    umbel_status (*send)(void *self, const ss_probe *p, umbel_error *err);
    /*
     * Waits at most that many microseconds, and delivers the answers that came.
     * E_IO: there will be no more.
     */
    umbel_status (*wait)(void *self, uint64_t timeout, ss_deliver *deliver,
                         void *ctx, umbel_error *err);
    void (*close)(void *self);
} ss_prober;

/*
 * the tracer's packets on a real network: the only file with sockets.
 */

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

/* --- a running scamper as the prober: its control socket ----------------- */

/*
 * scamper -U PATH listens on a unix socket. It sends "MORE" for each command
 * that it will take, and results as "DATA len", here as JSON. A trace with the
 * first and the last TTL alike is one probe.
 */

enum {
    SS_SCAMPER_MAX = 1 << 20
}; /* bytes of a result; a hop has about 1,000 */

typedef enum ss_scamper_event {
    SS_SCAMPER_PART, /* not whole yet */
    SS_SCAMPER_OK,
    SS_SCAMPER_MORE,
    SS_SCAMPER_DATA,
    SS_SCAMPER_ERR,
    SS_SCAMPER_BAD /* not what scamper sends */
} ss_scamper_event;

/*
 * Takes one message off bytes from scamper. *used is its length, 0 with PART;
 * of DATA, *data and *data_len are the result.
 */
ss_scamper_event ss_scamper_parse(const uint8_t *bytes, size_t len,
                                  size_t *used, const uint8_t **data,
                                  size_t *data_len);

/* Reads a result. False: it holds no answer, as at the end of a cycle. */
bool ss_scamper_answer(const uint8_t *json, size_t len, ss_answer *out);

/* Connects to the socket. E_IO: nobody is there, or it is not scamper. */
umbel_status ss_scamper_open(const char *path, ss_prober *out,
                             umbel_error *err);

#endif
