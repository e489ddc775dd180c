/*
 * data.c - bytes that travel with a filter.
 */
#include "support/test.h"

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

/* The flag without the section, the section without the flag, none of it. */
static void forged_heads_are_refused(void **state)
{
    enum { FLAGS = 92, SECTIONS = 132, CELLS = 144 + 24, BITS = CELLS + 8 };
    umbel_filter *f = noted("classic", 1003), *none = NULL;
    size_t len;

    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
    } bad[] = {{FLAGS, 0}, {SECTIONS, 1}, {CELLS, 0},     {CELLS, 19},
               {BITS, 7},  {BITS, 1},     {CELLS + 7, 1}, {CELLS + 6, 2}};
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        uint8_t *bytes = test_encode(f, &len);
        assert_int_not_equal(bytes[bad[i].at], bad[i].value);
        bytes[bad[i].at] = bad[i].value;
        test_reseal(bytes);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_without_data_has_none),
        cmocka_unit_test(data_goes_with_the_file_and_with_copies),
        cmocka_unit_test(data_goes_with_what_is_made_of_a_filter),
        cmocka_unit_test(the_first_of_merged_filters_keeps_its_data),
        cmocka_unit_test(data_can_be_replaced_and_taken_away),
        cmocka_unit_test(clearing_takes_the_keys_and_leaves_the_data),
        cmocka_unit_test(forged_heads_are_refused),
        cmocka_unit_test(who_shares_or_maps_a_filter_cannot_give_it_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
