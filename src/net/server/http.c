/*
 * http.c - HTTP with libmicrohttpd, whose epoll descriptor is in our loop.
 *
 * The daemon has no thread: it runs when its descriptor is readable, or when
 * its timeout is over. Limits are enforced here, because those of libmicrohttpd
 * close connections without a reason, or leave them waiting. A client beyond
 * the limits is refused when it is accepted; one that had no reply for too long
 * is shut down, whether it is silent, slow, or does not read.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer reports the body that a call owns as leaked. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

#include "net/server/http.h"

#include "base/buffer.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DEFAULT_TOTAL = 64,
    DEFAULT_REQUEST = 16384,
    DEFAULT_IDLE_MS = 10000,
    DEFAULT_TOTAL_MS = 300000,
    DEFAULT_BODIES = 64 << 20,
    SWEEP_MIN_MS = 5,
    SWEEP_MAX_MS = 1000,
    SPARE = 64,    /* above our own limit, which gives a reason */
    HOST_MAX = 256 /* names have at most 253 bytes */
};

typedef struct visit visit;

/* A connection. */
struct visit {
    visit *next, *prev;
    um_address peer;
    int fd;
    uint64_t opened, served; /* when it began, when its last reply was done */
    size_t requests;
    bool replying; /* a reply is on its way */
    bool query;    /* the target of the current request has a ? */
    um_end why;    /* DONE: not ended by us */
};

struct um_http {
    um_loop *loop;
    um_http_config config;
    struct MHD_Daemon *daemon;
    um_watch *watch;
    um_timer *again, *sweep;
    visit *first;
    size_t connections, ending; /* ending: of these, ended by us */
    size_t bodies;              /* bytes that calls hold */
    bool stopping;
};

/* --- names of the server -------------------------------------------------- */

/* Copies the host without its port and final dot; returns false if it is too
 * long. */
static bool copy_name(const char *host, char out[HOST_MAX])
{
    size_t len = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");

    if (len >= HOST_MAX)
        return false;
    if (len && *host != '[' && host[len - 1] == '.')
        len--;
    memcpy(out, host, len);
    out[len] = '\0';
    return true;
}

static bool is_ip(const char *name)
{
    struct in6_addr address;

    return *name == '[' ? inet_pton(AF_INET6, name + 1, &address) == 1
                        : inet_pton(AF_INET, name, &address) == 1;
}

static bool is_localhost(const char *name)
{
    static const char local[] = "localhost";
    size_t len = strlen(name), tail = sizeof local - 1;

    if (len < tail || strcasecmp(name + len - tail, local) != 0)
        return false;
    return len == tail || name[len - tail - 1] == '.';
}

bool um_host_is_ours(const char *host, const char *const *names, size_t n)
{
    char name[HOST_MAX];

    if (!copy_name(host, name))
        return false;
    if (is_ip(name) || is_localhost(name))
        return true;
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

bool um_host_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    size_t len = strlen(text);

    return len > 0 && len < HOST_MAX && strspn(text, letters) == len;
}

/* --- connections ---------------------------------------------------------- */

static void peer_from(const struct sockaddr *name, um_address *out)
{
    *out = (um_address){.path = NULL};
    if (name->sa_family == AF_INET)
        memcpy(&out->ip.v4, name, sizeof out->ip.v4);
    else if (name->sa_family == AF_INET6)
        memcpy(&out->ip.v6, name, sizeof out->ip.v6);
    else
        out->path = "";
}

static size_t count_network(const um_http *h, const um_address *client)
{
    um_network n = um_address_network(client, &h->config.limits.prefixes);
    size_t count = 0;

    for (const visit *v = h->first; v; v = v->next)
        count += um_network_equal(
            n, um_address_network(&v->peer, &h->config.limits.prefixes));
    return count;
}

static size_t count_local(const um_http *h)
{
    size_t count = 0;

    for (const visit *v = h->first; v; v = v->next)
        count += um_address_is_loopback(&v->peer);
    return count;
}

static void report_end(um_http *h, const um_address *client, um_end why)
{
    if (h->config.ended)
        h->config.ended(h->config.ctx, client, why);
}

static bool is_limited(const um_http_limits *l, const um_address *client)
{
    return l->per_network &&
           (l->limit_loopback || !um_address_is_loopback(client));
}

/* Shuts down a connection; the daemon closes it when it runs again. */
static void end_visit(um_http *h, visit *v, um_end why)
{
    v->why = why;
    h->ending++;
    shutdown(v->fd, SHUT_RDWR);
}

/* Ends the connection that had no reply for the longest time, to admit
 * another. Returns false if none can be ended, or too many are ending. */
static bool replace_oldest(um_http *h)
{
    visit *oldest = NULL;

    if (!h->config.limits.replace || h->ending >= SPARE)
        return false;
    for (visit *v = h->first; v; v = v->next)
        if (v->why == UM_END_DONE && !v->replying &&
            (!oldest || v->served <= oldest->served))
            oldest = v;
    if (oldest)
        end_visit(h, oldest, UM_END_ALL_FULL);
    return oldest != NULL;
}

static enum MHD_Result admit(void *ctx, const struct sockaddr *name,
                             socklen_t len)
{
    um_http *h = ctx;
    const um_http_limits *limits = &h->config.limits;
    um_address client;
    um_end why = UM_END_DONE;

    (void)len;
    peer_from(name, &client);
    if (h->connections - h->ending >= limits->total && !replace_oldest(h))
        why = UM_END_ALL_FULL;
    else if ((is_limited(limits, &client) &&
              count_network(h, &client) >= limits->per_network) ||
             (limits->loopback && um_address_is_loopback(&client) &&
              count_local(h) >= limits->loopback))
        why = UM_END_NETWORK_FULL;
    if (why == UM_END_DONE)
        return MHD_YES;
    report_end(h, &client, why);
    return MHD_NO;
}

static visit *open_visit(um_http *h, struct MHD_Connection *connection)
{
    visit *v = calloc(1, sizeof *v);
    um_address peer;

    peer_from(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
            ->client_addr,
        &peer);
    if (!v) {
        report_end(h, &peer, UM_END_MEMORY);
        return NULL; /* closed at its first request */
    }
    v->peer = peer;
    v->fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
            ->connect_fd;
    v->opened = v->served = um_loop_now(h->loop);
    v->next = h->first;
    if (h->first)
        h->first->prev = v;
    h->first = v;
    h->connections++;
    return v;
}

/* Returns true if the client sent bytes; the kernel also counts the end of the
 * stream as one. */
static bool sent_something(int fd)
{
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t len = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
           info.tcpi_bytes_received > 1;
}

static um_end visit_end(const um_http *h, const visit *v)
{
    if (v->why != UM_END_DONE)
        return v->why;
    if (h->stopping)
        return UM_END_SHUTDOWN;
    if (v->requests)
        return UM_END_DONE;
    return sent_something(v->fd) ? UM_END_BAD : UM_END_CLIENT;
}

static void close_visit(um_http *h, visit *v)
{
    if (v->prev)
        v->prev->next = v->next;
    else
        h->first = v->next;
    if (v->next)
        v->next->prev = v->prev;
    h->connections--;
    h->ending -= v->why != UM_END_DONE;
    report_end(h, &v->peer, visit_end(h, v));
    free(v);
}

static void on_connection(void *ctx, struct MHD_Connection *connection,
                          void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *socket_context = open_visit(ctx, connection);
    else if (*socket_context)
        close_visit(ctx, *socket_context);
}

static visit *visit_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection,
                                   MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

/* --- requests ------------------------------------------------------------- */

static const um_http_row *find_row(const um_http *h, const char *path)
{
    for (const um_http_row *r = h->config.rows; r->path; r++)
        if (strcmp(r->path, path) == 0)
            return r;
    return NULL;
}

/* A request. */
typedef struct request {
    const um_http_row *row; /* NULL: none has this path */
    const char *host;       /* Host header to check; NULL: none */
    bool get, allowed;
    um_http_request more; /* for config.answer */
    const char *encoding; /* Content-Encoding of a body; NULL: none */
    unsigned refusal;     /* status; 0: not refused yet */
} request;

/* A POST, of which the body is being received. */
typedef struct call {
    um_buffer body;
    unsigned refusal; /* as in request */
} call;

typedef struct document {
    unsigned code;
    const char *type;
    char *text;
    size_t len;
} document;

static request read_request(const um_http *h, struct MHD_Connection *connection,
                            const visit *v, const char *path,
                            const char *method)
{
    bool get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    bool post = h->config.limits.body && strcmp(method, "POST") == 0;
    request r = {.row = post ? NULL : find_row(h, path),
                 .get = get,
                 .allowed = get || post,
                 .more = {.post = post, .path = path}};

    if (h->config.host && !v->peer.path)
        r.host =
            MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    r.more.query = v->query;
    return r;
}

/* Writes the document, or one line with the reason for refusing it. */
static void write_text(um_http *h, const request *r, document *d, FILE *out)
{
    d->type = "text/plain; charset=utf-8";
    if (!r->allowed) {
        d->code = MHD_HTTP_METHOD_NOT_ALLOWED;
        fprintf(out, "Only GET%s and HEAD are served here.\n",
                h->config.limits.body ? ", POST" : "");
    } else if (r->host && !h->config.host(h->config.ctx, r->host, out)) {
        d->code = MHD_HTTP_MISDIRECTED_REQUEST;
    } else if (r->encoding && strcasecmp(r->encoding, "identity") != 0) {
        d->code = MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
        fputs("Send the body without Content-Encoding.\n", out);
    } else if (r->refusal == MHD_HTTP_CONTENT_TOO_LARGE) {
        d->code = r->refusal;
        fprintf(out, "The body of a request has at most %zu bytes.\n",
                h->config.limits.body);
    } else if (r->refusal) {
        d->code = r->refusal;
        fputs("Too many large requests at the same time; try again.\n", out);
    } else if (r->row) {
        d->type = r->row->type;
        d->code = r->row->write(h->config.ctx, out);
    } else if (h->config.answer) {
        d->code = h->config.answer(h->config.ctx, &r->more, &d->type, out);
    } else {
        d->code = MHD_HTTP_NOT_FOUND;
        fputs("There is no such document. These are served:\n", out);
        for (const um_http_row *row = h->config.rows; row->path; row++)
            fprintf(out, "%s\n", row->path);
    }
}

/* Writes the document to memory; returns false if there is none left. */
static bool write_document(um_http *h, const request *r, document *d)
{
    FILE *out = open_memstream(&d->text, &d->len);

    if (!out)
        return false;
    write_text(h, r, d, out);
    if (fclose(out) == 0)
        return true;
    free(d->text);
    return false;
}

/* Restricts documents to what this server serves: no other server, no inline
 * script or style, no framing. Answers, which are no pages, have only the
 * first ANSWER_HEADERS. */
enum { ANSWER_HEADERS = 2 };
static const struct {
    const char *name, *value;
} headers[] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; "
     "img-src 'self'; connect-src 'self'; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'none'"},
};

static enum MHD_Result send_document(const um_http *h,
                                     struct MHD_Connection *connection,
                                     const document *d)
{
    size_t nheaders = h->config.answer ? ANSWER_HEADERS : UM_COUNT(headers);
    struct MHD_Response *reply =
        MHD_create_response_from_buffer(d->len, d->text, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result done;

    if (!reply) {
        free(d->text);
        return MHD_NO;
    }
    MHD_add_response_header(reply, "Content-Type", d->type);
    for (size_t i = 0; i < nheaders; i++)
        MHD_add_response_header(reply, headers[i].name, headers[i].value);
    if (d->code == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(reply, "Allow",
                                h->config.limits.body ? "GET, HEAD, POST"
                                                      : "GET, HEAD");
    done = MHD_queue_response(connection, d->code, reply);
    MHD_destroy_response(reply);
    return done;
}

static enum MHD_Result reply(um_http *h, struct MHD_Connection *connection,
                             visit *v, const request *r)
{
    document d;

    if (!write_document(h, r, &d))
        return MHD_NO;
    v->requests++;
    v->replying = true;
    if (h->config.served)
        h->config.served(h->config.ctx, &v->peer, r->row, d.code);
    return send_document(h, connection, &d);
}

/* Appends to the body. If it is too long, all of it is read and discarded: if
 * we closed the connection, the client would not see the reply. */
static void append_body(um_http *h, call *c, const char *bytes, size_t len)
{
    if (len > h->config.limits.body - c->body.len)
        c->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
    else if (len > h->config.limits.bodies - h->bodies)
        c->refusal = MHD_HTTP_SERVICE_UNAVAILABLE;
    if (c->refusal) {
        h->bodies -= c->body.len;
        um_buffer_fini(&c->body);
        return;
    }
    um_buffer_append(&c->body, bytes, len);
    if (c->body.failed)
        c->refusal = MHD_HTTP_SERVICE_UNAVAILABLE;
    else
        h->bodies += len;
}

static enum MHD_Result on_post(um_http *h, struct MHD_Connection *connection,
                               visit *v, request *r, const char *body,
                               size_t *body_len, void **begun)
{
    call *c = *begun;

    if (!c) { /* only the head was received */
        *begun = calloc(1, sizeof *c);
        return *begun ? MHD_YES : MHD_NO;
    }
    if (*body_len) {
        append_body(h, c, body, *body_len);
        *body_len = 0;
        return MHD_YES;
    }
    r->refusal = c->refusal;
    r->encoding = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                              "Content-Encoding");
    r->more.type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                               "Content-Type");
    r->more.body = (umbel_slice){c->body.data, c->body.len};
    return reply(h, connection, v, r);
}

/* Notes whether the target has a query, which may be empty: libmicrohttpd
 * removes it from the path. */
static void *on_target(void *ctx, const char *target,
                       struct MHD_Connection *connection)
{
    visit *v = visit_of(connection);

    (void)ctx;
    if (v)
        v->query = strchr(target, '?') != NULL;
    return NULL;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection,
                                  const char *path, const char *method,
                                  const char *version, const char *body,
                                  size_t *body_len, void **begun)
{
    um_http *h = ctx;
    visit *v = visit_of(connection);

    (void)version;
    if (!v)
        return MHD_NO;
    request r = read_request(h, connection, v, path, method);
    if (r.more.post)
        return on_post(h, connection, v, &r, body, body_len, begun);
    if (r.get && !*begun) { /* only the head was received; reply later */
        *begun = h;
        return MHD_YES;
    }
    if (*body_len && r.get) { /* the body of a GET is discarded */
        *body_len = 0;
        return MHD_YES;
    }
    return reply(h, connection, v, &r);
}

static void on_completed(void *ctx, struct MHD_Connection *connection,
                         void **begun, enum MHD_RequestTerminationCode how)
{
    um_http *h = ctx;
    visit *v = visit_of(connection);

    (void)how;
    if (*begun && *begun != h) {
        call *c = *begun;
        h->bodies -= c->body.len;
        um_buffer_fini(&c->body);
        free(c);
        *begun = NULL;
    }
    if (v) {
        v->served = um_loop_now(h->loop);
        v->replying = false;
    }
}

/* --- the loop ------------------------------------------------------------- */

static void run_daemon(void *ctx)
{
    um_http *h = ctx;
    MHD_UNSIGNED_LONG_LONG ms;

    MHD_run(h->daemon);
    if (MHD_get_timeout(h->daemon, &ms) == MHD_YES)
        um_timer_set(h->again, ms, 0);
    else
        um_timer_stop(h->again);
}

static void on_ready(void *ctx, unsigned events)
{
    (void)events;
    run_daemon(ctx);
}

/* Returns true if the client has shut down its side before a request was
 * complete; the daemon would wait for the rest. */
static bool has_ended(const visit *v)
{
    char byte;

    return !v->replying && recv(v->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Ends a connection that exceeds a limit. */
static void check_visit(um_http *h, visit *v)
{
    uint64_t now = um_loop_now(h->loop);
    um_end why = UM_END_DONE;

    if (v->why != UM_END_DONE)
        return;
    if (has_ended(v))
        shutdown(v->fd, SHUT_RDWR);
    if (now - v->opened >= h->config.limits.total_ms)
        why = UM_END_TOO_SLOW;
    else if (now - v->served >= h->config.limits.idle_ms)
        why = v->replying   ? UM_END_UNREAD
              : v->requests ? UM_END_CLIENT
                            : UM_END_IDLE;
    if (why != UM_END_DONE)
        end_visit(h, v, why);
}

static void sweep(void *ctx)
{
    um_http *h = ctx;

    for (visit *v = h->first; v; v = v->next)
        check_visit(h, v);
}

/* --- open and close ------------------------------------------------------- */

static void set_limits(um_http_limits *l)
{
    l->total = l->total ? l->total : DEFAULT_TOTAL;
    l->request = l->request ? l->request : DEFAULT_REQUEST;
    l->bodies = l->bodies ? l->bodies : DEFAULT_BODIES;
    l->idle_ms = l->idle_ms ? l->idle_ms : DEFAULT_IDLE_MS;
    l->total_ms = l->total_ms ? l->total_ms : DEFAULT_TOTAL_MS;
    if (!l->prefixes.v4 && !l->prefixes.v6)
        l->prefixes = (um_prefixes){UM_PREFIX_V4, UM_PREFIX_V6};
}

/* Leaves paths as they were received: config.answer decodes keys, which may
 * contain any byte. */
static size_t leave_escapes(void *ctx, struct MHD_Connection *connection,
                            char *text)
{
    (void)ctx;
    (void)connection;
    return strlen(text);
}

static umbel_status start_daemon(um_http *h, int fd, umbel_error *err)
{
    const um_http_limits *l = &h->config.limits;
    struct MHD_OptionItem more[] = {{MHD_OPTION_END, 0, NULL},
                                    {MHD_OPTION_END, 0, NULL}};

    if (h->config.answer)
        more[0] = (struct MHD_OptionItem){MHD_OPTION_UNESCAPE_CALLBACK,
                                          (intptr_t)leave_escapes, NULL};
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, admit, h, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(l->total + SPARE),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, l->request,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(l->total_ms / 1000 + 1),
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, h, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, h, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
    if (h->daemon)
        return UMBEL_OK;
    close(fd);
    return um_fail(err, UMBEL_E_IO, "libmicrohttpd did not start");
}

static umbel_status join_loop(um_http *h, umbel_error *err)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uint64_t ms = h->config.limits.idle_ms / 8;

    if (!info)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "libmicrohttpd was built without epoll");
    ms = ms < SWEEP_MIN_MS ? SWEEP_MIN_MS : ms;
    ms = ms > SWEEP_MAX_MS ? SWEEP_MAX_MS : ms;
    UM_TRY(um_timer_open(h->loop, 0, 0, run_daemon, h, &h->again, err));
    UM_TRY(um_timer_open(h->loop, ms, ms, sweep, h, &h->sweep, err));
    return um_watch_open(h->loop, info->epoll_fd, UM_READABLE, on_ready, h,
                         &h->watch, err);
}

umbel_status um_http_open(um_loop *l, int fd, const um_http_config *c,
                          um_http **out, umbel_error *err)
{
    um_http *h = calloc(1, sizeof *h);
    umbel_status status;

    if (!h) {
        close(fd);
        return um_no_memory(err, sizeof *h);
    }
    *h = (um_http){.loop = l, .config = *c};
    set_limits(&h->config.limits);
    status = start_daemon(h, fd, err);
    if (!status)
        status = join_loop(h, err);
    if (status)
        um_http_close(h);
    else
        *out = h;
    return status;
}

size_t um_http_connections(const um_http *h)
{
    return h->connections;
}

void um_http_close(um_http *h)
{
    if (!h)
        return;
    h->stopping = true;
    um_watch_close(h->watch);
    um_timer_close(h->again);
    um_timer_close(h->sweep);
    if (h->daemon)
        MHD_stop_daemon(h->daemon);
    free(h);
}
