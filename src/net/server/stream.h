/*
 * stream.h - TCP and unix listeners and their connections, with ceilings.
 *
 * A connection costs at most its ceilings: bytes of a request that is not yet
 * whole, bytes of replies that the client does not read, time without progress
 * and time in all. Whichever is passed ends it, with a reason that the
 * listener's owner is given for log and metrics.
 */
#ifndef UM_NET_STREAM_H
#define UM_NET_STREAM_H

#include "net/server/loop.h"
#include "net/server/places.h"

typedef struct um_listener um_listener;
typedef struct um_stream um_stream;

/* Why a connection ended: name for metrics, text for the log. */
#define UM_END_LIST(X)                                                         \
    X(DONE, "done", "served")                                                  \
    X(CLIENT, "client", "closed by the other side")                            \
    X(BAD, "bad_request", "the request is malformed")                          \
    X(TOO_LONG, "too_long", "the request is longer than the limit")            \
    X(TOO_MUCH, "too_much", "the connection sent more than the limit")         \
    X(IDLE, "idle", "nothing happened for longer than the limit")              \
    X(TOO_SLOW, "too_slow", "the connection lasted longer than the limit")     \
    X(UNREAD, "unread", "the client does not read its replies")                \
    X(NETWORK_FULL, "network_full", "too many connections of one network")     \
    X(ALL_FULL, "full", "too many connections")                                \
    X(IO, "io", "the connection broke")                                        \
    X(MEMORY, "memory", "no memory")                                           \
    X(SHUTDOWN, "shutdown", "the server stops")

typedef enum um_end {
#define UM_END_ENUM(name, word, text) UM_END_##name,
    UM_END_LIST(UM_END_ENUM)
#undef UM_END_ENUM
        UM_END_COUNT
} um_end;

const char *um_end_name(um_end why);
const char *um_end_text(um_end why);
/* Returns true for what a server refused, false for an ordinary end. */
bool um_end_is_refusal(um_end why);

/* What a protocol does with a connection. */
typedef struct um_stream_protocol {
    /* Greets. NULL: nothing to do. */
    void (*opened)(um_stream *s);
    /* Takes bytes from the front and returns how many; the others come again
     * together with what follows them. 0: more are needed. */
    size_t (*take)(um_stream *s, const uint8_t *bytes, size_t len);
    /* The client sends no more, and these bytes were left. NULL: goodbye. */
    void (*last)(um_stream *s, const uint8_t *bytes, size_t len);
    /* Frees what um_stream_set_data was given. NULL: nothing to free. */
    void (*closed)(um_stream *s);
} um_stream_protocol;

/* 0 is the default. */
typedef struct um_stream_limits {
    size_t request;    /* bytes of a request: 8192 */
    size_t total;      /* bytes that a connection may send: unlimited */
    size_t unread;     /* bytes of replies the client has not read: 1 MiB */
    uint64_t idle_ms;  /* without a byte in or out: 30 s */
    uint64_t total_ms; /* of a connection: 300 s */
} um_stream_limits;

typedef struct um_listener_config {
    const um_stream_protocol *protocol;
    um_stream_limits limits;
    um_places *places; /* may be shared by listeners; NULL: no limit */
    bool duplex; /* reads while the other side has replies to read: for peers,
                    which both send much unasked */
    /* Called once for each connection, refused ones included; may be NULL. */
    void (*ended)(void *ctx, const um_address *client, um_end why);
    /* The last call after um_listener_close: places and ctx are free to go.
     * May be NULL. */
    void (*gone)(void *ctx);
    void *ctx;
} um_listener_config;

/* Takes over fd, which listens; on failure it is closed. -1: it has only the
 * connections of um_listener_call. */
umbel_status um_listener_open(um_loop *l, int fd, const um_listener_config *c,
                              um_listener **out, umbel_error *err);
/*
 * Makes a connection to an address. It is served like one that was accepted,
 * without a place; data is what um_stream_data gives from the beginning. What
 * fails later ends it with UM_END_IO: closed is called, opened was not. *out is
 * the connection; nothing can be written to it until opened is called.
 */
umbel_status um_listener_call(um_listener *l, const um_address *to, void *data,
                              um_stream **out, umbel_error *err);
/* Accepts no more; connections go on. */
void um_listener_stop(um_listener *l);
size_t um_listener_connections(const um_listener *l);
/* Closes the listener and its connections; the last callbacks run in a later
 * turn, um_loop_close at the latest. NULL is fine. */
void um_listener_close(um_listener *l);

/* Sends bytes, which are copied if the system does not take them at once. */
void um_stream_write(um_stream *s, umbel_slice bytes);
/* Closes the connection once the client has got everything. */
void um_stream_end(um_stream *s, um_end why);
/* Closes it now. */
void um_stream_close(um_stream *s, um_end why);

/* Returns the bytes that were written and that the system has not taken. */
size_t um_stream_unread(const um_stream *s);
/* Reads no more until um_stream_resume, which first hands on what take left: so
 * that one busy connection does not keep others waiting. take may pause, and
 * must not resume. */
void um_stream_pause(um_stream *s);
void um_stream_resume(um_stream *s);

/* Returns why it ended, with the system's words if it has some; for closed. */
const char *um_stream_why(const um_stream *s);
const um_address *um_stream_peer(const um_stream *s);
/* Returns config.ctx. */
void *um_stream_ctx(const um_stream *s);
/* A pointer of the protocol's own, NULL at first. */
void *um_stream_data(const um_stream *s);
void um_stream_set_data(um_stream *s, void *data);

#endif
