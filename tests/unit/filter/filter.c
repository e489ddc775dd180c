/*
 * filter.c - errors of the public verbs.
 *
 * tests/contract checks what they do when they succeed, for every kind.
 */
#include "support/test.h"

#include "base/batch.h"
#include "filter/handle.h"

#include <umbel/file.h>

#include <stdlib.h>
#include <string.h>

static umbel_filter *open_as(const char *addressing, const char *hash,
                             const uint8_t *secret)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.hash = hash;
    p.secret = secret;
    p.capacity = 1000;
    return test_open(&p);
}

static void defaults_need_a_size(void **state)
{
    umbel_filter *f = NULL;

    (void)state;
    assert_refused(umbel_create(NULL, NULL, &f, &test_refusal), UMBEL_E_RANGE,
                   "capacity");
    assert_null(f);
}

static void closing_nothing_is_fine(void **state)
{
    (void)state;
    umbel_close(NULL);
}

/*
 * Calls every verb that takes keys with a bad key in the last of three batches.
 */
static void a_refused_key_refuses_them_all(void **state)
{
    enum { N = 3 * UM_BATCH - 1 };
    umbel_filter *f = open_as("universal", NULL, NULL);
    char *keys = test_keys(0, N);
    umbel_slice *slices = test_slices(keys, N);
    bool touched[N] = {false};
    umbel_digest d[N] = {{0, 0}};

    (void)state;
    keys[(N - 1) * TEST_KEY_LEN] = 'x';
    assert_refused(umbel_add_many(f, slices, N, touched, &test_refusal),
                   UMBEL_E_KEY, "\"x");
    assert_refused(
        umbel_add_fixed(f, keys, TEST_KEY_LEN, N, touched, &test_refusal),
        UMBEL_E_KEY, "\"x");
    assert_int_equal(umbel_added(f), 0);
    assert_int_equal(test_hits(f, 0, N - 1), 0);
    test_add(f, 0, N - 1);
    assert_refused(umbel_query_many(f, slices, N, touched, &test_refusal),
                   UMBEL_E_KEY, "\"x");
    assert_refused(
        umbel_query_fixed(f, keys, TEST_KEY_LEN, N, touched, &test_refusal),
        UMBEL_E_KEY, "\"x");
    assert_refused(umbel_digest_many(f, slices, N, d, &test_refusal),
                   UMBEL_E_KEY, "\"x");
    assert_refused(
        umbel_digest_fixed(f, keys, TEST_KEY_LEN, N, d, &test_refusal),
        UMBEL_E_KEY, "\"x");
    for (size_t i = 0; i < N; i++)
        assert_false(touched[i] || d[i].lo); /* outputs are unchanged */
    umbel_close(f);
    free(slices);
    free(keys);
}

/* A file may claim any number of keys, so the count must not overflow. */
static void a_count_at_its_end_stays_there(void **state)
{
    umbel_filter *f = open_as(NULL, NULL, NULL);

    (void)state;
    f->added = UINT64_MAX - 5;
    test_add(f, 0, 100);
    assert_int_equal(umbel_added(f), UINT64_MAX);
    umbel_close(f);
}

static void no_keys_are_no_work(void **state)
{
    umbel_filter *f = open_as(NULL, NULL, NULL);

    (void)state;
    assert_ok(umbel_add_many(f, NULL, 0, NULL, &test_refusal));
    assert_ok(umbel_add_fixed(f, NULL, 8, 0, NULL, &test_refusal));
    assert_ok(umbel_add_digests(f, NULL, 0, NULL, &test_refusal));
    assert_ok(umbel_query_many(f, NULL, 0, NULL, &test_refusal));
    assert_ok(umbel_digest_many(f, NULL, 0, NULL, &test_refusal));
    assert_int_equal(umbel_added(f), 0);
    umbel_close(f);
}

/* With width 0, n keys are n times the empty key. */
static void keys_of_no_width_are_the_empty_key(void **state)
{
    umbel_filter *f = open_as(NULL, NULL, NULL);
    bool hit = false;

    (void)state;
    assert_ok(umbel_add_fixed(f, "", 0, 3, NULL, &test_refusal));
    assert_int_equal(umbel_added(f), 1);
    assert_ok(umbel_query(f, NULL, 0, &hit, &test_refusal));
    assert_true(hit);
    umbel_close(f);
}

static void unlocking_wants_the_right_secret(void **state)
{
    umbel_filter *f = open_as(NULL, "sip", test_secret), *locked = NULL;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    assert_ok(umbel_decode(bytes, len, NULL, &locked, &test_refusal));
    assert_refused(umbel_unlock(locked, test_other_secret, &test_refusal),
                   UMBEL_E_SECRET, "wrong secret");
    assert_refused(umbel_add(locked, "x", 1, NULL, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_ok(umbel_unlock(locked, test_secret, &test_refusal));
    assert_ok(umbel_add(locked, "x", 1, NULL, &test_refusal));
    free(bytes);
    umbel_close(f);
    umbel_close(locked);
}

static void a_wrong_secret_does_not_lock_an_open_filter(void **state)
{
    umbel_filter *f = open_as(NULL, "sip", test_secret);

    (void)state;
    test_add(f, 0, 10);
    assert_refused(umbel_unlock(f, test_other_secret, &test_refusal),
                   UMBEL_E_SECRET, "wrong secret");
    assert_int_equal(test_hits(f, 0, 10), 10);
    umbel_close(f);
}

static void unkeyed_filters_take_no_secret(void **state)
{
    umbel_filter *f = open_as(NULL, NULL, NULL);

    (void)state;
    assert_refused(umbel_unlock(f, test_secret, &test_refusal), UMBEL_E_SECRET,
                   "takes no secret");
    umbel_close(f);
}

/* Checks that different secrets and seeds set different cells. */
static void a_secret_changes_the_cells(void **state)
{
    umbel_filter *a = open_as(NULL, "sip", test_secret);
    umbel_filter *b = open_as(NULL, "sip", test_other_secret);

    (void)state;
    test_add(a, 0, 100);
    test_add(b, 0, 100);
    assert_true(umbel_payload_checksum(a) != umbel_payload_checksum(b));
    umbel_close(a);
    umbel_close(b);
}

/*
 * Allocates memory; search_and_put, which frees it, checks that it no longer
 * contains the bound secret.
 */
static void *plain_get(void *ctx, size_t align, size_t len)
{
    void *p = NULL;

    (void)ctx;
    return posix_memalign(&p, align, len) ? NULL : p;
}

static void search_and_put(void *ctx, void *memory, size_t len)
{
    const uint8_t *at = memory;

    for (size_t i = 0; i + UM_SECRET_LEN <= len; i++)
        assert_memory_not_equal(at + i, ctx, UM_SECRET_LEN);
    free(memory);
}

static void closing_wipes_the_secret(void **state)
{
    uint8_t bound[UM_SECRET_LEN];
    umbel_alloc alloc = {bound, plain_get, search_and_put};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *copy = NULL;

    (void)state;
    p.capacity = 10;
    p.hash = "sip";
    p.secret = test_secret;
    p.alloc = &alloc;
    umbel_filter *f = test_open(&p);
    memcpy(bound, f->hasher.secret->bytes, sizeof bound);
    assert_ok(umbel_copy(f, &copy, &test_refusal));
    umbel_close(f);
    umbel_close(copy);
}

static void the_tables_end(void **state)
{
    const char *name = "untouched";
    umbel_setting_info setting;

    (void)state;
    assert_false(umbel_kind_at(1000, &name, NULL));
    assert_false(umbel_addressing_at(1000, &name, NULL));
    assert_false(umbel_hash_at(1000, &name, NULL, NULL));
    assert_false(umbel_kind_setting("bloom", 1000, &setting));
    assert_false(umbel_kind_setting("nothing", 0, &setting));
    assert_string_equal(name, "untouched");
}

static void the_tables_tell_names_and_summaries(void **state)
{
    const char *name, *summary;
    bool keyed;

    (void)state;
    for (size_t i = 0; umbel_kind_at(i, &name, &summary); i++)
        assert_ptr_equal(name, um_kind_row(i)->name);
    for (size_t i = 0; umbel_addressing_at(i, &name, &summary); i++)
        assert_ptr_equal(summary, um_addressing_row(i)->summary);
    for (size_t i = 0; umbel_hash_at(i, &name, &summary, &keyed); i++)
        assert_int_equal(keyed, strcmp(name, "sip") == 0);
}

/* In a file a name has 16 bytes, the last of them zero. */
static void every_name_fits_the_wire(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; umbel_kind_at(i, &name, NULL); i++)
        assert_in_range(strlen(name), 1, 15);
    for (size_t i = 0; umbel_addressing_at(i, &name, NULL); i++)
        assert_in_range(strlen(name), 1, 15);
    for (size_t i = 0; umbel_hash_at(i, &name, NULL, NULL); i++)
        assert_in_range(strlen(name), 1, 15);
}

/* A description with too many fields is truncated, without overflow. */
static void too_many_fields_are_dropped(void **state)
{
    umbel_info info = {.n = 0};

    (void)state;
    for (uint64_t i = 0; i < 3 * UMBEL_MAX_FIELDS; i++)
        um_info_count(&info, "again", i);
    assert_true(info.n <= UMBEL_MAX_FIELDS);
    assert_int_equal(info.field[0].value.count, 0);
}

TEST_GROUP(filter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_need_a_size),
        cmocka_unit_test(closing_nothing_is_fine),
        cmocka_unit_test(a_refused_key_refuses_them_all),
        cmocka_unit_test(a_count_at_its_end_stays_there),
        cmocka_unit_test(no_keys_are_no_work),
        cmocka_unit_test(keys_of_no_width_are_the_empty_key),
        cmocka_unit_test(unlocking_wants_the_right_secret),
        cmocka_unit_test(a_wrong_secret_does_not_lock_an_open_filter),
        cmocka_unit_test(unkeyed_filters_take_no_secret),
        cmocka_unit_test(a_secret_changes_the_cells),
        cmocka_unit_test(closing_wipes_the_secret),
        cmocka_unit_test(the_tables_end),
        cmocka_unit_test(the_tables_tell_names_and_summaries),
        cmocka_unit_test(every_name_fits_the_wire),
        cmocka_unit_test(too_many_fields_are_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
