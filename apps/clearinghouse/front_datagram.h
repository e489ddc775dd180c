/*
 * front_datagram.h - the sockets of a front that speaks in datagrams, and the
 * answers that wait for the store.
 */
#ifndef UM_CLEARINGHOUSE_FRONT_DATAGRAM_H
#define UM_CLEARINGHOUSE_FRONT_DATAGRAM_H

#include "clearinghouse/house.h"
#include "clearinghouse/pending.h"

typedef struct um_front_datagram {
    um_house *house;
    const um_front *front;
    void *owner; /* the front's state */
    um_pending pending;
    struct um_front_socket {
        um_datagrams *datagrams;
        void *owner;
    } * socket;
    size_t n;
} um_front_datagram;

typedef struct um_front_socket um_front_socket;

/* Listens on addresses; house, front and owner are set. The context of
 * c->take, which is all that it says besides lengths, is a um_front_socket. */
umbel_status um_front_datagram_open(um_front_datagram *d,
                                    const um_texts *listen,
                                    const um_datagrams_config *c,
                                    umbel_error *err);

/* Returns the oldest answer that the store has committed, or cannot any more;
 * NULL: it waits, or there is none. Drop it when it was sent. */
const um_answer *um_front_datagram_ready(const um_front_datagram *d,
                                         bool *stored);

/* Sends what was queued. */
void um_front_datagram_flush(um_front_datagram *d);
/* Takes what has come, and receives no more. */
void um_front_datagram_stop(um_front_datagram *d);
/* Returns true while answers wait. */
bool um_front_datagram_busy(const um_front_datagram *d);
/* A zeroed one is fine. */
void um_front_datagram_close(um_front_datagram *d);

#endif
