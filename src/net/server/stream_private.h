/*
 * stream_private.h - what stream.c (one connection) and listener.c (accepting,
 * time) share.
 */
#ifndef UM_NET_STREAM_PRIVATE_H
#define UM_NET_STREAM_PRIVATE_H

#include "net/server/stream.h"

#include <uv.h>

enum { UM_READ_ROOM = 1 << 16 };

typedef union um_any_stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
} um_any_stream;

struct um_stream {
    um_any_stream uv; /* first: the loop's handle is the stream */
    um_listener *listener;
    um_stream *next, *prev;
    um_address peer;
    void *data;
    uint8_t *kept; /* bytes that the protocol left */
    size_t nkept, unread, received;
    uint64_t opened, moved; /* when it began, when a byte came or went */
    uint64_t linger;        /* until when it may take to end; 0: it goes on */
    bool placed, shown;     /* has a place; the protocol knows it */
    bool input_over, said_last;
    bool paused; /* by the protocol */
    um_end why;
    int code; /* libuv's, of what broke it; 0: none */
};

struct um_listener {
    um_any_stream uv; /* unused without a listening socket */
    um_loop *loop;
    um_listener_config config;
    um_timer *sweep;
    um_stream *first;
    size_t connections;
    bool listens, unix_socket;
    bool owes;                  /* a connection that found no memory */
    bool stopped, gone, let_go; /* handle closing, closed; by its owner */
    uint8_t room[UM_READ_ROOM];
};

/* Shows a connection that has a place to its protocol. */
void um_stream_begin(um_stream *s);

/* Frees a listener that its owner, its handle and its connections let go. */
void um_listener_release(um_listener *l);

#endif
