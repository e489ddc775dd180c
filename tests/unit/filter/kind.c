/*
 * kind.c - how the functions treat rows that no kind has yet.
 *
 * Rows are copies of bloom's with slots removed or settings added. They are in
 * no table, so their filters are created from a shape.
 */
#include "support/test.h"

#include "base/alloc.h"
#include "filter/handle.h"
#include "filter/sizing.h"

#include <umbel/build.h>
#include <umbel/counting.h>
#include <umbel/estimate.h>
#include <umbel/plan.h>

#include <stdlib.h>
#include <string.h>

static um_kind bloom_row(void)
{
    return *um_kind_find("bloom");
}

static um_shape shape_of(const um_kind *kind)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    um_shape s;

    p.capacity = 100;
    assert_ok(um_shape_from_params("bloom", &p, &s, &test_refusal));
    assert_ok(um_solve_size(&s, &test_refusal));
    s.kind = kind;
    return s;
}

static umbel_filter *made_of(const um_kind *kind)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_shape s = shape_of(kind);
    umbel_filter *f = NULL;

    assert_ok(um_filter_create(&s, &alloc, &f, &test_refusal));
    return f;
}

static void empty_slots_are_refused(void **state)
{
    um_kind bare = bloom_row();
    umbel_digest d = {1, 2};
    bool hit = true;

    (void)state;
    bare.add = NULL;
    bare.query = NULL;
    bare.merge = NULL;
    umbel_filter *f = made_of(&bare);
    assert_refused(umbel_add(f, "1", 1, NULL, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot");
    assert_refused(umbel_add_digests(f, &d, 1, NULL, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot");
    assert_refused(umbel_query(f, "1", 1, &hit, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot");
    assert_refused(umbel_query_digests(f, &d, 1, &hit, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot");
    assert_refused(umbel_merge(f, f, UMBEL_OR, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot merge");
    assert_true(hit);
    umbel_close(f);
}

/* Checks that every verb whose table is missing in the row is refused. */
static void absent_tables_are_refused(void **state)
{
    um_kind bare = bloom_row();
    umbel_slice key = {"1", 1};
    uint64_t amount = 1, count = 7;
    umbel_filter *out = NULL;
    umbel_bounds bounds;

    (void)state;
    bare.shared = NULL;
    bare.bits = NULL;
    umbel_filter *f = made_of(&bare);
    assert_refused(umbel_share(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "be shared");
    assert_refused(umbel_to_bloom(f, &out, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "become a bloom filter");
    assert_refused(umbel_add_amounts(f, &key, &amount, 1, NULL, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "cannot count");
    assert_refused(umbel_count_many(f, &key, 1, &count, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "cannot count");
    assert_refused(umbel_remove_many(f, &key, 1, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "take keys back");
    assert_refused(umbel_values_many(f, &key, 1, &count, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "no values");
    assert_refused(umbel_bounds_of(f, &bounds, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bound its errors");
    assert_refused(umbel_set_cells(f, "", 0, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "start from given bits");
    assert_int_equal(umbel_count_limit(f), 0);
    assert_int_equal(count, 7);
    assert_null(out);
    umbel_close(f);
}

static void what_cannot_fold_says_so(void **state)
{
    um_kind stiff = bloom_row();
    umbel_filter *out = NULL;

    (void)state;
    stiff.fold = NULL;
    umbel_filter *f = made_of(&stiff);
    assert_refused(umbel_fold(f, 1, &out, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "bloom cannot fold");
    assert_int_equal(umbel_fold_best(f, 1, 0.5), 0);
    umbel_status status = umbel_fit(f, &out, &test_refusal);
    umbel_close(f);
    assert_null(out);
    assert_refused(status, UMBEL_E_UNSUPPORTED, "bloom cannot");
}

static void what_does_not_count_cells_makes_no_estimates(void **state)
{
    um_kind opaque = bloom_row();
    umbel_interval keys;
    umbel_overlap overlap;
    umbel_info info;

    (void)state;
    opaque.bits = NULL;
    umbel_filter *f = made_of(&opaque);
    test_add(f, 0, 50);
    assert_refused(umbel_estimate_keys(f, &keys, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "estimate");
    assert_refused(umbel_estimate_overlap(f, f, &overlap, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "estimate");
    assert_ok(umbel_merge(f, f, UMBEL_OR, &test_refusal));
    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++)
        assert_string_not_equal(info.field[i].name, "fill");
    umbel_close(f);
}

static void a_kind_that_forgets_says_so(void **state)
{
    um_kind leaky = bloom_row();

    (void)state;
    leaky.forgets = true;
    umbel_filter *f = made_of(&leaky);
    assert_true(umbel_has_false_negatives(f));
    umbel_close(f);
}

static void filters_of_different_kinds_do_not_fit(void **state)
{
    um_kind other = bloom_row();
    umbel_filter *a = made_of(um_kind_find("bloom"));

    (void)state;
    other.name = "other";
    umbel_filter *b = made_of(&other);
    assert_refused(umbel_merge(a, b, UMBEL_OR, &test_refusal), UMBEL_E_MISMATCH,
                   "kind: bloom and other");
    umbel_close(a);
    umbel_close(b);
}

static const umbel_setting_info depth[] = {{"depth", "how deep", 2, 9, 4},
                                           {NULL, NULL, 0, 0, 0}};

static void settings_have_a_range(void **state)
{
    um_kind deep = bloom_row();

    (void)state;
    deep.settings = depth;
    um_shape s = shape_of(&deep);
    s.setting[0] = 9;
    assert_ok(um_check_shape(&s, &test_refusal));
    s.setting[0] = 10;
    assert_refused(um_check_shape(&s, &test_refusal), UMBEL_E_RANGE,
                   "depth must be 2..9, got 10");
    s.setting[0] = 1;
    assert_refused(um_check_shape(&s, &test_refusal), UMBEL_E_RANGE,
                   "depth must be 2..9, got 1");
}

static void settings_are_part_of_the_shape(void **state)
{
    um_kind deep = bloom_row();

    (void)state;
    deep.settings = depth;
    umbel_filter *a = made_of(&deep), *b = made_of(&deep);
    um_settings_of(a)[0] = 4;
    um_settings_of(b)[0] = 5;
    assert_refused(umbel_same_shape(a, b, &test_refusal), UMBEL_E_MISMATCH,
                   "depth: 4 and 5");
    umbel_close(a);
    umbel_close(b);
}

/* Without parameters, a kind uses the addressing that its row prefers. */
static void what_a_kind_prefers_is_there(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    um_shape s;

    (void)state;
    p.capacity = 100;
    for (size_t i = 0; um_kind_row(i); i++) {
        const um_kind *kind = um_kind_row(i);
        const char *want = kind->fixed_addressing ? kind->fixed_addressing->name
                           : kind->addressing     ? kind->addressing
                                                  : "blocked512";
        assert_non_null(um_kind_addressing(kind, want));
        assert_string_equal(um_default_addressing(kind->name), want);
        assert_ok(um_shape_from_params(kind->name, &p, &s, &test_refusal));
        assert_string_equal(s.addressing->name, want);
    }
    assert_string_equal(um_default_addressing(NULL), "blocked512");
    assert_string_equal(um_default_addressing("none"), "blocked512");
}

TEST_GROUP(kind)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_slots_are_refused),
        cmocka_unit_test(absent_tables_are_refused),
        cmocka_unit_test(what_cannot_fold_says_so),
        cmocka_unit_test(what_does_not_count_cells_makes_no_estimates),
        cmocka_unit_test(a_kind_that_forgets_says_so),
        cmocka_unit_test(filters_of_different_kinds_do_not_fit),
        cmocka_unit_test(settings_have_a_range),
        cmocka_unit_test(settings_are_part_of_the_shape),
        cmocka_unit_test(what_a_kind_prefers_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
