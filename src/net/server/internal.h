/*
 * internal.h - shared by the modules of src/net/server.
 */
#ifndef UM_NET_INTERNAL_H
#define UM_NET_INTERNAL_H

#include "net/server/address.h"
#include "net/server/loop.h"

/* --- libuv (loop.c) ------------------------------------------------------- */

/* Returns the uv_loop_t of a loop. */
struct uv_loop_s *um_loop_uv(um_loop *l);

/* Sets *err from libuv's code, and returns the status. */
umbel_status um_fail_uv(umbel_error *err, int code, const char *what);

/* --- lanes (datagram.c) --------------------------------------------------- */

enum { UM_LANES = 16 };

/*
 * Opens more sockets beside fd[0], which um_socket_listen bound, and returns
 * the total number: UM_LANES, or 1 if that socket cannot be shared (it was
 * passed to us) or the system does not support it.
 */
size_t um_lanes_open(int fd[UM_LANES]);

/* --- source addresses of datagrams (outbox.c) ----------------------------- */

/* Control data of a datagram, aligned for its headers. */
typedef union um_local_control {
    size_t align; /* as struct cmsghdr */
    uint8_t bytes[64];
} um_local_control;

/* Enables the reporting of these addresses; returns false if fd is bound to one
 * address, and needs no report. */
bool um_local_enable(int fd);

/* Sets from->local from a received message. */
void um_local_get(struct msghdr *h, um_address *from);
/* Sets the source of a reply in its control data. */
void um_local_write(const um_address *to, um_local_control *control,
                    struct msghdr *h);

/* --- datagrams that wait to be sent (outbox.c) ---------------------------- */

enum { UM_OUTBOX = 64 }; /* maximum that can wait */

typedef struct um_outbox {
    struct mmsghdr *head; /* of messages: one datagram or several */
    struct iovec *part;   /* of each datagram */
    um_address *peer;
    um_local_control *control;
    uint8_t *bytes;
    size_t stride, queued;
    bool from_asked; /* set the source address of datagrams */
    bool single;     /* the system rejects several datagrams in a message */
    uint64_t sent;
    uint64_t unsent; /* datagrams dropped: the system did not accept them */
} um_outbox;

/* Allocates buffers for datagrams of up to len bytes; returns false if out of
 * memory. */
bool um_outbox_init(um_outbox *o, size_t len);
/* Drops waiting datagrams. A zeroed outbox is accepted. */
void um_outbox_fini(um_outbox *o);

/* Returns the buffer of the next datagram; the outbox must not be full. */
uint8_t *um_outbox_reserve(const um_outbox *o);
void um_outbox_append(um_outbox *o, const um_address *to, size_t len);

/* Sends the waiting datagrams. Datagrams that the system rejects or has no
 * space for are dropped; clients repeat their requests. */
void um_outbox_flush(um_outbox *o, int fd);

#endif
