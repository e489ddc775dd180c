/*
 * stats.c - the beta distribution and the interval of a rate.
 */
#include "support/test.h"

#include "analysis/analysis.h"

#include <umbel/estimate.h>

#include <math.h>

/* Returns P(X >= k), X ~ Binomial(n, p), summed term by term. */
static double tail_from(int k, int n, double p)
{
    double sum = 0, term = pow(1 - p, n);

    for (int i = 0; i <= n; i++) {
        if (i >= k)
            sum += term;
        term *= (double)(n - i) / (i + 1) * p / (1 - p);
    }
    return sum;
}

/* I_p(k, n-k+1) is the upper tail of a binomial distribution. */
static void beta_equals_binomial_sums(void **state)
{
    static const double rates[] = {0.001, 0.1, 0.37, 0.5, 0.83, 0.99};

    (void)state;
    for (size_t r = 0; r < TEST_COUNT(rates); r++)
        for (int n = 1; n <= 60; n += 7)
            for (int k = 1; k <= n; k++)
                assert_near(um_beta_cdf(rates[r], k, n - k + 1),
                            tail_from(k, n, rates[r]), 1e-12);
}

static void beta_is_zero_and_one_at_its_ends(void **state)
{
    (void)state;
    assert_true(um_beta_cdf(0, 2, 3) == 0);
    assert_true(um_beta_cdf(-1, 2, 3) == 0);
    assert_true(um_beta_cdf(1, 2, 3) == 1);
    assert_true(um_beta_cdf(2, 2, 3) == 1);
}

static void quantiles_undo_the_distribution(void **state)
{
    static const double p[] = {1e-6, 0.005, 0.3, 0.5, 0.995};
    static const double shape[][2] = {{1, 1},    {1, 1e6},   {0.5, 0.5},
                                      {30, 970}, {1e4, 1e6}, {2, 3}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(p); i++)
        for (size_t j = 0; j < TEST_COUNT(shape); j++) {
            double a = shape[j][0], b = shape[j][1];
            double x = um_beta_quantile(p[i], a, b);
            assert_near(um_beta_cdf(x, a, b), p[i], 1e-9 * p[i] + 1e-13);
        }
}

/*
 * The bounds were computed outside this library, by bisection on exact binomial
 * sums with 60 digits.
 */
static void rate_intervals_are_clopper_and_pearsons(void **state)
{
    static const struct {
        uint64_t hits, trials;
        double low, high;
    } known[] = {
        {0, 10, 0, 0.41129598134752537},
        {1, 10, 0.00050112857546463383, 0.54428705689968682},
        {5, 10, 0.12831055393508325, 0.87168944606491672},
        {10, 10, 0.58870401865247468, 1},
        {10, 100, 0.038195653205081559, 0.20195352078134415},
        {3, 1000, 0.00033814452906649327, 0.010933777420405242},
        {1, 1, 0.0050000000000000001, 1},
        {99, 100, 0.92804231759836364, 0.99994987583802231},
        {250, 500, 0.44163137276661169, 0.55836862723338831},
        {7, 2000, 0.0010196794530703799, 0.0085451124208010282},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(known); i++) {
        umbel_interval x = umbel_rate_interval(known[i].hits, known[i].trials);
        assert_near(x.value, (double)known[i].hits / (double)known[i].trials,
                    1e-15);
        assert_near(x.low, known[i].low, 1e-10 * known[i].low);
        assert_near(x.high, known[i].high, 1e-10 * known[i].high);
    }
}

/* Returns ln C(n, i), for sums over millions of trials. */
static double ln_choose(double n, double i)
{
    double sum = 0;

    for (double j = 1; j <= i; j++)
        sum += log((n - i + j) / j);
    return sum;
}

/* At the upper bound, the probability of this few hits is half a per cent. */
static void intervals_hold_at_millions_of_trials(void **state)
{
    const double n = 5e6, hits = 90;
    umbel_interval x = umbel_rate_interval((uint64_t)hits, (uint64_t)n);
    double below = 0, above = 0;

    (void)state;
    for (double i = 0; i <= hits; i++)
        below +=
            exp(ln_choose(n, i) + i * log(x.high) + (n - i) * log1p(-x.high));
    for (double i = hits; i < 4 * hits; i++)
        above +=
            exp(ln_choose(n, i) + i * log(x.low) + (n - i) * log1p(-x.low));
    assert_near(below, 0.005, 1e-8);
    assert_near(above, 0.005, 1e-8);
}

static void no_trials_say_nothing(void **state)
{
    umbel_interval x = umbel_rate_interval(0, 0);

    (void)state;
    assert_true(x.low == 0 && x.high == 1);
}

TEST_GROUP(stats)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beta_equals_binomial_sums),
        cmocka_unit_test(beta_is_zero_and_one_at_its_ends),
        cmocka_unit_test(quantiles_undo_the_distribution),
        cmocka_unit_test(rate_intervals_are_clopper_and_pearsons),
        cmocka_unit_test(intervals_hold_at_millions_of_trials),
        cmocka_unit_test(no_trials_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
