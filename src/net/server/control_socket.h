/*
 * control_socket.h - a unix socket of mode 0600: one line in, one document out.
 *
 * The file's mode lets only the server's user and root use it, or with a group
 * (mode 0660) its members as well, for some lines. Some lines are followed by
 * bytes, up to the client's end of sending; their replies may be sent later.
 */
#ifndef UM_NET_CONTROL_SOCKET_H
#define UM_NET_CONTROL_SOCKET_H

#include "net/server/loop.h"
#include "net/server/stream.h"

#include <stdio.h>

typedef struct um_control um_control;
typedef struct um_control_request um_control_request;

enum {
    UM_CONTROL_LINE = 1024,      /* bytes of a request, with its newline */
    UM_CONTROL_REPLY = 16 << 20, /* bytes of a reply */
    UM_CONTROL_CLIENTS = 16,     /* at the same time */
    UM_CONTROL_HELD = 16 << 20   /* bytes after lines, of all clients */
};

typedef struct um_control_config {
    const char *path;
    int fd;            /* a socket that was passed; -1: open one at path */
    const char *group; /* that may use the socket as well; NULL: none */
    /* Returns the reply to a line that a member of the group may not send; NULL
     * if it may. May be NULL without a group. */
    const char *(*refuse)(void *ctx, const char *line);
    /* Writes the reply to a line, which has no newline and no NUL. */
    void (*answer)(void *ctx, const char *line, FILE *out);
    /* Returns the number of bytes that may follow a line; 0: none, and answer
     * is called. May be NULL (no line has any). */
    size_t (*follow)(void *ctx, const char *line);
    /* Called for a line with bytes. Owns the bytes, from malloc (NULL: none),
     * and calls um_control_reply once, now or later. */
    void (*take)(void *ctx, um_control_request *r, const char *line,
                 uint8_t *bytes, size_t len);
    /* As in um_listener_config; may be NULL. */
    void (*ended)(void *ctx, const um_address *client, um_end why);
    void *ctx;
    uint64_t timeout_ms; /* of a connection; 0: 10 s */
} um_control_config;

umbel_status um_control_open(um_loop *l, const um_control_config *c,
                             um_control **out, umbel_error *err);
/* Closes the socket and removes its file. NULL is accepted. */
void um_control_close(um_control *c);

/* Sends the reply, unless the client has left, and releases the request. May be
 * called after um_control_close. */
void um_control_reply(um_control_request *r, umbel_slice text);

/* Returns the user whose process sent the request; -1 if it is unknown. */
uid_t um_control_user(const um_control_request *r);

/*
 * Sends line and more (empty: nothing) to the server at path, and copies its
 * reply to out; waits at most timeout_ms for each. E_IO if nothing listens at
 * path.
 */
umbel_status um_control_query(const char *path, const char *line,
                              umbel_slice more, uint64_t timeout_ms, FILE *out,
                              umbel_error *err);

#endif
