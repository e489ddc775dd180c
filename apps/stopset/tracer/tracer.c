/*
 * tracer.c - runs many traces at once.
 *
 * A slot has a trace in progress. It is in one of two queues: ready to send, or
 * waiting for an answer. The timeout is the same for all, so the one that has
 * waited longest is at the front of its queue, and no heap is needed. The slot
 * of an answer is found by its destination.
 */
#include "stopset/tracer/tracer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/rng.h"

#include <string.h>

#define NOWHERE UINT32_MAX /* no slot */

/* Largest delay of the caller that a burst makes up for. */
#define CATCH_UP UINT64_C(20000)

typedef struct queue {
    uint32_t first, last;
} queue;

typedef struct slot {
    ss_walk walk;
    ss_trace trace;
    ss_hop *hops; /* space for one per TTL */
    queue *in;
    uint32_t before, after; /* in its queue; after: also the next free */
    bool refresh;           /* ignores the sets */
    uint8_t attempt;
    unsigned probes;
    uint64_t sent;
} slot;

struct ss_tracer {
    ss_tracer_config config;
    um_pool pool;
    slot *slots;
    uint32_t *places; /* slot numbers + 1, hashed by destination */
    size_t place_slots;
    uint32_t free, given;
    queue ready, waiting;
    double interval;    /* between probes, in microseconds */
    uint64_t allowed;   /* when the next probe may be sent */
    double left_over;   /* fraction of a microsecond of that time */
    bool no_more, held; /* no destination left; next_dst is set */
    ss_addr next_dst;
    um_rng rng;
    ss_tracer_counts counts;
};

/* --- queues -------------------------------------------------------------- */

static void queue_push(ss_tracer *t, queue *q, uint32_t i)
{
    slot *s = &t->slots[i];

    s->in = q;
    s->before = q->last;
    s->after = NOWHERE;
    *(q->last == NOWHERE ? &q->first : &t->slots[q->last].after) = i;
    q->last = i;
}

static void queue_remove(ss_tracer *t, uint32_t i)
{
    slot *s = &t->slots[i];
    queue *q = s->in;

    if (!q)
        return;
    *(s->before == NOWHERE ? &q->first : &t->slots[s->before].after) = s->after;
    *(s->after == NOWHERE ? &q->last : &t->slots[s->after].before) = s->before;
    s->in = NULL;
}

/* --- slots by destination ------------------------------------------------ */

static bool place_is_free(const void *place)
{
    return *(const uint32_t *)place == 0;
}

static ss_addr destination_at(const ss_tracer *t, const void *place)
{
    return t->slots[*(const uint32_t *)place - 1].trace.dst;
}

static bool place_has_key(const void *ctx, const void *place, const void *key)
{
    return ss_addr_equal(destination_at(ctx, place), *(const ss_addr *)key);
}

static uint64_t hash_of(ss_addr dst)
{
    return um_mix(dst.lo ^ um_mix(dst.hi));
}

static uint64_t place_hash(const void *ctx, const void *place)
{
    return hash_of(destination_at(ctx, place));
}

static const um_map_rule place_rule = {sizeof(uint32_t), place_is_free,
                                       place_has_key, place_hash};

static uint32_t *find_place(const ss_tracer *t, ss_addr dst)
{
    return um_map_find(&place_rule, t, t->places, t->place_slots, hash_of(dst),
                       &dst);
}

static uint32_t find_slot(const ss_tracer *t, ss_addr dst)
{
    return *find_place(t, dst) - 1; /* NOWHERE for a free place */
}

static void forget_destination(ss_tracer *t, ss_addr dst)
{
    um_map_remove(&place_rule, t, t->places, t->place_slots,
                  find_place(t, dst));
}

/* --- a trace begins and ends --------------------------------------------- */

static bool wants_refresh(ss_tracer *t)
{
    return t->config.refresh > 0 &&
           (double)(um_random(&t->rng) >> 11) * 0x1p-53 < t->config.refresh;
}

/* Returns true if there is a next destination that is not being traced
 * already. */
static bool peek_destination(ss_tracer *t)
{
    if (!t->held && !t->no_more) {
        t->held = t->config.next(t->config.ctx, &t->next_dst);
        t->no_more = !t->held;
    }
    return t->held && find_slot(t, t->next_dst) == NOWHERE;
}

static bool begin_trace(ss_tracer *t)
{
    uint32_t i = t->free;

    if (i == NOWHERE || !peek_destination(t))
        return false;
    slot *s = &t->slots[i];
    t->free = s->after;
    t->held = false;
    ss_walk_begin(&s->walk, &t->config.policy);
    s->refresh = wants_refresh(t);
    memset(&s->trace, 0, sizeof s->trace);
    s->trace.dst = t->next_dst;
    s->trace.hop = s->hops;
    s->attempt = 0;
    s->probes = 0;
    *find_place(t, t->next_dst) = i + 1;
    queue_push(t, &t->ready, i);
    return true;
}

static void count_trace(ss_tracer_counts *c, const slot *s)
{
    c->traces++;
    c->stopped_red += s->walk.stop == SS_STOP_RED;
    c->stopped_global += s->walk.stop == SS_STOP_GSS;
    c->stopped_local += s->walk.back_at != 0;
    c->reached += s->walk.stop == SS_STOP_COMPLETED;
    c->silent += s->trace.nhops == 0;
}

/* Sorts hops by TTL: late answers and probes sent backwards are out of
 * order. */
static void sort_hops(ss_trace *t)
{
    for (size_t i = 1; i < t->nhops; i++) {
        ss_hop hop = t->hop[i];
        size_t at = i;
        for (; at > 0 && t->hop[at - 1].ttl > hop.ttl; at--)
            t->hop[at] = t->hop[at - 1];
        t->hop[at] = hop;
    }
}

static void end_trace(ss_tracer *t, uint32_t i, ss_stop stop)
{
    slot *s = &t->slots[i];

    s->trace.stop = stop;
    sort_hops(&s->trace);
    queue_remove(t, i);
    forget_destination(t, s->trace.dst);
    count_trace(&t->counts, s);
    t->config.finished(t->config.ctx, &s->trace, s->probes);
    s->after = t->free;
    t->free = i;
}

static void step(ss_tracer *t, uint32_t i, const ss_reply *reply)
{
    slot *s = &t->slots[i];

    queue_remove(t, i);
    ss_walk_apply(&s->walk, reply);
    s->attempt = 0;
    if (s->walk.ttl == 0)
        end_trace(t, i, s->walk.stop);
    else
        queue_push(t, &t->ready, i);
}

/* --- time ---------------------------------------------------------------- */

static const ss_reply silence = {.silent = true};

static void abandon(ss_tracer *t, uint32_t i)
{
    if (t->slots[i].attempt < t->config.attempts) {
        queue_remove(t, i);
        queue_push(t, &t->ready, i);
    } else {
        step(t, i, &silence);
    }
}

static void abandon_waiting(ss_tracer *t, uint64_t now)
{
    uint32_t i;

    while ((i = t->waiting.first) != NOWHERE &&
           now - t->slots[i].sent >= t->config.wait)
        abandon(t, i);
}

bool ss_tracer_send(ss_tracer *t, uint64_t now, ss_probe *out)
{
    abandon_waiting(t, now);
    if (now < t->allowed)
        return false;
    if (t->ready.first == NOWHERE && !begin_trace(t))
        return false;

    uint32_t i = t->given = t->ready.first;
    slot *s = &t->slots[i];
    queue_remove(t, i);
    queue_push(t, &t->waiting, i);
    *out = (ss_probe){s->trace.dst, s->walk.ttl, s->attempt++};
    ss_trace_probed(&s->trace, out->ttl, out->ttl);
    s->sent = now;
    if (s->probes++ == 0)
        s->trace.start = now;
    t->counts.probes++;
    if (now - t->allowed > CATCH_UP)
        t->allowed = now - CATCH_UP;
    uint64_t whole = (uint64_t)(t->interval + t->left_over);
    t->left_over += t->interval - (double)whole;
    t->allowed += whole;
    return true;
}

void ss_tracer_unsent(ss_tracer *t)
{
    t->slots[t->given].probes--;
    t->counts.probes--;
    step(t, t->given, &silence);
}

uint64_t ss_tracer_due(const ss_tracer *t)
{
    uint64_t due = UINT64_MAX;

    if (t->waiting.first != NOWHERE)
        due = t->slots[t->waiting.first].sent + t->config.wait;
    if ((t->ready.first != NOWHERE || (t->free != NOWHERE && !t->no_more)) &&
        t->allowed < due)
        due = t->allowed;
    return due;
}

/* --- answers ------------------------------------------------------------- */

static bool is_answered(const ss_trace *t, uint8_t ttl)
{
    for (size_t i = 0; i < t->nhops; i++)
        if (t->hop[i].ttl == ttl)
            return true;
    return false;
}

/*
 * Returns true if the node answered before, with another hop between. Twice in
 * a row is not a loop: some routers answer for the one behind them.
 */
static bool is_loop(const slot *s, ss_addr hop)
{
    for (size_t i = 0; i < s->trace.nhops; i++)
        if (s->hops[i].ttl + 1 < s->walk.ttl &&
            ss_addr_equal(s->hops[i].addr, hop))
            return true;
    return false;
}

static ss_reply judge(ss_tracer *t, const slot *s, const ss_answer *a)
{
    ss_reply r = {.destination = a->outcome == SS_REACHED,
                  .unreachable = a->outcome == SS_UNREACHABLE,
                  .seen = !s->walk.back && is_loop(s, a->from)};

    if (a->outcome == SS_EXPIRED && t->config.ask && !s->refresh)
        t->config.ask(t->config.ctx, a->from, s->trace.dst, &r);
    return r;
}

/*
 * Applies an answer. One to an earlier TTL is late: it is recorded, ends a gap,
 * and ends the trace forwards if it is from the destination. An answer to a
 * probe that was not sent, or is already answered, is counted as strange.
 */
void ss_tracer_answer(ss_tracer *t, uint64_t now, const ss_answer *a)
{
    uint32_t i = find_slot(t, a->probe.to);
    slot *s = &t->slots[i == NOWHERE ? 0 : i];
    uint8_t ttl = a->probe.ttl;

    if (i == NOWHERE || !(s->trace.probed[ttl / 8] >> ttl % 8 & 1) ||
        is_answered(&s->trace, ttl)) {
        t->counts.strange++;
        return;
    }
    bool current = ttl == s->walk.ttl && s->in == &t->waiting;
    if (a->outcome == SS_UNANSWERED) {
        if (current)
            abandon(t, i);
        return;
    }
    bool timed = current && a->probe.attempt + 1 == s->attempt;
    uint32_t rtt = timed ? (uint32_t)(now - s->sent) : 0;
    ss_hop hop = {.addr = a->from,
                  .rtt = a->rtt ? a->rtt : rtt,
                  .ttl = ttl,
                  .attempt = a->probe.attempt,
                  .icmp_type = a->icmp_type,
                  .icmp_code = a->icmp_code,
                  .reply_ttl = a->reply_ttl,
                  .reply_tos = a->reply_tos,
                  .reply_size = a->reply_len,
                  .reply_id = a->reply_id};
    t->counts.replies++;
    if (!ss_addr_none(a->at))
        s->trace.src = a->at;
    if (a->probe_size)
        s->trace.probe_size = a->probe_size;
    t->counts.destination_probes += a->outcome == SS_REACHED;
    s->hops[s->trace.nhops++] = hop;
    if (ttl == s->walk.ttl || (a->outcome == SS_REACHED && !s->walk.back)) {
        ss_reply reply = judge(t, s, a);
        step(t, i, &reply);
    } else {
        s->walk.gap = 0;
    }
}

void ss_tracer_halt(ss_tracer *t)
{
    t->no_more = true;
    t->held = false;
    while (t->waiting.first != NOWHERE)
        end_trace(t, t->waiting.first, SS_STOP_HALTED);
    while (t->ready.first != NOWHERE)
        end_trace(t, t->ready.first, SS_STOP_HALTED);
}

const ss_tracer_counts *ss_tracer_counted(const ss_tracer *t)
{
    return &t->counts;
}

/* --- opening and closing -------------------------------------------------- */

static umbel_status check_config(const ss_tracer_config *c, umbel_error *err)
{
    const ss_policy *p = &c->policy;

    if (p->first < 1 || p->first > p->max_ttl)
        return um_fail(err, UMBEL_E_RANGE,
                       "first hop %u: must be 1 to %u, the largest TTL",
                       p->first, p->max_ttl);
    if (p->gap_limit < 1 || c->attempts < 1 || c->window < 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "gap limit, attempts and window must be at least 1");
    if (!(c->rate > 0 && c->rate <= 1e6))
        return um_fail(err, UMBEL_E_RANGE,
                       "rate %g: must be above 0, at most 1000000 a second",
                       c->rate);
    return UMBEL_OK;
}

static umbel_status get_memory(ss_tracer *t, umbel_error *err)
{
    uint32_t n = t->config.window;

    t->place_slots = um_map_cap(n, 2);
    t->slots = um_pool_get(&t->pool, n, sizeof *t->slots);
    t->places = um_pool_get(&t->pool, t->place_slots, sizeof *t->places);
    ss_hop *hops = um_pool_get(&t->pool, (size_t)n * t->config.policy.max_ttl,
                               sizeof *hops);
    if (t->pool.failed)
        return um_no_memory(err, n * sizeof *t->slots);
    for (uint32_t i = 0; i < n; i++) {
        t->slots[i].hops = hops + (size_t)i * t->config.policy.max_ttl;
        t->slots[i].after = i + 1 < n ? i + 1 : NOWHERE;
    }
    return UMBEL_OK;
}

umbel_status ss_tracer_open(const ss_tracer_config *config, ss_tracer **out,
                            umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);

    UM_TRY(check_config(config, err));
    ss_tracer *t = um_get(&alloc, sizeof *t);
    if (!t)
        return um_no_memory(err, sizeof *t);
    t->config = *config;
    t->ready = t->waiting = (queue){NOWHERE, NOWHERE};
    t->interval = 1e6 / config->rate;
    t->rng.state = config->seed;
    um_pool_init(&t->pool, &alloc);
    umbel_status status = get_memory(t, err);
    if (status) {
        ss_tracer_close(t);
        return status;
    }
    *out = t;
    return UMBEL_OK;
}

void ss_tracer_close(ss_tracer *t)
{
    if (!t)
        return;
    umbel_alloc alloc = t->pool.alloc;
    um_pool_fini(&t->pool);
    um_put(&alloc, t, sizeof *t);
}
