/*
 * heavy.c - the heavy flows of synthetic traffic, beside exact counts.
 */
#include "base/rng.h"
#include "support/test.h"

#include <umbel/experimental/flows.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- traffic with its truth -----------------------------------------------
 */

/* Flows 0 .. n-1; flow r has a share of about 1 / (r + 1) of the packets. */
typedef struct traffic {
    um_rng rng;
    uint32_t n;
    uint64_t *bytes, *packets; /* of each flow */
    uint64_t all_bytes;
} traffic;

static traffic begin_traffic(uint32_t n, uint64_t seed)
{
    traffic t = {.rng = {seed}, .n = n};

    t.bytes = calloc(n, sizeof *t.bytes);
    t.packets = calloc(n, sizeof *t.packets);
    assert_true(t.bytes && t.packets);
    return t;
}

static void end_traffic(traffic *t)
{
    free(t->bytes);
    free(t->packets);
}

static umbel_flow_packet key_of(uint32_t flow)
{
    umbel_flow_packet p = {.len = flow % 3 ? 13 : 37, .packets = 1};

    memcpy(p.key, &flow, sizeof flow);
    p.key[12] = 17;
    return p;
}

static uint32_t flow_of(const umbel_flow *f)
{
    uint32_t flow;

    memcpy(&flow, f->key, sizeof flow);
    return flow;
}

static umbel_flow_packet next_packet(traffic *t)
{
    double u = (double)(um_random(&t->rng) >> 11) * 0x1p-53;
    uint32_t flow = (uint32_t)(pow(t->n + 1.0, u) - 1);
    umbel_flow_packet p = key_of(flow < t->n ? flow : t->n - 1);

    flow = flow < t->n ? flow : t->n - 1;
    p.bytes = 40 + (uint32_t)um_random_below(&t->rng, 1461);
    t->bytes[flow] += p.bytes;
    t->packets[flow]++;
    t->all_bytes += p.bytes;
    return p;
}

static void send(umbel_flows *f, traffic *t, size_t n)
{
    umbel_flow_packet p[50];

    for (; n; n -= n < 50 ? n : 50) {
        for (size_t i = 0; i < 50; i++)
            if (i < n)
                p[i] = next_packet(t);
        umbel_flows_add(f, p, n < 50 ? n : 50);
    }
}

typedef struct result {
    size_t rows, heavy, missed, below_half;
    uint64_t worst; /* overestimate */
} result;

/* Compares every row with the truth, and counts what is missed. */
static result compare(const umbel_flows *f, const traffic *t,
                      const umbel_flows_params *p)
{
    const uint64_t *truth = p->by_packets ? t->packets : t->bytes;
    result r = {0};
    umbel_flow row;

    for (size_t i = 0; umbel_flows_row(f, &i, &row); r.rows++) {
        uint32_t flow = flow_of(&row);
        assert_int_equal(row.len, flow % 3 ? 13 : 37);
        assert_in_range(t->bytes[flow], row.bytes_low, row.bytes);
        assert_in_range(t->packets[flow], row.packets_low, row.packets);
        uint64_t over =
            p->by_packets ? row.packets - truth[flow] : row.bytes - truth[flow];
        r.worst = over > r.worst ? over : r.worst;
        r.below_half += truth[flow] < p->threshold / 2;
    }
    for (uint32_t flow = 0; flow < t->n; flow++)
        if (truth[flow] >= p->threshold) {
            umbel_flow_packet key = key_of(flow);
            r.heavy++;
            r.missed += !umbel_flows_find(f, &key, &row);
        }
    return r;
}

/* --- tests ----------------------------------------------------------------
 */

static umbel_flows *open_flows(const umbel_flows_params *p)
{
    umbel_flows *f = NULL;

    assert_ok(umbel_flows_open(p, &f, &test_refusal));
    return f;
}

static void every_heavy_flow_is_named_within_its_bounds(void **state)
{
    static const struct {
        uint64_t memory, threshold;
        bool by_packets;
    } rows[] = {{1 << 20, 1000000, false}, {1 << 18, 200000, false},
                {1 << 18, 300, true},      {1 << 17, 1000, true},
                {1 << 22, 1, true},        {1 << 22, 1, false}};
    umbel_flows_counts counts;
    umbel_flows_plan plan;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
        traffic t = begin_traffic(i < 4 ? 200000 : 2000, i);
        p.memory = rows[i].memory;
        p.threshold = rows[i].threshold;
        p.by_packets = rows[i].by_packets;
        umbel_flows *f = open_flows(&p);
        send(f, &t, 300000);
        umbel_flows_count(f, &counts);
        assert_int_equal(counts.packets, 300000);
        assert_int_equal(counts.bytes, t.all_bytes);
        assert_int_equal(counts.unnamed, 0);
        result r = compare(f, &t, &p);
        assert_true(r.heavy > 10);
        assert_int_equal(r.missed, 0);
        assert_ok(umbel_flows_plan_for(
            &p, p.by_packets ? counts.packets : counts.bytes, t.n, &plan,
            &test_refusal));
        assert_true(plan.memory <= p.memory);
        assert_true((double)r.worst <= plan.overestimate);
        assert_true((double)r.below_half <= plan.falsely_listed + 5);
        umbel_flows_close(f);
        end_traffic(&t);
    }
}

/* More heavy flows than entries: all entries are heavy, the others counted. */
static void flows_without_an_entry_are_counted(void **state)
{
    umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
    umbel_flows_counts counts;
    umbel_flow row;
    size_t rows = 0;

    (void)state;
    p.memory = 1 << 16;
    p.threshold = 1000;
    umbel_flows *f = open_flows(&p);
    for (int round = 0; round < 3; round++)
        for (uint32_t flow = 0; flow < 20000; flow++) {
            umbel_flow_packet packet = key_of(flow);
            packet.bytes = 500;
            umbel_flows_add(f, &packet, 1);
        }
    for (size_t i = 0; umbel_flows_row(f, &i, &row); rows++)
        assert_in_range(1500, row.bytes_low, row.bytes);
    umbel_flows_count(f, &counts);
    assert_int_equal(rows, counts.entries);
    assert_near((double)counts.unnamed, 20000.0 - (double)rows,
                5 * 1.04 / 64 * 20000);
    umbel_flows_begin(f);
    umbel_flows_count(f, &counts);
    assert_int_equal(counts.unnamed, 0);
    assert_int_equal(counts.packets, 0);
    umbel_flows_close(f);
}

/* A flood of new flows, each of one packet, does not push heavy ones out. */
static void a_flood_of_new_flows_misses_no_heavy_one(void **state)
{
    umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
    umbel_flows_counts counts;
    umbel_flow row;

    (void)state;
    p.memory = 1 << 18;
    p.threshold = 100000;
    umbel_flows *f = open_flows(&p);
    for (uint32_t i = 0; i < 1000000; i++) {
        umbel_flow_packet packet = key_of(i % 1000 ? 1000 + i : i / 1000 % 50);
        packet.bytes = i % 1000 ? 60 : 10000;
        umbel_flows_add(f, &packet, 1);
    }
    for (uint32_t i = 0; i < 50; i++) {
        umbel_flow_packet packet = key_of(i);
        assert_true(umbel_flows_find(f, &packet, &row));
        assert_in_range(200000, row.bytes_low, row.bytes);
    }
    umbel_flows_count(f, &counts);
    assert_int_equal(counts.unnamed, 0);
    umbel_flows_close(f);
}

static void flows_that_were_heavy_are_counted_exactly_later(void **state)
{
    umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
    size_t exact = 0;
    umbel_flow row;

    (void)state;
    p.memory = 1 << 18;
    p.threshold = 100000;
    umbel_flows *f = open_flows(&p);
    traffic first = begin_traffic(100000, 1), then = begin_traffic(100000, 2);
    send(f, &first, 200000);
    umbel_flows_begin(f);
    send(f, &then, 200000);
    umbel_flows_sort(f);
    uint64_t before = UINT64_MAX;
    for (size_t i = 0; umbel_flows_row(f, &i, &row);) {
        assert_true(row.bytes <= before);
        before = row.bytes;
        exact += row.bytes == row.bytes_low;
        if (first.bytes[flow_of(&row)] >= p.threshold)
            assert_int_equal(row.bytes, then.bytes[flow_of(&row)]);
    }
    assert_true(exact > 100);
    assert_int_equal(compare(f, &then, &p).missed, 0);
    umbel_flows_close(f);
    end_traffic(&first);
    end_traffic(&then);
}

/* Counts of more than 32 bits: of entries, never of cells. */
static void large_counts_do_not_wrap(void **state)
{
    umbel_flow row;

    (void)state;
    for (int i = 0; i < 3; i++) {
        umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
        p.memory = 1 << 16;
        p.threshold = i ? UINT64_C(1) << 40 : 1000000;
        p.by_packets = i == 2;
        umbel_flows *f = open_flows(&p);
        umbel_flow_packet packet = key_of(1);
        packet.bytes = UINT32_MAX;
        packet.packets = i == 2 ? UINT32_MAX : 1;
        for (int n = 0; n < 300; n++)
            umbel_flows_add(f, &packet, 1);
        size_t at = 0;
        assert_true(umbel_flows_row(f, &at, &row));
        assert_true(row.bytes >= UINT64_C(300) * UINT32_MAX);
        assert_true(row.bytes_low <= UINT64_C(300) * UINT32_MAX);
        assert_true(row.bytes - row.bytes_low <= UINT32_MAX);
        umbel_flows_close(f);
    }
}

static void plans_fit_their_memory_and_say_what_is_wrong(void **state)
{
    umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
    umbel_flows_plan plan, again;
    umbel_flows *f = NULL;

    (void)state;
    assert_refused(umbel_flows_open(&p, &f, &test_refusal), UMBEL_E_RANGE,
                   "threshold");
    p.threshold = 1000000;
    p.memory = 1000;
    assert_refused(umbel_flows_open(&p, &f, &test_refusal), UMBEL_E_RANGE,
                   "65536 bytes or more");
    for (p.memory = 1 << 16; p.memory < 1 << 30; p.memory += p.memory / 3) {
        assert_ok(umbel_flows_plan_for(&p, 1000000000, 1000000, &plan,
                                       &test_refusal));
        assert_in_range(plan.memory, p.memory - p.memory / 50, p.memory);
        assert_true(plan.entries * 160 > p.memory / 2);
    }
    p.memory = 0;
    assert_ok(umbel_flows_plan_for(&p, UINT64_C(10000000000), 1000000, &plan,
                                   &test_refusal));
    assert_int_equal(plan.heavy, 10000);
    assert_true(plan.entries >= 20000 && plan.falsely_listed <= 0.01);
    p.memory = plan.memory / 2;
    assert_ok(umbel_flows_plan_for(&p, UINT64_C(10000000000), 1000000, &again,
                                   &test_refusal));
    assert_true(again.entries < 20000 || again.falsely_listed > 0.01);
    p.memory = 0;
    p.threshold = 1;
    assert_refused(
        umbel_flows_plan_for(&p, UINT64_C(1) << 60, 1000, &plan, &test_refusal),
        UMBEL_E_RANGE, "higher threshold");
}

TEST_GROUP(heavy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_heavy_flow_is_named_within_its_bounds),
        cmocka_unit_test(flows_without_an_entry_are_counted),
        cmocka_unit_test(a_flood_of_new_flows_misses_no_heavy_one),
        cmocka_unit_test(flows_that_were_heavy_are_counted_exactly_later),
        cmocka_unit_test(large_counts_do_not_wrap),
        cmocka_unit_test(plans_fit_their_memory_and_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
