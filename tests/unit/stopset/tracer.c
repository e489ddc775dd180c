/* tracer.c - the tracer on a network simulated in this file. */
#include "support/test.h"

#include "stopset/tracer/tracer.h"

#include <string.h>

enum { MAX_PATH = 40, DESTINATIONS = 500, WAIT = 1000000 };

/* A hop that does not answer. */
#define STAR UINT32_C(0)

typedef struct world {
    uint32_t hops[MAX_PATH]; /* to every destination, which follows */
    unsigned nhops;
    ss_outcome last; /* sent by the last hop of the path */
    unsigned drop;   /* number of first attempts that are lost */
    uint64_t delay;
    uint32_t measured; /* round-trip time that answers report */
    bool twice;        /* each answer arrives twice */

    uint32_t red, local;
    unsigned given, destinations;
    ss_tracer *tracer;
    unsigned finished, sent_ttl[256];
    ss_stop stop;
    ss_hop got[MAX_PATH];
    size_t ngot;

    struct {
        ss_answer answer;
        uint64_t at;
    } flying[DESTINATIONS * 2];
    size_t nflying;
} world;

static ss_addr destination(unsigned i)
{
    return ss_addr_v4(UINT32_C(0xCB007100) + i);
}

static bool next_destination(void *ctx, ss_addr *dst)
{
    world *w = ctx;

    if (w->given == w->destinations)
        return false;
    *dst = destination(w->given++);
    return true;
}

static void retain_trace(void *ctx, const ss_trace *t, unsigned probes)
{
    world *w = ctx;

    assert_true(probes >= t->nhops);
    w->finished++;
    w->stop = t->stop;
    w->ngot = t->nhops;
    assert_true(t->nhops <= MAX_PATH);
    if (t->nhops)
        memcpy(w->got, t->hop, t->nhops * sizeof *t->hop);
}

static void ask(void *ctx, ss_addr hop, ss_addr dst, ss_reply *r)
{
    world *w = ctx;

    (void)dst;
    r->red = w->red && ss_addr_equal(hop, ss_addr_v4(w->red));
    r->local = w->local && ss_addr_equal(hop, ss_addr_v4(w->local));
}

static void answer_probe(world *w, const ss_probe *p, uint64_t now)
{
    unsigned hop = p->ttl - 1u;
    ss_answer a = {.probe = *p,
                   .outcome = SS_EXPIRED,
                   .icmp_type = 11,
                   .reply_ttl = (uint8_t)(65 - p->ttl),
                   .reply_len = 66,
                   .rtt = w->measured};

    w->sent_ttl[p->ttl]++;
    if (p->attempt < w->drop)
        return;
    if (hop + 1 >= w->nhops && w->last != SS_EXPIRED) {
        hop = w->nhops - 1;
        a.outcome = w->last;
        a.icmp_type = w->last == SS_REACHED ? 0 : 3;
    }
    a.from = a.outcome == SS_REACHED
                 ? p->to
                 : ss_addr_v4(hop < w->nhops ? w->hops[hop] : 0);
    if (a.outcome != SS_REACHED && (hop >= w->nhops || w->hops[hop] == STAR))
        return;
    for (int copies = 0; copies < 1 + w->twice; copies++) {
        assert_true(w->nflying < DESTINATIONS * 2);
        w->flying[w->nflying].answer = a;
        w->flying[w->nflying++].at = now + w->delay;
    }
}

static void deliver_due(world *w, uint64_t now)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->nflying; i++)
        if (w->flying[i].at <= now)
            ss_tracer_answer(w->tracer, now, &w->flying[i].answer);
        else
            w->flying[kept++] = w->flying[i];
    w->nflying = kept;
}

static uint64_t earliest(const world *w)
{
    uint64_t at = UINT64_MAX;

    for (size_t i = 0; i < w->nflying; i++)
        if (w->flying[i].at < at)
            at = w->flying[i].at;
    return at;
}

/* Runs until nothing is due. Returns the time that passed. */
static uint64_t trace_all(world *w, ss_tracer_config c)
{
    const uint64_t start = 1000 * WAIT;
    uint64_t now = start, due;
    ss_probe probe;
    umbel_error err;

    c.ctx = w;
    c.next = next_destination;
    c.finished = retain_trace;
    if (w->red || w->local)
        c.ask = ask;
    assert_int_equal(ss_tracer_open(&c, &w->tracer, &err), UMBEL_OK);
    while ((due = ss_tracer_due(w->tracer)) != UINT64_MAX) {
        uint64_t next = earliest(w) < due ? earliest(w) : due;
        now = next > now ? next : now;
        deliver_due(w, now);
        while (ss_tracer_send(w->tracer, now, &probe))
            answer_probe(w, &probe, now);
    }
    return now - start;
}

static const ss_tracer_config usual = {.policy = {1, 30, 5, true},
                                       .attempts = 2,
                                       .window = 100,
                                       .wait = WAIT,
                                       .rate = 1e6};

static world path_of(unsigned n)
{
    world w = {
        .nhops = n, .last = SS_REACHED, .delay = 1000, .destinations = 1};

    for (unsigned i = 0; i < n; i++)
        w.hops[i] = UINT32_C(0x0A000001) + i;
    return w;
}

static void a_trace_reaches_its_destination(void **state)
{
    world w = path_of(6);

    (void)state;
    trace_all(&w, usual);
    assert_int_equal(w.stop, SS_STOP_COMPLETED);
    assert_int_equal(w.ngot, 6);
    for (unsigned i = 0; i < 5; i++)
        assert_true(ss_addr_equal(w.got[i].addr, ss_addr_v4(w.hops[i])));
    assert_true(ss_addr_equal(w.got[5].addr, destination(0)));
    assert_int_equal(w.got[2].rtt, 1000);
    assert_int_equal(w.got[2].reply_ttl, 62);
    assert_int_equal(w.got[2].reply_size, 66);
    assert_int_equal(ss_tracer_counted(w.tracer)->probes, 6);
    assert_int_equal(ss_tracer_counted(w.tracer)->destination_probes, 1);
    ss_tracer_close(w.tracer);
    w = path_of(6);
    w.measured = 13;
    trace_all(&w, usual);
    assert_int_equal(w.got[2].rtt, 13);
    ss_tracer_close(w.tracer);
}

static void many_traces_go_on_at_once(void **state)
{
    world w = path_of(8);

    (void)state;
    w.destinations = DESTINATIONS;
    uint64_t took = trace_all(&w, usual);
    assert_int_equal(w.finished, DESTINATIONS);
    assert_int_equal(ss_tracer_counted(w.tracer)->probes, DESTINATIONS * 8);
    /* 5 windows of 100, 8 hops of 1 ms each, and the probes themselves. */
    assert_in_range(took, 40000, 60000);
    ss_tracer_close(w.tracer);
}

static void probes_keep_to_the_rate(void **state)
{
    world w = path_of(8);
    ss_tracer_config slow = usual;

    (void)state;
    w.destinations = 25;
    slow.rate = 100;
    uint64_t took = trace_all(&w, slow);
    assert_int_equal(ss_tracer_counted(w.tracer)->probes, 200);
    assert_in_range(took, 1950000, 2100000);
    ss_tracer_close(w.tracer);
}

/* 600,000 probes per second are 1.67 microseconds apart, not 1. */
static void a_rate_that_is_not_a_whole_interval_is_kept(void **state)
{
    static const double rates[] = {600000, 700000, 999999, 333333};
    const double burst = 20000; /* microseconds to catch up at a start */

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rates); i++) {
        world w = path_of(8);
        ss_tracer_config fast = usual;
        w.destinations = 10 * DESTINATIONS;
        w.delay = 1;
        fast.window = DESTINATIONS;
        fast.rate = rates[i];
        double took = (double)trace_all(&w, fast), probes = 80 * DESTINATIONS;
        assert_int_equal(ss_tracer_counted(w.tracer)->probes, probes);
        assert_true(took >= (probes - 2) * 1e6 / rates[i] - burst);
        assert_true(took <= probes * 1e6 / rates[i] - burst + 100);
        ss_tracer_close(w.tracer);
    }
}

static void a_lost_answer_is_asked_for_again(void **state)
{
    world w = path_of(4);

    (void)state;
    w.drop = 1;
    trace_all(&w, usual);
    assert_int_equal(w.stop, SS_STOP_COMPLETED);
    assert_int_equal(w.ngot, 4);
    assert_int_equal(w.got[0].attempt, 1);
    assert_int_equal(ss_tracer_counted(w.tracer)->probes, 8);
    ss_tracer_close(w.tracer);
}

static void silent_hops_are_passed_until_the_gap_is_too_long(void **state)
{
    world w = path_of(8), dark = path_of(3);

    (void)state;
    w.hops[2] = w.hops[3] = STAR;
    trace_all(&w, usual);
    assert_int_equal(w.stop, SS_STOP_COMPLETED);
    assert_int_equal(w.ngot, 6);
    assert_int_equal(w.sent_ttl[3], 2);
    ss_tracer_close(w.tracer);

    dark.last = SS_EXPIRED;
    trace_all(&dark, usual);
    assert_int_equal(dark.stop, SS_STOP_GAPLIMIT);
    assert_int_equal(dark.sent_ttl[8], 2);
    assert_int_equal(dark.sent_ttl[9], 0);
    ss_tracer_close(dark.tracer);
}

static void a_loop_ends_a_trace_and_an_echo_of_a_hop_does_not(void **state)
{
    world loop = path_of(9), echo = path_of(6);

    (void)state;
    loop.hops[5] = loop.hops[3];
    trace_all(&loop, usual);
    assert_int_equal(loop.stop, SS_STOP_LOOP);
    assert_int_equal(loop.sent_ttl[6], 1);
    assert_int_equal(loop.sent_ttl[7], 0);
    ss_tracer_close(loop.tracer);

    echo.hops[3] = echo.hops[2];
    trace_all(&echo, usual);
    assert_int_equal(echo.stop, SS_STOP_COMPLETED);
    ss_tracer_close(echo.tracer);
}

static void no_way_and_too_long_a_way_have_their_names(void **state)
{
    world none = path_of(4), far = path_of(MAX_PATH);

    (void)state;
    none.last = SS_UNREACHABLE;
    trace_all(&none, usual);
    assert_int_equal(none.stop, SS_STOP_UNREACH);
    ss_tracer_close(none.tracer);
    trace_all(&far, usual);
    assert_int_equal(far.stop, SS_STOP_HOPLIMIT);
    assert_int_equal(far.ngot, 30);
    ss_tracer_close(far.tracer);
}

static void the_red_set_spares_the_destination(void **state)
{
    world w = path_of(7);

    (void)state;
    w.red = w.hops[5];
    w.destinations = 10;
    trace_all(&w, usual);
    assert_int_equal(w.stop, SS_STOP_RED);
    assert_int_equal(ss_tracer_counted(w.tracer)->probes, 60);
    assert_int_equal(ss_tracer_counted(w.tracer)->destination_probes, 0);
    assert_int_equal(ss_tracer_counted(w.tracer)->stopped_red, 10);
    ss_tracer_close(w.tracer);
}

static void from_the_middle_it_goes_both_ways(void **state)
{
    world w = path_of(7);
    ss_tracer_config c = usual;

    (void)state;
    c.policy.first = 4;
    w.local = w.hops[1];
    trace_all(&w, c);
    assert_int_equal(w.stop, SS_STOP_COMPLETED);
    assert_int_equal(w.sent_ttl[1], 0);
    assert_int_equal(w.sent_ttl[2], 1);
    assert_int_equal(w.ngot, 6);
    assert_int_equal(w.got[0].ttl, 2); /* in order, though found last */
    assert_int_equal(ss_tracer_counted(w.tracer)->stopped_local, 1);
    ss_tracer_close(w.tracer);
}

static void a_share_of_traces_ignores_the_sets(void **state)
{
    world w = path_of(4);
    ss_tracer_config c = usual;

    (void)state;
    c.refresh = 0.2;
    c.seed = 7;
    w.red = w.hops[2];
    w.destinations = DESTINATIONS;
    trace_all(&w, c);
    /* 100 of 500, five sigma: 45. */
    assert_in_range(ss_tracer_counted(w.tracer)->reached, 55, 145);
    assert_int_equal(ss_tracer_counted(w.tracer)->reached +
                         ss_tracer_counted(w.tracer)->stopped_red,
                     DESTINATIONS);
    ss_tracer_close(w.tracer);
}

static void repeated_answers_are_counted_and_ignored(void **state)
{
    world w = path_of(5);

    (void)state;
    w.twice = true;
    trace_all(&w, usual);
    assert_int_equal(w.ngot, 5);
    assert_int_equal(ss_tracer_counted(w.tracer)->replies, 5);
    assert_int_equal(ss_tracer_counted(w.tracer)->strange, 5);
    ss_tracer_close(w.tracer);
}

static void a_late_answer_is_written_down(void **state)
{
    world w = path_of(3);

    (void)state;
    w.delay = 2 * WAIT + WAIT / 2; /* after both attempts timed out */
    trace_all(&w, usual);
    assert_int_equal(w.stop, SS_STOP_COMPLETED);
    assert_int_equal(w.got[0].ttl, 1);
    assert_true(ss_addr_equal(w.got[0].addr, ss_addr_v4(w.hops[0])));
    assert_int_equal(w.got[0].rtt, 0);
    ss_tracer_close(w.tracer);
}

static void answers_to_what_was_never_asked_change_nothing(void **state)
{
    world w = path_of(3);
    umbel_error err;
    ss_tracer_config c = usual;
    ss_probe probe;

    (void)state;
    c.ctx = &w;
    c.next = next_destination;
    c.finished = retain_trace;
    assert_int_equal(ss_tracer_open(&c, &w.tracer, &err), UMBEL_OK);
    assert_true(ss_tracer_send(w.tracer, 5, &probe));
    for (unsigned ttl = 0; ttl < 256; ttl++)
        for (unsigned other = 0; other < 2; other++) {
            ss_answer a = {.probe = {destination(other), (uint8_t)ttl, 0},
                           .from = destination(9)};
            if (other || ttl != 1)
                ss_tracer_answer(w.tracer, 6, &a);
        }
    assert_int_equal(ss_tracer_counted(w.tracer)->strange, 511);
    assert_int_equal(ss_tracer_counted(w.tracer)->replies, 0);
    ss_tracer_halt(w.tracer);
    assert_int_equal(w.stop, SS_STOP_HALTED);
    assert_true(ss_tracer_due(w.tracer) == UINT64_MAX);
    ss_tracer_close(w.tracer);
}

static void settings_without_sense_are_refused(void **state)
{
    ss_tracer_config bad[5];
    ss_tracer *t = NULL;
    umbel_error err;

    (void)state;
    for (int i = 0; i < 5; i++)
        bad[i] = usual;
    bad[0].rate = 0;
    bad[1].policy.first = 31;
    bad[2].attempts = 0;
    bad[3].window = 0;
    bad[4].rate = -1;
    for (int i = 0; i < 5; i++)
        assert_int_equal(ss_tracer_open(&bad[i], &t, &err), UMBEL_E_RANGE);
    assert_null(t);
}

TEST_GROUP(tracer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_reaches_its_destination),
        cmocka_unit_test(many_traces_go_on_at_once),
        cmocka_unit_test(probes_keep_to_the_rate),
        cmocka_unit_test(a_rate_that_is_not_a_whole_interval_is_kept),
        cmocka_unit_test(a_lost_answer_is_asked_for_again),
        cmocka_unit_test(silent_hops_are_passed_until_the_gap_is_too_long),
        cmocka_unit_test(a_loop_ends_a_trace_and_an_echo_of_a_hop_does_not),
        cmocka_unit_test(no_way_and_too_long_a_way_have_their_names),
        cmocka_unit_test(the_red_set_spares_the_destination),
        cmocka_unit_test(from_the_middle_it_goes_both_ways),
        cmocka_unit_test(a_share_of_traces_ignores_the_sets),
        cmocka_unit_test(repeated_answers_are_counted_and_ignored),
        cmocka_unit_test(a_late_answer_is_written_down),
        cmocka_unit_test(answers_to_what_was_never_asked_change_nothing),
        cmocka_unit_test(settings_without_sense_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
