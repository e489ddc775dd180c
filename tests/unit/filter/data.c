/* data.c - user data in a filter. */
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/estimate.h>
#include <umbel/file.h>

#include <stdlib.h>
#include <string.h>

static const char note[] = "made on a Tuesday";

static umbel_filter *noted(const char *addressing, uint64_t cells)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.cells = cells;
    p.capacity = 100;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, 100);
    assert_ok(umbel_set_data(f, note, sizeof note, &test_refusal));
    return f;
}

static void assert_noted(const umbel_filter *f)
{
    umbel_slice data = umbel_data(f);

    assert_int_equal(data.len, sizeof note);
    assert_memory_equal(data.data, note, sizeof note);
    assert_int_equal(test_hits(f, 0, 100), 100);
}

static void a_filter_without_data_has_none(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.capacity = 100;
    umbel_filter *f = test_open(&p);
    assert_int_equal(umbel_data(f).len, 0);
    umbel_close(f);
}

static void data_goes_with_the_file_and_with_copies(void **state)
{
    umbel_filter *f = noted("classic", 1003), *back, *copy;
    size_t len;

    (void)state;
    assert_noted(f);
    uint8_t *bytes = test_encode(f, &len);
    assert_int_equal(len, umbel_encoded_len(f));
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    assert_noted(back);
    assert_ok(umbel_copy(back, &copy, &test_refusal));
    assert_noted(copy);
    test_assert_same_file(f, copy);
    free(bytes);
    umbel_close(copy);
    umbel_close(back);
    umbel_close(f);
}

static void data_goes_with_what_is_made_of_a_filter(void **state)
{
    umbel_filter *f = noted("blocked512", 1 << 14), *small;

    (void)state;
    assert_ok(umbel_fold(f, 2, &small, &test_refusal));
    assert_noted(small);
    umbel_close(small);
    umbel_close(f);
}

static void the_first_of_merged_filters_keeps_its_data(void **state)
{
    umbel_filter *f = noted("classic", 1003), *g = noted("classic", 1003);

    (void)state;
    assert_ok(umbel_set_data(g, NULL, 0, &test_refusal));
    test_add(g, 100, 10);
    assert_ok(umbel_merge(f, g, UMBEL_OR, &test_refusal));
    assert_noted(f);
    assert_int_equal(test_hits(f, 100, 10), 10);
    assert_ok(umbel_merge(g, f, UMBEL_OR, &test_refusal));
    assert_int_equal(umbel_data(g).len, 0);
    umbel_close(g);
    umbel_close(f);
}

static void data_can_be_replaced_and_taken_away(void **state)
{
    umbel_filter *f = noted("classic", 1003), *bare = noted("classic", 1003);

    (void)state;
    assert_ok(umbel_set_data(bare, NULL, 0, &test_refusal));
    assert_ok(umbel_set_data(f, "x", 1, &test_refusal));
    assert_int_equal(umbel_data(f).len, 1);
    assert_ok(umbel_set_data(f, note, sizeof note, &test_refusal));
    assert_noted(f);
    assert_ok(umbel_set_data(f, NULL, 0, &test_refusal));
    test_assert_same_file(f, bare);
    umbel_close(bare);
    umbel_close(f);
}

static void clearing_takes_the_keys_and_leaves_the_data(void **state)
{
    umbel_filter *f = noted("classic", 1003);

    (void)state;
    assert_ok(umbel_clear(f, &test_refusal));
    assert_int_equal(test_hits(f, 0, 100), 0);
    test_add(f, 0, 100);
    assert_noted(f);
    umbel_close(f);
}

/* Claims no data where there is some, less, more, or more than allowed. */
static void forged_heads_are_refused(void **state)
{
    static const uint64_t wrong[] = {
        0, 1, 1000, UINT64_C(1) << 48, (UINT64_C(1) << 48) + 1, UINT64_MAX};
    umbel_filter *f = noted("classic", 1003), *none = NULL;
    size_t len;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        um_shape s = *um_shape_of(f);
        assert_int_not_equal(s.attached, wrong[i]);
        s.attached = wrong[i];
        uint8_t *bytes = test_forge(f, &s, &len);
        assert_int_equal(umbel_decode(bytes, len, NULL, &none, &test_refusal),
                         UMBEL_E_FORMAT);
        free(bytes);
    }
    assert_null(none);
    umbel_close(f);
}

static void who_shares_or_maps_a_filter_cannot_give_it_data(void **state)
{
    umbel_filter *f = noted("classic", 1003), *mapped;
    char *dir = test_dir_make(), *path = test_path(dir, "f.umb");

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    assert_ok(umbel_map(path, NULL, &mapped, &test_refusal));
    assert_noted(mapped);
    assert_refused(umbel_set_data(mapped, "x", 1, &test_refusal),
                   UMBEL_E_READONLY, "mapped");
    assert_ok(umbel_share(f, &test_refusal));
    assert_refused(umbel_set_data(f, "x", 1, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "shared");
    umbel_close(mapped);
    umbel_close(f);
    free(path);
    test_dir_remove(dir);
}

/*
 * If new data cannot be allocated, a filter keeps the old data and its cells.
 */
static void data_without_memory_changes_nothing(void **state)
{
    test_memory m = {0};
    umbel_alloc alloc = test_alloc(&m);
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.cells = 1003;
    p.capacity = 100;
    p.alloc = &alloc;
    p.addressing = "classic";
    umbel_filter *f = test_open(&p);
    test_add(f, 0, 100);
    assert_ok(umbel_set_data(f, note, sizeof note, &test_refusal));
    m.fail_at = m.calls + 1;
    assert_refused(umbel_set_data(f, "x", 1, &test_refusal), UMBEL_E_NOMEM,
                   "no memory for 1 bytes of data");
    assert_noted(f);
    umbel_close(f);
    assert_int_equal(m.live_blocks, 0);
}

enum { BYTES = 100 };

/*
 * Returns a filter of 512 cells, right after which the data begins; all bits of
 * the data are ones.
 */
static umbel_filter *beside_ones(const char *kind, uint64_t from, bool data)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    uint8_t ones[BYTES];
    umbel_filter *f = NULL;

    memset(ones, 0xFF, sizeof ones);
    p.cells = 512;
    p.capacity = 100;
    p.hashes = 4;
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    test_add(f, from, 60);
    if (data)
        assert_ok(umbel_set_data(f, ones, sizeof ones, &test_refusal));
    return f;
}

/*
 * Asserts that the filters are equal except for the data, which is unchanged.
 */
static void assert_same_cells(const umbel_filter *plain, umbel_filter *noted)
{
    const uint8_t *data = umbel_data(noted).data;

    assert_int_equal(umbel_data(noted).len, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(data[i], 0xFF);
    assert_true(umbel_predict(plain) == umbel_predict(noted));
    assert_ok(umbel_set_data(noted, NULL, 0, &test_refusal));
    test_assert_same_file(plain, noted);
}

static void check_estimates(const umbel_filter *a, const umbel_filter *b,
                            const umbel_filter *c, const umbel_filter *d)
{
    umbel_interval x, y;
    umbel_overlap both, same;

    if (umbel_estimate_keys(a, &x, NULL) != UMBEL_OK)
        return;
    assert_ok(umbel_estimate_keys(c, &y, &test_refusal));
    assert_memory_equal(&x, &y, sizeof x);
    assert_ok(umbel_estimate_overlap(a, b, &both, &test_refusal));
    assert_ok(umbel_estimate_overlap(c, d, &same, &test_refusal));
    assert_memory_equal(&both, &same, sizeof both);
}

static void check_kind(const char *kind)
{
    umbel_filter *a = beside_ones(kind, 0, false), *small = NULL;
    umbel_filter *b = beside_ones(kind, 30, false), *noted_small = NULL;
    umbel_filter *c = beside_ones(kind, 0, true);
    umbel_filter *d = beside_ones(kind, 30, true);

    check_estimates(a, b, c, d);
    for (int op = UMBEL_OR; op <= UMBEL_MAX; op++) {
        umbel_status status = umbel_merge(a, b, (umbel_merge_op)op, NULL);
        assert_int_equal(umbel_merge(c, d, (umbel_merge_op)op, NULL), status);
    }
    if (umbel_fold(a, 2, &small, NULL) == UMBEL_OK) {
        assert_ok(umbel_fold(c, 2, &noted_small, &test_refusal));
        assert_same_cells(small, noted_small);
    }
    assert_same_cells(a, c);
    assert_same_cells(b, d);
    umbel_close(small);
    umbel_close(noted_small);
    umbel_close(a);
    umbel_close(b);
    umbel_close(c);
    umbel_close(d);
}

static void data_is_never_taken_for_cells(void **state)
{
    static const char *const kinds[] = {"bloom", "counting", "countmin",
                                        "aging", "generalized"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(kinds); i++)
        check_kind(kinds[i]);
}

TEST_GROUP(data)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_without_data_has_none),
        cmocka_unit_test(data_goes_with_the_file_and_with_copies),
        cmocka_unit_test(data_goes_with_what_is_made_of_a_filter),
        cmocka_unit_test(the_first_of_merged_filters_keeps_its_data),
        cmocka_unit_test(data_can_be_replaced_and_taken_away),
        cmocka_unit_test(clearing_takes_the_keys_and_leaves_the_data),
        cmocka_unit_test(data_is_never_taken_for_cells),
        cmocka_unit_test(forged_heads_are_refused),
        cmocka_unit_test(who_shares_or_maps_a_filter_cannot_give_it_data),
        cmocka_unit_test(data_without_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
