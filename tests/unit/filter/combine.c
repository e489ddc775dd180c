/*
 * combine.c - same shape, merge, fold.
 */
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/estimate.h>
#include <umbel/file.h>

#include <stdio.h>
#include <string.h>

/* A size that every addressing accepts, with many divisors for folding. */
enum { HASHES = 4, PARTS = 24, CELLS = 512 * HASHES * PARTS, KEYS = 900 };

static umbel_params params_of(const char *addressing, uint64_t cells)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.cells = cells;
    p.hashes = HASHES;
    return p;
}

static umbel_filter *built(const char *addressing, uint64_t cells,
                           uint64_t from, size_t n)
{
    umbel_params p = params_of(addressing, cells);
    umbel_filter *f = test_open(&p);

    test_add(f, from, n);
    return f;
}

static void folding_equals_building_small(void **state)
{
    static const uint64_t by[] = {1, 2, 3, 4, 6, 8, 12, 24};

    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        const char *name = um_addressing_row(i)->name;
        umbel_filter *large = built(name, CELLS, 0, KEYS);
        for (size_t j = 0; j < TEST_COUNT(by); j++) {
            umbel_filter *fold = NULL;
            umbel_filter *small = built(name, CELLS / by[j], 0, KEYS);
            assert_ok(umbel_fold(large, by[j], &fold, &test_refusal));
            test_assert_same_payload(fold, small);
            umbel_close(fold);
            umbel_close(small);
        }
        umbel_close(large);
    }
}

/* Folds sizes that end inside a byte and inside a cache line. */
static void odd_sizes_fold_too(void **state)
{
    static const char *const names[] = {"classic", "partitioned", "universal",
                                        "chunks-md5"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++)
        for (uint64_t by = 3; by <= 15; by += 2) {
            uint64_t small_cells = HASHES * 331;
            umbel_filter *large = built(names[i], small_cells * by, 0, 300);
            umbel_filter *small = built(names[i], small_cells, 0, 300);
            umbel_filter *fold = NULL;
            assert_ok(umbel_fold(large, by, &fold, &test_refusal));
            test_assert_same_payload(fold, small);
            umbel_close(large);
            umbel_close(small);
            umbel_close(fold);
        }
}

static void folding_twice_equals_folding_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        umbel_filter *f = built(um_addressing_row(i)->name, CELLS, 0, KEYS);
        umbel_filter *half = NULL, *sixth = NULL, *at_once = NULL;
        assert_ok(umbel_fold(f, 2, &half, &test_refusal));
        assert_ok(umbel_fold(half, 3, &sixth, &test_refusal));
        assert_ok(umbel_fold(f, 6, &at_once, &test_refusal));
        test_assert_same_file(sixth, at_once);
        umbel_close(f);
        umbel_close(half);
        umbel_close(sixth);
        umbel_close(at_once);
    }
}

/*
 * Folding accepts a higher error, which becomes the target of the new filter.
 */
static void a_folded_filter_aims_at_its_error(void **state)
{
    umbel_params p = {.size = sizeof p, .capacity = 1000, .fpr = 0.001};
    umbel_filter *f, *fold = NULL;

    (void)state;
    p.cells = 512 * 64;
    f = test_open(&p);
    test_add(f, 0, 1000);
    assert_ok(umbel_fold(f, 8, &fold, &test_refusal));
    assert_true(umbel_fpr_at(fold, 1000) > 0.001);
    assert_near(umbel_target_fpr(fold), umbel_fpr_at(fold, 1000), 0);
    umbel_close(f);
    umbel_close(fold);
}

static void only_divisors_fold(void **state)
{
    umbel_filter *f = built("blocked512", 512 * 12, 0, 10), *out = NULL;

    (void)state;
    assert_int_equal(umbel_fold_parts(f), 12);
    assert_refused(umbel_fold(f, 5, &out, &test_refusal), UMBEL_E_RANGE,
                   "5 does not divide");
    assert_refused(umbel_fold(f, 0, &out, &test_refusal), UMBEL_E_RANGE,
                   "0 does not divide");
    assert_refused(umbel_fold(f, 24, &out, &test_refusal), UMBEL_E_RANGE,
                   "24 does not divide");
    assert_refused(umbel_fold(f, UINT64_MAX, &out, &test_refusal),
                   UMBEL_E_RANGE, "divide");
    assert_null(out);
    umbel_close(f);
}

/*
 * Finds the divisors next to `by` one by one; 0 if there is none on that side.
 */
static void nearest(uint64_t parts, uint64_t by, uint64_t *below,
                    uint64_t *above)
{
    for (*below = by - 1; *below > 1 && parts % *below; --*below)
        ;
    if (*below < 2)
        *below = 0;
    for (*above = by + 1; *above <= parts && parts % *above; ++*above)
        ;
    if (*above > parts)
        *above = 0;
}

static void a_refused_fold_names_the_nearest_divisors(void **state)
{
    static const uint64_t sizes[] = {6, 12, 25, 30, 36, 37, 49, 60};
    uint64_t below, above;
    char text[100];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        umbel_filter *f = built("blocked512", 512 * sizes[i], 0, 10);
        umbel_filter *none = NULL;
        for (uint64_t by = 2; by <= sizes[i] + 2; by++) {
            if (sizes[i] % by == 0)
                continue;
            nearest(sizes[i], by, &below, &above);
            if (below && above)
                snprintf(text, sizeof text,
                         "%d does not divide the filter's %d parts; the "
                         "nearest that do are %d and %d",
                         (int)by, (int)sizes[i], (int)below, (int)above);
            else
                snprintf(text, sizeof text, "the nearest that does is %d",
                         (int)(below ? below : above));
            assert_refused(umbel_fold(f, by, &none, &test_refusal),
                           UMBEL_E_RANGE, text);
        }
        umbel_close(f);
    }
}

/* Where there is a divisor on one side only, the error names that one. */
static void a_refused_fold_always_names_a_divisor(void **state)
{
    umbel_filter *twelve = built("blocked512", 512 * 12, 0, 10);
    umbel_filter *one = built("blocked512", 512, 0, 10), *none = NULL;

    (void)state;
    assert_refused(umbel_fold(twelve, 0, &none, &test_refusal), UMBEL_E_RANGE,
                   "the nearest that does is 2");
    assert_refused(umbel_fold(one, 2, &none, &test_refusal), UMBEL_E_RANGE,
                   "the nearest that does is 1");
    umbel_close(twelve);
    umbel_close(one);
}

static void an_unknown_merge_names_the_known_ones(void **state)
{
    umbel_filter *a = built(NULL, 4096, 0, 10);
    umbel_filter *b = built(NULL, 4096, 5, 10);

    (void)state;
    assert_refused(umbel_merge(a, b, UMBEL_MAX, &test_refusal),
                   UMBEL_E_UNSUPPORTED,
                   "kind bloom cannot merge in that way, but by or, and");
    for (unsigned op = UMBEL_MINUS + 1; op < 70; op++)
        assert_refused(umbel_merge(a, b, (umbel_merge_op)op, &test_refusal),
                       UMBEL_E_UNSUPPORTED, "by or, and");
    umbel_close(a);
    umbel_close(b);
}

/* A slice or a filter of a single cell would match everything. */
static void nothing_folds_to_a_single_cell(void **state)
{
    umbel_filter *f = built("classic", 1000, 0, 10), *out = NULL;

    (void)state;
    assert_refused(umbel_fold(f, 1000, &out, &test_refusal), UMBEL_E_RANGE,
                   "cells");
    assert_ok(umbel_fold(f, 500, &out, &test_refusal));
    umbel_close(out);
    umbel_close(f);
}

/* Asserts that the best divisor holds the error, and no larger one does. */
static void check_best(const umbel_filter *f, uint64_t keys, double fpr)
{
    uint64_t best = umbel_fold_best(f, keys, fpr), parts = umbel_fold_parts(f);

    for (uint64_t by = 1; by <= parts; by++) {
        umbel_filter *fold = NULL;
        if (parts % by || umbel_fold(f, by, &fold, NULL) != UMBEL_OK)
            continue;
        bool holds = umbel_fpr_at(fold, (double)keys) <= fpr;
        if (by == best)
            assert_true(holds);
        if (by > best)
            assert_false(holds);
        umbel_close(fold);
    }
}

static void the_best_fold_is_the_largest_that_holds(void **state)
{
    static const uint64_t keys[] = {0, 1, 30, 300, 3000};

    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        umbel_filter *f = built(um_addressing_row(i)->name, CELLS, 0, 0);
        for (size_t j = 0; j < TEST_COUNT(keys); j++)
            check_best(f, keys[j], 0.01);
        assert_int_equal(umbel_fold_best(f, 1000000, 0.01), 0);
        umbel_close(f);
    }
}

static void merging_parts_equals_building_the_whole(void **state)
{
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        umbel_params p = test_combo_params(&c);
        p.cells = CELLS;
        p.hashes = HASHES;
        umbel_filter *whole = test_open(&p), *a = test_open(&p);
        umbel_filter *b = test_open(&p), *d = test_open(&p);
        test_add(whole, 0, 3 * KEYS);
        test_add(a, 0, KEYS);
        test_add(b, KEYS / 2, KEYS); /* overlapping */
        test_add(d, 3 * KEYS / 2, 3 * KEYS / 2);
        assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
        assert_ok(umbel_merge(a, d, UMBEL_OR, &test_refusal));
        test_assert_same_payload(a, whole);
        umbel_close(whole);
        umbel_close(a);
        umbel_close(b);
        umbel_close(d);
    }
}

/* After a merge the number of keys is an estimate, and marked as one. */
static void merging_guesses_the_number_of_keys(void **state)
{
    umbel_filter *a = built("classic", 20000, 0, KEYS);
    umbel_filter *b = built("classic", 20000, KEYS, KEYS);
    umbel_interval keys;

    (void)state;
    assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
    assert_true(a->estimated);
    assert_ok(umbel_estimate_keys(a, &keys, &test_refusal));
    assert_near((double)umbel_added(a), keys.value, 0.5);
    umbel_close(a);
    umbel_close(b);
}

static void a_full_filter_merges(void **state)
{
    umbel_filter *a = built("classic", 8, 0, 1000);
    umbel_filter *b = built("classic", 8, 1000, 1000);

    (void)state;
    assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
    assert_int_equal(umbel_added(a), 8); /* a lower bound */
    umbel_close(a);
    umbel_close(b);
}

static void and_keeps_the_common_keys(void **state)
{
    umbel_filter *a = built("blocked256", CELLS, 0, KEYS);
    umbel_filter *b = built("blocked256", CELLS, KEYS / 2, KEYS);

    (void)state;
    assert_ok(umbel_merge(a, b, UMBEL_AND, &test_refusal));
    assert_int_equal(test_hits(a, KEYS / 2, KEYS / 2), KEYS / 2);
    assert_true(test_hits(a, 0, KEYS / 2) < KEYS / 10);
    umbel_close(a);
    umbel_close(b);
}

/* Creates pairs that differ in one parameter, which the error must name. */
static void every_difference_is_named(void **state)
{
    const umbel_params base = {.size = sizeof base,
                               .addressing = "classic",
                               .hash = "sip",
                               .secret = test_secret,
                               .seed = 1,
                               .cells = 5120,
                               .hashes = 5};
    struct {
        umbel_params p;
        const char *word;
    } other[] = {{base, "addressing: classic and blocked512"},
                 {base, "hash: sip and xxh3-64"},
                 {base, "seed: 1 and 2"},
                 {base, "secret key"},
                 {base, "(bits): 5120 and 10240"},
                 {base, "hashes: 5 and 6"}};
    umbel_filter *a = test_open(&base);

    (void)state;
    other[0].p.addressing = "blocked512";
    other[1].p.hash = "xxh3-64";
    other[1].p.secret = NULL;
    other[2].p.seed = 2;
    other[3].p.secret = test_other_secret;
    other[4].p.cells = 10240;
    other[5].p.hashes = 6;
    test_add(a, 0, 100);
    uint64_t before = umbel_payload_checksum(a);
    for (size_t i = 0; i < TEST_COUNT(other); i++) {
        umbel_filter *b = test_open(&other[i].p);
        assert_refused(umbel_merge(a, b, UMBEL_OR, &test_refusal),
                       UMBEL_E_MISMATCH, other[i].word);
        assert_refused(umbel_same_shape(a, b, &test_refusal), UMBEL_E_MISMATCH,
                       other[i].word);
        umbel_close(b);
    }
    assert_int_equal(umbel_payload_checksum(a), before);
    umbel_close(a);
}

/* Capacity and requested error are not part of the shape. */
static void capacity_and_error_asked_for_do_not_matter(void **state)
{
    umbel_params p = params_of("classic", 5000);
    umbel_filter *a = test_open(&p);

    (void)state;
    p.capacity = 77;
    p.fpr = 0.3;
    umbel_filter *b = test_open(&p);
    assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
    umbel_close(a);
    umbel_close(b);
}

static umbel_filter *of_form(umbel_key_form form)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.capacity = 100;
    p.key_form = form;
    return test_open(&p);
}

/*
 * A filter without a recorded key form merges with any, and the result has
 * none.
 */
static void filters_of_two_key_forms_do_not_merge(void **state)
{
    umbel_filter *hex = of_form(UMBEL_KEYS_HEX), *back = NULL;
    umbel_filter *text = of_form(UMBEL_KEYS_TEXT);
    umbel_filter *unknown = of_form(UMBEL_KEYS_UNRECORDED);
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    assert_refused(umbel_merge(hex, text, UMBEL_OR, &test_refusal),
                   UMBEL_E_MISMATCH, "hexadecimal and text");
    assert_int_equal(umbel_key_form_of(hex), UMBEL_KEYS_HEX);
    assert_ok(umbel_merge(hex, unknown, UMBEL_OR, &test_refusal));
    assert_int_equal(umbel_key_form_of(hex), UMBEL_KEYS_UNRECORDED);
    p.capacity = 100;
    p.key_form = UMBEL_KEYS_NETWORK + 1;
    assert_refused(umbel_create(NULL, &p, &back, &test_refusal), UMBEL_E_RANGE,
                   "key form");
    umbel_close(hex);
    umbel_close(text);
    umbel_close(unknown);
}

TEST_GROUP(combine)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_equals_building_small),
        cmocka_unit_test(odd_sizes_fold_too),
        cmocka_unit_test(folding_twice_equals_folding_at_once),
        cmocka_unit_test(a_folded_filter_aims_at_its_error),
        cmocka_unit_test(only_divisors_fold),
        cmocka_unit_test(a_refused_fold_names_the_nearest_divisors),
        cmocka_unit_test(a_refused_fold_always_names_a_divisor),
        cmocka_unit_test(an_unknown_merge_names_the_known_ones),
        cmocka_unit_test(nothing_folds_to_a_single_cell),
        cmocka_unit_test(the_best_fold_is_the_largest_that_holds),
        cmocka_unit_test(merging_parts_equals_building_the_whole),
        cmocka_unit_test(merging_guesses_the_number_of_keys),
        cmocka_unit_test(a_full_filter_merges),
        cmocka_unit_test(and_keeps_the_common_keys),
        cmocka_unit_test(every_difference_is_named),
        cmocka_unit_test(capacity_and_error_asked_for_do_not_matter),
        cmocka_unit_test(filters_of_two_key_forms_do_not_merge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
