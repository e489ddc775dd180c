/* publish.c - a publisher, with a publish directory in memory. */
#include "filter/handle.h"
#include "support/exchange.h"
#include "support/retouching.h"

#include "publish/manifest.h"

#include <umbel/experimental/retouch.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static umbel_filter *open_filter(uint64_t capacity)
{
    umbel_params params = UMBEL_PARAMS_INIT;

    params.capacity = capacity;
    return test_open(&params);
}

static um_manifest manifest_of(test_publisher *s, const char *file)
{
    test_file *f = test_store_find(&s->site, file);
    um_manifest m;

    assert_non_null(f);
    assert_ok(um_manifest_read((char *)f->bytes, f->len, &m, &test_refusal));
    return m;
}

static void assert_blob(test_publisher *s, const um_blob *blob,
                        um_blob_kind kind)
{
    char name[UM_BLOB_NAME];
    uint8_t digest[UM_DIGEST_LEN];

    um_blob_name(blob, kind, name);
    test_file *f = test_store_find(&s->site, name);
    assert_non_null(f);
    assert_int_equal(f->len, blob->len);
    um_digest_parts(&(umbel_slice){f->bytes, f->len}, 1, digest);
    assert_memory_equal(digest, blob->digest, sizeof digest);
}

/* Asserts that everything the manifest names exists, undamaged. */
static void assert_whole(test_publisher *s)
{
    um_manifest m = manifest_of(s, "words.manifest");

    assert_blob(s, &m.filter, UM_BLOB_FILTER);
    for (size_t i = 0; i < m.nsteps; i++)
        assert_blob(s, &m.step[i].file, UM_BLOB_STEP);
}

static void the_first_edition_has_serial_1(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    assert_ok(test_publish(&s));
    assert_int_equal(s.done.serial, 1);
    assert_int_equal(s.done.bytes, umbel_encoded_len(s.filter));
    assert_int_equal(s.done.step_bytes, 0);
    assert_false(s.done.has_last || s.done.is_signed || s.done.unchanged);
    assert_string_equal(s.done.no_step.text, "");
    assert_string_equal(s.site.last_put, "words.manifest");
    assert_int_equal(s.site.n, 2);
    assert_whole(&s);
    test_publisher_close(&s);
}

static void the_next_edition_lists_a_difference(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    s.what.sign_key = test_sign_key;
    assert_ok(test_publish(&s));
    umbel_published first = s.done;
    test_publish_more(&s, 5000, 1);
    assert_int_equal(s.done.serial, 2);
    assert_int_equal(s.done.steps, 1);
    assert_true(s.done.step_bytes > 0 && s.done.step_bytes < s.done.bytes);
    assert_true(s.done.has_last && s.done.is_signed);
    assert_memory_equal(s.done.last, first.digest, sizeof first.digest);
    assert_string_equal(s.site.last_put, "words.manifest");
    assert_memory_equal(manifest_of(&s, "words.manifest").key, test_trust_key,
                        sizeof test_trust_key);
    assert_whole(&s);
    test_publisher_close(&s);
}

static void the_same_filter_again_says_so(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    assert_ok(test_publish(&s));
    size_t puts = s.site.puts;
    assert_ok(test_publish(&s));
    assert_int_equal(s.site.puts, puts + 1); /* the manifest */
    assert_true(s.done.unchanged);
    assert_int_equal(s.done.serial, 2);
    assert_int_equal(s.done.step_bytes, 0);
    assert_int_equal(s.site.n, 2);
    test_publisher_close(&s);
}

static void bytes_that_the_caller_has_are_published_as_they_are(void **state)
{
    test_publisher s;
    size_t len;

    (void)state;
    test_publisher_open(&s);
    for (int coded = 0; coded < 2; coded++) {
        umbel_set_coded(s.filter, coded);
        assert_ok(test_publish(&s));
        umbel_published encoded = s.done;
        uint8_t *bytes = test_encode(s.filter, &len);
        s.what.file = (umbel_slice){bytes, len};
        assert_ok(test_publish(&s));
        assert_true(s.done.unchanged);
        assert_memory_equal(s.done.digest, encoded.digest, UM_DIGEST_LEN);
        s.what.file = (umbel_slice){NULL, 0};
        free(bytes);
    }
    test_publisher_close(&s);
}

static void differences_are_kept_up_to_a_number(void **state)
{
    const umbel_publication unset = UMBEL_PUBLICATION_INIT;
    const struct {
        size_t keep, want;
    } rows[] = {{unset.keep, 16}, {2, 2}, {64, 19}, {0, 0}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        test_publisher s;
        test_publisher_open(&s);
        s.what.keep = rows[i].keep;
        for (uint64_t j = 0; j < 20; j++)
            test_publish_more(&s, 5000 + j, 1);
        assert_int_equal(s.done.steps, rows[i].want);
        assert_string_equal(s.done.no_step.text, "");
        assert_ok(umbel_publish_tidy(&s.ops, s.done.last, 1, &test_refusal));
        assert_int_equal(test_store_count(&s.site, ".umd"), rows[i].want);
        assert_whole(&s);
        s.what.keep = 1; /* even if nothing else changed */
        assert_ok(test_publish(&s));
        assert_true(s.done.unchanged && s.done.steps <= 1);
        test_publisher_close(&s);
    }
}

static void a_missing_difference_has_a_reason(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    assert_ok(test_publish(&s));
    /* A different shape. */
    umbel_filter *other = open_filter(3000);
    s.what.filter = other;
    assert_ok(test_publish(&s));
    assert_non_null(strstr(s.done.no_step.text, "differ in cells"));
    /* No keys in common. */
    test_add(other, 100000, 3000);
    assert_ok(test_publish(&s));
    assert_non_null(strstr(s.done.no_step.text, "too much has changed"));
    /* The last filter is lost, damaged, or too large. */
    test_add(other, 5000, 1);
    s.what.memory_limit = 100;
    assert_ok(test_publish(&s));
    assert_int_equal(s.done.no_step.status, UMBEL_E_LIMIT);
    s.what.memory_limit = 0;
    char name[UM_BLOB_NAME];
    um_manifest m = manifest_of(&s, "words.manifest");
    um_blob_name(&m.filter, UM_BLOB_FILTER, name);
    test_store_find(&s.site, name)->bytes[300] ^= 1;
    test_add(other, 5001, 1);
    assert_ok(test_publish(&s));
    assert_int_equal(s.done.no_step.status, UMBEL_E_CHECKSUM);
    m = manifest_of(&s, "words.manifest");
    um_blob_name(&m.filter, UM_BLOB_FILTER, name);
    test_store_remove(&s.site, name);
    test_add(other, 5002, 1);
    assert_ok(test_publish(&s));
    assert_int_equal(s.done.no_step.status, UMBEL_E_UNKNOWN);
    assert_int_equal(s.done.steps, 0);
    umbel_close(other);
    test_publisher_close(&s);
}

static void a_damaged_blob_is_replaced(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    assert_ok(test_publish(&s));
    test_store_ending(&s.site, ".umb")->bytes[300] ^= 1;
    assert_ok(test_publish(&s));
    assert_whole(&s);
    test_publisher_close(&s);
}

static void only_the_last_signer_publishes(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    assert_ok(test_publish(&s));
    s.what.sign_key = test_sign_key; /* after an unsigned one, any key */
    assert_ok(test_publish(&s));
    s.what.sign_key = test_other_sign;
    assert_refused(test_publish(&s), UMBEL_E_REFUSED, "another key");
    s.what.sign_key = NULL;
    assert_refused(test_publish(&s), UMBEL_E_REFUSED, "a key");
    assert_int_equal(manifest_of(&s, "words.manifest").serial, 2);
    test_publisher_close(&s);
}

static void an_expiry_that_is_gone_is_reported(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    s.what.valid = 60;
    assert_ok(test_publish(&s));
    assert_int_equal(s.done.expires, TEST_NOW + 60);
    assert_false(s.done.expiry_gone);
    s.what.valid = 0;
    assert_ok(test_publish(&s));
    assert_true(s.done.expiry_gone && s.done.expires == 0);
    assert_ok(test_publish(&s));
    assert_false(s.done.expiry_gone);
    s.what.valid = UINT64_MAX;
    assert_refused(test_publish(&s), UMBEL_E_RANGE, "expiry");
    test_publisher_close(&s);
}

static void publications_out_of_range_are_refused(void **state)
{
    static const char *const names[] = {"",    ".a",  "a.",
                                        "a/b", "a b", "a.manifest"};
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        s.what.name = names[i];
        assert_refused(test_publish(&s), UMBEL_E_RANGE, "name");
    }
    s.what.name = "words";
    s.what.keep = UMBEL_MAX_STEPS + 1;
    assert_refused(test_publish(&s), UMBEL_E_RANGE, "at most 64");
    s.what.keep = UMBEL_MAX_STEPS;
    s.what.size = 0;
    assert_refused(test_publish(&s), UMBEL_E_RANGE, "UMBEL_PUBLICATION_INIT");
    s.what.size = sizeof s.what;
    s.ops.put = NULL;
    assert_refused(test_publish(&s), UMBEL_E_RANGE, "store");
    assert_int_equal(s.site.n, 0);
    test_publisher_close(&s);
}

static void what_readers_refuse_is_not_published(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    test_add(s.filter, 1000, 99000);
    assert_refused_as(test_publish(&s), UMBEL_E_REFUSED, UMBEL_D_NOT_ADMITTED,
                      "readers would not");
    assert_int_equal(s.site.n, 0);
    s.what.force = true;
    assert_ok(test_publish(&s));
    test_publisher_close(&s);
}

static void a_manifest_that_is_wrong_stops_publishing(void **state)
{
    char text[UM_MANIFEST_MAX];
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    test_store_write(&s.site, "words.manifest", "mine", 4);
    assert_refused(test_publish(&s), UMBEL_E_FORMAT, "words.manifest: not a");
    um_manifest m = {.name = "other", .serial = 7};
    test_store_write(&s.site, "words.manifest", text,
                     um_manifest_write(&m, NULL, text));
    assert_refused(test_publish(&s), UMBEL_E_FORMAT, "manifest of \"other\"");
    snprintf(m.name, sizeof m.name, "words");
    m.serial = UINT64_MAX - 1;
    test_store_write(&s.site, "words.manifest", text,
                     um_manifest_write(&m, NULL, text));
    assert_refused(test_publish(&s), UMBEL_E_LIMIT, "too often");
    test_publisher_close(&s);
}

/* --- tidying ----------------------------------------------------------------
 */

static void tidying_keeps_what_is_named_and_what_was_replaced(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    for (uint64_t i = 0; i < 4; i++)
        test_publish_more(&s, 5000 + i, 1);
    assert_int_equal(test_store_count(&s.site, ".umb"), 4);
    assert_ok(umbel_publish_tidy(&s.ops, s.done.last, 1, &test_refusal));
    assert_int_equal(test_store_count(&s.site, ".umb"), 2);
    assert_whole(&s);
    assert_ok(umbel_publish_tidy(&s.ops, NULL, 0, &test_refusal));
    assert_int_equal(test_store_count(&s.site, ".umb"), 1);
    assert_int_equal(test_store_count(&s.site, ".umd"), 3);
    assert_whole(&s);
    test_publisher_close(&s);
}

static void tidying_keeps_many_files(void **state)
{
    uint8_t keep[2][UM_DIGEST_LEN];
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    s.what.keep = UMBEL_MAX_STEPS;
    for (uint64_t i = 0; i < UMBEL_MAX_STEPS + 2; i++) {
        test_publish_more(&s, 5000 + i, 1);
        memcpy(keep[i % 2], s.done.last, UM_DIGEST_LEN);
    }
    assert_ok(umbel_publish_tidy(&s.ops, keep[0], 2, &test_refusal));
    assert_int_equal(test_store_count(&s.site, ".umb"), 3);
    assert_int_equal(test_store_count(&s.site, ".umd"), UMBEL_MAX_STEPS);
    assert_whole(&s);
    s.ops.put = NULL;
    assert_refused(umbel_publish_tidy(&s.ops, NULL, 0, &test_refusal),
                   UMBEL_E_RANGE, "store");
    test_publisher_close(&s);
}

static void a_name_may_have_64_letters(void **state)
{
    char name[UM_NAME_MAX + 1], file[sizeof name + 9];
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    memset(name, 'a', UM_NAME_MAX);
    name[UM_NAME_MAX] = '\0';
    s.what.name = name;
    assert_ok(test_publish(&s));
    assert_ok(test_publish(&s));
    assert_int_equal(s.done.serial, 2);
    snprintf(file, sizeof file, "%s.manifest", name);
    assert_string_equal(s.site.last_put, file);
    test_publisher_close(&s);
}

static void tidying_removes_only_files_named_by_their_digest(void **state)
{
    char name[UM_BLOB_NAME];
    um_blob blob = {.len = 4};
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    assert_ok(test_publish(&s));
    um_digest_parts(&(umbel_slice){"mine", 4}, 1, blob.digest);
    um_blob_name(&blob, UM_BLOB_FILTER, name);
    test_store_write(&s.site, name, "mine", 4); /* old, and ours */
    blob.digest[0] ^= 1;
    um_blob_name(&blob, UM_BLOB_STEP, name);
    test_store_write(&s.site, name, "mine", 4);
    test_store_write(&s.site, "notes.umb", "mine", 4);
    test_store_write(&s.site, ".manifest", "mine", 4); /* without a name */
    assert_ok(umbel_publish_tidy(&s.ops, NULL, 0, &test_refusal));
    assert_int_equal(s.site.n, 5);
    assert_non_null(test_store_find(&s.site, name));
    assert_non_null(test_store_find(&s.site, "notes.umb"));
    test_publisher_close(&s);
}

static void an_unreadable_manifest_keeps_everything(void **state)
{
    test_publisher s;

    (void)state;
    test_publisher_open(&s);
    assert_ok(test_publish(&s));
    test_publish_more(&s, 5000, 1);
    size_t n = s.site.n;
    test_store_write(&s.site, "my.manifest", "mine", 4);
    assert_refused(umbel_publish_tidy(&s.ops, NULL, 0, &test_refusal),
                   UMBEL_E_FORMAT, "my.manifest: not a manifest");
    assert_int_equal(s.site.n, n + 1);
    test_publisher_close(&s);
}

/* --- a failing store --------------------------------------------------------
 */

static bool fails_at(size_t n, bool dead)
{
    test_publisher s;

    test_publisher_open(&s);
    s.what.sign_key = test_sign_key;
    assert_ok(test_publish(&s));
    test_add(s.filter, 5000, 1);
    s.site.calls = 0;
    s.site.fail_at = n;
    s.site.dead = dead;
    umbel_status status = test_publish(&s);
    if (status == UMBEL_OK)
        status = umbel_publish_tidy(&s.ops, s.done.last, 1, &test_refusal);
    bool reached = s.site.calls >= n;
    s.site.fail_at = 0;
    assert_false(s.site.locked);
    assert_whole(&s);
    assert_true(reached || status == UMBEL_OK);
    uint64_t serial = manifest_of(&s, "words.manifest").serial;
    assert_ok(test_publish(&s));
    assert_int_equal(s.done.serial, serial + 1);
    assert_whole(&s);
    test_publisher_close(&s);
    return reached;
}

static void a_store_may_fail_at_any_call(void **state)
{
    (void)state;
    for (int dead = 0; dead < 2; dead++) {
        size_t n = 1;
        while (fails_at(n, dead))
            n++;
        assert_true(n > 9);
    }
}

/* --- reported false positives -----------------------------------------------
 */

static void reported_keys_no_longer_match(void **state)
{
    umbel_params p = test_classic(20000, 4, 1);
    umbel_removed_reports t = {0};
    test_fixture s;

    (void)state;
    test_fixture_init(&s, &p, 2000, 3000, 0);
    bool *hit = malloc(s.never.n);
    assert_non_null(hit);
    size_t before = test_hits_of(s.f, &s.never, hit);
    assert_true(before > 0);
    assert_ok(umbel_remove_reported(s.f, &s.members, &s.never, NULL, &t,
                                    &test_refusal));
    assert_int_equal(t.matched, before);
    assert_int_equal(t.members, 0);
    assert_int_equal(test_hits_of(s.f, &s.never, hit), t.left);
    assert_true(t.left < before && t.lost <= 20);
    free(hit);
    test_fixture_fini(&s);
}

static void reported_members_stay(void **state)
{
    umbel_params p = test_classic(20000, 4, 1);
    umbel_removed_reports t = {0};
    umbel_digest reported[3];
    test_fixture s;

    (void)state;
    test_fixture_init(&s, &p, 2000, 3000, 0);
    memcpy(reported, s.members.digests, 3 * sizeof *reported);
    umbel_key_list list = UMBEL_KEY_LIST(reported, 3);
    assert_ok(
        umbel_remove_reported(s.f, &s.members, &list, NULL, &t, &test_refusal));
    assert_int_equal(t.members, 3);
    assert_int_equal(t.matched + t.lost + t.left, 0);
    test_assert_same_file(s.f, s.before);
    test_fixture_fini(&s);
}

/*
 * Members that share no cell with a reported key are only counted: none of them
 * is lost, and as many are lost as if all were given.
 */
static void bystanders_keep_their_cells(void **state)
{
    umbel_params p = test_classic(20000, 4, 1);
    umbel_retouch_params how = UMBEL_RETOUCH_INIT;
    umbel_retouch_result all;
    umbel_removed_reports t = {0};
    test_fixture s;

    (void)state;
    test_fixture_init(&s, &p, 2000, 400, 0);
    bool *hit = malloc(s.members.n);
    assert_non_null(hit);
    assert_ok(umbel_remove_reported(s.f, &s.members, &s.never, NULL, &t,
                                    &test_refusal));
    assert_int_equal(test_hits_of(s.f, &s.members, hit), 2000 - t.lost);
    assert_ok(umbel_retouch(s.before, &s.members, &s.never, &how, &all, NULL,
                            &test_refusal));
    assert_true(t.matched > 0 && t.lost <= 20);
    assert_int_equal(t.left, all.left);
    assert_int_equal(t.matched, all.matched);
    assert_near((double)t.lost, (double)all.lost, 2); /* ties */
    assert_int_equal(umbel_known_false_negatives(s.f), t.lost);
    free(hit);
    test_fixture_fini(&s);
}

/* Ten of 2,000 members change on the next day. */
static void a_filter_with_groups_is_built_like_the_last_edition(void **state)
{
    enum { N = 2000, CHANGED = 10 };
    umbel_params p = test_classic(20000, 4, 1);
    umbel_setting groups = {"groups", 2};
    umbel_removed_reports t = {0};
    umbel_filter *last = NULL;
    test_fixture s;

    (void)state;
    p.settings = &groups;
    p.nsettings = 1;
    test_fixture_init(&s, &p, N + CHANGED, 3000, 0);
    umbel_key_list day = UMBEL_KEY_LIST(s.members.digests, N);
    bool *hit = malloc(s.never.n);
    assert_non_null(hit);
    assert_ok(
        umbel_remove_reported(s.f, &day, &s.never, NULL, &t, &test_refusal));
    assert_true(t.rebuilt && t.matched > 0 && t.moved > 0);
    assert_int_equal(t.left + t.lost, 0);
    assert_int_equal(test_hits_of(s.f, &s.never, hit), 0);
    assert_int_equal(test_hits_of(s.f, &day, hit), N);
    last = s.f;
    assert_ok(umbel_copy(s.before, &s.f, &test_refusal));
    day = (umbel_key_list)UMBEL_KEY_LIST(s.members.digests + CHANGED, N);
    assert_ok(
        umbel_remove_reported(s.f, &day, &s.never, last, &t, &test_refusal));
    assert_int_equal(test_hits_of(s.f, &day, hit), N);
    assert_int_equal(t.left, 0);
    size_t changed = 0;
    for (size_t i = 0; i < s.f->payload_len; i++)
        changed +=
            (size_t)__builtin_popcount(s.f->payload[i] ^ last->payload[i]);
    assert_in_range(changed, 1, (size_t)2 * CHANGED * 4);
    free(hit);
    umbel_close(last);
    test_fixture_fini(&s);
}

TEST_GROUP(publish)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_edition_has_serial_1),
        cmocka_unit_test(the_next_edition_lists_a_difference),
        cmocka_unit_test(the_same_filter_again_says_so),
        cmocka_unit_test(bytes_that_the_caller_has_are_published_as_they_are),
        cmocka_unit_test(differences_are_kept_up_to_a_number),
        cmocka_unit_test(a_missing_difference_has_a_reason),
        cmocka_unit_test(a_damaged_blob_is_replaced),
        cmocka_unit_test(only_the_last_signer_publishes),
        cmocka_unit_test(an_expiry_that_is_gone_is_reported),
        cmocka_unit_test(publications_out_of_range_are_refused),
        cmocka_unit_test(what_readers_refuse_is_not_published),
        cmocka_unit_test(a_manifest_that_is_wrong_stops_publishing),
        cmocka_unit_test(tidying_keeps_what_is_named_and_what_was_replaced),
        cmocka_unit_test(tidying_keeps_many_files),
        cmocka_unit_test(a_name_may_have_64_letters),
        cmocka_unit_test(tidying_removes_only_files_named_by_their_digest),
        cmocka_unit_test(an_unreadable_manifest_keeps_everything),
        cmocka_unit_test(a_store_may_fail_at_any_call),
        cmocka_unit_test(reported_keys_no_longer_match),
        cmocka_unit_test(reported_members_stay),
        cmocka_unit_test(bystanders_keep_their_cells),
        cmocka_unit_test(a_filter_with_groups_is_built_like_the_last_edition),
    };

    return cmocka_run_group_tests(tests, test_create_keys, NULL);
}
