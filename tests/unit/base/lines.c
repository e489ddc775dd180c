/* lines.c - splitting text into lines and words. */
#include "support/test.h"

#include "base/text.h"

#include <string.h>

static umbel_slice slice(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

static void assert_slice(umbel_slice s, const char *want)
{
    assert_int_equal(s.len, strlen(want));
    assert_memory_equal(s.data, want, s.len);
}

static void lines_end_with_a_newline_or_the_text(void **state)
{
    umbel_slice text = slice("one\n\ntwo\r\nthree"), line;

    (void)state;
    assert_true(um_next_line(&text, &line));
    assert_slice(line, "one");
    assert_true(um_line_is_whole(&text, &line));
    assert_true(um_next_line(&text, &line));
    assert_slice(line, "");
    assert_true(um_line_is_whole(&text, &line));
    assert_true(um_next_line(&text, &line));
    assert_slice(line, "two\r");
    assert_true(um_next_line(&text, &line));
    assert_slice(line, "three");
    assert_false(um_line_is_whole(&text, &line));
    assert_false(um_next_line(&text, &line));
}

static void files_are_read_line_by_line(void **state)
{
    static char content[] = "one\r\nlong line\n\nlast";
    static const struct {
        const char *text;
        bool whole;
    } want[] = {{"one", true},
                {"long ", false},
                {"line", true},
                {"", true},
                {"last", false}};
    FILE *in = fmemopen(content, sizeof content - 1, "r");
    char line[6];
    bool whole;

    (void)state;
    assert_non_null(in);
    for (size_t i = 0; i < TEST_COUNT(want); i++) {
        assert_true(um_read_line(in, line, sizeof line, &whole));
        assert_string_equal(line, want[i].text);
        assert_int_equal(whole, want[i].whole);
    }
    assert_false(um_read_line(in, line, sizeof line, &whole));
    fclose(in);
}

static void words_are_separated_by_blanks(void **state)
{
    umbel_slice text = slice("  one\ttwo "), word;

    (void)state;
    assert_true(um_next_word(&text, &word));
    assert_slice(word, "one");
    assert_true(um_next_word(&text, &word));
    assert_slice(word, "two");
    assert_false(um_next_word(&text, &word));
    assert_slice(um_trim(slice(" \t a b \r\n")), "a b");
    assert_slice(um_trim(slice("  ")), "");
}

static void colons_make_a_fixed_number_of_parts(void **state)
{
    umbel_slice part[3];

    (void)state;
    assert_true(um_split_colons(slice("a : b:"), part, 3));
    assert_slice(part[0], "a");
    assert_slice(part[1], "b");
    assert_slice(part[2], "");
    assert_false(um_split_colons(slice("a:b"), part, 3));
    assert_false(um_split_colons(slice("a:b:c:d"), part, 3));
}

static void slices_are_copied_if_they_fit(void **state)
{
    char out[4] = "x";

    (void)state;
    assert_true(um_slice_text(slice("abc"), out, sizeof out));
    assert_string_equal(out, "abc");
    assert_false(um_slice_text(slice("abcd"), out, sizeof out));
    assert_true(um_slice_text((umbel_slice){NULL, 0}, out, sizeof out));
    assert_string_equal(out, "");
}

TEST_GROUP(lines)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_a_newline_or_the_text),
        cmocka_unit_test(files_are_read_line_by_line),
        cmocka_unit_test(words_are_separated_by_blanks),
        cmocka_unit_test(colons_make_a_fixed_number_of_parts),
        cmocka_unit_test(slices_are_copied_if_they_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
