/*
 * estimate.c - 99 % intervals contain the true value in 99 of 100 cases.
 *
 * Keys are random digests, so a thousand pairs of filters need no hashing.
 */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"

#include <umbel/estimate.h>

#include <math.h>
#include <stdlib.h>

enum { MAX_KEYS = 1000 };

/* How the keys of a pair of filters overlap. */
typedef struct overlap {
    size_t only_a, both, only_b;
} overlap;

/* How often each interval missed the true value. */
typedef struct misses {
    size_t n, a, b, either, both, jaccard;
} misses;

static umbel_filter *open_for(const char *addressing, double fpr)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.capacity = MAX_KEYS;
    p.fpr = fpr;
    p.hash = "xxh3-128";
    return test_open(&p);
}

static void add_random(umbel_filter *a, umbel_filter *b, um_rng *rng, size_t n)
{
    umbel_digest d[MAX_KEYS];

    for (size_t i = 0; i < n; i++)
        d[i] = (umbel_digest){um_random(rng), um_random(rng)};
    if (a)
        assert_ok(umbel_add_digests(a, d, n, NULL, &test_refusal));
    if (b)
        assert_ok(umbel_add_digests(b, d, n, NULL, &test_refusal));
}

static void fill_pair(umbel_filter *a, umbel_filter *b, um_rng *rng,
                      const overlap *o)
{
    assert_ok(umbel_clear(a, &test_refusal));
    assert_ok(umbel_clear(b, &test_refusal));
    add_random(a, NULL, rng, o->only_a);
    add_random(a, b, rng, o->both);
    add_random(NULL, b, rng, o->only_b);
}

static bool outside(const umbel_interval *x, double truth)
{
    assert_true(x->low <= x->value && x->value <= x->high);
    return !(x->low <= truth && truth <= x->high);
}

static void count_misses(const umbel_filter *a, const umbel_filter *b,
                         const overlap *o, misses *m)
{
    double both = (double)o->both, in_a = both + (double)o->only_a;
    double in_b = both + (double)o->only_b, either = in_a + in_b - both;
    umbel_interval x, y;
    umbel_overlap z;

    assert_ok(umbel_estimate_keys(a, &x, &test_refusal));
    assert_ok(umbel_estimate_keys(b, &y, &test_refusal));
    assert_ok(umbel_estimate_overlap(a, b, &z, &test_refusal));
    m->n++;
    m->a += outside(&x, in_a);
    m->b += outside(&y, in_b);
    m->either += outside(&z.both_or_one, either);
    m->both += outside(&z.both, both);
    m->jaccard += outside(&z.jaccard, both / either);
}

static void simulate(umbel_filter *a, umbel_filter *b, um_rng *rng,
                     const overlap *o, size_t pairs, misses *m)
{
    for (size_t i = 0; i < pairs; i++) {
        fill_pair(a, b, rng, o);
        count_misses(a, b, o, m);
    }
}

/* Asserts that at most one in a hundred misses, plus five sigma. */
static void assert_few(const char *addressing, const misses *m)
{
    double n = (double)m->n, most = 0.01 * n + 5 * sqrt(n * 0.01 * 0.99);

    print_message("%-12s of %zu: keys %zu and %zu, union %zu, both %zu, "
                  "jaccard %zu outside (at most %.0f)\n",
                  addressing, m->n, m->a, m->b, m->either, m->both, m->jaccard,
                  most);
    assert_true((double)m->a <= most);
    assert_true((double)m->b <= most);
    assert_true((double)m->either <= most);
    assert_true((double)m->both <= most);
    assert_true((double)m->jaccard <= most);
}

static void check_coverage(const overlap *cases, size_t ncases, size_t pairs)
{
    static const double errors[] = {0.05, 0.001};

    for (size_t i = 0; test_own_addressing(i); i++) {
        misses m = {0};
        for (size_t e = 0; e < TEST_COUNT(errors); e++) {
            umbel_filter *a = open_for(test_own_addressing(i), errors[e]);
            umbel_filter *b = open_for(test_own_addressing(i), errors[e]);
            um_rng rng = {i};
            for (size_t c = 0; c < ncases; c++)
                simulate(a, b, &rng, &cases[c], pairs, &m);
            umbel_close(a);
            umbel_close(b);
        }
        assert_few(test_own_addressing(i), &m);
    }
}

static void intervals_hold_for_pairs_that_overlap(void **state)
{
    static const overlap cases[] = {
        {400, 400, 400}, {700, 100, 200}, {100, 800, 100}, {900, 50, 20}};

    (void)state;
    check_coverage(cases, TEST_COUNT(cases), 125); /* 1,000 in all */
}

static void intervals_hold_for_disjoint_pairs(void **state)
{
    static const overlap cases[] = {{500, 0, 500}, {900, 0, 50}};

    (void)state;
    check_coverage(cases, TEST_COUNT(cases), 250);
}

static void intervals_hold_for_equal_and_nested_pairs(void **state)
{
    static const overlap cases[] = {{0, 700, 0}, {600, 300, 0}};

    (void)state;
    check_coverage(cases, TEST_COUNT(cases), 250);
}

static void assert_exactly_none(const umbel_interval *x)
{
    assert_near(x->value, 0, 1e-9);
    assert_near(x->low, 0, 1e-9);
    assert_near(x->high, 0, 1e-9);
}

static void empty_filters_hold_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++) {
        umbel_filter *a = open_for(test_own_addressing(i), 0.01);
        umbel_interval keys;
        umbel_overlap o;
        assert_ok(umbel_estimate_keys(a, &keys, &test_refusal));
        assert_exactly_none(&keys);
        assert_ok(umbel_estimate_overlap(a, a, &o, &test_refusal));
        assert_exactly_none(&o.both_or_one);
        assert_exactly_none(&o.both);
        assert_exactly_none(&o.jaccard);
        umbel_close(a);
    }
}

static void one_empty_filter_shares_nothing(void **state)
{
    umbel_filter *a = open_for("classic", 0.01);
    umbel_filter *b = open_for("classic", 0.01);
    um_rng rng = {5};
    umbel_overlap o;

    (void)state;
    add_random(a, NULL, &rng, 500);
    assert_ok(umbel_estimate_overlap(a, b, &o, &test_refusal));
    assert_near(o.both.value, 0, 1e-6);
    assert_near(o.jaccard.value, 0, 1e-9);
    assert_false(outside(&o.both_or_one, 500));
    umbel_close(a);
    umbel_close(b);
}

static void equal_filters_are_equal(void **state)
{
    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++) {
        umbel_filter *a = open_for(test_own_addressing(i), 0.01);
        um_rng rng = {i};
        umbel_interval keys;
        umbel_overlap o;
        add_random(a, NULL, &rng, 600);
        assert_ok(umbel_estimate_keys(a, &keys, &test_refusal));
        assert_ok(umbel_estimate_overlap(a, a, &o, &test_refusal));
        assert_near(o.both.value, keys.value, 1e-6);
        assert_near(o.both_or_one.value, keys.value, 1e-6);
        assert_near(o.jaccard.value, 1, 1e-9);
        umbel_close(a);
    }
}

/*
 * Checks that all cells in use give a lower bound on the number of keys, and no
 * upper bound.
 */
static void a_full_filter_says_so(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_interval keys;
    umbel_overlap o;
    um_rng rng = {6};

    (void)state;
    p.cells = 64;
    p.hashes = 8;
    p.addressing = "classic";
    umbel_filter *a = test_open(&p), *b = test_open(&p);
    add_random(a, NULL, &rng, 1000);
    assert_ok(umbel_estimate_keys(a, &keys, &test_refusal));
    assert_true(isinf(keys.value) && isinf(keys.high));
    assert_true(keys.low > 8 && isfinite(keys.low));
    assert_ok(umbel_estimate_overlap(a, b, &o, &test_refusal));
    assert_true(isnan(o.both.value) && isnan(o.jaccard.value));
    assert_true(o.both.low == 0 && isinf(o.both.high));
    assert_true(o.jaccard.low == 0 && o.jaccard.high == 1);
    umbel_close(a);
    umbel_close(b);
}

static void filters_of_different_shape_cannot_be_compared(void **state)
{
    umbel_filter *a = open_for("classic", 0.01);
    umbel_filter *b = open_for("partitioned", 0.01);
    umbel_overlap o = {.both = {42, 42, 42}};

    (void)state;
    assert_refused(umbel_estimate_overlap(a, b, &o, &test_refusal),
                   UMBEL_E_MISMATCH, "addressing");
    assert_true(o.both.value == 42);
    umbel_close(a);
    umbel_close(b);
}

TEST_GROUP(estimate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_hold_for_pairs_that_overlap),
        cmocka_unit_test(intervals_hold_for_disjoint_pairs),
        cmocka_unit_test(intervals_hold_for_equal_and_nested_pairs),
        cmocka_unit_test(empty_filters_hold_nothing),
        cmocka_unit_test(one_empty_filter_shares_nothing),
        cmocka_unit_test(equal_filters_are_equal),
        cmocka_unit_test(a_full_filter_says_so),
        cmocka_unit_test(filters_of_different_shape_cannot_be_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
