/* rules.c - where a trace continues and where it stops, alone and in replay. */
#include "stopset/replay/replay.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/* --- walks -----------------------------------------------------------------
 */

/*
 * Replies by TTL: '.' a node, '*' silent, 'D' destination, 'r' red, 'g' global,
 * 'l' local, 'u' unreachable, 's' seen before. After the end all are 'D'.
 */
static ss_reply reply(const char *route, uint8_t ttl)
{
    char c = ttl <= strlen(route) ? route[ttl - 1] : 'D';

    return (ss_reply){.silent = c == '*',
                      .destination = c == 'D',
                      .unreachable = c == 'u',
                      .seen = c == 's',
                      .red = c == 'r' || c == 'b',
                      .global = c == 'g' || c == 'b',
                      .local = c == 'l'};
}

/* Runs a walk; out gets the probed TTLs as characters. */
static ss_walk walk(ss_policy policy, const char *route, char out[300])
{
    ss_walk w;
    size_t n = 0;

    ss_walk_begin(&w, &policy);
    while (w.ttl) {
        ss_reply r = reply(route, w.ttl);
        assert_true(n < 299);
        out[n++] = (char)('0' + w.ttl);
        ss_walk_apply(&w, &r);
    }
    out[n] = '\0';
    return w;
}

static void a_trace_stops_for_the_first_reason(void **state)
{
    static const struct {
        const char *route, *probes;
        ss_stop stop;
        uint8_t at;
    } rows[] = {
        {"...D", "1234", SS_STOP_COMPLETED, 4},
        {"..rD", "123", SS_STOP_RED, 3},
        {".g.D", "12", SS_STOP_GSS, 2},
        {".b.D", "12", SS_STOP_RED, 2}, /* both */
        {".u", "12", SS_STOP_UNREACH, 2},
        {"..s", "123", SS_STOP_LOOP, 3},
        {".***.", "1234", SS_STOP_GAPLIMIT, 4},
        {".**.**.D", "12345678", SS_STOP_COMPLETED, 8},
        {".........", "123456789", SS_STOP_HOPLIMIT, 9},
        {"ll.D", "1234", SS_STOP_COMPLETED, 4}, /* local stops backwards only */
    };
    ss_policy policy = {.max_ttl = 9, .gap_limit = 3};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        char probes[300];
        ss_walk w = walk(policy, rows[i].route, probes);
        assert_string_equal(probes, rows[i].probes);
        assert_int_equal(w.stop, rows[i].stop);
        assert_int_equal(w.at, rows[i].at);
    }
}

static void doubletree_goes_forwards_then_backwards(void **state)
{
    static const struct {
        const char *route, *probes;
        ss_stop stop;
        uint8_t at, back_at;
    } rows[] = {
        {".....D", "456321", SS_STOP_COMPLETED, 6, 0},
        {"l....D", "456321", SS_STOP_COMPLETED, 6, 1},
        {".l..gD", "4532", SS_STOP_GSS, 5, 2},
        {"..lgD", "43", SS_STOP_GSS, 4, 3},
        {"..l.rD", "453", SS_STOP_RED, 5, 3},
        {".rg...D", "4567321", SS_STOP_COMPLETED, 7, 0}, /* not backwards */
        {".", "4321", SS_STOP_COMPLETED, 2, 0}, /* the first probe is too far */
        {"l*", "4321", SS_STOP_COMPLETED, 3, 1},
    };
    ss_policy policy = {.first = 4, .backwards = true};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        char probes[300];
        ss_walk w = walk(policy, rows[i].route, probes);
        assert_string_equal(probes, rows[i].probes);
        assert_int_equal(w.stop, rows[i].stop);
        assert_int_equal(w.at, rows[i].at);
        assert_int_equal(w.back_at, rows[i].back_at);
    }
}

static void the_largest_ttl_ends_every_walk(void **state)
{
    char probes[300], route[300];

    (void)state;
    memset(route, '.', sizeof route - 1);
    route[sizeof route - 1] = '\0';
    ss_walk w = walk((ss_policy){0}, route, probes);
    assert_int_equal(w.at, 255);
    assert_int_equal(w.stop, SS_STOP_HOPLIMIT);
    ss_walk_apply(&w, &(ss_reply){.red = true}); /* already over */
    assert_int_equal(w.stop, SS_STOP_HOPLIMIT);
}

/* --- replay ----------------------------------------------------------------
 */

/* Adds a route of node numbers, followed by a destination. */
static void add_route(ss_corpus *c, uint32_t monitor, const uint32_t *node,
                      uint8_t n)
{
    assert_ok(ss_corpus_add_numbers(c, monitor, node, n, &test_refusal));
}

static ss_outcome replay(const ss_replay *r, double *nodes, double *links)
{
    const ss_corpus *c = r->corpus;
    ss_found all = {0}, found = {0};
    ss_outcome out;

    assert_true(ss_found_init(&all, c) && ss_found_init(&found, c));
    ss_find_all(c, &all);
    assert_ok(ss_replay_run(r, &found, &out, &test_refusal));
    *nodes = ss_missed(all.node, found.node, c->nnodes);
    *links = ss_missed(all.link, found.link, c->links.n);
    ss_found_fini(&all);
    ss_found_fini(&found);
    return out;
}

static void stops_are_genuine_lucky_short_or_collisions(void **state)
{
    ss_corpus c = {0};
    bool hit[8] = {[3] = true, [5] = true}, listed[8] = {[3] = true};
    ss_replay r = {.corpus = &c, .red = {.hit = hit}, .listed = listed};
    double nodes, links;

    (void)state;
    add_route(&c, 0, (uint32_t[]){1, 2, 3}, 3); /* genuine at 3 */
    add_route(&c, 0, (uint32_t[]){1, 5}, 2);    /* lucky at 5 */
    add_route(&c, 0, (uint32_t[]){1, 3, 6}, 3); /* short: 6 is missed */
    add_route(&c, 0, (uint32_t[]){1, 2, 7}, 3); /* collision */
    ss_outcome o = replay(&r, &nodes, &links);
    assert_int_equal(o.traces, 4);
    assert_int_equal(o.genuine, 1);
    assert_int_equal(o.lucky, 1);
    assert_int_equal(o.shorter, 1);
    assert_int_equal(o.collision, 1);
    assert_int_equal(o.never, 0);
    assert_int_equal(o.probes_full, 15);
    assert_int_equal(o.probes, 3 + 2 + 2 + 4);
    assert_int_equal(o.destination_probes, 1);
    assert_near(nodes, 1.0 / 6, 1e-9);
    assert_near(links, 1.0 / 6, 1e-9); /* of 12 23 15 13 36 27 */
    ss_corpus_fini(&c);
}

/*
 * Two monitors meet at node 3: the second stops there, and continues backwards.
 */
static void sets_grow_while_traces_are_replayed(void **state)
{
    ss_corpus c = {0};
    bool hit[10] = {false};
    ss_replay r = {.corpus = &c,
                   .policy = {.first = 2, .backwards = true},
                   .global = {.hit = hit},
                   .grow = true,
                   .local = true};
    double nodes, links;

    (void)state;
    add_route(&c, 0, (uint32_t[]){1, 2, 3, 4}, 4); /* 2345D, 1 */
    add_route(&c, 0, (uint32_t[]){1, 6, 3, 4}, 4); /* 63, 1 */
    add_route(&c, 1, (uint32_t[]){7, 8, 3, 4}, 4); /* 83, 7 */
    add_route(&c, 1, (uint32_t[]){7, 9, 3, 4}, 4); /* 93, 7: local */
    ss_outcome o = replay(&r, &nodes, &links);
    assert_int_equal(o.probes, 5 + 3 + 3 + 3);
    assert_int_equal(o.probes_full, 20);
    assert_int_equal(o.destination_probes, 1);
    assert_int_equal(o.collision, 1);
    assert_int_equal(o.shorter, 3);
    assert_near(nodes + links, 0, 1e-9);
    assert_false(hit[1]); /* found backwards */
    assert_true(hit[9]);
    ss_corpus_fini(&c);
}

/* --- traces ----------------------------------------------------------------
 */

static void records_with_gaps_cost_what_was_probed(void **state)
{
    static ss_trace_buffer buffer;
    ss_corpus c = {0};
    ss_replay r = {.corpus = &c};
    ss_trace *t = ss_trace_begin(&buffer);
    double nodes, links;

    (void)state;
    /* TTL 1 replies, 2 to 4 are silent, then RIPE Atlas tries 255. */
    t->dst = ss_addr_v4(99);
    assert_true(ss_trace_add(t, &(ss_hop){.addr = ss_addr_v4(1), .ttl = 1}));
    assert_true(ss_trace_add(t, &(ss_hop){.addr = ss_addr_v4(2), .ttl = 1}));
    ss_trace_probed(t, 2, 4);
    assert_true(ss_trace_add(t, &(ss_hop){.addr = t->dst, .ttl = 255}));
    assert_ok(ss_corpus_add(&c, t, &test_refusal));
    assert_int_equal(c.nnodes, 1); /* the first reply is the node */
    assert_int_equal(c.links.n, 0);
    ss_outcome o = replay(&r, &nodes, &links);
    assert_int_equal(o.probes, 5);
    assert_int_equal(o.probes_full, 5);
    assert_int_equal(o.collision, 1);
    /* The same without the destination. */
    t->dst = ss_addr_v4(100);
    t->nhops--;
    assert_ok(ss_corpus_add(&c, t, &test_refusal));
    o = replay(&r, &nodes, &links);
    assert_int_equal(o.never, 1);
    ss_corpus_fini(&c);
}

TEST_GROUP(rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_stops_for_the_first_reason),
        cmocka_unit_test(doubletree_goes_forwards_then_backwards),
        cmocka_unit_test(the_largest_ttl_ends_every_walk),
        cmocka_unit_test(stops_are_genuine_lucky_short_or_collisions),
        cmocka_unit_test(sets_grow_while_traces_are_replayed),
        cmocka_unit_test(records_with_gaps_cost_what_was_probed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
