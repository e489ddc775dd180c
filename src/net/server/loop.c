/*
 * loop.c - libuv's loop, with handles that their owners close and forget.
 *
 * libuv releases a handle in a later iteration, so each has its own memory,
 * which the closing callback frees.
 */
#include "net/server/loop.h"

#include "base/error.h"
#include "net/server/internal.h"

#include <signal.h>
#include <stdlib.h>
#include <uv.h>

struct um_loop {
    uv_loop_t uv;
};

struct um_timer {
    uv_timer_t uv;
    void (*tick)(void *ctx);
    void *ctx;
};

struct um_signal {
    uv_signal_t uv;
    void (*got)(void *ctx, int number);
    void *ctx;
};

struct um_watch {
    uv_poll_t uv;
    void (*ready)(void *ctx, unsigned events);
    void *ctx;
};

struct um_hook {
    uv_prepare_t uv;
    void (*end)(void *ctx);
    void *ctx;
};

umbel_status um_fail_uv(umbel_error *err, int code, const char *what)
{
    return um_fail(err, code == UV_ENOMEM ? UMBEL_E_NOMEM : UMBEL_E_IO,
                   "%s: %s", what, uv_strerror(code));
}

/* --- the loop ------------------------------------------------------------- */

umbel_status um_loop_open(um_loop **out, umbel_error *err)
{
    um_loop *l = calloc(1, sizeof *l);
    int code;

    if (!l)
        return um_no_memory(err, sizeof *l);
    signal(SIGPIPE, SIG_IGN);
    code = uv_loop_init(&l->uv);
    if (code) {
        free(l);
        return um_fail_uv(err, code, "the event loop");
    }
    *out = l;
    return UMBEL_OK;
}

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void close_handle(void *handle)
{
    if (handle && !uv_is_closing(handle))
        uv_close(handle, free_handle);
}

/* Closes a handle left open. Every handle in the loop is the first member of a
 * block from malloc. */
static void close_left(uv_handle_t *h, void *ctx)
{
    (void)ctx;
    close_handle(h);
}

void um_loop_close(um_loop *l)
{
    if (!l)
        return;
    uv_walk(&l->uv, close_left, NULL);
    while (uv_loop_close(&l->uv) == UV_EBUSY)
        uv_run(&l->uv, UV_RUN_DEFAULT);
    free(l);
}

void um_loop_run(um_loop *l)
{
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

void um_loop_stop(um_loop *l)
{
    uv_stop(&l->uv);
}

uint64_t um_loop_now(const um_loop *l)
{
    return uv_now(&l->uv);
}

uv_loop_t *um_loop_uv(um_loop *l)
{
    return &l->uv;
}

/* --- timers --------------------------------------------------------------- */

static void on_timer(uv_timer_t *uv)
{
    um_timer *t = (um_timer *)uv;

    t->tick(t->ctx);
}

umbel_status um_timer_open(um_loop *l, uint64_t ms, uint64_t repeat,
                           void (*tick)(void *ctx), void *ctx, um_timer **out,
                           umbel_error *err)
{
    um_timer *t = calloc(1, sizeof *t);

    if (!t)
        return um_no_memory(err, sizeof *t);
    uv_timer_init(&l->uv, &t->uv);
    t->tick = tick;
    t->ctx = ctx;
    um_timer_set(t, ms, repeat);
    *out = t;
    return UMBEL_OK;
}

void um_timer_set(um_timer *t, uint64_t ms, uint64_t repeat)
{
    uv_timer_start(&t->uv, on_timer, ms, repeat);
}

void um_timer_stop(um_timer *t)
{
    uv_timer_stop(&t->uv);
}

void um_timer_close(um_timer *t)
{
    close_handle(t);
}

/* --- signals -------------------------------------------------------------- */

static void on_signal(uv_signal_t *uv, int number)
{
    um_signal *s = (um_signal *)uv;

    s->got(s->ctx, number);
}

umbel_status um_signal_open(um_loop *l, int number,
                            void (*got)(void *ctx, int number), void *ctx,
                            um_signal **out, umbel_error *err)
{
    um_signal *s = calloc(1, sizeof *s);
    int code;

    if (!s)
        return um_no_memory(err, sizeof *s);
    code = uv_signal_init(&l->uv, &s->uv);
    if (code) {
        free(s);
        return um_fail_uv(err, code, "a signal");
    }
    s->got = got;
    s->ctx = ctx;
    code = uv_signal_start(&s->uv, on_signal, number);
    if (code) {
        close_handle(s);
        return um_fail_uv(err, code, "a signal");
    }
    *out = s;
    return UMBEL_OK;
}

void um_signal_close(um_signal *s)
{
    close_handle(s);
}

/* --- descriptors ---------------------------------------------------------- */

static void on_ready(uv_poll_t *uv, int status, int events)
{
    um_watch *w = (um_watch *)uv;
    unsigned ready = status < 0 ? UM_READABLE | UM_WRITABLE : 0;

    if (events & (UV_READABLE | UV_DISCONNECT))
        ready |= UM_READABLE;
    if (events & UV_WRITABLE)
        ready |= UM_WRITABLE;
    w->ready(w->ctx, ready);
}

umbel_status um_watch_open(um_loop *l, int fd, unsigned events,
                           void (*ready)(void *ctx, unsigned events), void *ctx,
                           um_watch **out, umbel_error *err)
{
    um_watch *w = calloc(1, sizeof *w);
    int code;

    if (!w)
        return um_no_memory(err, sizeof *w);
    code = uv_poll_init(&l->uv, &w->uv, fd);
    if (code) {
        free(w);
        return um_fail_uv(err, code, "a descriptor in the event loop");
    }
    w->ready = ready;
    w->ctx = ctx;
    um_watch_events(w, events);
    *out = w;
    return UMBEL_OK;
}

void um_watch_events(um_watch *w, unsigned events)
{
    int wanted = (events & UM_READABLE ? UV_READABLE : 0) |
                 (events & UM_WRITABLE ? UV_WRITABLE : 0);

    if (wanted)
        uv_poll_start(&w->uv, wanted, on_ready);
    else
        uv_poll_stop(&w->uv);
}

void um_watch_close(um_watch *w)
{
    close_handle(w);
}

/* --- the end of an iteration ---------------------------------------------- */

static void on_iteration_end(uv_prepare_t *uv)
{
    um_hook *h = (um_hook *)uv;

    h->end(h->ctx);
}

umbel_status um_hook_open(um_loop *l, void (*end)(void *ctx), void *ctx,
                          um_hook **out, umbel_error *err)
{
    um_hook *h = calloc(1, sizeof *h);

    if (!h)
        return um_no_memory(err, sizeof *h);
    uv_prepare_init(&l->uv, &h->uv);
    uv_unref((uv_handle_t *)&h->uv); /* it does not keep the loop running */
    h->end = end;
    h->ctx = ctx;
    uv_prepare_start(&h->uv, on_iteration_end);
    *out = h;
    return UMBEL_OK;
}

void um_hook_close(um_hook *h)
{
    close_handle(h);
}
