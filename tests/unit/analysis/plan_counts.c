/* plan_counts.c - planned count errors compared with simulated ones. */
#include "support/test.h"

#include "base/rng.h"

#include <umbel/counting.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>

enum {
    KEYS = 10000,
    CELLS = 20000,
    OUTSIDE = 20000,
    ROUNDS = 60,
    LOW = 5,
    HIGH = 31,
    THRESHOLDS = HIGH - LOW + 1
};

/* Draws counts with P(count >= x) = 1/x, up to 40. */
static void draw(uint64_t *counts, size_t n)
{
    um_rng rng = {11};

    for (size_t i = 0; i < n; i++) {
        uint64_t c = 1000000 / (1 + um_random_below(&rng, 1000000));
        counts[i] = c > 40 ? 40 : c;
    }
}

static umbel_params shape(const char *addressing, const umbel_setting *set,
                          uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.cells = CELLS;
    p.hashes = 3;
    p.settings = set;
    p.nsettings = 2;
    p.seed = seed;
    return p;
}

/* Measures in rounds the rates at which absent keys reach each threshold. */
static void simulate(const char *addressing, const umbel_setting *set,
                     const uint64_t *counts, test_spread *rates)
{
    char *in = test_keys(0, KEYS), *out = test_keys(KEYS, OUTSIDE);
    umbel_slice *keys = test_slices(in, KEYS);
    umbel_slice *outside = test_slices(out, OUTSIDE);
    uint64_t *told = calloc(OUTSIDE, sizeof *told);

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        umbel_params p = shape(addressing, set, round);
        uint64_t hits[HIGH + 1] = {0};
        umbel_filter *f = NULL;
        assert_ok(umbel_create("counting", &p, &f, &test_refusal));
        assert_ok(
            umbel_add_amounts(f, keys, counts, KEYS, NULL, &test_refusal));
        assert_ok(umbel_count_many(f, outside, OUTSIDE, told, &test_refusal));
        for (size_t i = 0; i < OUTSIDE; i++)
            for (uint64_t t = LOW; t <= HIGH && t <= told[i]; t++)
                hits[t]++;
        for (uint64_t t = LOW; t <= HIGH; t++)
            test_spread_add(&rates[t - LOW], (double)hits[t] / OUTSIDE);
        umbel_close(f);
    }
    free(told);
    free(outside);
    free(keys);
    free(in);
    free(out);
}

/* Returns the number of thresholds compared: those with at least 100 events. */
static int compare(const char *addressing, uint64_t update, double slack)
{
    const umbel_setting set[] = {{"cell_bits", 6}, {"update", update}};
    umbel_params p = shape(addressing, set, 0);
    test_spread rates[THRESHOLDS] = {{0}};
    uint64_t counts[KEYS];
    umbel_count_plan plan;
    int compared = 0;

    draw(counts, KEYS);
    simulate(addressing, set, counts, rates);
    for (uint64_t t = LOW; t <= HIGH; t++) {
        const test_spread *r = &rates[t - LOW];
        double sigma = sqrt(test_variance(r) / ROUNDS);
        assert_ok(umbel_plan_counts("counting", &p, t, counts, KEYS, &plan,
                                    &test_refusal));
        if (plan.f_compound * OUTSIDE * ROUNDS < 100)
            continue;
        compared++;
        if (update)
            assert_true(r->mean <= plan.f_compound + 5 * sigma);
        else
            assert_near(r->mean, plan.f_compound,
                        5 * sigma + slack * plan.f_compound);
    }
    return compared;
}

static void the_estimate_is_what_plain_counts_do(void **state)
{
    (void)state;
    assert_int_equal(compare("classic", 0, 0), THRESHOLDS);
    assert_int_equal(compare("partitioned", 0, 0), THRESHOLDS);
}

/*
 * Keys of a block that choose the same lanes collide more often than by chance;
 * the model still treats collisions of rare combinations as independent.
 */
static void in_blocks_it_is_right_within_some_per_cent(void **state)
{
    (void)state;
    assert_int_equal(compare("blocked512", 0, 0.03), THRESHOLDS);
    assert_int_equal(compare("blocked256", 0, 0.03), THRESHOLDS);
    assert_int_equal(compare("blocked128", 0, 0.03), THRESHOLDS);
}

/* At threshold 1 the error equals that of a set. */
static void at_threshold_one_it_is_the_error_of_a_set(void **state)
{
    static const uint32_t hashes[] = {1, 4, 7, 8, 11, 16};
    static const char *const rows[] = {"blocked512", "blocked256",
                                       "blocked128"};
    uint64_t counts[KEYS];

    (void)state;
    for (size_t i = 0; i < KEYS; i++)
        counts[i] = 1 + i % 3;
    for (size_t i = 0; i < TEST_COUNT(rows) * TEST_COUNT(hashes); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_count_plan plan;
        umbel_size_plan set;
        p.addressing = rows[i % TEST_COUNT(rows)];
        p.hashes = hashes[i / TEST_COUNT(rows)];
        p.cells = 512 * 200;
        p.capacity = KEYS;
        assert_ok(umbel_plan_counts("counting", &p, 1, counts, KEYS, &plan,
                                    &test_refusal));
        assert_ok(umbel_plan_size("counting", &p, 0, &set, &test_refusal));
        assert_near(plan.f_compound, set.error,
                    (p.hashes > 8 ? 0.04 : 0.004) * set.error);
    }
}

static void for_refined_counts_it_is_an_upper_bound(void **state)
{
    (void)state;
    assert_int_equal(compare("classic", 1, 0), THRESHOLDS);
}

static umbel_count_plan plan_once(uint64_t cells, uint32_t hashes, size_t n,
                                  uint64_t bits, uint64_t threshold)
{
    umbel_setting set = {"cell_bits", bits};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_count_plan plan = {0};
    uint64_t *counts = calloc(n, sizeof *counts);

    p.addressing = "classic";
    p.cells = cells;
    p.hashes = hashes;
    p.settings = &set;
    p.nsettings = 1;
    for (size_t i = 0; i < n; i++)
        counts[i] = 1;
    assert_ok(umbel_plan_counts("counting", &p, threshold, counts, n, &plan,
                                &test_refusal));
    free(counts);
    return plan;
}

/* Checks m/n = 8, k = 4, t = 20; if each key occurs once, both values agree. */
static void equation_4_is_the_papers(void **state)
{
    umbel_count_plan p = plan_once(80000, 4, 10000, 5, 20);
    umbel_count_plan low = plan_once(80000, 4, 10000, 5, 2);

    (void)state;
    assert_near(p.f_paper / 3.5e-99, 1, 0.02);
    assert_near(p.f_compound / p.f_paper, 1, 0.05);
    assert_near(low.f_compound / low.f_paper, 1, 0.001);
}

/*
 * Checks half of the cells in use with 4 bits: 7.1e-17 per cell, below
 * 1.37e-15.
 */
static void overflow_is_the_surveys(void **state)
{
    umbel_count_plan p = plan_once(1000000, 4, 173287, 4, 2);

    (void)state;
    assert_near(p.overflow / 7.1e-11, 1, 0.02);
    assert_near(p.overflow_bound / 1.37e-9, 1, 0.005);
    assert_true(plan_once(1000, 4, 100000, 2, 2).overflow == 1);
    assert_true(plan_once(1000, 4, 100, 32, 2).overflow == 0);
}

static void what_cannot_be_counted_is_refused(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting wide = {"cell_bits", 16};
    umbel_count_plan plan;
    uint64_t one = 1;

    (void)state;
    p.cells = 4096;
    assert_refused(
        umbel_plan_counts("bloom", &p, 2, &one, 1, &plan, &test_refusal),
        UMBEL_E_UNSUPPORTED, "bloom cannot count");
    assert_refused(
        umbel_plan_counts("counting", &p, 16, &one, 1, &plan, &test_refusal),
        UMBEL_E_RANGE, "1..15");
    assert_refused(
        umbel_plan_counts("counting", &p, 0, &one, 1, &plan, &test_refusal),
        UMBEL_E_RANGE, "1..15");
    p.settings = &wide;
    p.nsettings = 1;
    assert_refused(
        umbel_plan_counts("counting", &p, 5000, &one, 1, &plan, &test_refusal),
        UMBEL_E_RANGE, "not worked out");
    assert_ok(umbel_plan_counts("counting", &p, 2, NULL, 0, &plan, NULL));
    assert_true(plan.f_compound == 0 && plan.keys == 0);
}

TEST_GROUP(plan_counts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_estimate_is_what_plain_counts_do),
        cmocka_unit_test(in_blocks_it_is_right_within_some_per_cent),
        cmocka_unit_test(at_threshold_one_it_is_the_error_of_a_set),
        cmocka_unit_test(for_refined_counts_it_is_an_upper_bound),
        cmocka_unit_test(equation_4_is_the_papers),
        cmocka_unit_test(overflow_is_the_surveys),
        cmocka_unit_test(what_cannot_be_counted_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
