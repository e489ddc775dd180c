/*
 * trust.c - what a reader accepts: manifests, tags, admission.
 */
#include "support/reader.h"

#include "publish/manifest.h"

#include <umbel/describe.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Publishes again from serial 1, signed with key or unsigned. */
static void publish_anew(fixture *s, const uint8_t *key)
{
    test_store_remove(&s->pub.site, manifest);
    s->pub.what.sign_key = key;
    assert_ok(test_publish(&s->pub));
}

/* --- rejected manifests -----------------------------------------------------
 */

static void an_older_manifest_is_refused(void **state)
{
    fixture *s = *state;
    test_store older;

    test_store_copy(&older, &s->pub.site);
    test_publish_more(&s->pub, 5000, 1);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    s->server.site = &older;
    assert_refuses(s, UMBEL_E_REFUSED, "older");
    test_store_fini(&older);
}

/* A newer manifest counts even if its filter was never received. */
static void a_manifest_counts_as_seen_before_its_filter_comes(void **state)
{
    fixture *s = *state;
    test_store older;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    test_store_copy(&older, &s->pub.site);
    test_publish_more(&s->pub, 5000, 1);
    s->server.only = ".umd";
    s->server.cut = 1;
    assert_refuses(s, UMBEL_E_IO, "broke");
    s->server.site = &older;
    assert_refuses(s, UMBEL_E_REFUSED, "older");
    s->server.site = &s->pub.site;
    s->server.only = "nothing";
    assert_pulls(s, UMBEL_PULL_STEPS);
    test_store_fini(&older);
}

static void one_serial_has_one_filter(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    test_store_remove(&s->pub.site, manifest);
    test_publish_more(&s->pub, 5000, 1);
    assert_int_equal(s->pub.done.serial, 1);
    assert_refuses(s, UMBEL_E_REFUSED, "two manifests");
}

static void a_changed_manifest_is_refused(void **state)
{
    fixture *s = *state;
    size_t len = manifest_of(s)->len;

    for (size_t i = 0; i < len; i += 7) {
        manifest_of(s)->bytes[i] ^= 1;
        assert_true(pull(s) != UMBEL_OK);
        assert_int_equal(s->place.n, 0);
        manifest_of(s)->bytes[i] ^= 1;
    }
    assert_pulls(s, UMBEL_PULL_WHOLE);
}

static void a_manifest_that_is_cut_short_is_refused(void **state)
{
    fixture *s = *state;
    size_t len = manifest_of(s)->len;

    for (size_t i = 0; i < len; i++) {
        manifest_of(s)->len = i;
        assert_true(pull(s) != UMBEL_OK);
        assert_int_equal(s->place.n, 0);
    }
    manifest_of(s)->len = len;
    assert_pulls(s, UMBEL_PULL_WHOLE);
}

static void a_manifest_has_a_length(void **state)
{
    fixture *s = *state;
    char *junk = calloc(1, UM_MANIFEST_MAX + 1);

    assert_non_null(junk);
    test_store_write(&s->pub.site, manifest, junk, UM_MANIFEST_MAX);
    assert_refuses(s, UMBEL_E_FORMAT, "not a manifest");
    test_store_write(&s->pub.site, manifest, junk, UM_MANIFEST_MAX + 1);
    assert_refuses(s, UMBEL_E_LIMIT, "sends more than 32768 bytes");
    free(junk);
}

static void a_filter_has_a_gibibyte_by_default(void **state)
{
    um_manifest m = {.name = "words", .serial = 9};
    char text[UM_MANIFEST_MAX];
    fixture *s = *state;

    for (uint64_t more = 0; more < 2; more++) {
        m.filter.len = ((uint64_t)1 << 30) + more;
        m.serial += more;
        test_store_write(&s->pub.site, manifest, text,
                         um_manifest_write(&m, test_sign_key, text));
        assert_refuses(s, more ? UMBEL_E_REFUSED : UMBEL_E_IO,
                       more ? "the limit is 1073741824" : "not there");
    }
}

static void a_long_name_is_pulled(void **state)
{
    char name[UM_NAME_MAX + 1], url[256];
    fixture *s = *state;

    memset(name, 'a', UM_NAME_MAX);
    name[UM_NAME_MAX] = '\0';
    s->pub.what.name = name;
    assert_ok(test_publish(&s->pub));
    snprintf(url, sizeof url, "https://example.org/%s", name);
    s->params.url = url;
    open_puller(s);
    assert_pulls(s, UMBEL_PULL_WHOLE);
}

static void only_the_trusted_key_signs(void **state)
{
    fixture *s = *state;

    publish_anew(s, test_other_sign);
    assert_refuses(s, UMBEL_E_REFUSED, "another key");
    publish_anew(s, NULL);
    assert_refuses(s, UMBEL_E_REFUSED, "not signed");
    publish_anew(s, test_sign_key);
    assert_pulls(s, UMBEL_PULL_WHOLE);
}

static void the_first_key_is_trusted_from_then_on(void **state)
{
    fixture *s = *state;

    s->params.trust_key = NULL;
    open_puller(s);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_true(s->pulled.new_key);
    assert_pulls(s, UMBEL_PULL_CURRENT);
    assert_false(s->pulled.new_key);
    assert_ok(test_publish(&s->pub));
    publish_anew(s, test_other_sign);
    assert_refuses(s, UMBEL_E_REFUSED, "another key");
    /*
     * A trusted key given explicitly starts over, with its own serial numbers.
     */
    s->params.trust_key = test_other_key;
    open_puller(s);
    assert_pulls(s, UMBEL_PULL_CURRENT);
    assert_false(s->pulled.new_key);
}

static void an_unsigned_list_is_pulled_when_no_key_is_asked_for(void **state)
{
    fixture *s = *state;

    s->params.trust_key = NULL;
    open_puller(s);
    publish_anew(s, NULL);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_false(s->pulled.is_signed || s->pulled.new_key);
}

static void an_expired_manifest_is_refused(void **state)
{
    fixture *s = *state;

    s->pub.what.valid = 60;
    s->server.tags = true;
    assert_ok(test_publish(&s->pub));
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_int_equal(s->pulled.expires, TEST_NOW + 60);
    assert_ok(umbel_pull_round(s->puller, TEST_NOW + 60, NULL, &test_refusal));
    /* Also if the server answers "unchanged". */
    assert_refused(
        umbel_pull_round(s->puller, TEST_NOW + 61, NULL, &test_refusal),
        UMBEL_E_REFUSED, "expired 1 s ago");
    s->server.tags = false;
    assert_refused(umbel_pull_round(s->puller, TEST_NOW + 61 + 86400 * 3, NULL,
                                    &test_refusal),
                   UMBEL_E_REFUSED, "expired 3 days ago");
}

static void a_list_of_another_name_is_refused(void **state)
{
    fixture *s = *state;

    assert_pulls(s, UMBEL_PULL_WHOLE);
    s->pub.what.name = "other";
    assert_ok(test_publish(&s->pub));
    test_file *f = test_store_find(&s->pub.site, "other.manifest");
    test_store_write(&s->pub.site, manifest, f->bytes, f->len);
    assert_refuses(s, UMBEL_E_REFUSED, "asked for \"words\"");
    s->params.url = "https://example.org/lists/other.manifest";
    open_puller(s);
    assert_refuses(s, UMBEL_E_REFUSED, "the last pull was of");
}

/* --- tags -------------------------------------------------------------------
 */

static void unchanged_is_no_answer_to_other_questions(void **state)
{
    fixture *s = *state;

    s->server.tags = true;
    assert_pulls(s, UMBEL_PULL_WHOLE);
    /* Another key is required. */
    s->params.trust_key = test_other_key;
    open_puller(s);
    assert_refuses(s, UMBEL_E_REFUSED, "another key");
    /* The file was changed. */
    s->params.trust_key = test_trust_key;
    open_puller(s);
    test_store_find(&s->place, "")->bytes[300] ^= 1;
    assert_pulls(s, UMBEL_PULL_WHOLE);
    /* Admission also applies to an unchanged file. */
    s->wants.max_error = 1e-9;
    open_puller(s);
    assert_refuses(s, UMBEL_E_REFUSED, "not admitted");
}

static void a_change_is_seen_whatever_the_tag(void **state)
{
    fixture *s = *state;

    s->server.tags = true;
    assert_pulls(s, UMBEL_PULL_WHOLE);
    assert_int_equal(s->server.fresh, 1); /* the manifest, not the filter */
    test_publish_more(&s->pub, 5000, 1);
    assert_pulls(s, UMBEL_PULL_STEPS);
    s->server.tags = false;
    s->server.tag = "W/\"a ~\""; /* all allowed characters */
    test_publish_more(&s->pub, 5001, 1);
    assert_pulls(s, UMBEL_PULL_STEPS);
    assert_pulls(s, UMBEL_PULL_CURRENT);
    assert_int_equal(s->pulled.moved, 0);
}

static void unchanged_needs_a_tag(void **state)
{
    fixture *s = *state;

    s->server.unchanged = true;
    assert_refuses(s, UMBEL_E_FORMAT, "not a manifest");
    s->server.unchanged = false;
    assert_pulls(s, UMBEL_PULL_WHOLE);
    s->server.unchanged = true; /* without a tag there is nothing to compare */
    assert_refuses(s, UMBEL_E_FORMAT, "not a manifest");
}

static void odd_tags_are_forgotten(void **state)
{
    static const char *const tags[] = {"\nserial 9", "\"a\nserial 9\"",
                                       " \"a\"", "\"\x80\"", ""};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(tags); i++) {
        fixture *s = fixture_open();
        s->server.tag = tags[i];
        assert_pulls(s, UMBEL_PULL_WHOLE);
        assert_pulls(s, UMBEL_PULL_CURRENT);
        assert_true(s->pulled.moved > 0);
        fixture_close(s);
    }
}

/* --- admission --------------------------------------------------------------
 */

static void a_filter_that_errs_too_much_is_not_fetched_twice(void **state)
{
    fixture *s = *state;

    s->wants.max_error = 1e-9;
    open_puller(s);
    assert_refuses(s, UMBEL_E_REFUSED, "not admitted");
    uint64_t sent = s->server.sent;
    assert_refuses(s, UMBEL_E_REFUSED, "not admitted");
    assert_int_equal(s->server.sent, sent + manifest_of(s)->len);
    s->wants.max_error = 0;
    open_puller(s);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    /* Also for differences, and then the full file is not tried. */
    test_publish_more(&s->pub, 5000, 1);
    s->wants.max_error = 1e-9;
    open_puller(s);
    sent = s->server.sent;
    assert_refuses(s, UMBEL_E_REFUSED, "not admitted");
    assert_true(s->server.sent - sent < s->pub.done.bytes);
}

static void a_filter_that_is_too_large_is_not_fetched(void **state)
{
    fixture *s = *state;

    s->wants.max_bytes = s->pub.done.bytes - 1;
    open_puller(s);
    assert_refused_as(pull(s), UMBEL_E_REFUSED, UMBEL_D_BYTES_LIMIT,
                      "the limit is");
    assert_int_equal(s->server.requests, 1);
    s->wants.max_bytes++;
    open_puller(s);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    s->wants.max_bytes--;
    open_puller(s);
    assert_refused_as(pull(s), UMBEL_E_REFUSED, UMBEL_D_NONE, "allowed");
}

static void the_memory_limit_holds_by_every_route(void **state)
{
    fixture *s = *state;

    umbel_set_coded(s->pub.filter, true);
    assert_ok(test_publish(&s->pub));
    s->params.memory_limit = 1000;
    open_puller(s);
    assert_refused_as(pull(s), UMBEL_E_REFUSED, UMBEL_D_MEMORY_LIMIT,
                      "not admitted");
    s->params.memory_limit = 0;
    open_puller(s);
    assert_pulls(s, UMBEL_PULL_WHOLE);
    test_publish_more(&s->pub, 5000, 1);
    s->params.memory_limit = 1000;
    open_puller(s);
    assert_refused_as(pull(s), UMBEL_E_REFUSED, UMBEL_D_MEMORY_LIMIT,
                      "not admitted");
    /* Data makes the new filter larger than the old one. */
    uint8_t data[4096] = {1};
    s->params.memory_limit = 0;
    for (int coded = 0; coded < 2; coded++) {
        umbel_set_coded(s->pub.filter, coded);
        assert_ok(umbel_set_data(s->pub.filter, NULL, 0, &test_refusal));
        test_publish_more(&s->pub, 6000 + (uint64_t)coded, 1);
        open_puller(s);
        assert_ok(pull(s));
        size_t limit = umbel_cells(s->pub.filter) / 8 + 1000;
        assert_ok(
            umbel_set_data(s->pub.filter, data, sizeof data, &test_refusal));
        test_publish_more(&s->pub, 7000 + (uint64_t)coded, 1);
        s->params.memory_limit = limit;
        open_puller(s);
        uint64_t sent = s->server.sent;
        assert_refused_as(pull(s), UMBEL_E_REFUSED, UMBEL_D_MEMORY_LIMIT,
                          "not admitted");
        assert_true(s->server.sent - sent < s->pub.done.bytes);
        s->params.memory_limit = 0;
        open_puller(s);
        assert_pulls(s, UMBEL_PULL_STEPS);
    }
}

TEST_GROUP(trust)
{
    const struct CMUnitTest tests[] = {
        on_a_fixture(an_older_manifest_is_refused),
        on_a_fixture(a_manifest_counts_as_seen_before_its_filter_comes),
        on_a_fixture(one_serial_has_one_filter),
        on_a_fixture(a_changed_manifest_is_refused),
        on_a_fixture(a_manifest_that_is_cut_short_is_refused),
        on_a_fixture(a_manifest_has_a_length),
        on_a_fixture(a_filter_has_a_gibibyte_by_default),
        on_a_fixture(a_long_name_is_pulled),
        on_a_fixture(only_the_trusted_key_signs),
        on_a_fixture(the_first_key_is_trusted_from_then_on),
        on_a_fixture(an_unsigned_list_is_pulled_when_no_key_is_asked_for),
        on_a_fixture(an_expired_manifest_is_refused),
        on_a_fixture(a_list_of_another_name_is_refused),
        on_a_fixture(unchanged_is_no_answer_to_other_questions),
        on_a_fixture(a_change_is_seen_whatever_the_tag),
        on_a_fixture(unchanged_needs_a_tag),
        cmocka_unit_test(odd_tags_are_forgotten),
        on_a_fixture(a_filter_that_errs_too_much_is_not_fetched_twice),
        on_a_fixture(a_filter_that_is_too_large_is_not_fetched),
        on_a_fixture(the_memory_limit_holds_by_every_route),
    };

    return cmocka_run_group_tests(tests, test_create_keys, NULL);
}
