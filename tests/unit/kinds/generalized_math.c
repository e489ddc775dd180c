/*
 * generalized_math.c - the equations of the 2011 paper, and the planner.
 */
#include "support/test.h"

#include "kinds/generalized/generalized.h"

#include <math.h>

static void values_of_the_papers_text_come_out(void **state)
{
    umbel_generalized g = {32768, 2, 2, 0, 256};
    umbel_generalized h = {65536, 2, 3, 0, 256};

    (void)state;
    assert_near(umbel_generalized_fp_bound(2, 2), 0.0625, 1e-12);
    assert_near(umbel_generalized_fp_bound(3, 3), 0.015625, 1e-12);
    assert_near(umbel_generalized_fp_bound(4, 4), 0.00390625, 1e-12);
    assert_near(umbel_generalized_fn_bound(2, 2, 128), 0.0601, 5e-5);
    assert_near(umbel_generalized_fn(&g), 0.0303, 5e-5);
    assert_near(umbel_generalized_fp(&g), 0.00023, 5e-6);
    g.zeros = 0.25;
    assert_near(umbel_generalized_fp(&g), 0.0366, 5e-5);
    assert_near(umbel_generalized_fp_bound(2, 3), 0.0346, 5e-5);
    assert_near(umbel_generalized_fn_bound(2, 3, 256), 0.0456, 5e-5);
    assert_near(umbel_generalized_fn(&h), 0.0229, 5e-5);
    h.zeros = 0.25;
    assert_near(umbel_generalized_fp(&h), 0.0267, 5e-5);
}

/* Computes equation (12) as it is written. */
static double summed(const umbel_generalized *g)
{
    double sum = 0;

    for (double i = 1; i <= g->keys; i++)
        sum += umbel_generalized_fn_at(g, i);
    return sum / g->keys;
}

static void the_mean_over_keys_is_the_sum_written_out(void **state)
{
    (void)state;
    for (uint32_t reset = 0; reset <= 8; reset++)
        for (uint32_t set = 0; set <= 11; set += 3) {
            umbel_generalized g = {4096, reset, set, 1, 300};
            if (reset + set)
                assert_near(umbel_generalized_fn(&g), summed(&g), 1e-11);
        }
}

static void the_last_key_is_known_and_the_first_forgotten_most(void **state)
{
    umbel_generalized g = {1280, 2, 2, 1, 10};
    double before = umbel_generalized_fn_at(&g, 0);

    (void)state;
    assert_near(before, umbel_generalized_fn_bound(2, 2, 128), 1e-4);
    for (int i = 1; i <= 10; i++) {
        double now = umbel_generalized_fn_at(&g, i);
        assert_true(now < before);
        before = now;
    }
    assert_near(before, 0, 1e-15);
}

static void without_reset_it_is_a_plain_filters_formula(void **state)
{
    umbel_generalized g = {8192, 0, 5, 1, 1000};
    double zero = pow(1 - 1 / 8192.0, 5000);

    (void)state;
    assert_near(umbel_generalized_zeros(&g), zero, 1e-12);
    assert_near(umbel_generalized_fp(&g), pow(1 - zero, 5), 1e-12);
    assert_near(umbel_generalized_fn(&g), 0, 0);
    assert_near(umbel_generalized_fn_at(&g, 1), 0, 0);
    assert_near(umbel_generalized_fp_bound(0, 5), 1, 0);
    assert_near(umbel_generalized_fn_bound(0, 5, 8), 0, 0);
}

/* Every hash hits the single bit, and the last operation decides. */
static void a_single_bit_is_what_was_done_last(void **state)
{
    umbel_generalized sets = {1, 0, 2, 1, 3}, resets = {1, 2, 0, 0, 3};

    (void)state;
    assert_near(umbel_generalized_zeros(&sets), 0, 0);
    assert_near(umbel_generalized_zeros(&resets), 1, 0);
}

/* Exact if few cells have roles, by the paper's formula if many have. */
static const um_roles blocks_of[] = {
    {.blocks = 1, .cells = 512, .lanes = 1, .reset = 4, .set = 4},
    {.blocks = 1, .cells = 512, .lanes = 1, .reset = 20, .set = 21},
    {.blocks = 1, .cells = 512, .lanes = 4, .reset = 4, .set = 4},
};

static void without_keys_a_block_is_as_it_began(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(blocks_of); i++) {
        const um_roles *r = &blocks_of[i];
        double match = pow(0.7, r->reset) * pow(0.3, r->set);
        assert_near(um_roles_fp(r, 0.3, 0), match, 1e-9 * match);
        assert_near(um_roles_fn(r, 0), 0, 1e-12);
        assert_true(um_roles_fn(r, 1) > 0);
    }
}

/*
 * One other key may set the cell that was reset, or reset the one that was set.
 */
static void one_key_spoils_another_by_chance(void **state)
{
    um_roles r = {.blocks = 1, .cells = 512, .lanes = 1, .reset = 1, .set = 1};
    double n = 512;

    (void)state;
    assert_near(um_roles_fn(&r, 1), 2 / n - 1 / (n * (n - 1)), 1e-12);
}

/* The number of keys in a block is binomial, and Poisson in the limit. */
static void many_blocks_are_as_many_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(blocks_of); i++)
        for (double keys = 5; keys <= 40; keys += 35) {
            um_roles few = blocks_of[i], many = blocks_of[i];
            few.blocks = 4000;
            many.blocks = 4000000;
            double fp = um_roles_fp(&few, 0.5, keys * 4e3);
            double fn = um_roles_fn(&few, keys * 4e3);
            assert_near(um_roles_fp(&many, 0.5, keys * 4e6), fp, 0.001 * fp);
            assert_near(um_roles_fn(&many, keys * 4e6), fn, 0.001 * fn);
        }
}

/* The start that matches most does not change, and reaches the bound. */
static void the_worst_start_is_the_steady_state(void **state)
{
    umbel_generalized g = {65536, 3, 5, 3.0 / 8, 0};
    double most = umbel_generalized_fp_bound(3, 5);

    (void)state;
    assert_near(umbel_generalized_fp(&g), most, 1e-12);
    g.keys = 1e7;
    assert_near(umbel_generalized_fp(&g), most, 1e-6);
    g.zeros = 1;
    assert_near(umbel_generalized_fp(&g), most, 1e-6);
}

static double falling(double x, uint32_t n)
{
    double product = 1;

    for (uint32_t i = 0; i < n; i++)
        product *= fmax(x - i, 0);
    return product;
}

static void the_bound_of_distinct_cells_is_the_most_over_all_z(void **state)
{
    (void)state;
    for (uint64_t cells = 8; cells <= 512; cells += 63)
        for (uint32_t reset = 1; reset <= 7; reset++)
            for (uint32_t set = 1; set <= 7; set++) {
                double most = 0, c = (double)cells;
                for (double z = 0; z <= c; z++)
                    most = fmax(most, falling(z, reset) * falling(c - z, set));
                double all = falling(c, reset + set);
                assert_near(umbel_generalized_distinct_bound(cells, reset, set),
                            all > 0 ? most / all : 0, 1e-12);
            }
    assert_near(umbel_generalized_distinct_bound(512, 4, 4), 0.003937, 1e-6);
    assert_near(umbel_generalized_distinct_bound(UINT64_C(1) << 48, 4, 4),
                0.00390625, 1e-12);
}

static void what_is_no_filter_has_no_formula(void **state)
{
    const umbel_generalized none[] = {{0, 2, 2, 1, 1},
                                      {100, 0, 0, 1, 1},
                                      {100, 2, 2, 1.5, 1},
                                      {100, 2, 2, NAN, 1},
                                      {100, 2, 2, 1, -1}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(none); i++) {
        assert_true(isnan(umbel_generalized_zeros(&none[i])));
        assert_true(isnan(umbel_generalized_fp(&none[i])));
        assert_true(isnan(umbel_generalized_fn(&none[i])));
        assert_true(isnan(umbel_generalized_fn_at(&none[i], 0)));
    }
    umbel_generalized g = {100, 2, 2, 1, 5};
    assert_true(isnan(umbel_generalized_fn_at(&g, 6)));
    assert_true(isnan(umbel_generalized_fp_bound(0, 0)));
    assert_true(isnan(umbel_generalized_fn_bound(2, 2, 0)));
    assert_true(isnan(umbel_generalized_distinct_bound(9, 0, 0)));
}

/* --- the planner ------------------------------------------------------------
 */

static void plans_take_the_least_space(void **state)
{
    static const struct {
        double fp, fn;
        uint32_t reset, set, plain;
        double bits;
    } known[] = {
        {0.25, 0.1, 1, 1, 3, 18.5},     {0.25, 0.01, 1, 1, 3, 198.5},
        {0.10, 0.1, 1, 4, 4, 74.7},     {0.0625, 0.06, 2, 2, 5, 128.3},
        {0.035, 0.03, 2, 3, 6, 392.7},  {0.02, 0.1, 3, 3, 6, 169.3},
        {0.01, 0.1, 3, 4, 8, 226.0},    {0.004, 0.1, 4, 4, 9, 301.7},
        {0.004, 0.03, 4, 4, 9, 1048.6}, {0.001, 0.06, 5, 5, 11, 805.5},
    };
    umbel_bounds_plan p;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(known); i++) {
        assert_ok(
            umbel_plan_bounds(known[i].fp, known[i].fn, &p, &test_refusal));
        assert_int_equal(p.reset, known[i].reset);
        assert_int_equal(p.set, known[i].set);
        assert_near(p.bits_per_key, known[i].bits, 0.002 * known[i].bits);
        assert_true(p.fp_bound <= known[i].fp && p.fn_bound <= known[i].fn);
        assert_near(p.fn_bound, known[i].fn, 1e-9);
        assert_int_equal(p.plain_hashes, known[i].plain);
        assert_near(p.plain_bits_per_key, p.plain_hashes / log(2), 1e-9);
        assert_true(pow(UMBEL_PLAIN_FILL, p.plain_hashes) <= known[i].fp);
    }
}

static void bounds_that_nothing_keeps_are_refused(void **state)
{
    umbel_bounds_plan p = {.reset = 77};

    (void)state;
    assert_refused(umbel_plan_bounds(0, 0.1, &p, &test_refusal), UMBEL_E_RANGE,
                   "fp_bound");
    assert_refused(umbel_plan_bounds(0.1, 1, &p, &test_refusal), UMBEL_E_RANGE,
                   "fn_bound");
    assert_refused(umbel_plan_bounds(0.1, NAN, &p, &test_refusal),
                   UMBEL_E_RANGE, "fn_bound");
    assert_refused(umbel_plan_bounds(1e-30, 0.1, &p, &test_refusal),
                   UMBEL_E_RANGE, "or more");
    assert_refused(umbel_plan_bounds(0.1, 1e-30, &p, &test_refusal),
                   UMBEL_E_RANGE, "ask for more");
    assert_int_equal(p.reset, 77);
}

TEST_GROUP(generalized_math)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_the_papers_text_come_out),
        cmocka_unit_test(the_mean_over_keys_is_the_sum_written_out),
        cmocka_unit_test(the_last_key_is_known_and_the_first_forgotten_most),
        cmocka_unit_test(without_reset_it_is_a_plain_filters_formula),
        cmocka_unit_test(a_single_bit_is_what_was_done_last),
        cmocka_unit_test(without_keys_a_block_is_as_it_began),
        cmocka_unit_test(one_key_spoils_another_by_chance),
        cmocka_unit_test(many_blocks_are_as_many_more),
        cmocka_unit_test(the_worst_start_is_the_steady_state),
        cmocka_unit_test(the_bound_of_distinct_cells_is_the_most_over_all_z),
        cmocka_unit_test(what_is_no_filter_has_no_formula),
        cmocka_unit_test(plans_take_the_least_space),
        cmocka_unit_test(bounds_that_nothing_keeps_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
