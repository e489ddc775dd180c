/*
 * socket.h - sockets that a server listens on.
 */
#ifndef UM_NET_SOCKET_H
#define UM_NET_SOCKET_H

#include "net/server/address.h"

/*
 * Opens a socket of type SOCK_STREAM (and listens) or SOCK_DGRAM, bound to *a,
 * non-blocking and closed in children. Port 0 takes a free one. A unix socket
 * gets that mode (0: as umask says); one that a dead server left is replaced.
 */
umbel_status um_socket_listen(const um_address *a, int type, unsigned mode,
                              int *fd, umbel_error *err);

/* Opens another datagram socket on the address of one that um_socket_listen
 * opened in this process (lanes.h). */
umbel_status um_socket_share(const um_address *a, int *fd, umbel_error *err);

/* Gets the address a socket is bound to, with its real port; the path of a unix
 * socket is copied to path. */
umbel_status um_socket_address(int fd, char path[UM_ADDRESS_TEXT],
                               um_address *out, umbel_error *err);

/* Connects to a unix socket; blocks. */
umbel_status um_socket_connect(const char *path, int *fd, umbel_error *err);

#endif
