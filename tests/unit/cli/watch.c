/* watch.c - pauses between rounds, and failing commands. */
#include "cli/commands/internal.h"
#include "support/test.h"

static void pauses_double_after_failures_up_to_a_limit(void **state)
{
    (void)state;
    assert_int_equal(um_watch_pause(10, 0, 0), 10000);
    assert_int_equal(um_watch_pause(10, 1, 0), 20000);
    assert_int_equal(um_watch_pause(10, 3, 0), 80000);
    for (unsigned failures = 7; failures < 200; failures++)
        assert_int_equal(um_watch_pause(10, failures, 0),
                         1000 * UM_WATCH_MAX_PAUSE);
    /* A longer interval is not changed. */
    assert_int_equal(um_watch_pause(3600, 5, 0), 3600000);
    assert_int_equal(um_watch_pause(UM_WATCH_MAX_PAUSE, 5, 0),
                     1000 * UM_WATCH_MAX_PAUSE);
}

static void jitter_takes_off_up_to_a_tenth(void **state)
{
    (void)state;
    assert_int_equal(um_watch_pause(100, 0, 0.5), 95000);
    assert_int_equal(um_watch_pause(100, 0, 1), 90000);
    assert_int_equal(um_watch_pause(100, 1, 1), 180000);
}

static void a_command_that_fails_says_how(void **state)
{
    (void)state;
    assert_ok(um_watch_run("true", &test_refusal));
    assert_refused(um_watch_run("exit 3", &test_refusal), UMBEL_E_IO,
                   "exit code 3: exit 3");
    assert_refused(um_watch_run("kill -9 $$", &test_refusal), UMBEL_E_IO,
                   "signal 9");
}

TEST_GROUP(watch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_after_failures_up_to_a_limit),
        cmocka_unit_test(jitter_takes_off_up_to_a_tenth),
        cmocka_unit_test(a_command_that_fails_says_how),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
