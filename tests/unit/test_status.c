/*
 * test_status.c - statuses, their texts, and how failures are told (error.c).
 */
#include "support/test.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

static void every_status_has_a_name_and_a_text(void **state)
{
    (void)state;
#define CHECK(name, number, text)                                              \
    assert_int_equal(UMBEL_##name, number);                                    \
    assert_string_equal(umbel_status_name(UMBEL_##name), #name);               \
    assert_string_equal(umbel_status_text(UMBEL_##name), text);
    UMBEL_STATUS_LIST(CHECK)
#undef CHECK
}

static void an_unlisted_status_still_has_words(void **state)
{
    (void)state;
    assert_non_null(umbel_status_name((umbel_status)99));
    assert_non_null(umbel_status_text((umbel_status)99));
}

static void the_version_has_three_numbers(void **state)
{
    const char *dot = strchr(umbel_version(), '.');

    (void)state;
    assert_non_null(dot);
    assert_non_null(strchr(dot + 1, '.'));
}

static void a_failure_fills_the_callers_error(void **state)
{
    umbel_error err;

    (void)state;
    assert_int_equal(um_fail(&err, UMBEL_E_RANGE, "k is %d", 7), UMBEL_E_RANGE);
    assert_int_equal(err.status, UMBEL_E_RANGE);
    assert_string_equal(err.text, "k is 7");
}

static void nobody_has_to_ask_for_the_text(void **state)
{
    (void)state;
    assert_int_equal(um_fail(NULL, UMBEL_E_KEY, "unheard"), UMBEL_E_KEY);
    assert_int_equal(um_fail_errno(NULL, "unheard"), UMBEL_E_IO);
}

static void texts_cannot_steer_a_terminal(void **state)
{
    umbel_error err;

    (void)state;
    um_set_error(&err, UMBEL_E_KEY, "key \"%s\"", "a\033[2J\r\n\177b");
    assert_string_equal(err.text, "key \"a?[2J???b\"");
}

static void long_texts_are_cut_not_overrun(void **state)
{
    char endless[1000];
    umbel_error err;

    (void)state;
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    um_set_error(&err, UMBEL_E_KEY, "%s", endless);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    errno = ENOENT;
    um_set_errno(&err, "%s", endless);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void system_errors_bring_their_reason(void **state)
{
    umbel_error err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(um_fail_errno(&err, "%s", "there"), UMBEL_E_IO);
    assert_non_null(strstr(err.text, "there: "));
    assert_non_null(strstr(err.text, strerror(ENOENT)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name_and_a_text),
        cmocka_unit_test(an_unlisted_status_still_has_words),
        cmocka_unit_test(the_version_has_three_numbers),
        cmocka_unit_test(a_failure_fills_the_callers_error),
        cmocka_unit_test(nobody_has_to_ask_for_the_text),
        cmocka_unit_test(texts_cannot_steer_a_terminal),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
        cmocka_unit_test(system_errors_bring_their_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
