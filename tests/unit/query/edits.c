/* edits.c - keys that are one edit away from a member. */
#include "support/test.h"

#include "query/query.h"

#include <stdlib.h>
#include <string.h>

static umbel_filter *filter_of(const char *const *words, size_t n)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = 1000;
    p.fpr = 1e-9;
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    for (size_t i = 0; i < n; i++)
        assert_ok(
            umbel_add(f, words[i], strlen(words[i]), NULL, &test_refusal));
    return f;
}

static bool is_near(const umbel_filter *f, const char *word)
{
    umbel_slice key = {word, strlen(word)};
    bool hit = false;

    assert_ok(um_query_edits(f, &key, &hit, &test_refusal));
    return hit;
}

static void one_edit_is_found_and_two_are_not(void **state)
{
    static const char *const words[] = {"password", "umbel", "a"};
    static const char *const near[] = {
        "passwrd",   "assword",  "passwor",   "passw0rd",
        "Password",  "passworD", "password1", "!password",
        "pass word", "umbe",     "umbels",    "umbal",
        "",          "b",        "ab",        "ba"};
    static const char *const far[] = {"pasword1", "drowssap", "passwrod", "umb",
                                      "umbelss",  "abc",      "bc"};
    umbel_filter *f = filter_of(words, TEST_COUNT(words));

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(near); i++)
        assert_true(is_near(f, near[i]));
    for (size_t i = 0; i < TEST_COUNT(far); i++)
        assert_false(is_near(f, far[i]));
    assert_false(is_near(f, "password")); /* no edit of it is a member */
    umbel_close(f);
}

/*
 * Checks the number of lookups by the formula: every neighbour is queried, and
 * no other key.
 */
static void lookups_are_as_many_as_the_formula_says(void **state)
{
    (void)state;
    assert_int_equal(um_edits_lookups(0), 95);
    assert_int_equal(um_edits_lookups(8), 8 + 8 * 94 + 9 * 95);
}

static void long_keys_are_refused(void **state)
{
    static char word[UM_EDITS_LONGEST + 1];
    umbel_filter *f = filter_of(NULL, 0);
    umbel_slice key = {word, sizeof word};
    bool hit;

    (void)state;
    memset(word, 'x', sizeof word);
    assert_refused(um_query_edits(f, &key, &hit, &test_refusal), UMBEL_E_KEY,
                   "257 bytes");
    key.len--;
    assert_ok(um_query_edits(f, &key, &hit, &test_refusal));
    assert_false(hit);
    umbel_close(f);
}

TEST_GROUP(edits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_edit_is_found_and_two_are_not),
        cmocka_unit_test(lookups_are_as_many_as_the_formula_says),
        cmocka_unit_test(long_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
