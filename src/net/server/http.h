/*
 * http.h - HTTP (libmicrohttpd in our loop): documents for GET, and answers to
 * requests below a path.
 */
#ifndef UM_NET_HTTP_H
#define UM_NET_HTTP_H

#include "net/server/loop.h"
#include "net/server/stream.h"

#include <stdio.h>

typedef struct um_http um_http;

/* A document: a function that writes it and returns the status, usually 200. */
typedef struct um_http_row {
    const char *path; /* "/status.json" */
    const char *type; /* "application/json" */
    unsigned (*write)(void *ctx, FILE *out);
} um_http_row;

/* A request for which there is no document. */
typedef struct um_http_request {
    bool post;        /* else GET or HEAD */
    bool query;       /* the target has a query: ?name=value */
    const char *path; /* percent-encoded as received, without the query */
    const char *type; /* Content-Type; NULL: none */
    umbel_slice body;
} um_http_request;

/* Limits; 0 is the default. */
typedef struct um_http_limits {
    size_t total;         /* connections: 64 */
    size_t per_network;   /* of one client network: no limit */
    bool limit_loopback;  /* per_network also applies to local clients */
    size_t loopback;      /* of all local clients together: no limit */
    um_prefixes prefixes; /* of client networks */
    size_t request;       /* bytes of a request and of the reply's head:
                             16 KiB */
    uint64_t idle_ms;     /* for a request and its reply: 10 s */
    size_t body;          /* bytes of a POST: none, POST is refused */
    size_t bodies;        /* bytes of all requests that are being received:
                             64 MiB */
    uint64_t total_ms;    /* of a connection: 300 s */
    bool replace;         /* a connection beyond total ends the one that had no
                             reply for the longest time, instead of being
                             refused */
} um_http_limits;

typedef struct um_http_config {
    const um_http_row *rows; /* ends with a path of NULL */
    um_http_limits limits;
    /* Answers a request whose path is not in rows: writes the text, sets *type
     * if it is not plain text, and returns the status. NULL: the paths of rows
     * are all there are. */
    unsigned (*answer)(void *ctx, const um_http_request *r, const char **type,
                       FILE *out);
    /* Returns true if a Host header names this server; otherwise writes why
     * not. Not called for clients of unix sockets, which are not browsers. May
     * be NULL (any name). */
    bool (*host)(void *ctx, const char *host, FILE *why);
    /* Called for each request: row is NULL for an unknown path. May be NULL. */
    void (*served)(void *ctx, const um_address *client, const um_http_row *row,
                   unsigned code);
    /* Called once for each connection, as in um_listener_config. */
    void (*ended)(void *ctx, const um_address *client, um_end why);
    void *ctx;
} um_http_config;

/* Serves documents on fd, which is listening. *out owns fd; on failure it is
 * closed. */
umbel_status um_http_open(um_loop *l, int fd, const um_http_config *c,
                          um_http **out, umbel_error *err);
size_t um_http_connections(const um_http *h);
/* Closes the server and its connections, and calls ended for each. NULL is
 * accepted. */
void um_http_close(um_http *h);

/*
 * Returns true if a Host header may name this server: an IP address, localhost
 * or a name below it, or one of n names. Any other name may belong to an
 * attacker who makes it resolve to our address, so that a browser treats us as
 * part of the attacker's site (DNS rebinding).
 */
bool um_host_is_ours(const char *host, const char *const *names, size_t n);

/* Returns true if text consists of letters, digits, hyphens and dots, and can
 * be a name in a Host header. */
bool um_host_is_name(const char *text);

#endif
