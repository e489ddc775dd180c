/*
 * question.c - what people write finds what filters store.
 */
#include "query/query.h"
#include "support/test.h"

#include <umbel/filter.h>

#include <string.h>

static umbel_filter *open_form(umbel_key_form form)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.capacity = 1000;
    p.key_form = form;
    return test_open(&p);
}

/* Asks, and returns what matched; NULL if nothing did. */
static const char *ask(um_question *q, const umbel_filter *f, const char *text)
{
    static char matched[300];
    um_question_answer answer;

    assert_ok(um_question_set(q, f, (umbel_slice){text, strlen(text)},
                              &test_refusal));
    assert_ok(um_question_ask(q, f, &answer, &test_refusal));
    assert_true(answer.matched.len < sizeof matched);
    memcpy(matched, answer.matched.data, answer.matched.len);
    matched[answer.matched.len] = 0;
    assert_true(answer.hit || !*matched);
    return answer.hit ? matched : NULL;
}

static void the_recorded_form_converts(void **state)
{
    um_question q = {.raw = false};
    umbel_filter *f = open_form(UMBEL_KEYS_HEX);

    (void)state;
    assert_ok(umbel_add(f, "\xC0\xFF\xEE", 3, NULL, &test_refusal));
    assert_string_equal(ask(&q, f, "C0ffee"), "C0ffee");
    assert_null(ask(&q, f, "C0ffef"));
    assert_refused(
        um_question_set(&q, f, (umbel_slice){"c0f", 3}, &test_refusal),
        UMBEL_E_KEY, "odd number");
    assert_int_equal(q.n, 0);
    q.raw = true;
    assert_string_equal(ask(&q, f, "\xC0\xFF\xEE"), "\xC0\xFF\xEE");
    assert_null(ask(&q, f, "C0ffee"));
    um_question_fini(&q);
    umbel_close(f);
}

static void a_long_question_is_asked(void **state)
{
    enum { LONG = 1000000 };
    char *text = malloc(LONG);
    um_question q = {.raw = false};
    umbel_filter *f = open_form(UMBEL_KEYS_FOLDED_TEXT);
    um_question_answer answer;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', LONG);
    assert_ok(umbel_add(f, text, LONG, NULL, &test_refusal));
    memset(text, 'X', LONG);
    assert_ok(um_question_set(&q, f, (umbel_slice){text, LONG}, &test_refusal));
    assert_ok(um_question_ask(&q, f, &answer, &test_refusal));
    assert_true(answer.hit);
    assert_null(ask(&q, f, ""));
    um_question_fini(&q);
    umbel_close(f);
    free(text);
}

TEST_GROUP(question)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_form_converts),
        cmocka_unit_test(a_long_question_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
