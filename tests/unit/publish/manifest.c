/*
 * manifest.c - manifests as text, successor manifests, and how readers treat
 * them.
 */
#include "publish/manifest.h"
#include "support/test.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t secret[UMBEL_SIGN_KEY_LEN], other_secret[UMBEL_SIGN_KEY_LEN];
static uint8_t public_key[UMBEL_TRUST_KEY_LEN], other_key[UMBEL_TRUST_KEY_LEN];

static int create_keys(void **state)
{
    uint8_t seed[crypto_sign_SEEDBYTES] = {1};

    (void)state;
    crypto_sign_seed_keypair(public_key, secret, seed);
    seed[0] = 2;
    crypto_sign_seed_keypair(other_key, other_secret, seed);
    return 0;
}

static um_blob piece(const char *content, uint64_t len)
{
    um_blob p = {.len = len};

    um_digest_parts(&(umbel_slice){content, strlen(content)}, 1, p.digest);
    return p;
}

static um_manifest named(void)
{
    return (um_manifest){.name = "words"};
}

/* Publishes filters a, b, c, ... of 1000 bytes, with steps of 100 each. */
static um_manifest after(const char *editions, size_t keep)
{
    um_manifest m = named();

    for (const char *c = editions; *c; c++) {
        char step_name[3] = {'s', *c, 0}, name[2] = {*c, 0};
        um_blob step = piece(step_name, 100);
        um_edition e = {.filter = piece(name, 1000),
                        .step = &step,
                        .now = 1000 + m.serial,
                        .valid = 500,
                        .keep = keep};
        um_manifest next;
        um_manifest_next(&m, &e, &next);
        m = next;
    }
    return m;
}

static void assert_from(const um_manifest *m, size_t i, const char *filter)
{
    um_blob p = piece(filter, 0);

    assert_true(i < m->nsteps);
    assert_memory_equal(m->step[i].from, p.digest, UM_DIGEST_LEN);
}

static void what_is_written_is_read(void **state)
{
    const uint8_t *keys[] = {NULL, secret};
    char text[UM_MANIFEST_MAX], again[UM_MANIFEST_MAX];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(keys); i++) {
        um_manifest m = after("abcd", 16), back;
        size_t len = um_manifest_write(&m, keys[i], text);
        assert_ok(um_manifest_read(text, len, &back, &test_refusal));
        assert_int_equal(back.serial, 4);
        assert_int_equal(back.nsteps, 3);
        assert_true(back.is_signed == (keys[i] != NULL));
        assert_int_equal(um_manifest_write(&back, keys[i], again), len);
        assert_memory_equal(text, again, len);
    }
}

static void reports_are_kept_while_the_filter_is_the_same(void **state)
{
    um_manifest m = after("a", 16), next, back;
    um_edition e = {.filter = m.filter, .now = 1, .keep = 16, .reports = 17};
    char text[UM_MANIFEST_MAX];

    (void)state;
    um_manifest_next(&m, &e, &next);
    size_t len = um_manifest_write(&next, secret, text);
    assert_ok(um_manifest_read(text, len, &back, &test_refusal));
    assert_int_equal(back.reports, 17);
    e.reports = 0;
    um_manifest_next(&back, &e, &next);
    assert_int_equal(next.reports, 17);
    e.filter = piece("b", 1000);
    um_manifest_next(&back, &e, &next);
    assert_int_equal(next.reports, 0);
}

static void a_text_reads_as_documented(void **state)
{
    char text[UM_MANIFEST_MAX];
    um_manifest m = after("a", 16);
    size_t len = um_manifest_write(&m, NULL, text);

    (void)state;
    text[len] = '\0';
    assert_string_equal(text,
                        "umbel-manifest 1\nname words\nserial 1\nmade 1000\n"
                        "expires 1500\nfilter "
                        "8928aae63c84d87ea098564d1e03ad813f107add474e56aedd286"
                        "349c0c03ea4 1000\nunsigned\n");
}

/* Changes every byte to every value. */
static void no_other_text_is_taken(void **state)
{
    char text[UM_MANIFEST_MAX];
    um_manifest m = after("abc", 16), none;
    size_t len = um_manifest_write(&m, secret, text);

    (void)state;
    for (size_t i = 0; i < len; i++)
        for (unsigned flip = 1; flip < 256; flip <<= 1) {
            text[i] = (char)(text[i] ^ (int)flip);
            assert_int_not_equal(um_manifest_read(text, len, &none, NULL),
                                 UMBEL_OK);
            text[i] = (char)(text[i] ^ (int)flip);
        }
    for (size_t cut = 0; cut < len; cut++) {
        char *exact = malloc(cut ? cut : 1);
        memcpy(exact, text, cut);
        assert_int_not_equal(um_manifest_read(exact, cut, &none, NULL),
                             UMBEL_OK);
        free(exact);
    }
    memcpy(text + len, "\n", 1);
    assert_int_not_equal(um_manifest_read(text, len + 1, &none, NULL),
                         UMBEL_OK);
}

/* Without a signature, the format alone must reject these. */
static void unsigned_texts_have_one_form(void **state)
{
    static const char *const bad[] = {"serial 01",
                                      "serial 0",
                                      "serial +1",
                                      "serial  1",
                                      "serial 1 ",
                                      "serial -1",
                                      "serial 18446744073709551617",
                                      "serial one",
                                      "Serial 1"};
    um_manifest m = after("a", 16), none;
    char text[UM_MANIFEST_MAX], forged[2 * UM_MANIFEST_MAX];
    size_t len = um_manifest_write(&m, NULL, text);

    (void)state;
    text[len] = '\0';
    char *at = strstr(text, "serial 1");
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        int n = snprintf(forged, sizeof forged, "%.*s%s%s", (int)(at - text),
                         text, bad[i], at + strlen("serial 1"));
        assert_refused(
            um_manifest_read(forged, (size_t)n, &none, &test_refusal),
            UMBEL_E_FORMAT, "manifest");
    }
}

static void names_are_safe_in_paths(void **state)
{
    static const char *const fine[] = {"a", "words", "a.b-c_d", "2026"};
    static const char *const bad[] = {"",    ".",          "..",      "a/b",
                                      ".a",  "a.",         "-a",      "a b",
                                      "a\n", "a.manifest", "\xC3\xA4"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(fine); i++)
        assert_true(um_name_is_fine(fine[i], strlen(fine[i])));
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_false(um_name_is_fine(bad[i], strlen(bad[i])));
    assert_false(um_name_is_fine("a\0b", 3));
    char longest[UM_NAME_MAX + 1];
    memset(longest, 'a', sizeof longest);
    assert_true(um_name_is_fine(longest, UM_NAME_MAX));
    assert_false(um_name_is_fine(longest, UM_NAME_MAX + 1));
}

static void steps_are_listed_oldest_first_and_no_more_than_asked(void **state)
{
    um_manifest m = after("abcdef", 3);

    (void)state;
    assert_int_equal(m.nsteps, 3);
    assert_from(&m, 0, "c");
    assert_from(&m, 1, "d");
    assert_from(&m, 2, "e");
    assert_int_equal(after("abc", 0).nsteps, 0);
    char many[200];
    for (size_t i = 0; i < sizeof many - 1; i++)
        many[i] = (char)(i + 1);
    many[sizeof many - 1] = '\0';
    m = after(many, SIZE_MAX);
    assert_int_equal(m.nsteps, UMBEL_MAX_STEPS);
    char text[UM_MANIFEST_MAX];
    assert_true(um_manifest_write(&m, secret, text) < UM_MANIFEST_MAX - 1);
}

static void a_filter_that_returns_is_reached_without_a_loop(void **state)
{
    um_manifest m = after("abcb", 16), back;
    char text[UM_MANIFEST_MAX];

    (void)state;
    assert_int_equal(m.nsteps, 1); /* from c */
    assert_from(&m, 0, "c");
    size_t len = um_manifest_write(&m, NULL, text);
    assert_ok(um_manifest_read(text, len, &back, &test_refusal));
}

static void the_same_filter_again_is_a_new_serial_only(void **state)
{
    um_manifest m = after("abb", 16);

    (void)state;
    assert_int_equal(m.serial, 3);
    assert_int_equal(m.nsteps, 1);
    assert_int_equal(m.expires, 1002 + 500);
}

static void readers_take_the_cheaper_way(void **state)
{
    um_manifest m = after("abcdefghijklmn", 16);
    um_blob a = piece("a", 0), k = piece("k", 0), n = piece("n", 0);
    um_blob strange = piece("strange", 0);

    (void)state;
    assert_true(um_route_from(&m, n.digest).current);
    um_route r = um_route_from(&m, k.digest);
    assert_true(r.by_steps && r.bytes == 300);
    assert_int_equal(r.first, m.nsteps - 3);
    r = um_route_from(&m, a.digest); /* 13 steps of 100: more than 1000 */
    assert_true(!r.by_steps && !r.current && r.bytes == 1000);
    assert_false(um_route_from(&m, strange.digest).by_steps);
    assert_false(um_route_from(&m, NULL).by_steps);
    /* Ten steps are as long as the file, nine are shorter. */
    um_blob d = piece("d", 0), e = piece("e", 0);
    assert_false(um_route_from(&m, d.digest).by_steps);
    assert_true(um_route_from(&m, e.digest).by_steps);
    m = after("abc", 16);
    assert_false(um_route_from(&m, strange.digest).by_steps);
}

/* Lengths in a forged manifest must not wrap around. */
static void huge_steps_are_no_bargain(void **state)
{
    um_manifest m = after("abc", 16);
    um_blob a = piece("a", 0);

    (void)state;
    m.step[0].file.len = UINT64_MAX - 50;
    m.step[1].file.len = 100;
    assert_false(um_route_from(&m, a.digest).by_steps);
}

static umbel_status judge(const um_manifest *m, const um_manifest *last,
                          const uint8_t *trust, uint64_t now)
{
    um_update_policy terms = {.name = "words", .trust = trust, .now = now};
    return um_policy_check(m, last, &terms, &test_refusal);
}

static um_manifest signed_by(const char *editions, const uint8_t *key)
{
    char text[UM_MANIFEST_MAX];
    um_manifest m = after(editions, 16);

    um_manifest_write(&m, key, text);
    return m;
}

static void readers_believe_what_is_signed_new_and_not_expired(void **state)
{
    um_manifest m = signed_by("abc", secret), older = signed_by("ab", secret);
    um_manifest plain = signed_by("abc", NULL);
    um_manifest foreign = signed_by("abc", other_secret);
    um_manifest twin = signed_by("abd", secret);
    um_manifest none = {.serial = 0}, last = m;

    (void)state;
    assert_ok(judge(&m, &none, public_key, 1100));
    assert_ok(judge(&m, &last, NULL, 1502));
    assert_ok(judge(&plain, &none, NULL, 1100));
    assert_refused(judge(&m, &none, public_key, 1503), UMBEL_E_REFUSED,
                   "expired 1 s ago");
    assert_refused_as(judge(&older, &last, public_key, 1100), UMBEL_E_REFUSED,
                      UMBEL_D_STATE, "serial 2 after 3");
    assert_refused(judge(&twin, &last, public_key, 1100), UMBEL_E_REFUSED,
                   "different filters");
    assert_refused_as(judge(&foreign, &none, public_key, 1100), UMBEL_E_REFUSED,
                      UMBEL_D_OTHER_KEY, "another key");
    assert_refused(judge(&foreign, &last, NULL, 1100), UMBEL_E_REFUSED,
                   "another key");
    assert_refused(judge(&plain, &last, NULL, 1100), UMBEL_E_REFUSED,
                   "not signed");
    assert_refused(judge(&plain, &none, public_key, 1100), UMBEL_E_REFUSED,
                   "not signed");
}

/* One key signs many lists: none may replace another. */
static void readers_get_the_list_they_asked_for(void **state)
{
    um_manifest m = signed_by("abc", secret), other = m;
    um_manifest none = {.serial = 0}, last;

    (void)state;
    snprintf(other.name, sizeof other.name, "others");
    assert_refused(judge(&other, &none, public_key, 1100), UMBEL_E_REFUSED,
                   "asked for \"words\", got the manifest of \"others\"");
    last = other;
    assert_refused_as(judge(&m, &last, public_key, 1100), UMBEL_E_REFUSED,
                      UMBEL_D_STATE, "the last pull was of \"others\"");
}

/* A publisher who lost the key or the directory starts with serial 1 again. */
static void a_key_that_is_named_begins_anew(void **state)
{
    um_manifest before = signed_by("abc", secret);
    um_manifest plain = signed_by("abc", NULL);
    um_manifest now = signed_by("d", other_secret);
    um_manifest last = before, loose = plain;

    (void)state;
    assert_ok(judge(&now, &last, other_key, 1100));
    assert_ok(judge(&now, &loose, other_key, 1100));
    assert_refused(judge(&now, &loose, NULL, 1100), UMBEL_E_REFUSED,
                   "serial 1 after 3");
    last = now;
    assert_refused(judge(&before, &last, other_key, 1100), UMBEL_E_REFUSED,
                   "another key");
}

/*
 * "Unchanged" is valid only for a reader that has the list and key it asks for.
 */
static void a_memory_fits_its_name_and_key(void **state)
{
    um_manifest m = signed_by("abc", secret), plain = signed_by("abc", NULL);
    um_manifest last = m, loose = plain, none = {0};
    um_update_policy any = {.name = "words"};
    um_update_policy ours = {.name = "words", .trust = public_key};
    um_update_policy theirs = {.name = "words", .trust = other_key};
    um_update_policy elsewhere = {.name = "others"};

    (void)state;
    assert_true(um_policy_unchanged(&last, &any) &&
                um_policy_unchanged(&last, &ours));
    assert_true(um_policy_unchanged(&loose, &any));
    assert_false(um_policy_unchanged(&last, &theirs));
    assert_false(um_policy_unchanged(&loose, &ours));
    assert_false(um_policy_unchanged(&last, &elsewhere));
    assert_false(um_policy_unchanged(&none, &any));
}

/* A serial without a successor would lock readers out for ever. */
static void the_last_serial_is_never_reached(void **state)
{
    char text[UM_MANIFEST_MAX];
    um_manifest m = after("a", 16), none;

    (void)state;
    m.serial = UINT64_MAX - 1;
    size_t len = um_manifest_write(&m, secret, text);
    assert_ok(um_manifest_read(text, len, &none, &test_refusal));
    m.serial = UINT64_MAX;
    len = um_manifest_write(&m, secret, text);
    assert_refused(um_manifest_read(text, len, &none, &test_refusal),
                   UMBEL_E_FORMAT, "damaged");
}

static void a_memory_is_read_as_it_was_written(void **state)
{
    um_manifest m = signed_by("abc", secret), plain = signed_by("a", NULL);
    const um_manifest *of[] = {&m, &plain};
    char text[UM_PULL_STATE_MAX], again[UM_PULL_STATE_MAX];

    (void)state;
    for (size_t i = 0; i < 2 * TEST_COUNT(of); i++) {
        um_manifest back;
        const char *sent = i % 2 ? "" : "\"a tag\"";
        char tag[UMBEL_MAX_TAG] = "other";
        bool due = i >= 2, is_due;
        size_t plain_len = um_pull_state_write(of[i % 2], sent, false, text);
        size_t len = um_pull_state_write(of[i % 2], sent, due, text);
        assert_ok(
            um_pull_state_read(text, len, &back, tag, &is_due, &test_refusal));
        assert_string_equal(tag, sent);
        assert_int_equal(is_due, due);
        assert_int_equal(um_pull_state_write(&back, tag, due, again), len);
        assert_memory_equal(text, again, len);
        for (size_t cut = 0; cut < len; cut++)
            if (cut != plain_len)
                assert_int_equal(
                    um_pull_state_read(text, cut, &back, tag, &is_due, NULL),
                    UMBEL_E_FORMAT);
    }
}

TEST_GROUP(manifest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(reports_are_kept_while_the_filter_is_the_same),
        cmocka_unit_test(a_text_reads_as_documented),
        cmocka_unit_test(no_other_text_is_taken),
        cmocka_unit_test(unsigned_texts_have_one_form),
        cmocka_unit_test(names_are_safe_in_paths),
        cmocka_unit_test(steps_are_listed_oldest_first_and_no_more_than_asked),
        cmocka_unit_test(a_filter_that_returns_is_reached_without_a_loop),
        cmocka_unit_test(the_same_filter_again_is_a_new_serial_only),
        cmocka_unit_test(readers_take_the_cheaper_way),
        cmocka_unit_test(huge_steps_are_no_bargain),
        cmocka_unit_test(readers_believe_what_is_signed_new_and_not_expired),
        cmocka_unit_test(readers_get_the_list_they_asked_for),
        cmocka_unit_test(a_key_that_is_named_begins_anew),
        cmocka_unit_test(a_memory_fits_its_name_and_key),
        cmocka_unit_test(the_last_serial_is_never_reached),
        cmocka_unit_test(a_memory_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, create_keys, NULL);
}
