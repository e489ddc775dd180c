/*
 * serve.c - umbel serve: the process. Listens, passes requests and lines to
 * site.c, and exchanges filters when editions.c has loaded new ones.
 *
 * One thread answers all clients. Nothing that it does takes long: an answer
 * is a look-up in memory, a body has at most UM_SITE_KEYS keys, and a
 * connection that sends many lines waits for the others after BATCH of them.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/framework/numbers.h"
#include "cli/framework/program.h"
#include "net/server/socket.h"
#include "serve/internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct serve_args {
    um_list filters, listen, sockets, hosts;
    um_whole connections;
    um_open_args open;
} serve_args;

enum {
    DEFAULT_CONNECTIONS = 1024,
    SPARE = 64, /* connections of lines above the limit, until one is closed */
    LISTENERS = 64,
    BATCH = 256, /* lines of one connection at a time */
    HTTP_HEAD = 32 << 10,
    HTTP_IDLE_MS = 30000,
    DAY_MS = 24 * 3600 * 1000,
    LINE_MAX_LEN = UM_ANSWER_MAX + 256, /* NAME, a tab, a key */
    HELD_MAX = 64 << 20,                /* bytes of all incomplete lines */
    UNREAD_MAX = 4 << 20, /* of answers that a client does not read */
    SOCKET_MODE = 0666    /* who may reach the path may ask, as over TCP */
};

static const char default_address[] = "127.0.0.1:8625";

static const um_option options[] = {
    {"listen", 0, "ADDRESS:PORT",
     "answer HTTP here; may be repeated (default 127.0.0.1:8625)",
     UM_TARGET(serve_args, listen)},
    {"socket", 0, "PATH", "answer lines on this unix socket; may be repeated",
     UM_TARGET(serve_args, sockets)},
    {"host", 0, "NAME",
     "accept requests for this host name, too; may be repeated",
     UM_TARGET(serve_args, hosts)},
    {"connections", 0, "N",
     "connections at the same time, for each address (default 1024)",
     UM_TARGET(serve_args, connections), .low = 1, .high = 60000},
    {"key-file", 0, "FILE", "secret of the keyed filters (see umbel keygen)",
     UM_TARGET(serve_args, open.key_file), .role = UM_INPUT},
    {"max-memory", 0, "BYTES", "refuse editions that take more memory",
     UM_TARGET(serve_args, open.max_memory), .low = 1},
    {0}};

typedef struct connection connection;

typedef struct server {
    const um_args *args;
    um_site site;
    um_editions *editions;
    um_loop *loop;
    um_watch *news;
    um_timer *resume;
    um_signal *signals[3];
    um_connection_limits *limits; /* of connections with lines */
    um_http *http[LISTENERS];
    um_listener *lines[LISTENERS];
    size_t nhttp, nlines;
    /* Connections with lines: the first answered last. */
    connection *first, *last, *waiting;
    size_t nconnections, held;
    um_buffer addresses; /* for the line "ready" */
} server;

/* --- connections with lines ----------------------------------------------- */

struct connection {
    um_stream *stream;
    server *server;
    connection *next, *prev;
    connection *next_waiting;
    um_lines lines;
    FILE *out; /* while lines are answered */
    size_t n;  /* lines of this batch */
    size_t held;
    bool waiting;
};

static void unlink_connection(connection *c)
{
    server *s = c->server;

    *(c->prev ? &c->prev->next : &s->first) = c->next;
    *(c->next ? &c->next->prev : &s->last) = c->prev;
}

static void link_first(connection *c)
{
    server *s = c->server;

    c->prev = NULL;
    c->next = s->first;
    *(s->first ? &s->first->prev : &s->last) = c;
    s->first = c;
}

static size_t limit_of(const server *s)
{
    const serve_args *a = s->args->values;

    return a->connections.given ? a->connections.n : DEFAULT_CONNECTIONS;
}

static void on_line(void *ctx, umbel_slice line, bool too_long)
{
    connection *c = ctx;

    c->n++;
    um_site_line(&c->server->site, line, too_long, c->out);
}

/* Admits a connection. If there are too many, the one that was answered the
 * longest time ago ends, so that silent clients cannot lock out others. */
static void open_lines(um_stream *stream)
{
    server *s = um_stream_ctx(stream);
    connection *c = calloc(1, sizeof *c);

    if (!c) {
        um_stream_close(stream, UM_END_MEMORY);
        return;
    }
    *c = (connection){
        .stream = stream,
        .server = s,
        .lines = {.max = LINE_MAX_LEN, .end = '\n', .take = on_line, .ctx = c}};
    um_stream_set_data(stream, c);
    link_first(c);
    if (++s->nconnections > limit_of(s))
        um_stream_close(s->last->stream, UM_END_ALL_FULL);
}

static void close_lines(um_stream *stream)
{
    connection *c = um_stream_data(stream);
    connection **at;

    if (!c)
        return;
    for (at = &c->server->waiting; c->waiting && *at != c;)
        at = &(*at)->next_waiting;
    if (c->waiting)
        *at = c->next_waiting;
    unlink_connection(c);
    c->server->nconnections--;
    c->server->held -= c->held;
    free(c);
}

/* Counts the bytes of an incomplete line; too many of all clients together end
 * this connection. */
static void hold(connection *c, size_t len)
{
    server *s = c->server;

    s->held = s->held - c->held + len;
    c->held = len;
    if (s->held > HELD_MAX)
        um_stream_close(c->stream, UM_END_TOO_MUCH);
}

static size_t answer_lines(connection *c, const uint8_t *bytes, size_t len,
                           size_t n, bool last)
{
    char *text;
    size_t ntext, used;

    c->out = open_memstream(&text, &ntext);
    if (!c->out) {
        um_stream_close(c->stream, UM_END_MEMORY);
        return len;
    }
    c->n = 0;
    used = um_lines_take(&c->lines, bytes, len, n, last);
    bool fine = fclose(c->out) == 0;
    if (fine)
        um_stream_write(c->stream, (umbel_slice){text, ntext});
    else
        um_stream_close(c->stream, UM_END_MEMORY);
    free(text);
    if (used) {
        unlink_connection(c);
        link_first(c);
    }
    return used;
}

static size_t consume_lines(um_stream *stream, const uint8_t *bytes, size_t len)
{
    connection *c = um_stream_data(stream);
    server *s = c->server;
    size_t used = answer_lines(c, bytes, len, BATCH, false);

    hold(c, len - used);
    if (c->n == BATCH && used < len) {
        c->waiting = true;
        c->next_waiting = s->waiting;
        s->waiting = c;
        um_stream_pause(stream);
        um_timer_set(s->resume, 0, 0);
    }
    return used;
}

static void resume_all(void *ctx)
{
    server *s = ctx;
    connection *c = s->waiting;

    s->waiting = NULL;
    for (connection *next; c; c = next) {
        next = c->next_waiting;
        c->waiting = false;
        um_stream_resume(c->stream);
    }
}

static void finish_lines(um_stream *stream, const uint8_t *bytes, size_t len)
{
    connection *c = um_stream_data(stream);

    answer_lines(c, bytes, len, SIZE_MAX, true);
    um_stream_end(stream, UM_END_DONE);
}

static const um_stream_protocol line_protocol = {.opened = open_lines,
                                                 .take = consume_lines,
                                                 .last = finish_lines,
                                                 .closed = close_lines};

/* --- HTTP ----------------------------------------------------------------- */

/* The callbacks of HTTP get the site, which is a part of the server. */
static server *server_of(void *site)
{
    return (server *)(void *)((char *)site - offsetof(server, site));
}

static unsigned write_metrics(void *ctx, FILE *out)
{
    server *s = server_of(ctx);

    s->site.connections = s->nconnections;
    for (size_t i = 0; i < s->nhttp; i++)
        s->site.connections += um_http_connections(s->http[i]);
    return um_site_metrics(&s->site, out);
}

static const um_http_row documents[] = {
    {"/health", "text/plain; charset=utf-8", um_site_health},
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", write_metrics},
    {0}};

static bool check_host(void *ctx, const char *host, FILE *why)
{
    const serve_args *a = server_of(ctx)->args->values;
    char shown[256];

    if (um_host_is_ours(host, a->hosts.item, a->hosts.n))
        return true;
    snprintf(shown, sizeof shown, "%.*s", (int)strcspn(host, ":"), host);
    um_disarm(shown);
    fprintf(why,
            "This server is not known as %s. If that is its name, start it "
            "with --host %s. Addresses and localhost need no option.\n",
            shown, um_host_is_name(shown) ? shown : "NAME");
    return false;
}

static void count_request(void *ctx, const um_address *client,
                          const um_http_row *row, unsigned code)
{
    um_site *s = ctx;

    (void)client;
    (void)row;
    s->requests[code % UM_SITE_CODES]++;
}

static void count_end(void *ctx, const um_address *client, um_end why)
{
    um_site *s = ctx;

    (void)client;
    s->ends[why]++;
}

static void count_line_end(void *ctx, const um_address *client, um_end why)
{
    count_end(&((server *)ctx)->site, client, why);
}

/* --- addresses ------------------------------------------------------------ */

static umbel_status serve_http(server *s, int fd, umbel_error *err)
{
    um_http_config c = {.rows = documents,
                        .limits = {.total = limit_of(s),
                                   .replace = true,
                                   .request = HTTP_HEAD,
                                   .body = UM_SITE_BODY,
                                   .idle_ms = HTTP_IDLE_MS,
                                   .total_ms = DAY_MS},
                        .answer = um_site_answer,
                        .host = check_host,
                        .served = count_request,
                        .ended = count_end,
                        .ctx = &s->site};

    UM_TRY(um_http_open(s->loop, fd, &c, &s->http[s->nhttp], err));
    s->nhttp++;
    return UMBEL_OK;
}

static umbel_status serve_lines(server *s, int fd, umbel_error *err)
{
    um_listener_config c = {.protocol = &line_protocol,
                            .limits = {.request = LINE_MAX_LEN + 2,
                                       .unread = UNREAD_MAX,
                                       .idle_ms = DAY_MS,
                                       .total_ms = UINT64_MAX},
                            .connections = s->limits,
                            .ended = count_line_end,
                            .ctx = s};

    UM_TRY(um_listener_open(s->loop, fd, &c, &s->lines[s->nlines], err));
    s->nlines++;
    return UMBEL_OK;
}

/* Serves a socket: lines on a unix socket, otherwise HTTP. */
static umbel_status serve_socket(server *s, int fd, umbel_error *err)
{
    char path[UM_ADDRESS_TEXT], text[UM_ADDRESS_TEXT];
    um_address a;

    UM_TRY(um_socket_address(fd, path, &a, err));
    um_address_print(&a, text);
    um_buffer_append(&s->addresses, a.path ? " socket " : " http://", 8);
    um_buffer_append(&s->addresses, text, strlen(text));
    return a.path ? serve_lines(s, fd, err) : serve_http(s, fd, err);
}

/* Listens on an address, with a socket of systemd if one was passed for it. */
static umbel_status listen_on(server *s, um_passed *passed, const char *text,
                              bool is_path, umbel_error *err)
{
    um_address a;
    int fd;

    UM_TRY(um_address_parse(text, &a, err));
    if ((a.path != NULL) != is_path)
        return um_fail(err, UMBEL_E_RANGE,
                       is_path ? "--socket takes a path that begins with /, "
                                 "not \"%.100s\""
                               : "--listen takes ADDRESS:PORT, not a path; "
                                 "--socket %.100s answers lines there",
                       text);
    fd = um_passed_acquire(passed, &a, SOCK_STREAM);
    if (fd < 0)
        UM_TRY(um_socket_listen(&a, SOCK_STREAM, is_path ? SOCKET_MODE : 0, &fd,
                                err));
    return serve_socket(s, fd, err);
}

/* Serves all sockets that systemd passed, if no address was given. */
static umbel_status adopt_sockets(server *s, um_passed *passed,
                                  umbel_error *err)
{
    for (size_t i = 0; i < passed->n; i++) {
        int fd = passed->fd[i];

        passed->fd[i] = -1;
        UM_TRY(serve_socket(s, fd, err));
    }
    return UMBEL_OK;
}

static umbel_status listen_all(server *s, um_passed *passed, umbel_error *err)
{
    const serve_args *a = s->args->values;

    if (a->listen.n + a->sockets.n > LISTENERS)
        return um_fail(err, UMBEL_E_RANGE, "at most %d addresses", LISTENERS);
    for (size_t i = 0; i < a->listen.n; i++)
        UM_TRY(listen_on(s, passed, a->listen.item[i], false, err));
    for (size_t i = 0; i < a->sockets.n; i++)
        UM_TRY(listen_on(s, passed, a->sockets.item[i], true, err));
    if (s->nhttp + s->nlines)
        return UMBEL_OK;
    return passed->n ? adopt_sockets(s, passed, err)
                     : listen_on(s, passed, default_address, false, err);
}

/* --- editions ------------------------------------------------------------- */

/* Logs news; runs in the thread that loads, and at the start in the main
 * one. */
static void log_news(void *ctx, const um_edition_news *e)
{
    const um_args *args = ((const server *)ctx)->args;

    if (e->problem)
        um_warn(args, "%s: %s; the last valid edition is served", e->name,
                e->problem);
    else if (e->filter && !args->common.quiet)
        fprintf(stderr, "umbel serve: %s: loaded, %s\n", e->name,
                um_counted(umbel_added(e->filter), "key", "keys").text);
}

static void apply_news(void *ctx, unsigned events)
{
    server *s = ctx;
    um_edition_news *e = um_editions_take(s->editions);

    (void)events;
    for (um_edition_news *next; e; e = next) {
        next = e->next;
        um_editions_retire(s->editions,
                           um_site_apply(&s->site, e, (double)time(NULL)));
        um_edition_news_free(e);
    }
}

/* --- the process ---------------------------------------------------------- */

static void on_signal(void *ctx, int number)
{
    server *s = ctx;

    if (number == SIGHUP)
        um_editions_sweep(s->editions);
    else
        um_loop_stop(s->loop);
}

/* Raises the limit of descriptors as far as the system allows. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static umbel_status open_server(server *s, umbel_error *err)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    const serve_args *a = s->args->values;
    um_editions_config c = {
        .paths = a->filters, .open = &a->open, .log = log_news, .ctx = s};
    um_connection_limits_config limits = {.total = limit_of(s) + SPARE};

    UM_TRY(um_editions_open(&c, &s->editions, err));
    apply_news(s, 0);
    s->site.single = um_editions_single(s->editions);
    UM_TRY(um_loop_open(&s->loop, err));
    UM_TRY(um_watch_open(s->loop, um_editions_fd(s->editions), UM_READABLE,
                         apply_news, s, &s->news, err));
    UM_TRY(um_timer_open(s->loop, 0, 0, resume_all, s, &s->resume, err));
    UM_TRY(um_connection_limits_open(&limits, &s->limits, err));
    for (size_t i = 0; i < UM_COUNT(numbers); i++)
        UM_TRY(um_signal_open(s->loop, numbers[i], on_signal, s, &s->signals[i],
                              err));
    return um_editions_start(s->editions, err);
}

static void close_server(server *s)
{
    for (size_t i = 0; i < s->nhttp; i++)
        um_http_close(s->http[i]);
    for (size_t i = 0; i < s->nlines; i++)
        um_listener_close(s->lines[i]);
    um_loop_close(s->loop);
    um_connection_limits_close(s->limits);
    um_site_fini(&s->site);
    um_editions_close(s->editions);
    um_buffer_fini(&s->addresses);
}

static umbel_status run_server(server *s, um_passed *passed, umbel_error *err)
{
    UM_TRY(open_server(s, err));
    UM_TRY(listen_all(s, passed, err));
    size_t left = um_passed_close(passed);
    if (left)
        um_warn(s->args, "closed %s of systemd that no option names",
                um_counted(left, "socket", "sockets").text);
    UM_TRY(um_notify("READY=1", err));
    fprintf(stderr, "ready: %s,%.*s\n",
            um_counted(s->site.n, "filter", "filters").text,
            (int)s->addresses.len, (const char *)s->addresses.data);
    um_loop_run(s->loop);
    return um_notify("STOPPING=1", err);
}

static int run(const um_args *args)
{
    server s = {.args = args};
    um_passed passed = {.n = 0};
    umbel_error err;

    raise_descriptors();
    umbel_status status = um_passed_open(&passed, &err);
    if (!status)
        status = run_server(&s, &passed, &err);
    um_passed_close(&passed);
    close_server(&s);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_serve = {
    .name = "serve",
    .summary = "answer questions about filters over HTTP and on a unix socket",
    .section = UM_OTHER,
    .manual = "8 System Administration",
    .values_len = sizeof(serve_args),
    .operands = {{"FILTER", UM_LIST, offsetof(serve_args, filters), UM_INPUT,
                  .min = 1}},
    .options = {{.rows = options}},
    .run = run,
    .example = "words.umb --listen 127.0.0.1:0",
    .details =
        "FILTER is a file, or a directory whose files *.umb are served, also "
        "those that are added later. The name of a filter is that of its file "
        "without .umb. A new edition that is renamed into place is served at "
        "once; if it is damaged, or its keys have another form, the old one "
        "stays. SIGHUP looks at all files now; SIGTERM stops the server.",
};
