/*
 * session.c - a run of the tracer.
 */
#include "stopset/tracer/session.h"

#include "base/error.h"
#include "stopset/tracer/sockets.h"

#include <errno.h>
#include <time.h>

enum { LOOK_EVERY = 1000000 }; /* microseconds between looks at sets' files */

static uint64_t now_us(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The first failure ends the run; the callbacks cannot return it. */
static void fail(ss_session *s, umbel_status status, const umbel_error *err)
{
    if (status && !s->failed) {
        s->failed = status;
        s->error = *err;
    }
}

static void look_at_sets(ss_session *s)
{
    umbel_error err;
    uint64_t now = now_us(CLOCK_MONOTONIC);

    if (now - s->looked < LOOK_EVERY)
        return;
    s->looked = now;
    if (ss_live_refresh(s->live, &err))
        s->note(err.text);
}

static bool next_target(void *ctx, ss_addr *dst)
{
    ss_session *s = ctx;

    if (s->begun == s->targets->set.n)
        return false;
    look_at_sets(s);
    *dst = s->targets->set.key[s->begun++];
    return true;
}

static void ask_sets(void *ctx, ss_addr hop, ss_addr dst, ss_reply *reply)
{
    ss_session *s = ctx;
    umbel_error err;

    fail(s, ss_live_ask(s->live, hop, dst, reply, &err), &err);
}

static void write_trace(void *ctx, const ss_trace *t, unsigned probes)
{
    ss_session *s = ctx;
    ss_trace whole = *t;
    umbel_error err;

    if (ss_addr_none(t->src))
        whole.src = ss_sockets_source(t->dst);
    whole.start =
        (t->start + now_us(CLOCK_REALTIME) - now_us(CLOCK_MONOTONIC)) / 1000000;
    s->format->trace(s->out, s->facts, &whole, probes);
    fail(s, ss_live_learn(s->live, t, &err), &err);
}

static void consume_answer(void *ctx, const ss_answer *answer)
{
    ss_session *s = ctx;

    ss_tracer_answer(s->tracer, now_us(CLOCK_MONOTONIC), answer);
}

static void send_due(ss_session *s)
{
    ss_probe probe;
    umbel_error err;

    while (ss_tracer_send(s->tracer, now_us(CLOCK_MONOTONIC), &probe))
        if (s->prober->send(s->prober->self, &probe, &err)) {
            if (s->refused++ == 0)
                s->note(err.text);
            ss_tracer_unsent(s->tracer);
        }
}

static umbel_status trace_targets(ss_session *s, umbel_error *err)
{
    while (ss_tracer_due(s->tracer) != UINT64_MAX && !s->failed) {
        if (*s->interrupted) {
            ss_tracer_halt(s->tracer);
            break;
        }
        send_due(s);
        uint64_t due = ss_tracer_due(s->tracer);
        uint64_t now = now_us(CLOCK_MONOTONIC);
        if (due == UINT64_MAX)
            break;
        UM_TRY(s->prober->wait(s->prober->self, due > now ? due - now : 0,
                               consume_answer, s, err));
    }
    if (s->failed)
        *err = s->error;
    return s->failed;
}

umbel_status ss_session_run(ss_session *s, umbel_error *err)
{
    ss_tracer_config c = *s->config;

    c.ctx = s;
    c.next = next_target;
    c.ask = ask_sets;
    c.finished = write_trace;
    UM_TRY(ss_tracer_open(&c, &s->tracer, err));
    if (s->format->begin)
        s->format->begin(s->out, s->facts);
    umbel_status status = trace_targets(s, err);
    if (s->format->end)
        s->format->end(s->out, s->facts, now_us(CLOCK_REALTIME) / 1000000);
    s->counts = *ss_tracer_counted(s->tracer);
    ss_tracer_close(s->tracer);
    if (!status && (fflush(s->out) != 0 || ferror(s->out)))
        status = um_fail_errno(err, "cannot write the traces");
    return status;
}
