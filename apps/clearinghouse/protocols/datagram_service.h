/*
 * datagram_service.h - the sockets of a protocol that uses datagrams, and the
 * answers that wait for the store.
 *
 * It is the first member of such a protocol's state, so that functions below
 * that take a state can be used in its row.
 */
#ifndef UM_CLEARINGHOUSE_DATAGRAM_SERVICE_H
#define UM_CLEARINGHOUSE_DATAGRAM_SERVICE_H

#include "clearinghouse/protocols/protocol.h"
#include "net/server/datagram.h"

/* --- pending answers ------------------------------------------------------ */

/* A FIFO queue in bounded memory. */
enum {
    UM_PENDING = 1 << 16, /* answers; a power of two */
    UM_ANSWER_NOTE = 96   /* bytes that a protocol retains of a request */
};

typedef struct um_answer {
    um_datagrams *to;
    um_address client;
    uint64_t ticket;
    unsigned op;
    unsigned note_len;
    uint8_t note[UM_ANSWER_NOTE];
} um_answer;

typedef struct um_pending {
    um_answer *ring;
    uint64_t first, last; /* indexes of the oldest answer, and after the
                             newest */
} um_pending;

umbel_status um_pending_init(um_pending *p, umbel_error *err);
void um_pending_fini(um_pending *p);

bool um_pending_full(const um_pending *p);
/* Appends an answer. The queue must not be full; tickets never decrease. A note
 * that is too long is left out. */
void um_pending_append(um_pending *p, const um_answer *a, umbel_slice note);
/* Returns the oldest answer, or NULL. */
const um_answer *um_pending_first(const um_pending *p);
void um_pending_drop(um_pending *p);

/* --- sockets -------------------------------------------------------------- */

typedef struct um_protocol_datagram {
    const um_environment *env;
    const um_service *service;
    void (*answer)(void *state); /* answers committed requests */
    um_pending pending;
    struct um_protocol_socket {
        um_datagrams *datagrams;
        void *owner;
    } * socket;
    size_t n;
} um_protocol_datagram;

typedef struct um_protocol_socket um_protocol_socket;

/* Listens on addresses; env, service and answer are set. c has only lengths and
 * the function take, whose context is a um_protocol_socket. */
umbel_status um_protocol_datagram_open(um_protocol_datagram *d,
                                       const um_texts *listen,
                                       const um_datagrams_config *c,
                                       umbel_error *err);

/* Returns the oldest answer if the store has committed it, or has failed;
 * otherwise NULL. Drop it when it was sent. */
const um_answer *um_protocol_datagram_ready(const um_protocol_datagram *d,
                                            bool *stored);

/* Sends the answers that are committed: um_protocol.committed. */
void um_protocol_datagram_committed(void *state);
/* Handles the datagrams that have arrived, and stops receiving:
 * um_protocol.stop. */
void um_protocol_datagram_stop(void *state);
/* Returns true while answers wait: um_protocol.busy. */
bool um_protocol_datagram_busy(const void *state);
/* Closes the sockets; accepts a zeroed struct. */
void um_protocol_datagram_close(um_protocol_datagram *d);

#endif
