/*
 * sync.c - promises of umbel/experimental/sync.h, with two and three servers.
 */
#include "support/sync.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <umbel/counting.h>

static void two_servers_agree_after_one_exchange(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    for (uint64_t i = 0; i < 100; i++) {
        test_sync_add(&a, i, 2);
        test_sync_add(&b, i + 50, 3);
    }
    test_sync_publish(&a);
    test_sync_publish(&b);
    test_sync_connect(&l, &a, &b);
    assert_true(test_sync_word(&a) != test_sync_word(&b));
    test_sync_run(&l, 1000);
    assert_true(umbel_sync_settled(a.machine, l.peer[0]));
    assert_true(umbel_sync_settled(b.machine, l.peer[1]));
    assert_true(test_sync_word(&a) == test_sync_word(&b));
    for (uint64_t i = 0; i < 150; i++) {
        uint64_t sum = (i < 100 ? 2u : 0) + (i >= 50 ? 3u : 0);
        assert_true(test_sync_count(&a, i) >= sum);
        assert_true(test_sync_count(&a, i) == test_sync_count(&b, i));
    }
    test_sync_close(&a);
    test_sync_close(&b);
}

static void a_third_takes_everything_from_one_peer(void **state)
{
    test_sync_server a = {0}, b = {0}, c = {0};
    test_sync_link ab, bc;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_open(&c, 3);
    test_sync_connect(&ab, &a, &b);
    test_sync_connect(&bc, &b, &c);
    for (uint64_t round = 0; round < 5; round++) {
        test_sync_add(&a, round, 1);
        test_sync_publish(&a);
        test_sync_add(&c, round + 2, 1);
        test_sync_publish(&c);
        for (int i = 0; i < 3; i++) {
            test_sync_run(&ab, 1000 + round);
            test_sync_run(&bc, 1000 + round);
        }
        assert_true(test_sync_word(&a) == test_sync_word(&c));
        assert_true(test_sync_word(&a) == test_sync_word(&b));
    }
    assert_int_equal(test_sync_count(&a, 2), 2);
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&c);
}

static void one_report_costs_little(void **state)
{
    static const char *const kinds[] = {"bloom", "counting", "tally", "table",
                                        "countmin"};
    (void)state;
    for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *shape;
        test_sync_server a = {0}, b = {0};
        test_sync_link l;

        p.capacity = 20000;
        p.fpr = 0.01;
        assert_ok(umbel_create(kinds[k], &p, &shape, &test_refusal));
        a.list.shape = b.list.shape = shape;
        test_sync_open(&a, 1);
        test_sync_open(&b, 2);
        for (uint64_t i = 0; i < 5000; i++)
            test_sync_add(&a, i, 1 + i % 40);
        test_sync_publish(&a);
        test_sync_connect(&l, &a, &b);
        test_sync_run(&l, 1000);
        assert_true(test_sync_word(&a) == test_sync_word(&b));
        uint64_t before = l.bytes[0] + l.bytes[1];
        test_sync_add(&a, 70000, 1);
        test_sync_publish(&a);
        test_sync_run(&l, 5000);
        assert_true(test_sync_word(&a) == test_sync_word(&b));
        uint64_t cost = l.bytes[0] + l.bytes[1] - before;
        print_message("%s: one report %" PRIu64 " bytes\n", kinds[k], cost);
        assert_true(cost > 100 && cost <= 400);
        test_sync_close(&a);
        test_sync_close(&b);
        umbel_close(shape);
    }
}

static void kinds_that_forget_are_refused_with_the_reason(void **state)
{
    static const char *const kinds[] = {"aging", "generalized"};

    (void)state;
    for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *shape;
        umbel_sync *s;

        p.capacity = 1000;
        assert_ok(umbel_create(kinds[k], &p, &shape, &test_refusal));
        umbel_sync_list list = {.name = "x", .shape = shape};
        umbel_sync_params params = UMBEL_SYNC_INIT;
        params.lists = &list;
        params.nlists = 1;
        params.incarnation = params.session = 1;
        assert_refused(umbel_sync_open(&params, &s, &test_refusal),
                       UMBEL_E_UNSUPPORTED, "page by page");
        umbel_close(shape);
    }
}

static void a_restart_goes_on_with_differences(void **state)
{
    test_sync_server a = {0}, b = {0}, again = {0};
    test_sync_link l;
    umbel_filter *saved;
    size_t at = 0;
    umbel_sync_replica copy;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_connect(&l, &a, &b);
    for (uint64_t i = 0; i < 500; i++)
        test_sync_add(&a, i, 1);
    test_sync_publish(&a);
    test_sync_run(&l, 1);
    test_sync_add(&a, 501, 1);
    test_sync_publish(&a);
    assert_true(umbel_sync_next_replica(a.machine, &at, &copy));
    assert_int_equal(copy.version, 2);
    assert_ok(umbel_sync_export(a.machine, at, &saved, &test_refusal));
    again.params.session = 99;
    test_sync_open(&again, 1);
    assert_ok(umbel_sync_import(again.machine, saved, &test_refusal));
    assert_true(test_sync_word(&again) == test_sync_word(&a));
    umbel_sync_disconnect(b.machine, l.peer[1]);
    test_sync_connect(&l, &again, &b);
    test_sync_run(&l, 2);
    assert_true(test_sync_word(&again) == test_sync_word(&b));
    assert_true(l.bytes[0] < 1000); /* not the full filter */
    umbel_close(saved);
    test_sync_close(&a);
    test_sync_close(&b);
    test_sync_close(&again);
}

static uint64_t lacks_since(const test_sync_server *s, int peer)
{
    umbel_sync_peer_stats stats;

    umbel_sync_peer_stats_get(s->machine, peer, &stats);
    return stats.lacks_since;
}

static void a_peer_lags_since_the_oldest_version_that_it_lacks(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    test_sync_connect(&l, &a, &b);
    for (uint64_t now = 100; now < 105; now++) {
        umbel_sync_tick(a.machine, now);
        test_sync_add(&a, now, 1);
        test_sync_publish(&a);
        if (now == 101)
            test_sync_run(&l, now);
        assert_int_equal(lacks_since(&a, l.peer[0]), now < 101    ? 100
                                                     : now == 101 ? 0
                                                                  : 102);
    }
    test_sync_run(&l, 110);
    assert_int_equal(lacks_since(&a, l.peer[0]), 0);
    test_sync_close(&a);
    test_sync_close(&b);
}

static void standings_are_listed(void **state)
{
    test_sync_server a = {0};
    uint8_t origin[3][UMBEL_ORIGIN_LEN] = {{1}, {2}, {3}};
    umbel_sync_origin_status found;
    size_t at = 0;

    (void)state;
    test_sync_open(&a, 1);
    assert_ok(umbel_sync_drop(a.machine, origin[0], false, &test_refusal));
    assert_ok(umbel_sync_mute(a.machine, origin[1], &test_refusal));
    assert_ok(umbel_sync_mute(a.machine, origin[2], &test_refusal));
    assert_ok(umbel_sync_allow(a.machine, origin[2], &test_refusal));
    for (size_t i = 0; i < 3; i++) {
        assert_true(umbel_sync_next_origin_status(a.machine, &at, &found));
        assert_memory_equal(found.origin, origin[i], UMBEL_ORIGIN_LEN);
        assert_int_equal(found.dropped, i == 0);
        assert_int_equal(found.muted, i == 1);
    }
    assert_false(umbel_sync_next_origin_status(a.machine, &at, &found));
    test_sync_close(&a);
}

/*
 * Walking takes linear time, and the agreement hash does not depend on the
 * order of arrival.
 */
static void entries_that_nobody_took_back_are_walked(void **state)
{
    test_sync_server a = {0}, b = {0};
    test_sync_link l;
    umbel_sync_entry e;
    uint64_t seq, expected = 0;

    (void)state;
    test_sync_open(&a, 1);
    test_sync_open(&b, 2);
    for (uint8_t i = 0; i < 9; i++)
        assert_ok(umbel_sync_log_append(a.machine, UMBEL_SYNC_LOG_FIRST,
                                        (umbel_slice){&i, 1}, &seq,
                                        &test_refusal));
    uint8_t body[16];
    um_store64(body, 1);
    um_store64(body + 8, 4);
    uint64_t word = test_sync_word(&a);
    assert_ok(umbel_sync_log_append(a.machine, UMBEL_SYNC_LOG_RETRACT,
                                    (umbel_slice){body, 16}, &seq,
                                    &test_refusal));
    assert_true(word != test_sync_word(&a));
    test_sync_connect(&l, &a, &b);
    test_sync_run(&l, 1);
    assert_true(test_sync_word(&a) == test_sync_word(&b));
    for (size_t at = 0; umbel_sync_next_entry(b.machine, &at, &e);) {
        expected += expected == 3 ? 2 : 1; /* not the fourth */
        assert_int_equal(e.seq, expected);
    }
    assert_int_equal(expected, 9);
    test_sync_close(&a);
    test_sync_close(&b);
}

TEST_GROUP(sync)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_servers_agree_after_one_exchange),
        cmocka_unit_test(a_third_takes_everything_from_one_peer),
        cmocka_unit_test(one_report_costs_little),
        cmocka_unit_test(kinds_that_forget_are_refused_with_the_reason),
        cmocka_unit_test(a_restart_goes_on_with_differences),
        cmocka_unit_test(a_peer_lags_since_the_oldest_version_that_it_lacks),
        cmocka_unit_test(standings_are_listed),
        cmocka_unit_test(entries_that_nobody_took_back_are_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
