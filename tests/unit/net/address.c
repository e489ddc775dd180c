/* address.c - addresses as text, and their networks. */
#include "support/test.h"

#include "net/server/address.h"

#include <stdio.h>
#include <string.h>

static um_address parse(const char *text)
{
    um_address a;

    assert_ok(um_address_parse(text, &a, &test_refusal));
    return a;
}

static void an_address_prints_as_it_was_read(void **state)
{
    static const char *const good[] = {"127.0.0.1:24441", "0.0.0.0:0",
                                       "[::1]:24441", "[2001:db8::25]:65535",
                                       "/run/umbel/socket"};
    char text[UM_ADDRESS_TEXT];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(good); i++) {
        um_address a = parse(good[i]);
        assert_string_equal(um_address_print(&a, text), good[i]);
        assert_true(um_address_equal(&a, &a));
    }
    um_address a = parse("127.0.0.1:24441"), b = parse("[::1]:24441"),
               c = parse("127.0.0.1:24442"), d = parse("/run/umbel/socket");
    assert_int_equal(um_address_port(&a), 24441);
    assert_int_equal(um_address_port(&b), 24441);
    assert_int_equal(um_address_port(&d), 0);
    assert_false(um_address_equal(&a, &b) || um_address_equal(&a, &c) ||
                 um_address_equal(&a, &d));
}

static void what_is_no_address_is_refused_by_name(void **state)
{
    static const char *const bad[] = {
        "",
        "127.0.0.1",
        "localhost:24441",
        "127.0.0.1:",
        ":24441",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:+1",
        "127.0.0.1:1x",
        "127.0.0.1: 1",
        "127.0.0.256:1",
        "::1:24441",
        "[::1]24441",
        "[::1:24441",
        "[127.0.0.1]:24441",
        "[::1]:",
        "127.0.0.1:999999999999",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]:24441"};
    um_address a;
    char path[400];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        snprintf(path, sizeof path, "\"%s\" is not an address", bad[i]);
        assert_refused(um_address_parse(bad[i], &a, &test_refusal),
                       UMBEL_E_RANGE, path);
    }
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_refused(um_address_parse(path, &a, &test_refusal), UMBEL_E_RANGE,
                   "at most 107 bytes");
}

static void loopback_is_known_in_each_form(void **state)
{
    static const struct {
        const char *text;
        bool loopback;
    } rows[] = {{"127.0.0.1:1", true},
                {"127.255.0.9:1", true},
                {"128.0.0.1:1", false},
                {"0.0.0.0:1", false},
                {"[::1]:1", true},
                {"[::2]:1", false},
                {"[::ffff:127.0.0.1]:1", true},
                {"[::ffff:10.0.0.1]:1", false},
                {"[::]:1", false},
                {"/run/x", true}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        um_address a = parse(rows[i].text);
        assert_int_equal(um_address_is_loopback(&a), rows[i].loopback);
    }
}

static void clients_of_one_network_share_its_key(void **state)
{
    static const struct {
        const char *client;
        um_prefixes prefixes;
        const char *network;
    } rows[] = {
        {"192.0.2.77:1234", {24, 56}, "192.0.2.0/24"},
        {"192.0.2.77:1234", {32, 56}, "192.0.2.77/32"},
        {"192.0.2.77:1234", {0, 56}, "0.0.0.0/0"},
        {"192.0.2.255:1", {25, 56}, "192.0.2.128/25"},
        {"[::ffff:192.0.2.77]:1", {24, 56}, "192.0.2.0/24"},
        {"[2001:db8:1:2ff::9]:1", {24, 56}, "2001:db8:1:200::/56"},
        {"[2001:db8:1:2ff::9]:1", {24, 128}, "2001:db8:1:2ff::9/128"},
        {"[2001:db8:1:2ff:8000::9]:1", {24, 65}, "2001:db8:1:2ff:8000::/65"},
        {"[2001:db8::1]:1", {24, 64}, "2001:db8::/64"},
        {"/run/x", {24, 56}, "unix"}};
    char text[UM_ADDRESS_TEXT];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        um_address a = parse(rows[i].client);
        um_network n = um_address_network(&a, &rows[i].prefixes);
        assert_string_equal(um_network_print(n, &rows[i].prefixes, text),
                            rows[i].network);
    }
    um_address a = parse("192.0.2.1:1"), b = parse("192.0.2.254:9"),
               c = parse("192.0.3.1:1");
    um_network net = um_address_network(&a, NULL);
    assert_true(um_network_equal(net, um_address_network(&b, NULL)));
    assert_false(um_network_equal(net, um_address_network(&c, NULL)));
}

TEST_GROUP(address)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_prints_as_it_was_read),
        cmocka_unit_test(what_is_no_address_is_refused_by_name),
        cmocka_unit_test(loopback_is_known_in_each_form),
        cmocka_unit_test(clients_of_one_network_share_its_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
