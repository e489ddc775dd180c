/*
 * local.h - replies come from the address that was asked.
 *
 * A machine may have many addresses. A socket that is bound to all of them
 * (0.0.0.0 or [::]) sends from the one that the system likes best, and a client
 * that asked another one does not hear the reply. So the address that a
 * datagram came to is noted (um_address.local), and put into the reply.
 */
#ifndef UM_NET_LOCAL_H
#define UM_NET_LOCAL_H

#include "net/server/address.h"

/* Room for what the system says about a datagram, as its headers need it. */
typedef union um_local_room {
    size_t align; /* as struct cmsghdr */
    uint8_t bytes[64];
} um_local_room;

/* Asks the system for those addresses; false if fd is bound to one address,
 * and need not know. */
bool um_local_enable(int fd);

/* Notes in *from what a received message says. */
void um_local_get(struct msghdr *h, um_address *from);
/* Puts it into the message of a reply, which has room for it. */
void um_local_append(const um_address *to, um_local_room *room,
                     struct msghdr *h);

#endif
