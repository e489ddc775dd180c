/*
 * connection_limits.c - connections per network and in total.
 */
#include "support/test.h"

#include "base/rng.h"
#include "net/server/stream.h"

#include <stdio.h>

static um_address client(unsigned network, unsigned host)
{
    char text[UM_ADDRESS_TEXT];
    um_address a;

    snprintf(text, sizeof text, "10.%u.%u.%u:1", network >> 8 & 255,
             network & 255, host & 255);
    assert_ok(um_address_parse(text, &a, &test_refusal));
    return a;
}

static um_address loopback(unsigned network)
{
    char text[UM_ADDRESS_TEXT];
    um_address a;

    snprintf(text, sizeof text, "127.0.%u.1:1", network & 255);
    assert_ok(um_address_parse(text, &a, &test_refusal));
    return a;
}

static um_connection_limits *open_places(size_t total, size_t per_network)
{
    um_connection_limits *p;

    assert_ok(um_connection_limits_open(
        &(um_connection_limits_config){.total = total,
                                       .per_network = per_network},
        &p, &test_refusal));
    return p;
}

static void a_network_has_its_share_and_all_have_theirs(void **state)
{
    um_connection_limits *p = open_places(5, 2);
    um_address a = client(1, 1), b = client(1, 2), c = client(2, 1),
               d = client(3, 1);

    (void)state;
    assert_int_equal(um_connection_limits_acquire(p, &a), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &b), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &a), UM_NETWORK_FULL);
    assert_int_equal(um_connection_limits_acquire(p, &c), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &c), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &d), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &d), UM_ALL_FULL);
    assert_int_equal(um_connection_limits_used(p), 5);
    um_connection_limits_release(p, &b);
    assert_int_equal(um_connection_limits_acquire(p, &a), UM_ADMITTED);
    um_connection_limits_close(p);
}

static void local_clients_share_only_the_total(void **state)
{
    um_connection_limits *p = open_places(4, 1);
    um_address local, path = {.path = ""};

    (void)state;
    assert_ok(um_address_parse("127.0.0.1:9", &local, &test_refusal));
    assert_int_equal(um_connection_limits_acquire(p, &local), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &local), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &path), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &path), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &path), UM_ALL_FULL);
    um_connection_limits_release(p, &local);
    assert_ok(um_connection_limits_set(
        p,
        &(um_connection_limits_config){
            .total = 9, .per_network = 2, .limit_loopback = true},
        &test_refusal));
    assert_int_equal(um_connection_limits_acquire(p, &local), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &local), UM_NETWORK_FULL);
    um_connection_limits_close(p);
}

/* Compares the table with plain counts while networks come and go. */
static void the_table_agrees_with_plain_counts(void **state)
{
    enum { NETWORKS = 97, TOTAL = 60, EACH = 3, STEPS = 20000 };
    um_connection_limits *p = open_places(TOTAL, EACH);
    size_t held[NETWORKS] = {0}, used = 0;
    um_rng rng = {.state = 16};

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        unsigned n = (unsigned)um_random_below(&rng, NETWORKS);
        um_address a = client(n, (unsigned)um_random_below(&rng, 250));

        if (um_random_below(&rng, 2)) {
            um_admission want = used == TOTAL     ? UM_ALL_FULL
                                : held[n] == EACH ? UM_NETWORK_FULL
                                                  : UM_ADMITTED;
            assert_int_equal(um_connection_limits_acquire(p, &a), want);
            held[n] += want == UM_ADMITTED;
            used += want == UM_ADMITTED;
        } else if (held[n]) {
            um_connection_limits_release(p, &a);
            held[n]--;
            used--;
        }
        assert_int_equal(um_connection_limits_used(p), used);
        if (i % 1000 == 999) /* resizes the table, too */
            assert_ok(um_connection_limits_set(
                p,
                &(um_connection_limits_config){.total = TOTAL,
                                               .per_network = EACH},
                &test_refusal));
    }
    um_connection_limits_close(p);
}

static void local_clients_leave_some_connections_to_others(void **state)
{
    um_connection_limits *p = NULL;
    um_address unix_client = {.path = "/x"}, other = client(1, 1);

    (void)state;
    assert_ok(um_connection_limits_open(
        &(um_connection_limits_config){.total = 8, .loopback = 6}, &p,
        &test_refusal));
    for (unsigned i = 0; i < 6; i++) { /* of different networks */
        um_address a = loopback(i);
        assert_int_equal(
            um_connection_limits_acquire(p, i % 2 ? &a : &unix_client),
            UM_ADMITTED);
    }
    um_address a = loopback(7);
    assert_int_equal(um_connection_limits_acquire(p, &a), UM_NETWORK_FULL);
    assert_int_equal(um_connection_limits_acquire(p, &unix_client),
                     UM_NETWORK_FULL);
    assert_int_equal(um_connection_limits_acquire(p, &other), UM_ADMITTED);
    um_connection_limits_release(p, &unix_client);
    assert_int_equal(um_connection_limits_acquire(p, &a), UM_ADMITTED);
    assert_int_equal(um_connection_limits_acquire(p, &unix_client),
                     UM_NETWORK_FULL);
    um_connection_limits_close(p);
}

static void totals_out_of_range_are_refused(void **state)
{
    um_connection_limits *p = NULL;

    (void)state;
    assert_refused(um_connection_limits_open(&(um_connection_limits_config){0},
                                             &p, &test_refusal),
                   UMBEL_E_RANGE, "got 0");
    assert_refused(
        um_connection_limits_open(
            &(um_connection_limits_config){.total = UM_CONNECTIONS_MAX + 1}, &p,
            &test_refusal),
        UMBEL_E_RANGE, "got 1048577");
    assert_null(p);
}

TEST_GROUP(connection_limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_has_its_share_and_all_have_theirs),
        cmocka_unit_test(local_clients_share_only_the_total),
        cmocka_unit_test(local_clients_leave_some_connections_to_others),
        cmocka_unit_test(the_table_agrees_with_plain_counts),
        cmocka_unit_test(totals_out_of_range_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
