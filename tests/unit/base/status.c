/*
 * status.c - statuses, their texts, and error messages (error.c).
 */
#include "support/test.h"

#include "base/error.h"

#include <umbel/file.h>

#include <errno.h>
#include <stdlib.h>
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

static void a_text_that_is_cut_ends_with_dots(void **state)
{
    umbel_error err;
    char word[sizeof err.text];

    (void)state;
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    um_set_error(&err, UMBEL_E_RANGE, "%s", word);
    assert_string_equal(err.text, word);
    um_set_error(&err, UMBEL_E_RANGE, "%sy", word);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 5, "x...");
    word[sizeof word - 9] = '\0';
    errno = ENOENT;
    um_set_errno(&err, "%s", word);
    assert_string_equal(err.text + sizeof err.text - 4, "...");
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

static void a_detail_goes_with_its_failure(void **state)
{
    umbel_error err;

    (void)state;
    assert_int_equal(um_fail_detail(&err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
                                    "%d bytes", 7),
                     UMBEL_E_LIMIT);
    assert_int_equal(err.detail, UMBEL_D_MEMORY_LIMIT);
    assert_int_equal(um_name_file(UMBEL_E_LIMIT, "here", &err), UMBEL_E_LIMIT);
    assert_string_equal(err.text, "here: 7 bytes");
    assert_int_equal(err.detail, UMBEL_D_MEMORY_LIMIT);
    um_set_error(&err, UMBEL_E_KEY, "the next one has none");
    assert_int_equal(err.detail, UMBEL_D_NONE);
    um_set_detail(NULL, UMBEL_D_COMPRESSED);
    assert_int_equal(um_name_file(UMBEL_E_KEY, "here", NULL), UMBEL_E_KEY);
}

static umbel_filter *open_keyed(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.cells = 4096;
    p.hash = "sip";
    p.secret = test_secret;
    return test_open(&p);
}

static void a_missing_secret_and_a_wrong_one_differ(void **state)
{
    umbel_filter *f = open_keyed(), *locked = NULL, *none = NULL;
    umbel_params p = UMBEL_PARAMS_INIT;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    assert_ok(umbel_decode(bytes, len, NULL, &locked, &test_refusal));
    assert_refused_as(umbel_add(locked, "a", 1, NULL, &test_refusal),
                      UMBEL_E_SECRET, UMBEL_D_SECRET_MISSING, "give that key");
    assert_refused_as(umbel_unlock(locked, test_other_secret, &test_refusal),
                      UMBEL_E_SECRET, UMBEL_D_SECRET_WRONG, "wrong secret");
    p.cells = 4096;
    p.hash = "sip";
    assert_refused_as(umbel_create("bloom", &p, &none, &test_refusal),
                      UMBEL_E_SECRET, UMBEL_D_SECRET_MISSING, "needs a secret");
    p.hash = "xxh3-64";
    p.secret = test_secret;
    assert_refused_as(umbel_create("bloom", &p, &none, &test_refusal),
                      UMBEL_E_SECRET, UMBEL_D_NONE, "takes no secret");
    free(bytes);
    umbel_close(f);
    umbel_close(locked);
}

/* Decodes bytes and loads files, raw and coded. */
static void the_memory_limit_has_a_detail_everywhere(void **state)
{
    umbel_filter *f = open_keyed(), *out = NULL;
    umbel_source source = UMBEL_SOURCE_INIT;
    char *dir = test_dir_make(), *path = test_path(dir, "f.umb");
    size_t len;
    uint8_t *bytes;

    (void)state;
    source.memory_limit = 100;
    for (int coded = 0; coded < 2; coded++) {
        umbel_set_coded(f, coded != 0);
        bytes = test_encode(f, &len);
        assert_refused_as(
            umbel_decode(bytes, len, &source, &out, &test_refusal),
            UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT, "the limit is 100");
        free(bytes);
        assert_ok(umbel_save(f, path, &test_refusal));
        assert_refused_as(umbel_load(path, &source, &out, &test_refusal),
                          UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT, "f.umb: ");
    }
    umbel_close(f);
    free(path);
    test_dir_remove(dir);
}

TEST_GROUP(status)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name_and_a_text),
        cmocka_unit_test(an_unlisted_status_still_has_words),
        cmocka_unit_test(the_version_has_three_numbers),
        cmocka_unit_test(a_failure_fills_the_callers_error),
        cmocka_unit_test(a_text_that_is_cut_ends_with_dots),
        cmocka_unit_test(nobody_has_to_ask_for_the_text),
        cmocka_unit_test(texts_cannot_steer_a_terminal),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
        cmocka_unit_test(system_errors_bring_their_reason),
        cmocka_unit_test(a_detail_goes_with_its_failure),
        cmocka_unit_test(a_missing_secret_and_a_wrong_one_differ),
        cmocka_unit_test(the_memory_limit_has_a_detail_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
