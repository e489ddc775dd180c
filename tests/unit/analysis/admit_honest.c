/*
 * admit_honest.c - filters of random keys are admitted, unless chance gave them
 * twice the allowed error.
 *
 *   test_admit_honest [N]   N filters, 50,000 by default (a million in
 *                           make test-long)
 *
 * Size, hashes, addressing and fill are drawn again for every few filters. The
 * digests are random: hashing keys would take longer and change nothing.
 */
#include "support/rulings.h"

#include "analysis/analysis.h"
#include "base/rng.h"
#include "filter/handle.h"

#include <math.h>
#include <stdlib.h>

enum { A_SHAPE = 50, MAX_KEYS = 1024 };

static size_t filters = 50000;

static void refill(umbel_filter *f, um_rng *rng, size_t n)
{
    umbel_digest d[MAX_KEYS];

    assert_ok(umbel_clear(f, &test_refusal));
    for (size_t i = 0; i < n; i++)
        d[i] = (umbel_digest){um_random(rng), um_random(rng)};
    assert_ok(umbel_add_digests(f, d, n, NULL, &test_refusal));
}

static umbel_filter *draw_shape(um_rng *rng, const char *kind,
                                const char *addressing)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = addressing;
    p.hashes = (uint32_t)(1 + um_random_below(rng, 14));
    p.cells = (uint64_t)64 << um_random_below(rng, 8);
    p.cells += um_random_below(rng, p.cells);
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    return f;
}

/* Draws a number of keys that gives a fill of at most 0.7. */
static size_t draw_keys(um_rng *rng, const umbel_filter *f)
{
    uint64_t most = f->layout.cells * 12 / 10 / f->layout.hashes;

    return (size_t)(1 +
                    um_random_below(rng, most < MAX_KEYS ? most : MAX_KEYS));
}

/*
 * Admits filters whose number of keys is known, with the expected error as the
 * limit.
 */
static void admit_some(um_rng *rng, umbel_filter *f)
{
    umbel_admission known = test_no_demand;
    size_t keys = draw_keys(rng, f);

    known.claimed = keys;
    known.max_error = umbel_fpr_at(f, (double)keys);
    for (int i = 0; i < A_SHAPE; i++) {
        refill(f, rng, keys);
        if (umbel_predict(f) <= 0.5)
            test_expect_admitted(f, &test_no_demand);
        if (known.max_error >= 0.5)
            continue;
        if (umbel_predict(f) <= um_max_error(known.max_error))
            test_expect_admitted(f, &known);
        else
            test_expect_refused(f, &known, UMBEL_REFUSED_ERROR, "allowed");
    }
}

static void honest_filters_are_admitted(void **state)
{
    static const char *const kinds[] = {"bloom", "bloom", "bloom", "counting"};
    um_rng rng = {20260101};
    size_t done = 0;

    (void)state;
    for (size_t i = 0; done < filters; i++) {
        const char *addressing = test_own_addressing(i);
        if (!addressing)
            addressing = test_own_addressing(i = 0);
        umbel_filter *f = draw_shape(
            &rng, kinds[um_random_below(&rng, TEST_COUNT(kinds))], addressing);
        admit_some(&rng, f);
        done += A_SHAPE;
        umbel_close(f);
    }
}

/*
 * Admits a million keys in a very sparse filter. The bounds are tightest there,
 * so the test fails if the cells of a key are not quite independent.
 */
static void sparse_filters_are_admitted(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.cells = (uint64_t)512 * 3000000;
    p.hashes = 9;
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    test_add(f, 0, 1000000);
    test_expect_admitted(f, &test_no_demand);
    umbel_close(f);
}

TEST_GROUP(admit_honest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_filters_are_admitted),
        cmocka_unit_test(sparse_filters_are_admitted),
    };

    if (argc > 1)
        filters = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
