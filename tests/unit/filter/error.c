/*
 * error.c - the predicted error equals the measured error.
 *
 * A filter is planned for n keys at error p, filled with them, and queried for
 * a million others. The fraction that matches must be within five sigma
 *
 *   of the plan      sigma^2 = binomial + variance between filters with other
 *                    seeds, from their predictions
 *   of the filter's own prediction      sigma^2 = binomial
 */
#include "support/test.h"

#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>

enum { OUTSIDE = 1000000, BATCH = 10000 };

/* Keys are 64-bit integers: members count from 0, others from here. */
#define FIRST_OUTSIDE (UINT64_C(1) << 40)

static void number(uint64_t *keys, uint64_t from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = from + i;
}

static void add_numbers(umbel_filter *f, size_t n)
{
    uint64_t keys[BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < BATCH ? n - done : BATCH;
        number(keys, done, some);
        assert_ok(
            umbel_add_fixed(f, keys, sizeof *keys, some, NULL, &test_refusal));
    }
}

static double measure(const umbel_filter *f)
{
    static bool hit[BATCH];
    uint64_t keys[BATCH];
    size_t hits = 0;

    for (size_t done = 0; done < OUTSIDE; done += BATCH) {
        number(keys, FIRST_OUTSIDE + done, BATCH);
        assert_ok(umbel_query_fixed(f, keys, sizeof *keys, BATCH, hit,
                                    &test_refusal));
        for (size_t i = 0; i < BATCH; i++)
            hits += hit[i];
    }
    return (double)hits / OUTSIDE;
}

/* Returns the variance of the predicted errors of equally planned filters. */
static double variance_between(const umbel_params *params, size_t n,
                               uint64_t instances)
{
    umbel_params p = *params;
    test_spread spread = {0};

    for (p.seed = 100; p.seed < 100 + instances; p.seed++) {
        umbel_filter *f = test_open(&p);
        add_numbers(f, n);
        test_spread_add(&spread, umbel_predict(f));
        umbel_close(f);
    }
    return test_variance(&spread);
}

static double binomial_variance(double rate)
{
    return rate * (1 - rate) / OUTSIDE;
}

static void check_error(const char *addressing, size_t n, double fpr,
                        uint64_t instances)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_size_plan plan;

    p.addressing = addressing;
    p.capacity = n;
    p.fpr = fpr;
    assert_ok(umbel_plan_size(NULL, &p, 0, &plan, &test_refusal));
    p.cells = plan.cells; /* saves planning once per instance */
    p.hashes = plan.hashes;
    umbel_filter *f = test_open(&p);
    add_numbers(f, n);
    double predicted = umbel_predict(f), measured = measure(f);
    umbel_close(f);

    double own = sqrt(binomial_variance(predicted));
    double all = sqrt(binomial_variance(plan.error) +
                      variance_between(&p, n, instances));
    print_message("%-12s %6zu keys %2u hashes %6.3f bits/key  plan %.4f %%  "
                  "predicted %.4f %%  measured %.4f %%  (%+.1f, %+.1f sigma)\n",
                  addressing, n, (unsigned)plan.hashes, plan.bits_per_key,
                  100 * plan.error, 100 * predicted, 100 * measured,
                  (measured - plan.error) / all, (measured - predicted) / own);
    assert_true(plan.error <= fpr);
    assert_near(measured, predicted, 5 * own);
    assert_near(measured, plan.error, 5 * all);
}

/* The variance shrinks with n, so large filters need fewer instances. */
static void measured_errors_are_the_planned_ones(void **state)
{
    static const double errors[] = {0.05, 0.01, 0.001};
    static const struct {
        size_t n;
        uint64_t instances;
    } sizes[] = {{3000, 200}, {200000, 20}};

    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        for (size_t s = 0; s < TEST_COUNT(sizes); s++)
            for (size_t e = 0; e < TEST_COUNT(errors); e++)
                check_error(test_own_addressing(i), sizes[s].n, errors[e],
                            sizes[s].instances);
}

TEST_GROUP(error)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_errors_are_the_planned_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
