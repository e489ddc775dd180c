/* aging.c - filters that forget. */
#include "support/test.h"

#include "filter/handle.h"

#include <math.h>
#include <string.h>

enum { CAPACITY = 500, STREAM = 20 * CAPACITY };

static umbel_filter *open_aging(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = CAPACITY;
    p.fpr = 0.01;
    assert_ok(umbel_create("aging", &p, &f, &test_refusal));
    return f;
}

static void the_latest_keys_are_known_at_every_moment(void **state)
{
    umbel_filter *f = open_aging();

    (void)state;
    for (uint64_t i = 0; i < STREAM; i += 50) {
        uint64_t from = i < CAPACITY ? 0 : i - CAPACITY;
        assert_int_equal(test_hits(f, from, i - from), i - from);
        test_add(f, i, 50);
    }
    umbel_close(f);
}

/*
 * Covers both generations and their counts. There are enough cells that no key
 * matches by chance, so both filters rotate at the same key.
 */
static void folding_equals_building_small(void **state)
{
    enum { CELLS = 1 << 17, BY = 4, MORE = CAPACITY / 2 };
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *large = NULL, *small = NULL, *fold = NULL;

    (void)state;
    p.capacity = CAPACITY;
    p.hashes = 8;
    p.cells = CELLS;
    assert_ok(umbel_create("aging", &p, &large, &test_refusal));
    p.cells = CELLS / BY;
    assert_ok(umbel_create("aging", &p, &small, &test_refusal));
    test_add(large, 0, CAPACITY + MORE);
    test_add(small, 0, CAPACITY + MORE);
    assert_ok(umbel_fold(large, BY, &fold, &test_refusal));
    test_assert_same_payload(fold, small);
    assert_int_equal(test_hits(fold, 0, CAPACITY + MORE), CAPACITY + MORE);
    umbel_close(large);
    umbel_close(small);
    umbel_close(fold);
}

/* Keys older than two generations match at the error rate only. */
static void old_keys_are_forgotten_and_the_error_stays_bounded(void **state)
{
    umbel_filter *f = open_aging();
    enum { OLD = STREAM - 3 * CAPACITY };

    (void)state;
    test_add(f, 0, STREAM);
    double rate = (double)test_hits(f, 0, OLD) / OLD, p = umbel_predict(f);
    assert_near(rate, p, 5 * sqrt(p * (1 - p) / OLD));
    assert_true(p < 0.013); /* fill varies between instances */
    assert_true(umbel_fpr_at(f, 1e12) <= 0.01);
    umbel_close(f);
}

static void a_key_that_comes_again_stays(void **state)
{
    umbel_filter *f = open_aging();

    (void)state;
    for (uint64_t i = 1; i < STREAM; i += 100) {
        test_add(f, 0, 1);
        test_add(f, i, 100);
        assert_true(test_has(f, 0));
    }
    umbel_close(f);
}

/*
 * A hostile or concurrently changed payload may contain any generation and
 * count.
 */
static void any_state_is_safe(void **state)
{
    umbel_filter *f = open_aging();

    (void)state;
    memset(f->payload + f->payload_len - 64, 0xFF, 16);
    test_add(f, 0, 2 * CAPACITY);
    assert_int_equal(test_hits(f, CAPACITY, CAPACITY), CAPACITY);
    umbel_close(f);
}

static void generations_rotate_on_demand(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.capacity = 1000;
    assert_ok(umbel_create("aging", &p, &f, &test_refusal));
    test_add(f, 0, 100);
    assert_ok(umbel_rotate(f, &test_refusal));
    assert_int_equal(test_hits(f, 0, 100), 100);
    test_add(f, 100, 100);
    assert_ok(umbel_rotate(f, &test_refusal));
    assert_true(test_hits(f, 0, 100) <= 1);
    assert_int_equal(test_hits(f, 100, 100), 100);
    assert_ok(umbel_rotate(f, &test_refusal));
    assert_int_equal(test_hits(f, 0, 200), 0);
    umbel_close(f);
    f = test_open(&p);
    assert_refused(umbel_rotate(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "no generations");
    umbel_close(f);
}

static void what_it_cannot_do_is_refused(void **state)
{
    umbel_filter *f = open_aging(), *g = open_aging();
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *none = NULL;

    (void)state;
    assert_refused(umbel_merge(f, g, UMBEL_OR, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "aging cannot merge");
    p.cells = 4096;
    assert_refused(umbel_create("aging", &p, &none, &test_refusal),
                   UMBEL_E_RANGE, "capacity");
    assert_true(umbel_has_false_negatives(f));
    umbel_close(f);
    umbel_close(g);
}

TEST_GROUP(aging)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_keys_are_known_at_every_moment),
        cmocka_unit_test(folding_equals_building_small),
        cmocka_unit_test(old_keys_are_forgotten_and_the_error_stays_bounded),
        cmocka_unit_test(a_key_that_comes_again_stays),
        cmocka_unit_test(any_state_is_safe),
        cmocka_unit_test(generations_rotate_on_demand),
        cmocka_unit_test(what_it_cannot_do_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
