/*
 * tracer_run.c - runs the tracer: connects it with the clock, a prober, the
 * sets and the output.
 */
#include "stopset/tracer/tracer_run.h"

#include "base/error.h"
#include "stopset/tracer/prober.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

/* --- a run of the tracer ------------------------------------------------- */

enum { LOOK_EVERY = 1000000 }; /* microseconds between checks of files */

static uint64_t now_us(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Records the first failure, which ends the run: callbacks cannot return it. */
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
    uint64_t start =
        t->start + now_us(CLOCK_REALTIME) - now_us(CLOCK_MONOTONIC);
    whole.start = start / 1000000;
    whole.start_us = (uint32_t)(start % 1000000);
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

/* --- the sets of a run of the tracer ------------------------------------- */

/*
 * A node joins the local set at once, because the trace that found it continues
 * to the monitor in any case. A pair joins the global set when its trace is
 * over, and only if the rest of the path is known by then: the trace reached
 * its destination, or stopped where others had continued.
 */

static bool is_current(const ss_live_file *f, const struct stat *st)
{
    return f->device == st->st_dev && f->inode == st->st_ino &&
           f->changed.tv_sec == st->st_mtim.tv_sec &&
           f->changed.tv_nsec == st->st_mtim.tv_nsec;
}

static umbel_status open_file(ss_live_file *f, ss_kind kind, umbel_error *err)
{
    struct stat st;
    ss_set set = {0};

    if (!f->path || (stat(f->path, &st) == 0 && f->open && is_current(f, &st)))
        return UMBEL_OK;
    if (stat(f->path, &st) == 0) { /* a bad one is retried when it changes */
        f->device = st.st_dev;
        f->inode = st.st_ino;
        f->changed = st.st_mtim;
    }
    UM_TRY(ss_set_open(&set, f->path, err));
    if (set.info.kind != kind) {
        umbel_status status =
            um_fail(err, UMBEL_E_MISMATCH, "%s: is a %s set, not a %s one",
                    f->path, ss_kind_names[set.info.kind], ss_kind_names[kind]);
        ss_set_fini(&set);
        return status;
    }
    if (f->open)
        ss_set_fini(&f->set);
    f->set = set;
    f->open = true;
    return UMBEL_OK;
}

static ss_set_info own_info(const ss_live *l)
{
    ss_set_info info = {.kind = SS_GLOBAL,
                        .key = SS_HOP_PREFIX,
                        .prefix = {SS_PREFIX4, SS_PREFIX6},
                        .form = SS_LIST};

    if (l->global.open) {
        info.key = l->global.set.info.key;
        info.prefix = l->global.set.info.prefix;
    }
    return info;
}

umbel_status ss_live_open(ss_live *l, umbel_error *err)
{
    UM_TRY(open_file(&l->red, SS_RED, err));
    UM_TRY(open_file(&l->global, SS_GLOBAL, err));
    l->own.info = own_info(l);
    l->local.info = (ss_set_info){.key = SS_HOP, .form = SS_LIST};
    return UMBEL_OK;
}

void ss_live_fini(ss_live *l)
{
    if (l->red.open)
        ss_set_fini(&l->red.set);
    if (l->global.open)
        ss_set_fini(&l->global.set);
    ss_set_fini(&l->own);
    ss_set_fini(&l->local);
}

umbel_status ss_live_refresh(ss_live *l, umbel_error *err)
{
    umbel_status red = open_file(&l->red, SS_RED, err);
    umbel_error second;
    umbel_status global = open_file(&l->global, SS_GLOBAL, &second);

    if (!red && global)
        *err = second;
    return red ? red : global;
}

static umbel_status ask_set(const ss_set *s, ss_addr hop, ss_addr dst,
                            bool *hit, umbel_error *err)
{
    ss_question q = {hop, dst};

    return *hit ? UMBEL_OK : ss_set_query(s, &q, 1, hit, err);
}

umbel_status ss_live_ask(ss_live *l, ss_addr hop, ss_addr dst, ss_reply *reply,
                         umbel_error *err)
{
    if (l->red.open)
        UM_TRY(ask_set(&l->red.set, hop, dst, &reply->red, err));
    if (l->global.open)
        UM_TRY(ask_set(&l->global.set, hop, dst, &reply->global, err));
    if (l->use_own)
        UM_TRY(ask_set(&l->own, hop, dst, &reply->global, err));
    if (!l->use_local)
        return UMBEL_OK;
    UM_TRY(ask_set(&l->local, hop, dst, &reply->local, err));
    if (!reply->local && !ss_set_add(&l->local, hop, dst))
        return um_no_memory(err, sizeof hop);
    return UMBEL_OK;
}

umbel_status ss_live_learn(ss_live *l, const ss_trace *t, umbel_error *err)
{
    if (!l->use_own || (t->stop != SS_STOP_COMPLETED &&
                        t->stop != SS_STOP_RED && t->stop != SS_STOP_GSS))
        return UMBEL_OK;
    for (size_t i = 0; i < t->nhops; i++)
        if (!ss_addr_equal(t->hop[i].addr, t->dst) &&
            !ss_set_add(&l->own, t->hop[i].addr, t->dst))
            return um_no_memory(err, sizeof t->hop[i]);
    return UMBEL_OK;
}
