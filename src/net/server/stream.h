/*
 * stream.h - TCP and unix listeners and their connections, with limits.
 *
 * A connection has limits: bytes of an incomplete request, bytes of replies
 * that the client does not read, time without progress and total time. A
 * connection that exceeds one is ended, and the listener's owner receives the
 * reason, for logs and metrics.
 */
#ifndef UM_NET_STREAM_H
#define UM_NET_STREAM_H

#include "net/server/address.h"
#include "net/server/loop.h"

#include <sys/types.h>

/* --- connection limits (connection_limits.c) ------------------------------ */

/* Limits the number of connections, per client network and in total. */
typedef struct um_connection_limits um_connection_limits;

typedef struct um_connection_limits_config {
    size_t total;         /* connections: 1 to UM_CONNECTIONS_MAX */
    size_t per_network;   /* of one client network; 0: no limit */
    um_prefixes prefixes; /* both 0: the defaults */
    bool limit_loopback;  /* per_network also applies to local clients */
    size_t loopback;      /* of all local clients together; 0: no limit */
} um_connection_limits_config;

enum { UM_CONNECTIONS_MAX = 1 << 20 };

typedef enum um_admission {
    UM_ADMITTED,
    UM_NETWORK_FULL,
    UM_ALL_FULL
} um_admission;

umbel_status um_connection_limits_open(const um_connection_limits_config *c,
                                       um_connection_limits **out,
                                       umbel_error *err);
void um_connection_limits_close(um_connection_limits *p);

/* Changes the limits; admitted connections stay. */
umbel_status um_connection_limits_set(um_connection_limits *p,
                                      const um_connection_limits_config *c,
                                      umbel_error *err);

/* Admits a connection of a client, if the limits allow it. Call
 * um_connection_limits_release when it ends. */
um_admission um_connection_limits_acquire(um_connection_limits *p,
                                          const um_address *client);
void um_connection_limits_release(um_connection_limits *p,
                                  const um_address *client);

/* Returns the number of admitted connections. */
size_t um_connection_limits_used(const um_connection_limits *p);

/* --- listeners and connections -------------------------------------------- */

typedef struct um_listener um_listener;
typedef struct um_stream um_stream;

/* Reasons why a connection ended: name for metrics, text for the log. */
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
/* Returns true if the server refused the client, false for an ordinary end. */
bool um_end_is_refusal(um_end why);

/* A protocol: callbacks for its connections. */
typedef struct um_stream_protocol {
    /* Sends a greeting. May be NULL. */
    void (*opened)(um_stream *s);
    /* Consumes bytes from the start and returns how many. The rest is passed
     * again, with the bytes that follow; 0: more bytes are needed. */
    size_t (*take)(um_stream *s, const uint8_t *bytes, size_t len);
    /* Called with the remaining bytes when the client has shut down its side.
     * May be NULL (the connection ends). */
    void (*last)(um_stream *s, const uint8_t *bytes, size_t len);
    /* Frees the data of um_stream_set_data. May be NULL. */
    void (*closed)(um_stream *s);
} um_stream_protocol;

/* Limits; 0 is the default. */
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
    um_connection_limits *connections; /* may be shared by listeners; NULL: no
                                          limit */
    bool duplex; /* read even while replies are unread: for peers, which both
                    send much */
    /* Called once for each connection, refused ones included; may be NULL. */
    void (*ended)(void *ctx, const um_address *client, um_end why);
    /* The last call after um_listener_close; ctx may be freed then. May be
     * NULL. */
    void (*gone)(void *ctx);
    void *ctx;
} um_listener_config;

/* Opens a listener on fd, which is listening. The listener owns fd; on failure
 * it is closed. If fd is -1, it has only the connections of
 * um_listener_call. */
umbel_status um_listener_open(um_loop *l, int fd, const um_listener_config *c,
                              um_listener **out, umbel_error *err);
/*
 * Connects to an address. The connection is served like an accepted one, but is
 * not counted by the limits; um_stream_data returns data from the beginning. If
 * connecting fails later, it ends with UM_END_IO: closed is called, opened was
 * not. *out is the connection; do not write to it before opened is called.
 */
umbel_status um_listener_call(um_listener *l, const um_address *to, void *data,
                              um_stream **out, umbel_error *err);
/* Stops accepting; connections continue. */
void um_listener_stop(um_listener *l);
size_t um_listener_connections(const um_listener *l);
/* Closes the listener and its connections; the last callbacks run in a later
 * iteration, at the latest in um_loop_close. NULL is accepted. */
void um_listener_close(um_listener *l);

/* Sends bytes; the part that the system does not accept at once is copied. */
void um_stream_write(um_stream *s, umbel_slice bytes);
/* Closes the connection when the client has received everything. */
void um_stream_end(um_stream *s, um_end why);
/* Closes the connection now. */
void um_stream_close(um_stream *s, um_end why);

/* Returns the number of written bytes that the system has not accepted yet. */
size_t um_stream_unread(const um_stream *s);
/* Stops reading until um_stream_resume, which first passes on the bytes that
 * take left. This keeps one busy connection from delaying others. take may call
 * pause, but not resume. */
void um_stream_pause(um_stream *s);
void um_stream_resume(um_stream *s);

/* Returns why the connection ended, with the text of a system error if there
 * was one. To be called by closed. */
const char *um_stream_why(const um_stream *s);
const um_address *um_stream_peer(const um_stream *s);
/* Finds the user of the process that opened a unix socket; returns false for
 * other connections. */
bool um_stream_peer_user(const um_stream *s, uid_t *out);
/* Returns config.ctx. */
void *um_stream_ctx(const um_stream *s);
/* Returns a pointer that belongs to the protocol, NULL at first. */
void *um_stream_data(const um_stream *s);
void um_stream_set_data(um_stream *s, void *data);

#endif
