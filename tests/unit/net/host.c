/*
 * host.c - which Host headers are ours.
 */
#include "net/server/http.h"
#include "support/test.h"

#include <string.h>

static char configured[] = "status.example.org";
static const char *const names[] = {configured};

static bool ours(const char *host)
{
    return um_host_is_ours(host, names, 1);
}

static void addresses_and_loopback_names_are_ours(void **state)
{
    static const char *const good[] = {
        "127.0.0.1",  "127.0.0.1:8053",     "192.0.2.7:80",
        "[::1]",      "[::1]:8053",         "[2001:db8::5]",
        "localhost",  "LocalHost:8053",     "a.localhost:80",
        "localhost.", "status.example.org", "STATUS.example.ORG:443"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!ours(good[i]))
            fail_msg("%s was refused", good[i]);
}

static void other_names_are_not(void **state)
{
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "evil.example:8053",
                                      "localhost.evil.example",
                                      "notlocalhost",
                                      "127.0.0.1.evil.example",
                                      "example.org",
                                      "x.status.example.org",
                                      "[evil]",
                                      "::1",
                                      "127.1"};
    char longest[5000];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (ours(bad[i]))
            fail_msg("%s was accepted", bad[i]);
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_false(ours(longest));
}

static void names_have_letters_digits_hyphens_and_dots(void **state)
{
    (void)state;
    assert_true(um_host_is_name("a-1.example.org"));
    assert_false(um_host_is_name(""));
    assert_false(um_host_is_name("a b"));
    assert_false(um_host_is_name("example.org:80"));
    assert_false(um_host_is_name("http://example.org"));
}

TEST_GROUP(host)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_and_loopback_names_are_ours),
        cmocka_unit_test(other_names_are_not),
        cmocka_unit_test(names_have_letters_digits_hyphens_and_dots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
