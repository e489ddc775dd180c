/*
 * answer.c - every line that comes in is one answer, whatever the pieces.
 */
#include "query/query.h"
#include "support/test.h"

#include <string.h>

typedef struct got {
    char text[200];
    size_t n, too_long;
} got;

static void take(void *ctx, umbel_slice text, bool too_long)
{
    got *g = ctx;

    g->n++;
    g->too_long += too_long;
    snprintf(g->text + strlen(g->text), sizeof g->text - strlen(g->text),
             too_long ? "[too long]" : "[%.*s]", (int)text.len,
             text.len ? (const char *)text.data : "");
}

/* Feeds the input in pieces of `piece` bytes, n lines at a time, as a stream
 * does that keeps what was not consumed. */
static got feed(const char *input, size_t len, size_t piece, size_t n)
{
    got g = {.n = 0};
    um_lines lines = {.max = 8, .end = '\n', .take = take, .ctx = &g};
    uint8_t kept[100];
    size_t nkept = 0;

    for (size_t at = 0; at <= len; at += piece) {
        size_t some = len - at < piece ? len - at : piece;
        size_t used = 1;
        bool last = at + piece > len;

        assert_true(nkept + some <= sizeof kept);
        memcpy(kept + nkept, input + at, some);
        nkept += some;
        while (used) {
            used = um_lines_take(&lines, kept, nkept, n, last);
            assert_true(used <= nkept);
            nkept -= used;
            memmove(kept, kept + used, nkept);
        }
        assert_true(nkept <= lines.max + 1);
    }
    assert_int_equal(nkept, 0);
    return g;
}

static void lines_do_not_depend_on_the_pieces(void **state)
{
    static const char input[] = "a\n\nbc\r\n12345678\n12345678\r\n123456789\n"
                                "1234567890123456789012345\r\nlast";

    (void)state;
    for (size_t piece = 1; piece < sizeof input + 1; piece++)
        for (size_t n = 1; n < 4; n++) {
            got g = feed(input, sizeof input - 1, piece, n);
            assert_string_equal(g.text,
                                "[a][][bc][12345678][12345678][too long][too "
                                "long][last]");
            assert_int_equal(g.too_long, 2);
        }
}

static void an_end_within_a_long_line_is_answered(void **state)
{
    static const char input[] = "x\n123456789012345678901234567890";

    (void)state;
    for (size_t piece = 1; piece < sizeof input + 1; piece++)
        assert_string_equal(feed(input, sizeof input - 1, piece, 9).text,
                            "[x][too long]");
    assert_int_equal(feed("", 0, 1, 9).n, 0);
    assert_int_equal(feed("a\n", 2, 1, 9).n, 1);
}

static void every_text_has_a_verdict(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    um_question q = {.raw = false};
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    p.capacity = 1000;
    p.key_form = UMBEL_KEYS_HEX;
    umbel_filter *f = test_open(&p);
    assert_non_null(out);
    assert_ok(umbel_add(f, "\xC0\xFF\xEE", 3, NULL, &test_refusal));
    assert_int_equal(
        um_answer_line(&q, f, (umbel_slice){"C0ffee", 6}, '\n', out),
        UM_ANSWERED_YES);
    assert_int_equal(
        um_answer_line(&q, f, (umbel_slice){"C0ffef", 6}, '\n', out),
        UM_ANSWERED_NO);
    assert_int_equal(um_answer_line(&q, f, (umbel_slice){"c0f", 3}, '\n', out),
                     UM_ANSWERED_REFUSED);
    assert_int_equal(um_answer_json(&q, f, (umbel_slice){"c0ffee", 6}, out),
                     UM_ANSWERED_YES);
    assert_int_equal(um_answer_json(&q, f, (umbel_slice){"\xff", 1}, out),
                     UM_ANSWERED_REFUSED);
    fclose(out);
    assert_non_null(strstr(text, "1\tC0ffee\tC0ffee\n0\tC0ffef\t\n-\tc0f\t"));
    assert_non_null(strstr(text, "{\"key\": \"c0ffee\", \"match\": true, "
                                 "\"matched\": \"c0ffee\", \"form\": "
                                 "\"hex\"}{\"key_hex\": \"ff\", \"error\": "));
    free(text);
    um_question_fini(&q);
    umbel_close(f);
}

TEST_GROUP(answer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_do_not_depend_on_the_pieces),
        cmocka_unit_test(an_end_within_a_long_line_is_answered),
        cmocka_unit_test(every_text_has_a_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
