/*
 * guava.c - files of Guava's BloomFilter. tests/systems/guava compares with
 * Guava itself.
 */
#include "support/test.h"

#include <umbel/describe.h>
#include <umbel/estimate.h>
#include <umbel/foreign.h>

#include <stdlib.h>
#include <string.h>

/*
 * What Guava 31.1 writes for foo, bar and baz in a filter for 10 keys at 1 %:
 * MURMUR128_MITZ_32, then MURMUR128_MITZ_64.
 */
enum { LEN = 22 };
static const uint8_t published[2][LEN] = {
    {
        0x00, 0x07, 0x00, 0x00, 0x00, 0x02, 0x44, 0x10, 0x00, 0x41, 0x02,
        0x10, 0x00, 0x00, 0x49, 0x01, 0x0C, 0x00, 0x00, 0x00, 0x04, 0x94,
    },
    {
        0x01, 0x07, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x41, 0x04, 0x10,
        0x41, 0x0C, 0x10, 0x20, 0x40, 0x81, 0x02, 0x00, 0x00, 0x00, 0x10,
    },
};
static const char *const addressings[] = {"guava32", "guava"};

static umbel_status import(const uint8_t *bytes, size_t len, umbel_filter **f)
{
    /* Exact length, so that sanitizers detect reads past its end. */
    uint8_t *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    umbel_status status =
        umbel_import("guava", copy, len, NULL, f, &test_refusal);
    free(copy);
    return status;
}

/* Returns f as a file of Guava. Free it. */
static uint8_t *exported(const umbel_filter *f, size_t *len)
{
    char *dir = test_dir_make(), *path = test_path(dir, "f.bloom");
    uint64_t said;

    assert_ok(umbel_export(f, "guava", path, &test_refusal));
    uint8_t *bytes = test_read_file(path, len);
    assert_ok(umbel_export_len(f, "guava", &said, &test_refusal));
    assert_int_equal(said, *len);
    free(path);
    test_dir_remove(dir);
    return bytes;
}

static void the_same_keys_give_the_published_files(void **state)
{
    static const char *const words[] = {"foo", "bar", "baz"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(addressings); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        size_t len;
        p.addressing = addressings[i];
        p.capacity = 10;
        p.fpr = 0.01;
        umbel_filter *f = test_open(&p);
        for (size_t j = 0; j < TEST_COUNT(words); j++)
            assert_ok(umbel_add(f, words[j], 3, NULL, &test_refusal));
        uint8_t *bytes = exported(f, &len);
        assert_int_equal(len, LEN);
        assert_memory_equal(bytes, published[i], LEN);
        free(bytes);
        umbel_close(f);
    }
}

static void published_files_are_read_and_written_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(addressings); i++) {
        umbel_filter *f;
        size_t len;
        bool hit;
        assert_ok(import(published[i], LEN, &f));
        assert_in_range(umbel_added(f), 2, 4); /* estimated */
        assert_int_equal(umbel_key_form_of(f), UMBEL_KEYS_UNRECORDED);
        assert_ok(umbel_query(f, "baz", 3, &hit, &test_refusal));
        assert_true(hit);
        assert_ok(umbel_query(f, "boo", 3, &hit, &test_refusal));
        assert_false(hit);
        uint8_t *bytes = exported(f, &len);
        assert_int_equal(len, LEN);
        assert_memory_equal(bytes, published[i], LEN);
        free(bytes);
        umbel_close(f);
    }
}

static void every_other_length_is_refused(void **state)
{
    uint8_t longer[LEN + 1] = {0};
    umbel_filter *none = NULL;

    (void)state;
    for (size_t cut = 0; cut < LEN; cut++)
        assert_int_equal(import(published[1], cut, &none), UMBEL_E_FORMAT);
    memcpy(longer, published[1], LEN);
    assert_refused(import(longer, LEN + 1, &none), UMBEL_E_FORMAT, "follows");
    assert_null(none);
}

static void heads_that_cannot_be_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } bad[] = {{0, 2}, {0, 0xFF}, {1, 0}, {1, 65}, {2, 0x80}, {5, 0}, {5, 3}};
    umbel_filter *none = NULL;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        uint8_t bytes[LEN];
        memcpy(bytes, published[1], LEN);
        bytes[bad[i].at] = bad[i].value;
        assert_int_equal(import(bytes, LEN, &none), UMBEL_E_FORMAT);
    }
    assert_null(none);
}

/* Strategy 32 reaches 2^31 cells; its head may promise more. */
static void
a_head_of_more_cells_than_memory_is_refused_unallocated(void **state)
{
    static const uint8_t heads[2][8] = {{0, 7, 0x7F, 0xFF, 0xFF, 0xFF},
                                        {1, 7, 0x7F, 0xFF, 0xFF, 0xFF}};
    umbel_filter *none = NULL;
    uint64_t least = 0;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(heads); i++) {
        assert_int_equal(import(heads[i], sizeof heads[i], &none),
                         UMBEL_E_FORMAT);
        assert_ok(umbel_import_len("guava", heads[i], sizeof heads[i], &least,
                                   &test_refusal));
        assert_true(least == 6 + 8 * (uint64_t)INT32_MAX);
    }
    assert_null(none);
}

static void a_full_file_is_read(void **state)
{
    uint8_t bytes[LEN];
    umbel_filter *f;
    bool hit;

    (void)state;
    memset(bytes, 0xFF, sizeof bytes);
    memcpy(bytes, published[1], 6);
    assert_ok(import(bytes, LEN, &f));
    assert_int_equal(umbel_added(f), umbel_cells(f));
    assert_ok(umbel_query(f, "any", 3, &hit, &test_refusal));
    assert_true(hit);
    umbel_close(f);
}

static void what_the_format_cannot_say_is_not_written(void **state)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f, *none = NULL;

    (void)state;
    p.capacity = 1000;
    f = test_open(&p);
    assert_refused(umbel_export(f, "guava", "never", &test_refusal),
                   UMBEL_E_UNSUPPORTED, "--addressing guava");
    umbel_close(f);
    assert_ok(import(published[1], LEN, &f));
    assert_ok(umbel_set_data(f, "note", 4, &test_refusal));
    assert_refused(umbel_export(f, "guava", "never", &test_refusal),
                   UMBEL_E_UNSUPPORTED, "/dev/null");
    umbel_close(f);
    source.memory_limit = LEN - 1;
    assert_refused_as(
        umbel_import("guava", published[1], LEN, &source, &none, &test_refusal),
        UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT, "the limit is");
    assert_null(none);
}

TEST_GROUP(guava)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_keys_give_the_published_files),
        cmocka_unit_test(published_files_are_read_and_written_back),
        cmocka_unit_test(every_other_length_is_refused),
        cmocka_unit_test(heads_that_cannot_be_are_refused),
        cmocka_unit_test(
            a_head_of_more_cells_than_memory_is_refused_unallocated),
        cmocka_unit_test(a_full_file_is_read),
        cmocka_unit_test(what_the_format_cannot_say_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
