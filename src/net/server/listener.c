/*
 * listener.c - accepting connections, as many as there are places, and ending
 * those whose time is over.
 *
 * One timer looks at all connections of a listener: their limits are seconds,
 * and a timer for each would cost more than it is worth.
 */
#include "net/server/stream_private.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    SWEEP_MIN_MS = 5, /* between two looks at the clock */
    SWEEP_MAX_MS = 1000,
    DEFAULT_REQUEST = 8192,
    DEFAULT_UNREAD = 1 << 20,
    DEFAULT_IDLE_MS = 30000,
    DEFAULT_TOTAL_MS = 300000
};

/* --- accepting --------------------------------------------------------------
 */

static int init_handle(um_listener *l, bool unix_socket, um_any_stream *uv)
{
    uv_loop_t *loop = um_loop_uv(l->loop);

    return unix_socket ? uv_pipe_init(loop, &uv->pipe, 0)
                       : uv_tcp_init(loop, &uv->tcp);
}

/* Returns false if the connection broke before it was accepted. */
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

static void pass_place(um_stream *s)
{
    static const um_end refusals[] = {[UM_PLACE_NETWORK_FULL] =
                                          UM_END_NETWORK_FULL,
                                      [UM_PLACE_ALL_FULL] = UM_END_ALL_FULL};
    um_places *places = s->listener->config.places;
    um_place place =
        places ? um_places_parse(places, &s->peer) : UM_PLACE_GIVEN;

    s->placed = place == UM_PLACE_GIVEN;
    if (s->placed)
        um_stream_begin(s);
    else
        um_stream_close(s, refusals[place]);
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
        return; /* libuv waits until it is accepted: sweep tries again */
    }
    link_stream(l, s);
    if (uv_accept(server, &s->uv.stream) < 0 || !get_peer(s))
        um_stream_close(s, UM_END_IO);
    else
        pass_place(s);
}

/* --- calling ----------------------------------------------------------------
 */

static void on_called(uv_connect_t *request, int status)
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
    um_stream_begin(s);
}

static int start_call(um_stream *s, uv_connect_t *request)
{
    request->data = s;
    if (!s->peer.path)
        return uv_tcp_connect(request, &s->uv.tcp, &s->peer.ip.any, on_called);
    uv_pipe_connect(request, &s->uv.pipe, s->peer.path, on_called);
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
    int code = start_call(s, request);
    if (code) { /* libuv knows at once: no network */
        free(request);
        s->code = code;
        um_stream_close(s, UM_END_IO);
    }
    *out = s;
    return UMBEL_OK;
}

/* --- time -------------------------------------------------------------------
 */

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

/* --- the listener -----------------------------------------------------------
 */

static void set_limits(um_stream_limits *l)
{
    l->request = l->request ? l->request : DEFAULT_REQUEST;
    l->unread = l->unread ? l->unread : DEFAULT_UNREAD;
    l->idle_ms = l->idle_ms ? l->idle_ms : DEFAULT_IDLE_MS;
    l->total_ms = l->total_ms ? l->total_ms : DEFAULT_TOTAL_MS;
}

void um_listener_release(um_listener *l)
{
    if (!l->let_go || !l->gone || l->connections)
        return;
    if (l->config.gone)
        l->config.gone(l->config.ctx);
    free(l);
}

static void on_listener_closed(uv_handle_t *handle)
{
    um_listener *l = (um_listener *)handle;

    l->gone = true;
    um_listener_release(l);
}

static bool is_unix_socket(int fd)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof name;

    return getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
           name.ss_family == AF_UNIX;
}

/* Takes fd into the handle, which closes it from now on. */
static int listen_on(um_listener *l, int fd)
{
    l->unix_socket = is_unix_socket(fd);
    /* Fails for flags only, of which there are none. */
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
    l->let_go = true;
    um_listener_stop(l);
    um_listener_release(l);
}
