/*
 * key_form.c - keys as people write them find what filters store.
 */
#include "support/test.h"

#include <umbel/filter.h>

#include <string.h>

static umbel_filter *open_form(umbel_key_form form)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.capacity = 100;
    p.key_form = form;
    return test_open(&p);
}

static bool finds(const umbel_filter *f, const char *text)
{
    char space[100];
    umbel_slice key;
    bool hit;

    assert_true(strlen(text) <= sizeof space);
    assert_ok(
        umbel_form_key(f, text, strlen(text), space, &key, &test_refusal));
    assert_ok(umbel_query(f, key.data, key.len, &hit, &test_refusal));
    return hit;
}

static void digits_stand_for_bytes(void **state)
{
    umbel_filter *f = open_form(UMBEL_KEYS_HEX);

    (void)state;
    assert_ok(umbel_add(f, "\xC0\xFF\xEE", 3, NULL, &test_refusal));
    assert_ok(umbel_add(f, "", 0, NULL, &test_refusal));
    assert_true(finds(f, "c0ffee"));
    assert_true(finds(f, "C0FFee"));
    assert_true(finds(f, ""));
    assert_false(finds(f, "c0ffef"));
    umbel_close(f);
}

static void what_is_not_hexadecimal_is_refused(void **state)
{
    umbel_filter *f = open_form(UMBEL_KEYS_HEX);
    umbel_slice key = {"x", 1};
    char space[300], longest[300];

    (void)state;
    assert_refused(umbel_form_key(f, "c0ffe", 5, space, &key, &test_refusal),
                   UMBEL_E_KEY, "odd number");
    assert_refused(umbel_form_key(f, "c0ffes", 6, space, &key, &test_refusal),
                   UMBEL_E_KEY, "character 6");
    memset(longest, '\xFF', sizeof longest); /* no NUL at its end */
    assert_refused(
        umbel_form_key(f, longest, sizeof longest, space, &key, &test_refusal),
        UMBEL_E_KEY, "character 1");
    assert_int_equal(key.len, 1); /* untouched */
    umbel_close(f);
}

static void folded_text_has_no_case(void **state)
{
    umbel_filter *f = open_form(UMBEL_KEYS_FOLDED_TEXT);

    (void)state;
    assert_ok(umbel_add(f, "evil.example", 12, NULL, &test_refusal));
    assert_true(finds(f, "Evil.EXAMPLE"));
    assert_true(finds(f, "evil.example"));
    assert_false(finds(f, "Evil.EXAMPLf"));
    umbel_close(f);
}

static void keys_of_other_forms_stay_as_they_are(void **state)
{
    static const umbel_key_form forms[] = {UMBEL_KEYS_TEXT,
                                           UMBEL_KEYS_UNRECORDED};
    static const char text[] = "C0FFEE";

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(forms); i++) {
        umbel_filter *f = open_form(forms[i]);
        umbel_slice key;
        assert_ok(umbel_form_key(f, text, 6, NULL, &key, &test_refusal));
        assert_ptr_equal(key.data, text);
        assert_int_equal(key.len, 6);
        umbel_close(f);
    }
}

TEST_GROUP(key_form)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_stand_for_bytes),
        cmocka_unit_test(what_is_not_hexadecimal_is_refused),
        cmocka_unit_test(folded_text_has_no_case),
        cmocka_unit_test(keys_of_other_forms_stay_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
