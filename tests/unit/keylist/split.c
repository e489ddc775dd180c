/*
 * split.c - which bytes of the input are keys.
 *
 * Every input is read from a file and from pipes in steps of several sizes
 * (support/key_input.h), with the same result.
 */
#include "support/key_input.h"

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const um_key_format lines = {.field = 0}, hex = {.hex = true},
                           null_ended = {.null_ended = true};

/* Reads each text as a new input; text is a literal that may contain NULs. */
#define expect_keys(format, text, want)                                        \
    expect((format), (text), sizeof(text) - 1, UMBEL_OK, (want), "")
/* Expects the keys before the bad line to be used. */
#define expect_bad(format, text, want, reason)                                 \
    expect((format), (text), sizeof(text) - 1, UMBEL_E_KEY, (want), (reason))
#define expect_numbers(format, text, want)                                     \
    expect_all_numbers((format), (text), sizeof(text) - 1, (want))

static void expect(const um_key_format *f, const char *text, size_t len,
                   umbel_status status, const char *keys, const char *reason)
{
    test_input in;

    test_input_bytes(f, text, len, &in);
    assert_string_equal(in.reason, reason);
    assert_int_equal(in.status, status);
    assert_string_equal(in.keys, keys);
    test_input_fini(&in);
}

static void expect_all_numbers(const um_key_format *f, const char *text,
                               size_t len, const char *numbers)
{
    test_input in;

    test_input_bytes(f, text, len, &in);
    assert_string_equal(in.reason, "");
    assert_string_equal(in.numbers, numbers);
    test_input_fini(&in);
}

static void lines_that_are_not_empty_are_keys(void **state)
{
    (void)state;
    expect_keys(&lines, "one\ntwo\n", "one|two|");
    expect_keys(&lines, "\n\none\n\n", "one|");
    expect_keys(&lines, "", "");
    expect_keys(&lines, "\n", "");
    expect_keys(&lines, " \n\ta\tb\n", " |\\x09a\\x09b|");
    expect_keys(&lines, "a\0b\n", "a\\x00b|");
}

static void the_last_line_may_lack_its_end(void **state)
{
    (void)state;
    expect_keys(&lines, "one\ntwo", "one|two|");
    expect_keys(&lines, "x", "x|");
    expect_keys(&lines, "one\r", "one|");
    expect_keys(&null_ended, "one\0two", "one|two|");
}

static void a_carriage_return_before_the_newline_is_removed(void **state)
{
    (void)state;
    expect_keys(&lines, "one\r\ntwo\r\n\r\n", "one|two|");
    expect_keys(&lines, "a\rb\r\r\n", "a\\x0db\\x0d|");
}

/*
 * Splits a text by the definition, and writes its keys as test_input prints
 * them.
 */
static void split_plainly(const char *text, size_t len, char *out)
{
    for (size_t i = 0, from = 0; i <= len; i++) {
        if (i < len && text[i] != '\n')
            continue;
        size_t end = i > from && text[i - 1] == '\r' ? i - 1 : i;
        if (end > from)
            out += sprintf(out, "%.*s|", (int)(end - from), text + from);
        from = i + 1;
    }
    *out = '\0';
}

/*
 * Texts are examined in blocks of 64 bytes: puts line ends everywhere in them.
 * No key contains a carriage return, which would be printed differently.
 */
static void lines_may_end_anywhere_in_a_block(void **state)
{
    enum { MOST = 330 };
    char text[MOST + 2], want[2 * MOST + 2];
    um_rng rng = {5};

    (void)state;
    for (size_t most = 1; most < MOST; most++) {
        size_t len = 0;
        while (len < most) {
            uint64_t dice = um_random(&rng) >> 32;
            if (dice % (most % 40 + 2))
                text[len++] = (char)('a' + (char)(dice % 26));
            else if (dice & 1 << 20)
                text[len++] = '\n';
            else
                text[len++] = '\r', text[len++] = '\n';
        }
        split_plainly(text, len, want);
        expect(&lines, text, len, UMBEL_OK, want, "");
    }
}

static void records_that_end_with_nul_keep_all_other_bytes(void **state)
{
    (void)state;
    expect_keys(&null_ended, "a\nb\r\0\0\xEF\xBB\xBF\0",
                "a\\x0ab\\x0d|\\xef\\xbb\\xbf|");
    expect_keys(&null_ended,
                "\xEF\xBB\xBF"
                "a\0",
                "\\xef\\xbb\\xbfa|");
}

static void a_byte_order_mark_is_removed_from_the_first_line_only(void **state)
{
    (void)state;
    expect_keys(&lines, "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n",
                "one|\\xef\\xbb\\xbftwo|");
    expect_keys(&lines, "\xEF\xBB\xBF\r\none\n", "one|");
    expect_keys(&lines, "\xEF\xBB\xBF", "");
    expect_keys(&lines, "\n\xEF\xBB\xBFone", "\\xef\\xbb\\xbfone|");
    expect_keys(&lines, "\xEF\xBBone\n", "\\xef\\xbbone|");
}

static void every_file_may_begin_with_a_byte_order_mark(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "keys");
    um_key_source s = {
        .paths = (const char *const[]){path, path}, .npaths = 2, .threads = 1};
    test_input in;

    (void)state;
    test_write_file(path,
                    "\xEF\xBB\xBF"
                    "a",
                    4);
    test_input_read(&s, &in);
    assert_string_equal(in.keys, "a|a|");
    test_input_fini(&in);
    free(path);
    test_dir_remove(dir);
}

/* --- long lines ------------------------------------------------------------
 */

/* Returns `before`, n times 'x', and `behind`. */
static char *long_text(const char *before, size_t n, const char *behind,
                       size_t *len)
{
    size_t first = strlen(before), last = strlen(behind);
    char *text = malloc(first + n + last + 1);

    assert_non_null(text);
    memcpy(text, before, first);
    memset(text + first, 'x', n);
    memcpy(text + first + n, behind, last + 1);
    *len = first + n + last;
    return text;
}

static void read_long(const char *before, size_t n, const char *behind,
                      test_input *in)
{
    size_t len;
    char *text = long_text(before, n, behind, &len);

    test_input_bytes(&lines, text, len, in);
    free(text);
}

static void a_line_may_be_longer_than_a_read(void **state)
{
    static const size_t lens[] = {65535, 65536, 65537, 200000, 600000};
    test_input in;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(lens); i++) {
        read_long("one\n", lens[i], "\r\ntwo", &in);
        assert_int_equal(in.status, UMBEL_OK);
        assert_int_equal(in.n, 3);
        assert_int_equal(strlen(in.keys), lens[i] + 9);
        assert_string_equal(in.keys + lens[i] + 4, "|two|");
        test_input_fini(&in);
    }
}

static void a_key_may_have_1_MiB_and_no_more(void **state)
{
    static const struct {
        const char *before, *behind;
        size_t more;
        bool fine;
    } cases[] = {
        {"", "", 0, true},           {"", "\n", 0, true},
        {"a\n", "\r\nb\n", 0, true}, {"\xEF\xBB\xBF", "\r\n", 0, true},
        {"", "", 1, false},          {"", "\r\n", 1, false},
        {"a\n", "\nb\n", 1, false},  {"\xEF\xBB\xBF", "\n", 1, false},
        {"a\n", "", 5000000, false},
    };
    test_input in;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        bool second = cases[i].before[0] == 'a';
        read_long(cases[i].before, UM_MAX_KEY_LEN + cases[i].more,
                  cases[i].behind, &in);
        assert_int_equal(in.status, cases[i].fine ? UMBEL_OK : UMBEL_E_KEY);
        if (!cases[i].fine) {
            assert_string_equal(in.keys, second ? "a|" : "");
            assert_string_equal(
                in.reason,
                second ? "line 2: longer than 1 MiB, the limit for a key"
                       : "line 1: longer than 1 MiB, the limit for a "
                         "key");
        }
        test_input_fini(&in);
    }
}

/* Makes reads end at every position around the limit. */
static void a_long_first_line_is_never_cut_to_a_key(void **state)
{
    size_t len;
    char *text = long_text("\xEF\xBB\xBF", UM_MAX_KEY_LEN + 100, "\n", &len);

    (void)state;
    for (size_t more = 1; more <= 6; more++) {
        test_drip d;
        test_input in;
        test_drip_open(&d, text, len, 1 << 16);
        d.first = more;
        um_key_source s = test_drip_source(&d, &lines);
        test_input_read(&s, &in);
        assert_int_equal(in.status, UMBEL_E_KEY);
        assert_int_equal(in.n, 0);
        test_drip_close(&d);
        test_input_fini(&in);
    }
    free(text);
}

/* --- fields ----------------------------------------------------------------
 */

static void a_field_is_the_key(void **state)
{
    um_key_format first = {.field = 1}, second = {.field = 2},
                  comma = {.field = 3, .delimiter = ','};

    (void)state;
    expect_keys(&first, "a\tb\nc\n", "a|c|");
    expect_keys(&second, "a\tb\tc\nd\te\r\n", "b|e|");
    expect_keys(&comma, "a,b,c\n,,d,e", "c|d|");
}

static void an_empty_field_is_not_a_key(void **state)
{
    um_key_format second = {.field = 2};

    (void)state;
    expect_keys(&second, "a\t\tb\nc\td\ne\t\n", "d|");
}

static void a_missing_field_is_refused_with_its_line(void **state)
{
    um_key_format second = {.field = 2}, far = {.field = UINT64_MAX - 1};

    (void)state;
    expect_bad(&second, "a\tb\n\nc\nd\te\n", "b|",
               "line 3: too few fields for --field (fields are separated by "
               "--delimiter, a tab by default)");
    expect_bad(&far, "a\tb\n", "",
               "line 1: too few fields for --field (fields are separated by "
               "--delimiter, a tab by default)");
}

static void batches_show_whole_lines(void **state)
{
    um_key_format second = {.field = 2};
    test_input in;

    (void)state;
    test_input_bytes(&second, "a\tb\r\nc\td", 8, &in);
    assert_string_equal(in.lines, "a\\x09b|c\\x09d|");
    test_input_fini(&in);
}

/* --- hexadecimal -----------------------------------------------------------
 */

static void hexadecimal_digits_are_decoded(void **state)
{
    um_key_format field = {.hex = true, .field = 2};

    (void)state;
    expect_keys(&hex, "6162\n4A4b\n00fF\n\n", "ab|JK|\\x00\\xff|");
    expect_keys(&field, "one\t61\ntwo\t62", "a|b|");
}

static void what_is_not_hexadecimal_is_refused(void **state)
{
    (void)state;
    expect_bad(&hex, "61\n616\n62\n", "a|",
               "line 2: an odd number of hexadecimal digits");
    expect_bad(&hex, "61\n0x61\n", "a|",
               "line 2: not hexadecimal from character 2 on: \"x61\"");
    expect_bad(&hex, "6g", "",
               "line 1: not hexadecimal from character 2 on: \"g\"");
    expect_bad(&hex, "g6", "",
               "line 1: not hexadecimal from character 1 on: \"g6\"");
    expect_bad(&hex, "61 62", "",
               "line 1: not hexadecimal from character 3 on: \" 62\"");
}

/* --- weights ---------------------------------------------------------------
 */

static const um_key_format weights = {.weights = UM_WEIGHTS_ALL};

static void the_last_field_is_the_weight(void **state)
{
    um_key_format comma = {.weights = UM_WEIGHTS_ALL, .delimiter = ','},
                  second = {.weights = UM_WEIGHTS_ALL, .field = 2};

    (void)state;
    expect_keys(&weights, "a\t1\nb\tc\t2.5\n", "a|b\\x09c|");
    expect_numbers(&weights, "a\t1\nb\tc\t2.5\r\nd\t1e3\ne\t0\nf\t+.5",
                   "1*1 2.5*1 1000*1 0*1 0.5*1 ");
    expect_keys(&comma, "a b,3\n", "a b|");
    expect_keys(&second, "x\ty\t3\n", "y|");
    expect_keys(&weights, "\t1\nb\t1\n", "b|");
    expect_numbers(&weights, "a\t1e100\nb\t1e-100", "1e+100*1 1e-100*1 ");
    expect_numbers(&lines, "a\t5\n", "1*1 ");
}

static void what_is_not_a_weight_is_refused(void **state)
{
    static const char *const bad[] = {
        "nan", "inf", "-inf", "infinity", "0x10", "1e999", "1,5", "x",
        "",    " 1",  "1 ",   "1e",       "--1",  "+",     "."};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        char text[64];
        int len = snprintf(text, sizeof text, "a\t1\nb\t%s\nc\t1\n", bad[i]);
        expect(&weights, text, (size_t)len, UMBEL_E_KEY, "a|",
               "line 2: the weight is not a number");
    }
    expect_bad(&weights,
               "a\t0000000000000000000000000000000000000000000000000"
               "000000000000001\n",
               "", "line 1: the weight is not a number");
}

static void weights_out_of_range_are_refused(void **state)
{
    (void)state;
    expect_bad(&weights, "a\t-1\n", "", "line 1: the weight is negative");
    expect_bad(&weights, "a\t1e101\n", "",
               "line 1: the weight is neither 0 nor from 1e-100 to 1e100");
    expect_bad(&weights, "a\t1e-101\n", "",
               "line 1: the weight is neither 0 nor from 1e-100 to 1e100");
    expect_bad(&weights, "a\t1\nb\n", "a|",
               "line 2: no weight after the key (fields are separated by "
               "--delimiter, a tab by default)");
}

static void files_named_tsv_have_weights(void **state)
{
    static const struct {
        const char *name, *keys, *numbers;
    } cases[] = {{"keys.tsv", "a|", "4*1 "},
                 {"keys.tsv.txt", "a\\x094|", "1*1 "},
                 {"tsv", "a\\x094|", "1*1 "}};
    char *dir = test_dir_make();

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        char *path = test_path(dir, cases[i].name);
        um_key_source s = {.paths = (const char *const[]){path},
                           .npaths = 1,
                           .threads = 1,
                           .format.weights = UM_WEIGHTS_TSV};
        test_input in;
        test_write_file(path, "a\t4\n", 4);
        test_input_read(&s, &in);
        assert_string_equal(in.keys, cases[i].keys);
        assert_string_equal(in.numbers, cases[i].numbers);
        test_input_fini(&in);
        free(path);
    }
    test_dir_remove(dir);
}

/* --- amounts ---------------------------------------------------------------
 */

static const um_key_format amounts = {.amount_field = 2};

static void a_field_is_the_amount_and_the_first_one_the_key(void **state)
{
    um_key_format last = {.amount_field = UM_LAST_FIELD},
                  swapped = {.field = 2, .amount_field = 1};

    (void)state;
    expect_keys(&amounts, "a\t3\nb\t4\tc\n", "a|b|");
    expect_numbers(&amounts, "a\t3\nb\t0\nc\t007\nd\t18446744073709551615",
                   "1*3 1*0 1*7 1*18446744073709551615 ");
    expect_keys(&last, "a\tb\t3\n", "a|");
    expect_numbers(&last, "a\tb\t3\nc\t4\n", "1*3 1*4 ");
    expect_keys(&swapped, "3\ta\n", "a|");
    expect_numbers(&swapped, "3\ta\n", "1*3 ");
}

static void what_is_not_an_amount_is_refused(void **state)
{
    (void)state;
    expect_bad(&amounts, "a\t1\nb\n", "a|",
               "line 2: there is no number in that field");
    expect_bad(&amounts, "a\t\n", "",
               "line 1: there is no number in that field");
    expect_bad(&amounts, "a\t-1\n", "", "line 1: the number is negative");
    expect_bad(&amounts, "a\t1.5\n", "", "line 1: not a whole number");
    expect_bad(&amounts, "a\tten\n", "", "line 1: not a whole number");
    expect_bad(&amounts, "a\t+1\n", "", "line 1: not a whole number");
    expect_bad(&amounts, "a\t18446744073709551616\n", "",
               "line 1: the number is larger than 2^64 - 1");
    expect_bad(&amounts, "a\t99999999999999999999\n", "",
               "line 1: the number is larger than 2^64 - 1");
}

static void every_key_may_come_several_times(void **state)
{
    um_key_format times = {.times = 5};

    (void)state;
    expect_numbers(&times, "a\nb\n", "1*5 1*5 ");
}

static void the_amount_cannot_be_the_key(void **state)
{
    um_key_format formats[] = {{.amount_field = 1},
                               {.amount_field = 3, .field = 3}};
    test_input in;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(formats); i++) {
        um_key_source s = {.format = formats[i]};
        test_input_read(&s, &in);
        assert_int_equal(in.status, UMBEL_E_RANGE);
        assert_non_null(strstr(in.reason, "--field N"));
        test_input_fini(&in);
    }
}

TEST_GROUP(split)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_not_empty_are_keys),
        cmocka_unit_test(the_last_line_may_lack_its_end),
        cmocka_unit_test(a_carriage_return_before_the_newline_is_removed),
        cmocka_unit_test(lines_may_end_anywhere_in_a_block),
        cmocka_unit_test(records_that_end_with_nul_keep_all_other_bytes),
        cmocka_unit_test(a_byte_order_mark_is_removed_from_the_first_line_only),
        cmocka_unit_test(every_file_may_begin_with_a_byte_order_mark),
        cmocka_unit_test(a_line_may_be_longer_than_a_read),
        cmocka_unit_test(a_key_may_have_1_MiB_and_no_more),
        cmocka_unit_test(a_long_first_line_is_never_cut_to_a_key),
        cmocka_unit_test(a_field_is_the_key),
        cmocka_unit_test(an_empty_field_is_not_a_key),
        cmocka_unit_test(a_missing_field_is_refused_with_its_line),
        cmocka_unit_test(batches_show_whole_lines),
        cmocka_unit_test(hexadecimal_digits_are_decoded),
        cmocka_unit_test(what_is_not_hexadecimal_is_refused),
        cmocka_unit_test(the_last_field_is_the_weight),
        cmocka_unit_test(what_is_not_a_weight_is_refused),
        cmocka_unit_test(weights_out_of_range_are_refused),
        cmocka_unit_test(files_named_tsv_have_weights),
        cmocka_unit_test(a_field_is_the_amount_and_the_first_one_the_key),
        cmocka_unit_test(what_is_not_an_amount_is_refused),
        cmocka_unit_test(every_key_may_come_several_times),
        cmocka_unit_test(the_amount_cannot_be_the_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
