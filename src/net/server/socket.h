/*
 * socket.h - listening sockets, blocking client connections, and sockets that
 * systemd passes.
 */
#ifndef UM_NET_SOCKET_H
#define UM_NET_SOCKET_H

#include "net/server/address.h"

/*
 * Opens a socket of type SOCK_STREAM (and listens) or SOCK_DGRAM, bound to *a,
 * non-blocking and close-on-exec. Port 0 chooses a free port. mode is that of a
 * unix socket (0: from umask); the file of a dead server is replaced.
 */
umbel_status um_socket_listen(const um_address *a, int type, unsigned mode,
                              int *fd, umbel_error *err);

/* Opens another datagram socket on the address of one that um_socket_listen
 * opened in this process. */
umbel_status um_socket_share(const um_address *a, int *fd, umbel_error *err);

/* Returns the address a socket is bound to, with its actual port; the path of a
 * unix socket is copied to path. */
umbel_status um_socket_address(int fd, char path[UM_ADDRESS_TEXT],
                               um_address *out, umbel_error *err);

/* Connects to a unix socket; blocks. */
umbel_status um_socket_connect(const char *path, int *fd, umbel_error *err);

/* --- clients -------------------------------------------------------------- */

/* Connects to an address or a unix socket. The timeout applies to connecting
 * and to each send and receive. The caller closes *fd. */
umbel_status um_call_open(const um_address *to, uint64_t timeout_ms, int *fd,
                          umbel_error *err);
/* Does the same for datagrams: each send and receive is one. Paths are not
 * supported. */
umbel_status um_call_open_datagram(const um_address *to, uint64_t timeout_ms,
                                   int *fd, umbel_error *err);
umbel_status um_call_send(int fd, const void *bytes, size_t len,
                          umbel_error *err);
/* Receives up to cap bytes; *len is 0 at the end of the stream. */
umbel_status um_call_receive(int fd, void *bytes, size_t cap, size_t *len,
                             umbel_error *err);

/* --- systemd (systemd.c) -------------------------------------------------- */

/*
 * Sends "READY=1", "STOPPING=1", "STATUS=..." to $NOTIFY_SOCKET. If the
 * variable is not set, does nothing and returns UMBEL_OK.
 */
umbel_status um_notify(const char *state, umbel_error *err);

enum { UM_PASSED_MAX = 64 };

/* Sockets that a .socket unit has opened for us. */
typedef struct um_passed {
    size_t n;
    int fd[UM_PASSED_MAX]; /* -1: acquired */
} um_passed;

/*
 * Acquires the descriptors of $LISTEN_FDS if $LISTEN_PID is our process, and
 * removes both variables, so that children do not use them.
 */
umbel_status um_passed_open(um_passed *out, umbel_error *err);

/* Returns the socket of that type and address, which the caller then owns, or
 * -1 if none was passed. */
int um_passed_acquire(um_passed *p, const um_address *a, int type);

/* Closes the sockets that were not acquired; returns their number. */
size_t um_passed_close(um_passed *p);

#endif
