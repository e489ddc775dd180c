/*
 * outbox.h - datagrams that wait to be sent, up to a batch of them.
 */
#ifndef UM_NET_OUTBOX_H
#define UM_NET_OUTBOX_H

#include "net/server/local.h"

enum { UM_OUTBOX = 64 }; /* datagrams that wait at most */

typedef struct um_outbox {
    struct mmsghdr *head; /* of what is sent at once: one datagram or several */
    struct iovec *part;   /* of each datagram */
    um_address *peer;
    um_local_room *control;
    uint8_t *bytes;
    size_t stride, queued;
    bool from_asked; /* say which of our addresses a datagram leaves from */
    bool single;     /* the system refuses several datagrams as one */
    uint64_t sent;
    uint64_t unsent; /* that the system did not take: dropped */
} um_outbox;

/* Makes room for datagrams of that many bytes; false: no memory. */
bool um_outbox_init(um_outbox *o, size_t len);
/* What waits is dropped. A zeroed one is fine. */
void um_outbox_fini(um_outbox *o);

/* Returns where the next datagram goes; there must be room for one. */
uint8_t *um_outbox_room(const um_outbox *o);
void um_outbox_append(um_outbox *o, const um_address *to, size_t len);

/* Sends what waits. What the system refuses or has no room for is dropped: the
 * client asks again. */
void um_outbox_flush(um_outbox *o, int fd);

#endif
