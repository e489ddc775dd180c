/*
 * scamper.h - a running scamper as the prober: its control socket.
 *
 * scamper -U PATH listens on a unix socket. It sends "MORE" for each command
 * that it will take, and results as "DATA len", here as JSON. A trace with the
 * first and the last TTL alike is one probe.
 */
#ifndef UM_STOPSET_SCAMPER_H
#define UM_STOPSET_SCAMPER_H

#include "stopset/tracer/prober.h"

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
ss_scamper_event ss_scamper_take(const uint8_t *bytes, size_t len, size_t *used,
                                 const uint8_t **data, size_t *data_len);

/* Reads a result. False: it holds no answer, as at the end of a cycle. */
bool ss_scamper_answer(const uint8_t *json, size_t len, ss_answer *out);

/* Connects to the socket. E_IO: nobody is there, or it is not scamper. */
umbel_status ss_scamper_open(const char *path, ss_prober *out,
                             umbel_error *err);

#endif
