/*
 * lanes.h - several sockets on one UDP address, one for each part of the
 * clients.
 *
 * A socket has one queue: a flood fills it, and honest datagrams are lost with
 * the others. With lanes the system queues datagrams by the network of their
 * sender, so a flood from one network fills the queue of one lane. Which
 * networks share a lane is drawn at random each time.
 */
#ifndef UM_NET_LANES_H
#define UM_NET_LANES_H

#include <stddef.h>

enum { UM_LANES = 16 };

/*
 * Opens more sockets beside fd[0], which um_socket_listen bound, and returns
 * how many there are with it: UM_LANES, or 1 if that socket is not ours to
 * share (it was passed to us) or the system cannot do it.
 */
size_t um_lanes_open(int fd[UM_LANES]);

#endif
