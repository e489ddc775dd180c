/*
 * clearing.c - the predicted cost of clearing random bits, compared with a
 * simulation.
 *
 * Equations (8) to (16) of Donnet, Baynat, Friedman 2006: each is computed from
 * the sets that a simulation leaves, and compared with the planned value.
 */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"

#include <math.h>
#include <stdlib.h>

enum { N = 2000, M = 20000, K = 5, OUTSIDE = 60000, RUNS = 30 };

static umbel_params question(const char *addressing, uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.capacity = N;
    p.cells = M;
    p.hashes = K;
    p.seed = seed;
    return p;
}

static void clear_at_random(umbel_filter *f, double share, um_rng *rng)
{
    uint64_t cells = umbel_cells(f), left = 0, wanted;

    for (uint64_t i = 0; i < cells; i++)
        left += um_bit(f->payload, i);
    wanted = (uint64_t)llround(share * (double)left);
    for (uint64_t i = 0; i < cells; i++) {
        if (!um_bit(f->payload, i))
            continue;
        if (um_random_below(rng, left--) < wanted) {
            f->payload[i >> 3] &= (uint8_t) ~(1u << (i & 7));
            wanted--;
        }
    }
}

/* One run: fractions by their definitions (8) to (12). */
typedef struct outcome {
    double fp, fp_after;          /* (1), (8) */
    double fn_after;              /* (9) */
    double fp_removed, fn_gained; /* (10), (11) */
} outcome;

static outcome simulate(const char *addressing, uint64_t seed, double share)
{
    umbel_params p = question(addressing, seed);
    umbel_filter *f = test_open(&p);
    um_rng rng = {seed};
    outcome x;

    test_add(f, 0, N);
    x.fp = (double)test_hits(f, N, OUTSIDE) / OUTSIDE;
    clear_at_random(f, share, &rng);
    x.fp_after = (double)test_hits(f, N, OUTSIDE) / OUTSIDE;
    x.fn_after = 1 - (double)test_hits(f, 0, N) / N;
    x.fp_removed = (x.fp - x.fp_after) / x.fp;
    x.fn_gained = x.fn_after;
    umbel_close(f);
    return x;
}

static double five_sigma(const test_spread *s)
{
    return 5 * sqrt(test_variance(s) / s->n);
}

static void check_against_runs(const char *addressing, uint64_t bits)
{
    umbel_params p = question(addressing, 0);
    umbel_clearing c;
    test_spread removed = {0}, gained = {0}, after = {0}, gap = {0};

    assert_ok(umbel_plan_clearing(NULL, &p, 0, bits, 0, &c, &test_refusal));
    for (uint64_t run = 1; run <= RUNS; run++) {
        outcome x = simulate(addressing, run, c.cleared / c.bits_set);
        test_spread_add(&removed, x.fp_removed);
        test_spread_add(&gained, x.fn_gained);
        test_spread_add(&after, x.fp_after);
        test_spread_add(&gap, x.fp_removed - x.fn_gained);
    }
    assert_near(removed.mean, c.fp_removed, five_sigma(&removed)); /* (14) */
    assert_near(gained.mean, c.fn_gained, five_sigma(&gained));    /* (15) */
    assert_near(after.mean, c.error, five_sigma(&after));          /* (8) */
    assert_near(gained.mean * N, c.members_lost, five_sigma(&gained) * N);
    assert_near(gap.mean, 0, five_sigma(&gap)); /* (12): chi is 1 */
}

static void equations_hold_in_simulation(void **state)
{
    (void)state;
    check_against_runs("classic", 1);   /* (13) */
    check_against_runs("classic", 400); /* (16) */
    check_against_runs("classic", 4000);
    check_against_runs("partitioned", 1500);
    check_against_runs("blocked512", 1500);
}

static void equations_agree_with_each_other(void **state)
{
    umbel_params p = question("classic", 0);
    umbel_clearing c, back;
    double p1 = 1 - pow(1 - 1.0 / M, (double)K * N); /* (2), (4) */

    (void)state;
    for (uint64_t s = 1; s < 7800; s += 700) {
        assert_ok(umbel_plan_clearing(NULL, &p, 0, s, 0, &c, &test_refusal));
        double r = pow(1 - (double)s / (p1 * M), K); /* (13), (16) */
        assert_near(c.bits_set, p1 * M, 1e-6 * M);
        assert_near(c.kept, r, 1e-9);
        assert_near(c.fp_removed, 1 - r, 1e-9);               /* (14) */
        assert_near(c.fn_gained, 1 - r, 1e-9);                /* (15) */
        assert_near(c.error, pow(p1, K) * r, 1e-3 * c.error); /* (5), (8) */
        assert_true(c.chi == 1);                              /* (12) */
        assert_ok(umbel_plan_clearing(NULL, &p, 0, 0, c.fp_removed, &back,
                                      &test_refusal));
        assert_near(back.cleared, (double)s, 1e-6 * (double)s);
    }
}

static void the_ends_of_the_range(void **state)
{
    umbel_params p = question("classic", 0);
    umbel_setting groups = {"groups", 2};
    umbel_clearing c;

    (void)state;
    assert_ok(umbel_plan_clearing(NULL, &p, 0, 0, 0, &c, &test_refusal));
    assert_true(isnan(c.chi) && c.kept == 1 && c.members_lost == 0);
    assert_ok(umbel_plan_clearing(NULL, &p, 0, 0, 1, &c, &test_refusal));
    assert_true(c.kept == 0 && c.error == 0 && c.members_lost == N);
    assert_refused(umbel_plan_clearing(NULL, &p, 0, M, 0, &c, &test_refusal),
                   UMBEL_E_RANGE, "clear fewer");
    assert_refused(umbel_plan_clearing(NULL, &p, 0, 5, 0.5, &c, &test_refusal),
                   UMBEL_E_RANGE, "share");
    assert_refused(umbel_plan_clearing(NULL, &p, 0, 0, NAN, &c, &test_refusal),
                   UMBEL_E_RANGE, "share");
    assert_refused(umbel_plan_clearing("aging", &p, 0, 5, 0, &c, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom");
    p.settings = &groups;
    p.nsettings = 1;
    assert_refused(umbel_plan_clearing(NULL, &p, 0, 5, 0, &c, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "one group");
}

TEST_GROUP(clearing)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equations_hold_in_simulation),
        cmocka_unit_test(equations_agree_with_each_other),
        cmocka_unit_test(the_ends_of_the_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
