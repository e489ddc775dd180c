/*
 * datagram_service.h - the sockets of a protocol that uses datagrams, and the
 * answers that wait for the store.
 *
 * It is the first thing in the state of such a protocol, so that its row
 * has the functions below that take a state.
 */
#ifndef UM_CLEARINGHOUSE_DATAGRAM_SERVICE_H
#define UM_CLEARINGHOUSE_DATAGRAM_SERVICE_H

#include "clearinghouse/protocols/protocol.h"
#include "net/server/datagram.h"

/* --- answers that wait ------------------------------------------------------
 */

/* First in, first out, in bounded memory. */
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
    uint64_t first,
        last; /* numbers of answers that were dropped and appended */
} um_pending;

umbel_status um_pending_init(um_pending *p, umbel_error *err);
void um_pending_fini(um_pending *p);

bool um_pending_full(const um_pending *p);
/* A note that is too long is left out. The queue must not be full; tickets
 * never decrease. */
void um_pending_append(um_pending *p, const um_answer *a, umbel_slice note);
/* Returns the oldest answer; NULL: none waits. */
const um_answer *um_pending_first(const um_pending *p);
void um_pending_drop(um_pending *p);

/* --- sockets ----------------------------------------------------------------
 */

typedef struct um_protocol_datagram {
    const um_environment *env;
    const um_service *service;
    void (*answer)(void *state); /* answers what the store has committed */
    um_pending pending;
    struct um_protocol_socket {
        um_datagrams *datagrams;
        void *owner;
    } * socket;
    size_t n;
} um_protocol_datagram;

typedef struct um_protocol_socket um_protocol_socket;

/* Listens on addresses; env, service and answer are set. The context of
 * c->take, which is all that it says besides lengths, is a um_protocol_socket.
 */
umbel_status um_protocol_datagram_open(um_protocol_datagram *d,
                                       const um_texts *listen,
                                       const um_datagrams_config *c,
                                       umbel_error *err);

/* Returns the oldest answer that the store has committed, or cannot any more;
 * NULL: it waits, or no answer is pending. Drop it when it was sent. */
const um_answer *um_protocol_datagram_ready(const um_protocol_datagram *d,
                                            bool *stored);

/* Answers what has been committed, and sends it: um_protocol.committed. */
void um_protocol_datagram_committed(void *state);
/* Handles what has arrived, and receives no more: um_protocol.stop. */
void um_protocol_datagram_stop(void *state);
/* Returns true while answers wait: um_protocol.busy. */
bool um_protocol_datagram_busy(const void *state);
/* Accepts a zeroed one. */
void um_protocol_datagram_close(um_protocol_datagram *d);

#endif
