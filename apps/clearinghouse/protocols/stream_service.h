/*
 * stream_service.h - the listeners of a protocol that uses connections, and
 * statistics of how they end.
 */
#ifndef UM_CLEARINGHOUSE_STREAM_SERVICE_H
#define UM_CLEARINGHOUSE_STREAM_SERVICE_H

#include "clearinghouse/protocols/protocol.h"
#include "net/server/stream.h"

typedef struct um_protocol_stream {
    const um_environment *env;
    const um_service *service;
    um_service_stats *stats;
    unsigned socket_mode; /* of unix sockets; 0 for the server's user only */
    unsigned op;          /* the operation that counts connections in metrics */
    unsigned ends;        /* its first verdict from UM_END_VERDICTS */
    void *owner;          /* the protocol's state */
    /* Called when everything is closed: owner may be freed. */
    void (*gone)(void *owner);
    um_connection_limits *limits;
    um_listener **listener;
    size_t n, open; /* open: listeners whose last callback is still to come */
} um_protocol_stream;

/* Creates the connection limits; the fields above limits are set. */
umbel_status um_protocol_stream_open(um_protocol_stream *s, size_t connections,
                                     umbel_error *err);
/* Listens on addresses. */
umbel_status um_protocol_stream_listen(um_protocol_stream *s,
                                       const um_texts *listen,
                                       const um_stream_protocol *protocol,
                                       const um_stream_limits *limits,
                                       umbel_error *err);
/* Stops accepting connections. */
void um_protocol_stream_stop(um_protocol_stream *s);
/* Closes all connections; gone is called now or in a later iteration. */
void um_protocol_stream_close(um_protocol_stream *s);

/* Returns the owner of the stream that a connection belongs to. */
static inline void *um_protocol_stream_owner(const um_stream *s)
{
    return ((um_protocol_stream *)um_stream_ctx(s))->owner;
}

/* Rows of verdicts for ended connections. */
#define UM_END_VERDICTS(ends)                                                  \
    [(ends) +                                                                  \
        UM_END_DONE] = {200, "served", NULL},                                  \
        [(ends) + UM_END_CLIENT] = {200, "closed by the client", NULL},        \
        [(ends) + UM_END_BAD] = {400, "malformed", "bad_request"},             \
        [(ends) + UM_END_TOO_LONG] = {431, "too long", "too_long"},            \
        [(ends) + UM_END_TOO_MUCH] = {413, "too much", "too_much"},            \
        [(ends) + UM_END_IDLE] = {408, "idle", "idle"},                        \
        [(ends) + UM_END_TOO_SLOW] = {408, "too slow", "too_slow"},            \
        [(ends) + UM_END_UNREAD] = {408, "does not read", "unread"},           \
        [(ends) +                                                              \
            UM_END_NETWORK_FULL] = {429,                                       \
                                    "too many connections of its network",     \
                                    "network_full"},                           \
        [(ends) + UM_END_ALL_FULL] = {503, "too many connections", "full"},    \
        [(ends) + UM_END_IO] = {400, "the connection broke", "io"},            \
        [(ends) + UM_END_MEMORY] = {503, "no memory", "memory"},               \
        [(ends) + UM_END_SHUTDOWN] = {200, "the server stops", NULL},          \
        [(ends) + UM_END_COUNT] = {0}

#endif
