/*
 * decimal.c - unsigned decimal numbers in text.
 */
#include "support/test.h"

#include "base/decimal.h"

static void digits_are_a_number_up_to_a_bound(void **state)
{
    uint64_t x = 7;

    (void)state;
    assert_true(um_decimal_parse("0", 0, &x));
    assert_int_equal(x, 0);
    assert_true(um_decimal_parse("00080", 65535, &x));
    assert_int_equal(x, 80);
    assert_true(um_decimal_parse("255", 255, &x));
    assert_int_equal(x, 255);
    assert_true(um_decimal_parse("18446744073709551615", UINT64_MAX, &x));
    assert_int_equal(x, UINT64_MAX);
    assert_true(um_decimal_read("123x", 3, UINT64_MAX, &x));
    assert_int_equal(x, 123);
}

static void anything_else_is_refused_and_changes_nothing(void **state)
{
    static const struct {
        const char *text;
        uint64_t max;
    } bad[] = {{"", 9},
               {"-1", UINT64_MAX},
               {"+1", 9},
               {" 1", 9},
               {"1 ", 9},
               {"1e3", 9999},
               {"0x1", 99},
               {"/", 9},
               {":", 9},
               {"256", 255},
               {"9", 8},
               {"1", 0},
               {"18446744073709551616", UINT64_MAX},
               {"99999999999999999999", UINT64_MAX}};
    uint64_t x = 7;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        assert_false(um_decimal_parse(bad[i].text, bad[i].max, &x));
        assert_int_equal(x, 7);
    }
}

/* Tries every two-digit number with every two-digit bound. */
static void each_bound_is_exact(void **state)
{
    (void)state;
    for (uint64_t max = 0; max < 100; max++)
        for (unsigned n = 0; n < 100; n++) {
            char text[2] = {(char)('0' + n / 10), (char)('0' + n % 10)};
            uint64_t x = 0;
            assert_int_equal(um_decimal_read(text, 2, max, &x), n <= max);
            assert_int_equal(x, n <= max ? n : 0);
        }
}

static void the_digits_in_front_are_scanned(void **state)
{
    uint64_t x = 7;

    (void)state;
    assert_int_equal(um_decimal_scan("1000-1999", 9, &x), 4);
    assert_int_equal(x, 1000);
    assert_int_equal(um_decimal_scan("12345", 3, &x), 3);
    assert_int_equal(x, 123);
    assert_int_equal(um_decimal_scan("-1", 2, &x), 0);
    assert_int_equal(x, 0);
    assert_int_equal(um_decimal_scan("18446744073709551616.", 21, &x), 20);
    assert_int_equal(x, UINT64_MAX);
}

TEST_GROUP(decimal)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_a_number_up_to_a_bound),
        cmocka_unit_test(anything_else_is_refused_and_changes_nothing),
        cmocka_unit_test(each_bound_is_exact),
        cmocka_unit_test(the_digits_in_front_are_scanned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
