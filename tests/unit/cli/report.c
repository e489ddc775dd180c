/*
 * report.c - one list of values, printed as text, as JSON and as a table with
 * the same content.
 */
#include "support/test.h"

#include "base/text.h"
#include "cli/framework/report.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- printing ---------------------------------------------------------------
 */

typedef void printer(FILE *out, const um_report *rows, size_t n);

static void as_text(FILE *out, const um_report *rows, size_t n)
{
    (void)n;
    um_report_to_text(out, rows);
}

static void as_json(FILE *out, const um_report *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        um_report_to_json(out, &rows[i]);
}

/* Returns the printed reports. Free it. */
static char *printed(printer *print, const um_report *rows, size_t n)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    print(out, rows, n);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strlen(text), len); /* no NUL */
    return text;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in:\n%s", part, text);
}

/* Asserts the report's text and JSON. Frees the report. */
static void assert_printed(um_report *r, const char *text, const char *json)
{
    char *a = printed(as_text, r, 1), *b = printed(as_json, r, 1);

    assert_string_equal(a, text);
    assert_string_equal(b, json);
    free(a);
    free(b);
    um_report_fini(r);
}

/* --- JSON, recognized -------------------------------------------------------
 */

static bool skip_value(const char **p);

static bool skip_string(const char **p)
{
    if (*(*p)++ != '"')
        return false;
    for (; **p != '"'; (*p)++) {
        if ((unsigned char)**p < ' ')
            return false;
        if (**p == '\\' && !strchr("\"\\u", *++*p))
            return false;
    }
    (*p)++;
    return true;
}

static bool skip_number(const char **p)
{
    char *end;

    if (!isdigit((unsigned char)**p) && **p != '-')
        return false;
    strtod(*p, &end);
    *p = end;
    return true;
}

static bool skip_word(const char **p)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < TEST_COUNT(words); i++) {
        size_t len = strlen(words[i]);
        if (strncmp(*p, words[i], len) == 0) {
            *p += len;
            return true;
        }
    }
    return false;
}

/* Skips members or items up to the closing bracket. */
static bool skip_parts(const char **p, char end, bool named)
{
    (*p)++;
    for (bool first = true; **p != end; first = false) {
        if (!first && strncmp(*p, ", ", 2) != 0)
            return false;
        *p += first ? 0 : 2;
        if (named && (!skip_string(p) || strncmp(*p, ": ", 2) != 0))
            return false;
        *p += named ? 2 : 0;
        if (!skip_value(p))
            return false;
    }
    (*p)++;
    return true;
}

static bool skip_value(const char **p)
{
    switch (**p) {
    case '{':
        return skip_parts(p, '}', true);
    case '[':
        return skip_parts(p, ']', false);
    case '"':
        return skip_string(p);
    default:
        return skip_word(p) || skip_number(p);
    }
}

/* Asserts that each line is a JSON object. */
static void assert_json(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p != '{' || !skip_value(&p) || *p != '\n')
            fail_msg("no JSON at \"%s\" of:\n%s", p, text);
}

/* --- comparing text and JSON ------------------------------------------------
 */

static const char *const some_texts[] = {"first of all", "second of all"};

/* Adds one value of each type, and two notes. */
static void fill(um_report *r)
{
    um_report_text(r, "kind", NULL, "bloom");
    um_report_file(r, "file", "written to", "words.umb");
    um_report_count(r, "keys_added", NULL, NULL, 1234567);
    um_report_count(r, "merged", NULL, "filters", 3);
    um_report_real(r, "bits_per_key", NULL, NULL, 9.25);
    um_report_rate(r, "predicted_error", "error", 0.001);
    um_report_rate(r, "digest_error", NULL, 7e-7);
    um_report_hex(r, "checksum", NULL, 0xabc);
    um_report_flag(r, "keyed", NULL, true);
    um_report_flag(r, "coded", NULL, false);
    um_report_texts(r, "reasons", "reason", some_texts, 2);
    um_report_real(r, "chi", NULL, NULL, NAN);
    um_report_note(r, "Watch out for %s.", "dogs");
    um_report_note(r, "next: umbel verify words.umb");
}

static void values_of_every_type_have_two_forms(void **state)
{
    um_report r = {0};

    (void)state;
    fill(&r);
    assert_printed(
        &r,
        "kind               bloom\n"
        "written to         words.umb\n"
        "keys added         1,234,567\n"
        "merged             3 filters\n"
        "bits per key       9.25\n"
        "error              0.1 %\n"
        "digest error       1 in 1,430,000\n"
        "checksum           0000000000000abc\n"
        "keyed              yes\n"
        "coded              no\n"
        "reason             first of all\n"
        "reason             second of all\n"
        "chi                not known\n"
        "Watch out for dogs.\n"
        "next: umbel verify words.umb\n",
        "{\"kind\": \"bloom\", \"file\": \"words.umb\", "
        "\"keys_added\": 1234567, \"merged\": 3, \"bits_per_key\": 9.25, "
        "\"predicted_error\": 0.001, "
        "\"digest_error\": 7e-07, "
        "\"checksum\": \"0000000000000abc\", \"keyed\": true, "
        "\"coded\": false, "
        "\"reasons\": [\"first of all\", \"second of all\"], \"chi\": null, "
        "\"notes\": [\"Watch out for dogs.\", "
        "\"next: umbel verify words.umb\"]}\n");
}

/*
 * Asserts that a value is in both forms: under its name in JSON, under its
 * label or its name with spaces in text.
 */
static void assert_conflict(const um_value *v, const char *text,
                            const char *json)
{
    char name[80], label[80];

    snprintf(name, sizeof name, "\"%s\": ", v->name);
    assert_contains(json, name);
    snprintf(label, sizeof label, "%s", v->label ? v->label : v->name);
    for (char *p = label; *p && !v->label; p++)
        *p = *p == '_' ? ' ' : *p;
    assert_contains(text, label);
}

static void assert_all_conflict(const um_report *r)
{
    char *text = printed(as_text, r, 1), *json = printed(as_json, r, 1);

    assert_json(json);
    for (size_t i = 0; i < r->n; i += r->value[i].interval ? 3 : 1)
        assert_conflict(&r->value[i], text, json);
    for (size_t i = 0; i < r->nnotes; i++) {
        assert_contains(text, r->notes[i]);
        assert_contains(json, r->notes[i]);
    }
    free(text);
    free(json);
}

static void a_description_is_whole_in_each(void **state)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    um_report r = {0};
    umbel_info info;

    (void)state;
    params.capacity = 1000;
    umbel_filter *f = test_open(&params);
    umbel_describe(f, &info);
    um_report_info(&r, &info);
    assert_int_equal(r.n, info.n);
    for (size_t i = 0; i < info.n; i++)
        assert_string_equal(r.value[i].name, info.field[i].name);
    umbel_close(f);
    assert_all_conflict(&r); /* the copies outlive the filter */
    um_report_fini(&r);
}

static void an_empty_report_is_an_empty_object(void **state)
{
    um_report r = {0};

    (void)state;
    assert_printed(&r, "", "{}\n");
    um_report_note(&r, "Nothing to say.");
    assert_printed(&r, "Nothing to say.\n",
                   "{\"notes\": [\"Nothing to say.\"]}\n");
}

/* --- numbers ----------------------------------------------------------------
 */

static void reals_read_back_as_they_were(void **state)
{
    static const double numbers[] = {0,    0.1,   1.0 / 3,   1e-300,
                                     -2.5, 1e300, 5.421e-14, 123456789.125};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(numbers); i++) {
        um_report r = {0};
        um_report_real(&r, "x", NULL, NULL, numbers[i]);
        char *json = printed(as_json, &r, 1);
        assert_json(json);
        assert_near(strtod(json + strlen("{\"x\": "), NULL), numbers[i], 0);
        free(json);
        um_report_fini(&r);
    }
}

static void large_reals_are_grouped_for_people(void **state)
{
    um_report r = {0};

    (void)state;
    um_report_real(&r, "x", NULL, "bits", 39347.08);
    assert_printed(&r, "x                  39,347 bits\n",
                   "{\"x\": 39347.08}\n");
}

static void what_is_not_finite_is_not_known(void **state)
{
    um_report r = {0};

    (void)state;
    um_report_real(&r, "a", NULL, "bits", NAN);
    um_report_real(&r, "b", NULL, NULL, INFINITY);
    um_report_rate(&r, "c", NULL, NAN);
    um_report_rate(&r, "d", NULL, -INFINITY);
    assert_printed(&r,
                   "a                  not known\n"
                   "b                  not known\n"
                   "c                  not known\n"
                   "d                  not known\n",
                   "{\"a\": null, \"b\": null, \"c\": null, \"d\": null}\n");
}

static const char *const names[] = {"keys", "keys_low", "keys_high"};

static void an_interval_is_one_line_and_three_names(void **state)
{
    const umbel_interval whole = {1000.4, 990.6, 1010.2};
    const umbel_interval rate = {0.02, 0.01, 0.03};
    um_report r = {0};

    (void)state;
    um_report_interval(&r, names, NULL, &whole, UM_OF_WHOLE);
    um_report_text(&r, "kind", NULL, "bloom");
    assert_printed(&r,
                   "keys               1,000 (99 % interval 990 to 1,011)\n"
                   "kind               bloom\n",
                   "{\"keys\": 1000, \"keys_low\": 990, \"keys_high\": 1011, "
                   "\"kind\": \"bloom\"}\n");
    um_report_interval(&r, names, "share", &rate, UM_OF_RATE);
    assert_printed(&r, "share              2 % (99 % interval 1 % to 3 %)\n",
                   "{\"keys\": 0.02, \"keys_low\": 0.01, "
                   "\"keys_high\": 0.03}\n");
    um_report_interval(&r, names, NULL, &rate, UM_OF_REAL);
    assert_printed(&r, "keys               0.02 (99 % interval 0.01 to 0.03)\n",
                   "{\"keys\": 0.02, \"keys_low\": 0.01, "
                   "\"keys_high\": 0.03}\n");
}

static void the_end_of_an_interval_may_be_unknown(void **state)
{
    const umbel_interval open = {5, 2.5, INFINITY};
    um_report r = {0};

    (void)state;
    um_report_interval(&r, names, NULL, &open, UM_OF_WHOLE);
    assert_printed(&r, "keys               5 (99 % interval 2 to not known)\n",
                   "{\"keys\": 5, \"keys_low\": 2, \"keys_high\": null}\n");
}

/* --- untrusted text ---------------------------------------------------------
 */

/*
 * A newline, an escape sequence, a quote, a backslash, DEL, a C1 control
 * character, bytes that are not UTF-8.
 */
static const char hostile[] = "a\nb\x1b[2Jc\"d\\e\x7f\xC2\x9B"
                              "f\xFFg\xC3";

static void assert_harmless(const char *text)
{
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        assert_true(c >= ' ' || c == '\n');
        assert_true(c != 127);
        assert_false(c == 0xC2 && (unsigned char)p[1] < 0xA0);
        assert_true(c != 0xFF);
    }
}

static void hostile_text_cannot_steer_the_terminal(void **state)
{
    const char *const texts[] = {hostile, "fine"};
    um_report r = {0};

    (void)state;
    um_report_text(&r, "name", NULL, hostile);
    um_report_file(&r, "file", NULL, hostile);
    um_report_texts(&r, "all", NULL, texts, 2);
    um_report_note(&r, "See %s.", hostile);
    char *text = printed(as_text, &r, 1), *json = printed(as_json, &r, 1);
    assert_harmless(text);
    assert_harmless(json);
    assert_json(json);
    assert_int_equal(count_lines(text), 5);
    assert_int_equal(count_lines(json), 1);
    assert_contains(text, "name               a?b?[2Jc\"d\\e???f?g?\n");
    assert_contains(json, "\"a\\u000ab\\u001b[2Jc\\\"d\\\\e\\u007f\\u009b"
                          "f\\ufffdg\\ufffd\"");
    free(text);
    free(json);
    um_report_fini(&r);
}

static void letters_of_all_languages_stay(void **state)
{
    um_report r = {0};

    (void)state;
    um_report_text(&r, "name", NULL, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\xBC");
    assert_printed(&r,
                   "name               \xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\xBC\n",
                   "{\"name\": \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\xBC\"}\n");
}

static void standard_output_has_a_name(void **state)
{
    um_report r = {0};

    (void)state;
    um_report_file(&r, "file", NULL, "-");
    assert_printed(&r, "file               standard output\n",
                   "{\"file\": \"-\"}\n");
}

static void assert_key(const void *key, size_t len, const char *want)
{
    umbel_slice slice = {key, len};
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    assert_non_null(out);
    um_json_key(out, &slice);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, want);
    free(text);
}

static void keys_that_are_no_text_are_hexadecimal(void **state)
{
    (void)state;
    assert_key("abc", 3, "\"key\": \"abc\"");
    assert_key("a\"b\n", 4, "\"key\": \"a\\\"b\\u000a\"");
    assert_key("a\0b", 3, "\"key\": \"a\\u0000b\"");
    assert_key("", 0, "\"key\": \"\"");
    assert_key("\xFF\x01", 2, "\"key_hex\": \"ff01\"");
}

/* --- limits -----------------------------------------------------------------
 */

static void long_texts_are_printed_whole(void **state)
{
    char long_text[3001];
    um_report r = {0};

    (void)state;
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[1500] = '\x1b';
    long_text[sizeof long_text - 1] = '\0';
    um_report_text(&r, "command", NULL, long_text);
    char *text = printed(as_text, &r, 1), *json = printed(as_json, &r, 1);
    assert_int_equal(strlen(text), 19 + 3000 + 1);
    assert_int_equal(strlen(json), strlen("{\"command\": \"\"}\n") + 3000 + 5);
    assert_harmless(text);
    assert_json(json);
    free(text);
    free(json);
    um_report_fini(&r);
}

static void too_much_is_left_out_of_both(void **state)
{
    um_report r = {0};

    (void)state;
    for (size_t i = 0; i < UM_MAX_REPORT + 5; i++)
        um_report_text(&r, "value", NULL, "x");
    for (size_t i = 0; i < UM_MAX_NOTES + 5; i++)
        um_report_note(&r, "%0*d", 2 * UM_REPORT_NOTE_LEN, 1);
    assert_int_equal(r.n, UM_MAX_REPORT);
    assert_int_equal(r.nnotes, UM_MAX_NOTES);
    char *text = printed(as_text, &r, 1), *json = printed(as_json, &r, 1);
    assert_int_equal(count_lines(text), UM_MAX_REPORT + UM_MAX_NOTES);
    assert_json(json);
    free(text);
    free(json);
    um_report_fini(&r);
}

/* --- tables -----------------------------------------------------------------
 */

enum { ROWS = 3 };

static void fill_rows(um_report *rows)
{
    static const char *const ways[ROWS] = {"retouch", "groups", "ribbon"};
    static const uint64_t bytes[ROWS] = {2560, 12, 2304};

    for (size_t i = 0; i < ROWS; i++) {
        bool can = i != 1;
        um_report_text(&rows[i], "way", NULL, ways[i]);
        um_report_count(&rows[i], "bytes", NULL, NULL, bytes[i]);
        um_report_rate(&rows[i], "error", NULL, can ? 0.01 : NAN);
        um_report_flag(&rows[i], "best", NULL, i == 2);
    }
    um_report_note(&rows[0], "A note of the first.");
    um_report_note(&rows[2], "A note of the last.");
}

static void finish_rows(um_report *rows)
{
    for (size_t i = 0; i < ROWS; i++)
        um_report_fini(&rows[i]);
}

static void a_table_has_a_line_of_labels_and_one_per_row(void **state)
{
    static um_report rows[ROWS];

    (void)state;
    fill_rows(rows);
    char *text = printed(um_report_to_table, rows, ROWS);
    assert_string_equal(text, "way      bytes      error  best\n"
                              "retouch  2,560        1 %  no\n"
                              "groups      12  not known  no\n"
                              "ribbon   2,304        1 %  yes\n"
                              "A note of the first.\n"
                              "A note of the last.\n");
    free(text);
    text = printed(as_json, rows, ROWS);
    assert_json(text);
    assert_int_equal(count_lines(text), ROWS);
    assert_contains(text, "{\"way\": \"groups\", \"bytes\": 12, "
                          "\"error\": null, \"best\": false}\n");
    assert_contains(text, "\"notes\": [\"A note of the last.\"]}\n");
    free(text);
    finish_rows(rows);
}

static const char long_command[] =
    "umbel build members --kind ribbon --never list.tsv -o FILE";

/* Inside the table they would make lines too long to read. */
static void long_texts_stand_below_a_table(void **state)
{
    static um_report rows[ROWS];

    (void)state;
    fill_rows(rows);
    for (size_t i = 0; i < ROWS; i++) {
        um_report_text(&rows[i], "command", NULL, i == 1 ? "" : long_command);
        um_report_text(&rows[i], "reason", NULL, "");
        um_report_count(&rows[i], "last", NULL, NULL, i);
        um_report_texts(&rows[i], "all", NULL, some_texts, i == 0 ? 2 : 0);
    }
    char *text = printed(um_report_to_table, rows, ROWS);
    assert_contains(text, "way      bytes      error  best  last\n"
                          "retouch  2,560        1 %  no       0\n");
    assert_contains(text, "command of retouch: umbel build members --kind "
                          "ribbon --never list.tsv -o FILE\n"
                          "command of ribbon: umbel build");
    assert_contains(text, "all of retouch: first of all\n"
                          "all of retouch: second of all\n"
                          "A note of the first.\n");
    assert_lacks(text, "command of groups");
    assert_lacks(text, "reason");
    assert_int_equal(count_lines(text), 1 + ROWS + 2 + 2 + 2);
    free(text);
    finish_rows(rows);
}

static void hostile_cells_cannot_steer_the_terminal(void **state)
{
    static um_report rows[ROWS];
    char wide[200];

    (void)state;
    snprintf(wide, sizeof wide, "%060d%s", 1, hostile);
    for (size_t i = 0; i < ROWS; i++) {
        um_report_text(&rows[i], "name", NULL, hostile);
        um_report_text(&rows[i], "wide", NULL, wide);
    }
    char *text = printed(um_report_to_table, rows, ROWS);
    assert_harmless(text);
    assert_int_equal(count_lines(text), 1 + ROWS + ROWS);
    free(text);
    finish_rows(rows);
}

/* --- where reports go -------------------------------------------------------
 */

static void reports_leave_standard_output_to_data(void **state)
{
    um_args args = {0};

    (void)state;
    assert_ptr_equal(um_report_stream(&args), stdout);
    args.stdout_taken = true;
    assert_ptr_equal(um_report_stream(&args), stderr);
}

TEST_GROUP(report)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type_have_two_forms),
        cmocka_unit_test(a_description_is_whole_in_each),
        cmocka_unit_test(an_empty_report_is_an_empty_object),
        cmocka_unit_test(reals_read_back_as_they_were),
        cmocka_unit_test(large_reals_are_grouped_for_people),
        cmocka_unit_test(what_is_not_finite_is_not_known),
        cmocka_unit_test(an_interval_is_one_line_and_three_names),
        cmocka_unit_test(the_end_of_an_interval_may_be_unknown),
        cmocka_unit_test(hostile_text_cannot_steer_the_terminal),
        cmocka_unit_test(letters_of_all_languages_stay),
        cmocka_unit_test(standard_output_has_a_name),
        cmocka_unit_test(keys_that_are_no_text_are_hexadecimal),
        cmocka_unit_test(long_texts_are_printed_whole),
        cmocka_unit_test(too_much_is_left_out_of_both),
        cmocka_unit_test(a_table_has_a_line_of_labels_and_one_per_row),
        cmocka_unit_test(long_texts_stand_below_a_table),
        cmocka_unit_test(hostile_cells_cannot_steer_the_terminal),
        cmocka_unit_test(reports_leave_standard_output_to_data),
    };
    return cmocka_run_group_tests_name("cli_report", tests, NULL, NULL);
}
