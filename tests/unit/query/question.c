/*
 * question.c - what people write finds what filters store.
 */
#include "base/rng.h"
#include "query/query.h"
#include "support/test.h"

#include <umbel/describe.h>
#include <umbel/estimate.h>
#include <umbel/filter.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
    umbel_close(f);
    q = (um_question){.unrecorded = UMBEL_KEYS_HEX};
    f = open_form(UMBEL_KEYS_UNRECORDED);
    assert_ok(umbel_add(f, "\xC0\xFF\xEE", 3, NULL, &test_refusal));
    assert_string_equal(ask(&q, f, "C0ffee"), "C0ffee");
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

/*
 * Every form: what is added through umbel_form_key is found by what people
 * write, and others match as predicted.
 */
enum { MEMBERS = 1000, OTHERS = 10000 };

static const struct form {
    umbel_key_form form;
    const char *member, *asked, *other; /* # is a number */
    unsigned keys;                      /* that a question of other asks */
} forms[] = {
    {UMBEL_KEYS_TEXT, "Key#", "Key#", "Other#", 1},
    {UMBEL_KEYS_HEX, "ab#", "AB#", "cd#", 1},
    {UMBEL_KEYS_FOLDED_TEXT, "key#", "KEY#", "Other#", 1},
    {UMBEL_KEYS_INTEGER, "1#", "1#", "2#", 1},
    {UMBEL_KEYS_SHA1, "Key#", "Key#", "Other#", 1},
    {UMBEL_KEYS_SHA256, "Key#", "Key#", "Other#", 1},
    {UMBEL_KEYS_MD5, "Key#", "Key#", "Other#", 1},
    {UMBEL_KEYS_NTLM, "Sch\xC3\xBCssel#", "Sch\xC3\xBCssel#", "Other#", 1},
    {UMBEL_KEYS_DOMAIN, "Name#.Example.", "www.x.NAME#.example", "a.b.other#",
     3},
    {UMBEL_KEYS_NETWORK, "2001:db8:#::1/48", "2001:db8:#:5::9", "fe80:#::1", 1},
};

/* Writes a text with the number of four digits at its #. */
static void write_text(char out[100], const char *text, unsigned number)
{
    size_t before = strcspn(text, "#");

    snprintf(out, 100, "%.*s%04u%s", (int)before, text, number,
             text + before + 1);
}

static void members_of_every_form_are_found(void **state)
{
    (void)state;
    for (const struct form *x = forms; x < forms + TEST_COUNT(forms); x++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        char text[100], space[UMBEL_FORM_SPACE(100)];
        char matched[UMBEL_MATCHED_LEN];
        size_t hits = 0;
        bool hit;

        p.capacity = MEMBERS;
        p.fpr = 0.02;
        p.key_form = x->form;
        if (x->form == UMBEL_KEYS_INTEGER)
            p.addressing = "universal";
        umbel_filter *f = test_open(&p);
        for (unsigned i = 0; i < MEMBERS; i++) {
            umbel_slice key;
            write_text(text, x->member, i);
            assert_ok(umbel_form_key(f, text, strlen(text), space, &key,
                                     &test_refusal));
            assert_ok(umbel_add(f, key.data, key.len, NULL, &test_refusal));
        }
        for (unsigned i = 0; i < MEMBERS; i++) {
            write_text(text, x->asked, i);
            assert_ok(
                umbel_ask(f, text, strlen(text), &hit, matched, &test_refusal));
            assert_true(hit);
        }
        for (unsigned i = 0; i < OTHERS; i++) {
            write_text(text, x->other, i);
            assert_ok(
                umbel_ask(f, text, strlen(text), &hit, NULL, &test_refusal));
            hits += hit;
        }
        double rate = um_question_error(umbel_predict(f), x->keys);
        double spread = 5 * sqrt(OTHERS * rate * (1 - rate)) + 1;
        assert_true(fabs((double)hits - OTHERS * rate) <= spread);
        umbel_close(f);
    }
}

/* A file may lie about its prefix lengths: a question stays bounded. */
static void a_question_has_at_most_129_keys(void **state)
{
    um_question q = {.raw = false};
    umbel_filter *f = open_form(UMBEL_KEYS_NETWORK);
    umbel_digest digest = {1, 2};
    um_question_answer answer;

    (void)state;
    assert_null(ask(&q, f, "192.0.2.1")); /* an empty filter has no length */
    assert_int_equal(q.n, 0);
    assert_ok(umbel_add(f, "\x08\x0A\0\0\0", 5, NULL, &test_refusal));
    assert_string_equal(ask(&q, f, "10.9.8.7"), "10.0.0.0/8");
    assert_int_equal(q.n, 1);
    assert_refused(umbel_add(f, "10.0.0.0/8", 10, NULL, &test_refusal),
                   UMBEL_E_KEY, "umbel_form_key");
    /* Digests do not show their prefix lengths: all are asked. */
    assert_ok(umbel_add_digests(f, &digest, 1, NULL, &test_refusal));
    assert_string_equal(ask(&q, f, "10.9.8.7"), "10.0.0.0/8");
    assert_int_equal(q.n, 33);
    assert_ok(um_question_set(&q, f, (umbel_slice){"::1", 3}, &test_refusal));
    assert_int_equal(q.n, 129);
    assert_ok(um_question_ask(&q, f, &answer, &test_refusal));
    um_question_fini(&q);
    umbel_close(f);
}

static void a_merge_has_the_prefix_lengths_of_both(void **state)
{
    um_question q = {.raw = false};
    umbel_filter *a = open_form(UMBEL_KEYS_NETWORK);
    umbel_filter *b = open_form(UMBEL_KEYS_NETWORK);

    (void)state;
    assert_ok(umbel_add(a, "\x08\x0A\0\0\0", 5, NULL, &test_refusal));
    assert_ok(umbel_add(b, "\x10\xC0\xA8\0\0", 5, NULL, &test_refusal));
    assert_null(ask(&q, a, "192.168.1.1"));
    assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
    assert_string_equal(ask(&q, a, "192.168.1.1"), "192.168.0.0/16");
    assert_string_equal(ask(&q, a, "10.1.1.1"), "10.0.0.0/8");
    um_question_fini(&q);
    umbel_close(a);
    umbel_close(b);
}

/* Returns true if text is a domain name, by the rules and not by the code. */
static bool is_name(const char *text, size_t len)
{
    size_t label = 0;

    for (size_t i = 0; i < len; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                    "0123456789-_.",
                    text[i]))
            return false;
        label = text[i] == '.' ? 0 : label + 1;
        if (label > 63 || (label == 0 && (i == 0 || text[i - 1] == '.')))
            return false;
    }
    return len > 0 && len <= 253 && label > 0;
}

/* Names of all lengths, with dots and other bytes at any place: bytes are
 * handled 8 at a time. */
static void names_are_lowered_and_taken_apart_at_their_dots(void **state)
{
    static const char alphabet[] = "azAZ09-_m.";
    um_question q = {.raw = false};
    umbel_filter *f = open_form(UMBEL_KEYS_DOMAIN);
    um_rng rng = {1};
    size_t names = 0;

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        size_t len = um_random_below(&rng, i % 2 ? 30 : 260);
        char *text = malloc(len + 1); /* a sanitizer sees what is read after */
        assert_non_null(text);
        for (size_t j = 0; j < len; j++)
            text[j] = alphabet[um_random_below(&rng, i % 3 ? 9 : 10)];
        if (len && i % 5 == 0)
            text[um_random_below(&rng, len)] = (char)(1 + i / 5 % 0x7F);
        text[len] = '\0';
        if (len > 1 && (text[0] == '.' || text[len - 1] == '.'))
            text[0] = text[len - 1] = 'x'; /* these dots have a meaning */
        umbel_status status =
            um_question_set(&q, f, (umbel_slice){text, len}, &test_refusal);
        assert_int_equal(status == UMBEL_OK, is_name(text, len));
        size_t at = 0;
        for (size_t j = 0; j < q.n; j++) {
            const char *key = q.key[j].data;
            assert_int_equal(q.key[j].len, len - at);
            for (size_t k = 0; k < len - at; k++)
                assert_int_equal(key[k], tolower(text[at + k]));
            at += strcspn(text + at, ".") + 1;
        }
        assert_int_equal(at, q.n ? len + 1 : 0);
        names += q.n > 0;
        free(text);
    }
    assert_in_range(names, 20000, 90000);
    um_question_fini(&q);
    umbel_close(f);
}

static void a_digest_is_asked_as_key_and_as_digest(void **state)
{
    static const char hex[] = "f3bbbd66a63d4bf1747940578ec3d0103530e21d";
    um_question q = {.raw = false};
    umbel_filter *f = open_form(UMBEL_KEYS_SHA1);
    umbel_slice key;
    char space[UMBEL_FORM_SPACE(sizeof hex)];

    (void)state;
    assert_ok(umbel_form_key(f, "hunter2", 7, space, &key, &test_refusal));
    assert_ok(umbel_add(f, key.data, key.len, NULL, &test_refusal));
    assert_string_equal(ask(&q, f, "hunter2"), "plain key");
    assert_int_equal(q.n, 1);
    assert_string_equal(ask(&q, f, hex), "digest");
    assert_int_equal(q.n, 2);
    assert_ok(umbel_form_key(f, hex, 40, space, &key, &test_refusal));
    assert_ok(umbel_add(f, key.data, key.len, NULL, &test_refusal));
    assert_string_equal(ask(&q, f, hex), "plain key"); /* a password, too */
    q.digests = true;
    assert_string_equal(ask(&q, f, hex), "digest");
    assert_refused(
        um_question_set(&q, f, (umbel_slice){"hunter2", 7}, &test_refusal),
        UMBEL_E_KEY, "40 hexadecimal digits");
    um_question_fini(&q);
    umbel_close(f);
}

/* Empty texts, and texts of a million bytes, in every form. */
static void any_length_is_answered_or_refused(void **state)
{
    enum { LONG = 1000000 };
    char *text = malloc(LONG);

    (void)state;
    assert_non_null(text);
    for (const struct form *x = forms; x < forms + TEST_COUNT(forms); x++)
        for (int byte = '1'; byte <= 0xC3; byte += 0xC3 - '1') {
            um_question q = {.raw = false};
            umbel_filter *f;
            umbel_params p = UMBEL_PARAMS_INIT;
            um_question_answer answer;
            umbel_error err;

            p.capacity = 10;
            p.key_form = x->form;
            if (x->form == UMBEL_KEYS_INTEGER)
                p.addressing = "universal";
            f = test_open(&p);
            memset(text, byte, LONG);
            for (size_t len = 0; len <= LONG; len += LONG) {
                umbel_status status =
                    um_question_set(&q, f, (umbel_slice){text, len}, &err);
                assert_true(status == UMBEL_OK || status == UMBEL_E_KEY);
                if (status == UMBEL_OK)
                    status = um_question_ask(&q, f, &answer, &err);
                assert_true(status == UMBEL_OK || status == UMBEL_E_KEY);
            }
            um_question_fini(&q);
            umbel_close(f);
        }
    free(text);
}

TEST_GROUP(question)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_form_converts),
        cmocka_unit_test(a_long_question_is_asked),
        cmocka_unit_test(members_of_every_form_are_found),
        cmocka_unit_test(a_question_has_at_most_129_keys),
        cmocka_unit_test(a_merge_has_the_prefix_lengths_of_both),
        cmocka_unit_test(names_are_lowered_and_taken_apart_at_their_dots),
        cmocka_unit_test(a_digest_is_asked_as_key_and_as_digest),
        cmocka_unit_test(any_length_is_answered_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
