/*
 * front_datagram.h - the sockets of a front that speaks in datagrams, and the
 * answers that wait for the store.
 *
 * It is the first thing in the state of such a front, so that the front's row
 * has the functions below that take a state.
 */
#ifndef UM_CLEARINGHOUSE_FRONT_DATAGRAM_H
#define UM_CLEARINGHOUSE_FRONT_DATAGRAM_H

#include "clearinghouse/runtime/pending.h"
#include "clearinghouse/server/server.h"

typedef struct um_protocol_datagram {
    um_server *house;
    const um_protocol *front;
    void (*answer)(void *state); /* answers what the store has committed */
    um_pending pending;
    struct um_protocol_socket {
        um_datagrams *datagrams;
        void *owner;
    } * socket;
    size_t n;
} um_protocol_datagram;

typedef struct um_protocol_socket um_protocol_socket;

/* Listens on addresses; house, front and answer are set. The context of
 * c->take, which is all that it says besides lengths, is a um_protocol_socket.
 */
umbel_status um_protocol_datagram_open(um_protocol_datagram *d,
                                       const um_texts *listen,
                                       const um_datagrams_config *c,
                                       umbel_error *err);

/* Returns the oldest answer that the store has committed, or cannot any more;
 * NULL: it waits, or there is none. Drop it when it was sent. */
const um_answer *um_protocol_datagram_ready(const um_protocol_datagram *d,
                                            bool *stored);

/* Answers what has been committed, and sends it: um_protocol.committed. */
void um_protocol_datagram_committed(void *state);
/* Takes what has come, and receives no more: um_protocol.stop. */
void um_protocol_datagram_stop(void *state);
/* Returns true while answers wait: um_protocol.busy. */
bool um_protocol_datagram_busy(const void *state);
/* A zeroed one is fine. */
void um_protocol_datagram_close(um_protocol_datagram *d);

#endif
