/*
 * stream.c - listeners and their connections, on libuv.
 *
 * Bytes are read into one buffer of the listener and passed to the protocol
 * from there. A connection keeps only the bytes that its protocol leaves (an
 * incomplete request), so ten thousand idle connections need little memory.
 *
 * While a client has replies to read, nothing is read from it, so a client that
 * sends requests and never reads will exceed its time limits. Two peers that
 * both send would block each other, so their connections are still read
 * (duplex).
 *
 * If a socket is closed with unread input, TCP discards replies that are still
 * in transit. um_stream_end therefore shuts down the sending side, reads and
 * discards input, and closes when the client does, or soon after.
 *
 * One timer checks all connections of a listener: their limits are seconds, and
 * a timer for each would cost more.
 */
#include "net/server/stream.h"

#include "base/buffer.h"
#include "base/error.h"
#include "net/server/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
    READ_BUFFER = 1 << 16,
    LINGER_MS = 2000, /* for the client to close after the last reply */
    BACKLOG = 1024,
    SWEEP_MIN_MS = 5, /* between two checks of the limits */
    SWEEP_MAX_MS = 1000,
    DEFAULT_REQUEST = 8192,
    DEFAULT_UNREAD = 1 << 20,
    DEFAULT_IDLE_MS = 30000,
    DEFAULT_TOTAL_MS = 300000
};

typedef union any_stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
} any_stream;

struct um_stream {
    any_stream uv; /* first: the loop's handle is the stream */
    um_listener *listener;
    um_stream *next, *prev;
    um_address peer;
    void *data;
    uint8_t *kept; /* bytes that the protocol did not consume */
    size_t nkept, unread, received;
    uint64_t opened,
        moved;       /* when it began; when bytes were last received or sent */
    uint64_t linger; /* deadline for closing; 0: it is not ending */
    bool admitted, shown; /* counted by the limits; known to the protocol */
    bool input_over, last_called;
    bool paused; /* by the protocol */
    um_end why;
    int code; /* libuv's error code; 0: none */
};

struct um_listener {
    any_stream uv; /* unused without a listening socket */
    um_loop *loop;
    um_listener_config config;
    um_timer *sweep;
    um_stream *first;
    size_t connections;
    bool listens, unix_socket;
    bool owes; /* accepting a connection failed for lack of memory */
    bool stopped, gone, released; /* handle closing, closed; by its owner */
    uint8_t buffer[READ_BUFFER];
};

/* A write that the system did not accept at once. */
typedef struct pending {
    uv_write_t uv;
    um_stream *stream;
    size_t len;
    char bytes[];
} pending;

typedef struct end_words {
    const char *name, *text;
} end_words;

static const end_words words[] = {
#define UM_END_WORDS(name, word, text) {word, text},
    UM_END_LIST(UM_END_WORDS)
#undef UM_END_WORDS
};

const char *um_end_name(um_end why)
{
    return words[why].name;
}

const char *um_end_text(um_end why)
{
    return words[why].text;
}

bool um_end_is_refusal(um_end why)
{
    return why != UM_END_DONE && why != UM_END_CLIENT && why != UM_END_IO &&
           why != UM_END_SHUTDOWN;
}

/* --- the end of a connection ---------------------------------------------- */

/* Frees a listener when its owner, its handle and its connections are gone. */
static void release_listener(um_listener *l)
{
    if (!l->released || !l->gone || l->connections)
        return;
    if (l->config.gone)
        l->config.gone(l->config.ctx);
    free(l);
}

static void unlink_stream(um_stream *s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        s->listener->first = s->next;
    if (s->next)
        s->next->prev = s->prev;
}

static void on_closed(uv_handle_t *handle)
{
    um_stream *s = (um_stream *)handle;
    um_listener *l = s->listener;

    if (s->shown && l->config.protocol->closed)
        l->config.protocol->closed(s);
    if (s->admitted && l->config.connections)
        um_connection_limits_release(l->config.connections, &s->peer);
    if (l->config.ended)
        l->config.ended(l->config.ctx, &s->peer, s->why);
    unlink_stream(s);
    free(s->kept);
    free(s);
    l->connections--;
    release_listener(l);
}

void um_stream_close(um_stream *s, um_end why)
{
    if (uv_is_closing(&s->uv.handle))
        return;
    if (!s->linger || (s->unread && um_end_is_refusal(why)))
        s->why = why; /* otherwise it had ended before */
    uv_close(&s->uv.handle, on_closed);
}

static void on_shut_down(uv_shutdown_t *request, int status)
{
    um_stream *s = request->data;

    free(request);
    if (status < 0 && status != UV_ECANCELED)
        um_stream_close(s, UM_END_IO);
    else if (status == 0 && s->input_over)
        um_stream_close(s, s->why);
}

static void start_reading(um_stream *s);

void um_stream_end(um_stream *s, um_end why)
{
    if (s->linger || uv_is_closing(&s->uv.handle))
        return;
    uv_shutdown_t *request = malloc(sizeof *request);
    if (!request) {
        um_stream_close(s, UM_END_MEMORY);
        return;
    }
    s->why = why;
    s->linger = um_loop_now(s->listener->loop) + LINGER_MS;
    request->data = s;
    if (uv_shutdown(request, &s->uv.stream, on_shut_down) < 0) {
        free(request);
        um_stream_close(s, why);
    } else if (!s->input_over) {
        start_reading(s);
    }
}

/* --- writing -------------------------------------------------------------- */

static void resume(um_stream *s);

static void on_written(uv_write_t *uv, int status)
{
    pending *w = (pending *)uv;
    um_stream *s = w->stream;

    s->unread -= w->len;
    free(w);
    if (status == UV_ECANCELED)
        return;
    if (status < 0) {
        s->code = status;
        um_stream_close(s, UM_END_IO);
        return;
    }
    s->moved = um_loop_now(s->listener->loop);
    if (s->unread == 0 && !s->linger && !s->listener->config.duplex)
        resume(s);
}

static void write_later(um_stream *s, const char *bytes, size_t len)
{
    pending *w;

    if (len > s->listener->config.limits.unread - s->unread) {
        um_stream_close(s, UM_END_UNREAD);
        return;
    }
    w = malloc(sizeof *w + len);
    if (!w) {
        um_stream_close(s, UM_END_MEMORY);
        return;
    }
    w->stream = s;
    w->len = len;
    memcpy(w->bytes, bytes, len);
    uv_buf_t buf = uv_buf_init(w->bytes, (unsigned)len);
    if (uv_write(&w->uv, &s->uv.stream, &buf, 1, on_written) < 0) {
        free(w);
        um_stream_close(s, UM_END_IO);
        return;
    }
    s->unread += len;
    if (!s->linger && !s->listener->config.duplex)
        uv_read_stop(&s->uv.stream);
}

/* Returns a buffer for libuv, whose buffers are not const even if it only reads
 * them. */
static uv_buf_t to_send(const char *bytes, size_t len)
{
    union {
        const char *in;
        char *plain;
    } p = {.in = bytes};

    return (uv_buf_t){.base = p.plain, .len = len};
}

void um_stream_write(um_stream *s, umbel_slice bytes)
{
    const char *p = bytes.data;
    size_t left = bytes.len;

    if (uv_is_closing(&s->uv.handle) || s->linger || left == 0)
        return;
    if (s->unread == 0) {
        uv_buf_t buf = to_send(p, left);
        int n = uv_try_write(&s->uv.stream, &buf, 1);

        if (n < 0 && n != UV_EAGAIN) {
            um_stream_close(s, UM_END_IO);
            return;
        }
        if (n > 0) {
            s->moved = um_loop_now(s->listener->loop);
            p += n;
            left -= (size_t)n;
        }
    }
    if (left)
        write_later(s, p, left);
}

/* --- reading -------------------------------------------------------------- */

/* Returns true if the protocol can consume more: the connection is not ending,
 * and the client has read its replies. */
static bool can_consume(const um_stream *s)
{
    return !s->linger && !s->paused &&
           (s->unread == 0 || s->listener->config.duplex) &&
           !uv_is_closing(&s->uv.handle);
}

/* Passes bytes to the protocol; returns how many it consumed. */
static size_t consume_all(um_stream *s, const uint8_t *bytes, size_t len)
{
    const um_listener_config *c = &s->listener->config;
    size_t at = 0;

    while (at < len && can_consume(s)) {
        size_t n = c->protocol->take(s, bytes + at, len - at);

        at += n < len - at ? n : len - at;
        if (n == 0 && len - at >= c->limits.request && !s->paused)
            um_stream_end(s, UM_END_TOO_LONG);
        if (n == 0)
            break;
    }
    return at;
}

static void retain(um_stream *s, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = NULL;

    if (len) {
        copy = malloc(len);
        if (!copy) {
            um_stream_close(s, UM_END_MEMORY);
            len = 0;
        } else {
            memcpy(copy, bytes, len);
        }
    }
    free(s->kept);
    s->kept = copy;
    s->nkept = len;
}

/* Appends new bytes to those that were kept. */
static bool append_kept(um_stream *s, const uint8_t *bytes, size_t len)
{
    if (!um_array_resize(&s->kept, s->nkept + len, 1)) {
        um_stream_close(s, UM_END_MEMORY);
        return false;
    }
    memcpy(s->kept + s->nkept, bytes, len);
    s->nkept += len;
    return true;
}

static void call_last(um_stream *s)
{
    const um_stream_protocol *p = s->listener->config.protocol;

    s->last_called = true;
    if (p->last)
        p->last(s, s->kept, s->nkept);
    else
        um_stream_end(s, UM_END_CLIENT);
}

/* Continues after a wait: first with kept bytes, then with new ones or the end
 * of input. */
static void resume(um_stream *s)
{
    if (s->nkept) {
        size_t taken = consume_all(s, s->kept, s->nkept);
        retain(s, s->kept + taken, s->nkept - taken);
    }
    if (!can_consume(s))
        return;
    if (!s->input_over)
        start_reading(s);
    else if (!s->last_called)
        call_last(s);
}

static void read_bytes(um_stream *s, const uint8_t *bytes, size_t len)
{
    const um_stream_limits *limits = &s->listener->config.limits;

    s->moved = um_loop_now(s->listener->loop);
    s->received += len;
    if (s->linger)
        return; /* discarded */
    if (limits->total && s->received > limits->total) {
        um_stream_end(s, UM_END_TOO_MUCH);
        return;
    }
    if (s->nkept) {
        if (!append_kept(s, bytes, len))
            return;
        size_t taken = consume_all(s, s->kept, s->nkept);
        if (taken)
            retain(s, s->kept + taken, s->nkept - taken);
    } else {
        size_t taken = consume_all(s, bytes, len);
        retain(s, bytes + taken, len - taken);
    }
}

static void on_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    um_stream *s = (um_stream *)handle;

    (void)wanted;
    *out = uv_buf_init((char *)s->listener->buffer, READ_BUFFER);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    um_stream *s = (um_stream *)stream;

    if (n > 0) {
        read_bytes(s, (const uint8_t *)buf->base, (size_t)n);
    } else if (n == UV_EOF) {
        uv_read_stop(stream);
        s->input_over = true;
        if (!s->linger)
            call_last(s);
        else if (s->unread == 0)
            um_stream_close(s, s->why);
    } else if (n < 0) {
        s->code = (int)n;
        um_stream_close(s, UM_END_IO);
    }
}

static void start_reading(um_stream *s)
{
    int code = uv_read_start(&s->uv.stream, on_buffer, on_read);

    if (code < 0 && code != UV_EALREADY)
        um_stream_close(s, UM_END_IO);
}

/* Passes an admitted connection to its protocol. */
static void begin_stream(um_stream *s)
{
    s->shown = true;
    if (s->listener->config.protocol->opened)
        s->listener->config.protocol->opened(s);
    if (can_consume(s))
        start_reading(s);
}

void um_stream_pause(um_stream *s)
{
    s->paused = true;
    uv_read_stop(&s->uv.stream);
}

void um_stream_resume(um_stream *s)
{
    s->paused = false;
    if (can_consume(s))
        resume(s);
}

size_t um_stream_unread(const um_stream *s)
{
    return s->unread;
}

/* --- for protocols -------------------------------------------------------- */

const char *um_stream_why(const um_stream *s)
{
    return s->why == UM_END_IO && s->code ? uv_strerror(s->code)
                                          : um_end_text(s->why);
}

const um_address *um_stream_peer(const um_stream *s)
{
    return &s->peer;
}

bool um_stream_peer_user(const um_stream *s, uid_t *out)
{
    struct ucred user;
    socklen_t len = sizeof user;
    uv_os_fd_t fd;

    if (!s->listener->unix_socket || uv_fileno(&s->uv.handle, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &len) != 0)
        return false;
    *out = user.uid;
    return true;
}

void *um_stream_ctx(const um_stream *s)
{
    return s->listener->config.ctx;
}

void *um_stream_data(const um_stream *s)
{
    return s->data;
}

void um_stream_set_data(um_stream *s, void *data)
{
    s->data = data;
}

/* --- accepting ------------------------------------------------------------ */

static int init_handle(um_listener *l, bool unix_socket, any_stream *uv)
{
    uv_loop_t *loop = um_loop_uv(l->loop);

    return unix_socket ? uv_pipe_init(loop, &uv->pipe, 0)
                       : uv_tcp_init(loop, &uv->tcp);
}

/* Gets the address of the client; returns false if the connection broke before
 * it was accepted. */
static bool get_peer(um_stream *s)
{
    struct sockaddr_storage name;
    int len = sizeof name;

    s->peer = (um_address){.path = s->listener->unix_socket ? "" : NULL};
    if (s->listener->unix_socket)
        return true;
    s->peer.ip.v4.sin_family = AF_INET;
    if (uv_tcp_getpeername(&s->uv.tcp, (struct sockaddr *)&name, &len) < 0 ||
        (size_t)len > sizeof s->peer.ip)
        return false;
    memcpy(&s->peer.ip, &name, (size_t)len);
    uv_tcp_nodelay(&s->uv.tcp, 1);
    return true;
}

static void admit(um_stream *s)
{
    static const um_end refusals[] = {[UM_NETWORK_FULL] = UM_END_NETWORK_FULL,
                                      [UM_ALL_FULL] = UM_END_ALL_FULL};
    um_connection_limits *limits = s->listener->config.connections;
    um_admission result =
        limits ? um_connection_limits_acquire(limits, &s->peer) : UM_ADMITTED;

    s->admitted = result == UM_ADMITTED;
    if (s->admitted)
        begin_stream(s);
    else
        um_stream_close(s, refusals[result]);
}

static void link_stream(um_listener *l, um_stream *s)
{
    s->listener = l;
    s->next = l->first;
    if (l->first)
        l->first->prev = s;
    l->first = s;
    l->connections++;
    s->opened = s->moved = um_loop_now(l->loop);
}

static void on_connection(uv_stream_t *server, int status)
{
    um_listener *l = (um_listener *)server;
    um_stream *s;

    if (status < 0 || l->stopped)
        return;
    s = calloc(1, sizeof *s);
    l->owes = !s || init_handle(l, l->unix_socket, &s->uv) < 0;
    if (l->owes) {
        free(s);
        return; /* libuv waits until it is accepted; sweep tries again */
    }
    link_stream(l, s);
    if (uv_accept(server, &s->uv.stream) < 0 || !get_peer(s))
        um_stream_close(s, UM_END_IO);
    else
        admit(s);
}

/* --- connecting ----------------------------------------------------------- */

static void on_connected(uv_connect_t *request, int status)
{
    um_stream *s = request->data;

    free(request);
    if (status == UV_ECANCELED)
        return;
    if (status < 0) {
        s->code = status;
        um_stream_close(s, UM_END_IO);
        return;
    }
    if (!s->peer.path)
        uv_tcp_nodelay(&s->uv.tcp, 1);
    s->moved = um_loop_now(s->listener->loop);
    begin_stream(s);
}

static int start_connect(um_stream *s, uv_connect_t *request)
{
    request->data = s;
    if (!s->peer.path)
        return uv_tcp_connect(request, &s->uv.tcp, &s->peer.ip.any,
                              on_connected);
    uv_pipe_connect(request, &s->uv.pipe, s->peer.path, on_connected);
    return 0;
}

umbel_status um_listener_call(um_listener *l, const um_address *to, void *data,
                              um_stream **out, umbel_error *err)
{
    um_stream *s = calloc(1, sizeof *s);
    uv_connect_t *request = calloc(1, sizeof *request);

    if (!s || !request) {
        free(s);
        free(request);
        return um_no_memory(err, sizeof *s);
    }
    init_handle(l, to->path != NULL, &s->uv);
    link_stream(l, s);
    s->peer = *to;
    s->data = data;
    s->shown = true;
    int code = start_connect(s, request);
    if (code) { /* reported at once, e.g. no network */
        free(request);
        s->code = code;
        um_stream_close(s, UM_END_IO);
    }
    *out = s;
    return UMBEL_OK;
}

/* --- time ----------------------------------------------------------------- */

static void check_time(um_stream *s, uint64_t now)
{
    const um_stream_limits *limits = &s->listener->config.limits;

    if (s->linger && now >= s->linger && s->unread == 0)
        um_stream_close(s, s->why);
    else if (now - s->opened >= limits->total_ms)
        um_stream_close(s, UM_END_TOO_SLOW);
    else if (now - s->moved >= limits->idle_ms)
        um_stream_close(s, s->unread ? UM_END_UNREAD : UM_END_IDLE);
}

static void sweep(void *ctx)
{
    um_listener *l = ctx;

    if (l->owes)
        on_connection(&l->uv.stream, 0);
    for (um_stream *s = l->first; s; s = s->next)
        check_time(s, um_loop_now(l->loop));
}

static uint64_t sweep_period(const um_stream_limits *limits)
{
    uint64_t ms =
        limits->idle_ms < limits->total_ms ? limits->idle_ms : limits->total_ms;

    ms /= 8;
    if (ms < SWEEP_MIN_MS)
        return SWEEP_MIN_MS;
    return ms < SWEEP_MAX_MS ? ms : SWEEP_MAX_MS;
}

/* --- the listener --------------------------------------------------------- */

static void set_limits(um_stream_limits *l)
{
    l->request = l->request ? l->request : DEFAULT_REQUEST;
    l->unread = l->unread ? l->unread : DEFAULT_UNREAD;
    l->idle_ms = l->idle_ms ? l->idle_ms : DEFAULT_IDLE_MS;
    l->total_ms = l->total_ms ? l->total_ms : DEFAULT_TOTAL_MS;
}

static void on_listener_closed(uv_handle_t *handle)
{
    um_listener *l = (um_listener *)handle;

    l->gone = true;
    release_listener(l);
}

static bool is_unix_socket(int fd)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof name;

    return getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
           name.ss_family == AF_UNIX;
}

/* Passes fd to the handle, which then owns it. */
static int listen_on(um_listener *l, int fd)
{
    l->unix_socket = is_unix_socket(fd);
    /* Cannot fail: only wrong flags are an error. */
    init_handle(l, l->unix_socket, &l->uv);
    l->listens = true;
    int code = l->unix_socket ? uv_pipe_open(&l->uv.pipe, fd)
                              : uv_tcp_open(&l->uv.tcp, fd);

    if (code)
        close(fd);
    return code ? code : uv_listen(&l->uv.stream, BACKLOG, on_connection);
}

umbel_status um_listener_open(um_loop *loop, int fd,
                              const um_listener_config *c, um_listener **out,
                              umbel_error *err)
{
    um_listener *l = calloc(1, sizeof *l);

    if (!l) {
        close(fd);
        return um_no_memory(err, sizeof *l);
    }
    *l = (um_listener){.loop = loop, .config = *c};
    set_limits(&l->config.limits);
    int code = fd < 0 ? 0 : listen_on(l, fd);
    umbel_status status = code ? um_fail_uv(err, code, "a listener") : UMBEL_OK;
    uint64_t period = sweep_period(&l->config.limits);
    if (!status)
        status = um_timer_open(loop, period, period, sweep, l, &l->sweep, err);
    if (status) {
        l->config.gone = NULL;
        um_listener_close(l);
    } else {
        *out = l;
    }
    return status;
}

void um_listener_stop(um_listener *l)
{
    if (l->stopped)
        return;
    l->stopped = true;
    if (l->listens)
        uv_close(&l->uv.handle, on_listener_closed);
    else
        l->gone = true;
}

size_t um_listener_connections(const um_listener *l)
{
    return l->connections;
}

void um_listener_close(um_listener *l)
{
    if (!l)
        return;
    um_timer_close(l->sweep);
    for (um_stream *s = l->first; s; s = s->next)
        um_stream_close(s, UM_END_SHUTDOWN);
    l->released = true;
    um_listener_stop(l);
    release_listener(l);
}
