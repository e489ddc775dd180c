/*
 * call.h - a connection of a client that blocks, and not for long.
 */
#ifndef UM_NET_CALL_H
#define UM_NET_CALL_H

#include "net/server/address.h"

/* Connects to an address or a unix socket. Nothing takes longer than the
 * timeout: connecting, and each send and receive. Close *fd. */
umbel_status um_call_open(const um_address *to, uint64_t timeout_ms, int *fd,
                          umbel_error *err);
/* The same for datagrams: each send and receive is one. Not for paths. */
umbel_status um_call_open_datagram(const um_address *to, uint64_t timeout_ms,
                                   int *fd, umbel_error *err);
umbel_status um_call_send(int fd, const void *bytes, size_t len,
                          umbel_error *err);
/* Receives up to cap bytes; *len is 0 when the other side has ended. */
umbel_status um_call_receive(int fd, void *bytes, size_t cap, size_t *len,
                             umbel_error *err);

#endif
