/*
 * stream.c - one connection, by libuv.
 *
 * Bytes are read into one buffer of the listener and handed on from there. Only
 * what a protocol leaves (half a request) is kept by the connection, so ten
 * thousand idle ones need little memory.
 *
 * While a client has replies to read, nothing is read from it: a client that
 * asks and never reads stops itself, and passes its time limits. Two peers that
 * both send would stop each other, so theirs are read (duplex).
 *
 * Closing with unread bytes in the system's buffer makes TCP throw away replies
 * that are on their way. um_stream_end therefore ends the sending side, reads
 * and forgets, and closes when the client does, or soon.
 */
#include "base/buffer.h"
#include "net/server/stream_private.h"

#include <stdlib.h>
#include <string.h>

enum { LINGER_MS = 2000 }; /* for the client to close after the last reply */

/* A write that the system did not take at once. */
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

/* --- the end of a connection ------------------------------------------------
 */

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
    if (s->placed && l->config.places)
        um_places_leave(l->config.places, &s->peer);
    if (l->config.ended)
        l->config.ended(l->config.ctx, &s->peer, s->why);
    unlink_stream(s);
    free(s->kept);
    free(s);
    l->connections--;
    um_listener_release(l);
}

void um_stream_close(um_stream *s, um_end why)
{
    if (uv_is_closing(&s->uv.handle))
        return;
    if (!s->linger || (s->unread && um_end_is_refusal(why)))
        s->why = why; /* else it ended before */
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

/* --- writing ----------------------------------------------------------------
 */

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

/* libuv's buffers are not const, also those that it only reads. */
static uv_buf_t to_send(const char *bytes, size_t len)
{
    union {
        const char *given;
        char *wanted;
    } p = {.given = bytes};

    return (uv_buf_t){.base = p.wanted, .len = len};
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

/* --- reading ----------------------------------------------------------------
 */

/* The protocol goes on: nothing ended it, and its replies are on their way. */
static bool takes_more(const um_stream *s)
{
    return !s->linger && !s->paused &&
           (s->unread == 0 || s->listener->config.duplex) &&
           !uv_is_closing(&s->uv.handle);
}

/* Hands bytes to the protocol; returns how many of them it took. */
static size_t parse_all(um_stream *s, const uint8_t *bytes, size_t len)
{
    const um_listener_config *c = &s->listener->config;
    size_t at = 0;

    while (at < len && takes_more(s)) {
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

/* Kept bytes and new ones as one piece. */
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

static void say_last(um_stream *s)
{
    const um_stream_protocol *p = s->listener->config.protocol;

    s->said_last = true;
    if (p->last)
        p->last(s, s->kept, s->nkept);
    else
        um_stream_end(s, UM_END_CLIENT);
}

/* After a wait: first what was kept, then the end, then what is new. */
static void resume(um_stream *s)
{
    if (s->nkept) {
        size_t taken = parse_all(s, s->kept, s->nkept);
        retain(s, s->kept + taken, s->nkept - taken);
    }
    if (!takes_more(s))
        return;
    if (!s->input_over)
        start_reading(s);
    else if (!s->said_last)
        say_last(s);
}

static void read_bytes(um_stream *s, const uint8_t *bytes, size_t len)
{
    const um_stream_limits *limits = &s->listener->config.limits;

    s->moved = um_loop_now(s->listener->loop);
    s->received += len;
    if (s->linger)
        return; /* read and forget */
    if (limits->total && s->received > limits->total) {
        um_stream_end(s, UM_END_TOO_MUCH);
        return;
    }
    if (s->nkept) {
        if (!append_kept(s, bytes, len))
            return;
        size_t taken = parse_all(s, s->kept, s->nkept);
        if (taken)
            retain(s, s->kept + taken, s->nkept - taken);
    } else {
        size_t taken = parse_all(s, bytes, len);
        retain(s, bytes + taken, len - taken);
    }
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    um_stream *s = (um_stream *)handle;

    (void)wanted;
    *out = uv_buf_init((char *)s->listener->room, UM_READ_ROOM);
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
            say_last(s);
        else if (s->unread == 0)
            um_stream_close(s, s->why);
    } else if (n < 0) {
        s->code = (int)n;
        um_stream_close(s, UM_END_IO);
    }
}

static void start_reading(um_stream *s)
{
    int code = uv_read_start(&s->uv.stream, on_room, on_read);

    if (code < 0 && code != UV_EALREADY)
        um_stream_close(s, UM_END_IO);
}

void um_stream_begin(um_stream *s)
{
    s->shown = true;
    if (s->listener->config.protocol->opened)
        s->listener->config.protocol->opened(s);
    if (takes_more(s))
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
    if (takes_more(s))
        resume(s);
}

size_t um_stream_unread(const um_stream *s)
{
    return s->unread;
}

/* --- what a protocol asks ---------------------------------------------------
 */

const char *um_stream_why(const um_stream *s)
{
    return s->why == UM_END_IO && s->code ? uv_strerror(s->code)
                                          : um_end_text(s->why);
}

const um_address *um_stream_peer(const um_stream *s)
{
    return &s->peer;
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
