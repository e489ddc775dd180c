/* text.c - text for people to read. */
#include "support/test.h"

#include "base/text.h"

#include <string.h>

static size_t utf8(const char *s)
{
    return um_utf8_len((const uint8_t *)s, strlen(s));
}

static void sequences_of_one_to_four_bytes_are_known(void **state)
{
    (void)state;
    assert_int_equal(utf8("a"), 1);
    assert_int_equal(utf8("\xC3\xA9"), 2);
    assert_int_equal(utf8("\xE2\x82\xAC"), 3);
    assert_int_equal(utf8("\xF0\x9F\x8C\xBC"), 4);
    assert_int_equal(utf8("\xC2\x80"), 2); /* first and last of each length */
    assert_int_equal(utf8("\xEF\xBF\xBF"), 3);
    assert_int_equal(utf8("\xF4\x8F\xBF\xBF"), 4);
}

/* Covers truncated, overlong, surrogate, out-of-range and stray bytes. */
static void what_is_no_utf8_is_no_sequence(void **state)
{
    static const char *const bad[] = {"\x80",
                                      "\xBF",
                                      "\xC3",
                                      "\xC3(",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xE2\x82",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xED\xBF\xBF",
                                      "\xF0\x9F\x8C",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF8\x88\x80\x80\x80",
                                      "\xFF"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_int_equal(utf8(bad[i]), 0);
}

static void assert_disarmed(const char *text, const char *want)
{
    char copy[64];

    assert_true(strlen(text) < sizeof copy);
    strcpy(copy, text);
    um_disarm(copy);
    assert_string_equal(copy, want);
}

static void nothing_steers_a_terminal(void **state)
{
    (void)state;
    assert_disarmed("plain \xE2\x82\xAC text", "plain \xE2\x82\xAC text");
    assert_disarmed("a\033[2J\r\n\177b", "a?[2J???b");
    assert_disarmed("\xC2\x9B"
                    "2J",
                    "??2J"); /* CSI as one character */
    assert_disarmed("\xC2\xA0", "\xC2\xA0");
    assert_disarmed("raw \x9B byte, cut \xE2\x82", "raw ? byte, cut ??");
    assert_disarmed("", "");
}

static void long_paths_show_their_end(void **state)
{
    char path[400];

    (void)state;
    assert_string_equal(um_path_tail("short/a.umb"), "short/a.umb");
    assert_string_equal(um_path_dots("short/a.umb"), "");
    memset(path, 'x', sizeof path);
    strcpy(path + sizeof path - 7, "/a.umb");
    assert_string_equal(um_path_dots(path), "...");
    assert_true(strlen(um_path_tail(path)) < 200);
    assert_non_null(strstr(um_path_tail(path), "x/a.umb"));
}

TEST_GROUP(text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_of_one_to_four_bytes_are_known),
        cmocka_unit_test(what_is_no_utf8_is_no_sequence),
        cmocka_unit_test(nothing_steers_a_terminal),
        cmocka_unit_test(long_paths_show_their_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
