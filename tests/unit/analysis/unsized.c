/* unsized.c - filters whose size is chosen at the end of the input. */
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/plan.h>

#include <string.h>

enum { ROOM = 64 << 10 };

static umbel_params params_of(const char *addressing)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.fpr = 0.01;
    return p;
}

static umbel_filter *open_unsized(const umbel_params *p, uint64_t bytes)
{
    umbel_filter *f = NULL;

    assert_ok(umbel_create_unsized(NULL, p, bytes, &f, &test_refusal));
    assert_true(umbel_encoded_len(f) <= bytes);
    return f;
}

/*
 * Compares with a filter of the same keys that had the right size from the
 * start.
 */
static void check_fit(const char *addressing, size_t keys)
{
    umbel_params p = params_of(addressing);
    umbel_filter *large = open_unsized(&p, ROOM), *fit = NULL;

    test_add(large, 0, keys);
    assert_ok(umbel_fit(large, &fit, &test_refusal));
    p.cells = umbel_cells(fit);
    p.hashes = umbel_hashes(fit);
    umbel_filter *direct = test_open(&p);
    test_add(direct, 0, keys);
    test_assert_same_payload(fit, direct);

    assert_int_equal(test_hits(fit, 0, keys), keys);
    assert_int_equal(umbel_added(fit), umbel_added(large));
    assert_int_equal(fit->capacity, umbel_added(large));
    assert_true(umbel_fpr_at(fit, (double)umbel_added(fit)) <= 0.01);
    umbel_close(large);
    umbel_close(fit);
    umbel_close(direct);
}

static void fitting_equals_building_it_that_size(void **state)
{
    static const size_t keys[] = {1, 10, 500, 3001, 20000};

    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        for (size_t j = 0; j < TEST_COUNT(keys); j++)
            check_fit(um_addressing_row(i)->name, keys[j]);
}

/*
 * The size has many divisors, 2 among them: no fitted filter is twice as large
 * as needed.
 */
static void fitting_wastes_little(void **state)
{
    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        for (size_t keys = 500; keys < 25000; keys += 2 * keys / 3) {
            umbel_params p = params_of(test_own_addressing(i));
            umbel_filter *f = open_unsized(&p, ROOM), *fit = NULL;
            umbel_size_plan least;
            test_add(f, 0, keys);
            assert_ok(umbel_fit(f, &fit, &test_refusal));
            p.capacity = keys;
            assert_ok(umbel_plan_size(NULL, &p, 0, &least, &test_refusal));
            assert_true(umbel_cells(fit) < 2 * least.cells + 512);
            umbel_close(f);
            umbel_close(fit);
        }
}

static void an_empty_filter_fits_into_the_least(void **state)
{
    umbel_params p = params_of(NULL);
    umbel_filter *f = open_unsized(&p, ROOM), *fit = NULL;

    (void)state;
    assert_ok(umbel_fit(f, &fit, &test_refusal));
    assert_int_equal(umbel_cells(fit), 512);
    umbel_close(f);
    umbel_close(fit);
}

static void too_many_keys_are_over_the_limit(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        umbel_params p = params_of(um_addressing_row(i)->name);
        umbel_filter *f = open_unsized(&p, 4096), *fit = NULL;
        test_add(f, 0, 10000);
        assert_refused(umbel_fit(f, &fit, &test_refusal), UMBEL_E_LIMIT,
                       "too many");
        assert_null(fit);
        umbel_close(f);
    }
}

/*
 * If nearly every key already matches, new keys are not counted: the requested
 * error must still hold, or the keys be refused.
 */
static void the_error_holds_where_most_keys_seem_to_be_in(void **state)
{
    static const size_t keys[] = {5000, 6000, 7000, 8000, 10000, 14000};
    size_t fitted = 0;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(keys); i++) {
        umbel_params p = params_of(NULL);
        p.fpr = 0.5;
        umbel_filter *f = open_unsized(&p, 1500), *fit = NULL;
        test_add(f, 0, keys[i]);
        if (umbel_fit(f, &fit, &test_refusal) == UMBEL_OK) {
            assert_true(umbel_predict(fit) <= 0.51);
            fitted++;
        }
        umbel_close(fit);
        umbel_close(f);
    }
    assert_true(fitted > 0 && fitted < TEST_COUNT(keys));
}

static void keyed_and_seeded_filters_fit_too(void **state)
{
    umbel_params p = params_of("partitioned");
    umbel_filter *fit = NULL;

    (void)state;
    p.hash = "sip";
    p.secret = test_secret;
    p.seed = 99;
    umbel_filter *f = open_unsized(&p, ROOM);
    test_add(f, 0, 1000);
    assert_ok(umbel_fit(f, &fit, &test_refusal));
    assert_int_equal(test_hits(fit, 0, 1000), 1000);
    umbel_close(f);
    umbel_close(fit);
}

static void a_size_contradicts_unsized(void **state)
{
    umbel_params p = params_of(NULL);
    umbel_filter *f = NULL;

    (void)state;
    p.capacity = 10;
    assert_refused(umbel_create_unsized(NULL, &p, ROOM, &f, &test_refusal),
                   UMBEL_E_RANGE, "capacity");
    p.capacity = 0;
    p.cells = 512;
    assert_refused(umbel_create_unsized(NULL, &p, ROOM, &f, &test_refusal),
                   UMBEL_E_RANGE, "size");
    assert_null(f);
}

static void too_little_room_is_refused(void **state)
{
    umbel_params p = params_of(NULL);
    umbel_filter *f = NULL;

    (void)state;
    for (uint64_t bytes = 1; bytes < 128; bytes += 5)
        assert_refused(umbel_create_unsized(NULL, &p, bytes, &f, &test_refusal),
                       UMBEL_E_RANGE, "");
    assert_null(f);
    umbel_close(open_unsized(&p, 128)); /* the head and one cache line */
}

TEST_GROUP(unsized)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fitting_equals_building_it_that_size),
        cmocka_unit_test(fitting_wastes_little),
        cmocka_unit_test(an_empty_filter_fits_into_the_least),
        cmocka_unit_test(too_many_keys_are_over_the_limit),
        cmocka_unit_test(the_error_holds_where_most_keys_seem_to_be_in),
        cmocka_unit_test(keyed_and_seeded_filters_fit_too),
        cmocka_unit_test(a_size_contradicts_unsized),
        cmocka_unit_test(too_little_room_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
