/*
 * squid.c - cache digests of Squid. tests/systems/squid compares with Squid
 * itself.
 */
#include "support/test.h"

#include <umbel/describe.h>
#include <umbel/file.h>
#include <umbel/foreign.h>

#include <stdlib.h>
#include <string.h>

/* The digest of a cache that holds http://a.test/ (GET), for 20 entries. */
enum { HEAD = 128, MASK = 13, LEN = HEAD + MASK };

static void fill_digest(uint8_t out[LEN + 1])
{
    static const uint8_t head[] = {0, 5, 0, 3, 0, 0, 0, 20, 0,  0, 0,
                                   1, 0, 0, 0, 0, 0, 0, 0,  13, 5, 4};
    /* MD5 of "\1http://a.test/", in four numbers modulo 104. */
    static const uint8_t cells[] = {100, 87, 32, 70};

    memset(out, 0, LEN + 1);
    memcpy(out, head, sizeof head);
    for (size_t i = 0; i < sizeof cells; i++)
        out[HEAD + cells[i] / 8] |= (uint8_t)(1 << cells[i] % 8);
}

static umbel_status import(const uint8_t *bytes, size_t len, umbel_filter **f)
{
    /* Exact length, so that sanitizers detect reads past its end. */
    uint8_t *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    umbel_status status =
        umbel_import("squid", copy, len, NULL, f, &test_refusal);
    free(copy);
    return status;
}

static void expect_same_bytes(const umbel_filter *f, const uint8_t *want)
{
    char *dir = test_dir_make(), *path = test_path(dir, "digest");
    size_t len;

    assert_ok(umbel_export(f, "squid", path, &test_refusal));
    uint8_t *bytes = test_read_file(path, &len);
    assert_int_equal(len, LEN);
    assert_memory_equal(bytes, want, LEN);
    free(bytes);
    free(path);
    test_dir_remove(dir);
}

static void a_digest_is_read_asked_and_written_back(void **state)
{
    uint8_t bytes[LEN + 1];
    umbel_filter *f;
    bool hit;

    (void)state;
    fill_digest(bytes);
    assert_ok(import(bytes, LEN, &f));
    assert_ok(umbel_query(f, "\1http://a.test/", 15, &hit, &test_refusal));
    assert_true(hit);
    assert_ok(umbel_query(f, "\1http://b.test/", 15, &hit, &test_refusal));
    assert_false(hit);
    expect_same_bytes(f, bytes);
    umbel_close(f);
}

static void deleted_entries_are_kept(void **state)
{
    uint8_t bytes[LEN + 1];
    umbel_filter *f;

    (void)state;
    fill_digest(bytes);
    bytes[15] = 3;
    assert_ok(import(bytes, LEN, &f));
    assert_int_equal(umbel_data(f).len, 4);
    expect_same_bytes(f, bytes);
    assert_ok(umbel_set_data(f, "other", 5, &test_refusal));
    assert_refused(umbel_export(f, "squid", "never", &test_refusal),
                   UMBEL_E_UNSUPPORTED, "/dev/null");
    umbel_close(f);
}

static void damaged_digests_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } bad[] = {{1, 4},   {3, 4},  {7, 0},  {7, 40},  {19, 12},
               {19, 14}, {20, 0}, {20, 9}, {21, 3},  {21, 0},
               {22, 1},  {23, 1}, {24, 1}, {127, 1}, {16, 1}};
    uint8_t bytes[LEN + 1];
    umbel_filter *none = NULL;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        fill_digest(bytes);
        bytes[bad[i].at] = bad[i].value;
        assert_int_equal(import(bytes, LEN, &none), UMBEL_E_FORMAT);
    }
    fill_digest(bytes);
    for (size_t cut = 0; cut < LEN; cut++)
        assert_int_equal(import(bytes, cut, &none), UMBEL_E_FORMAT);
    assert_refused(import(bytes, LEN + 1, &none), UMBEL_E_FORMAT, "follows");
    assert_null(none);
}

TEST_GROUP(squid)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_digest_is_read_asked_and_written_back),
        cmocka_unit_test(deleted_entries_are_kept),
        cmocka_unit_test(damaged_digests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
