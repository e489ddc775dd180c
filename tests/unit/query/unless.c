/*
 * unless.c - a filter with exceptions.
 */
#include "support/test.h"

#include "base/batch.h"

#include <stdlib.h>

enum { KEYS = 3000 };

/* Returns a filter of that shape with the keys from .. from+n-1. */
static umbel_filter *holding(const char *addressing, const char *hash,
                             uint64_t from, size_t n)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.hash = hash;
    p.capacity = n;
    p.fpr = 0.01;
    umbel_filter *f = test_open(&p);
    test_add(f, from, n);
    return f;
}

static void check(const umbel_filter *f, const umbel_filter *exceptions,
                  umbel_unless_order order, umbel_unless_cost *cost)
{
    char *keys = test_keys(0, KEYS);
    umbel_slice *slices = test_slices(keys, KEYS);
    bool hit[KEYS];

    assert_ok(umbel_query_unless(f, exceptions, order, slices, KEYS, hit, cost,
                                 &test_refusal));
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(hit[i], test_has(f, i) && !test_has(exceptions, i));
    free(slices);
    free(keys);
}

/* 2,000 of 3,000 keys match and 500 are excepted, false matches aside. */
static void the_order_changes_the_cost_only(void **state)
{
    static const char *const hashes[] = {NULL, "xxh3-128"};
    umbel_filter *f = holding("blocked512", NULL, 0, 2000);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(hashes); i++) {
        umbel_filter *r = holding("classic", hashes[i], 1000, 500);
        umbel_unless_cost a = {0}, b = {0};
        check(f, r, UMBEL_FILTER_FIRST, &a);
        check(f, r, UMBEL_EXCEPTIONS_FIRST, &b);
        assert_int_equal(a.keys, KEYS);
        assert_int_equal(a.asked_filter, KEYS);
        assert_int_equal(a.asked_exceptions, test_hits(f, 0, KEYS));
        assert_int_equal(b.asked_exceptions, KEYS);
        assert_int_equal(b.asked_filter, KEYS - test_hits(r, 0, KEYS));
        umbel_close(r);
    }
    umbel_close(f);
}

/* Which keys are accepted does not depend on the filter that is asked first. */
static void keys_that_one_refuses_are_refused(void **state)
{
    enum { N = 3 * UM_BATCH - 1 };
    umbel_filter *f = holding("blocked512", NULL, 0, N);
    umbel_filter *r = holding("universal", NULL, 0, 10);
    char *keys = test_keys(0, N);
    umbel_slice *slices = test_slices(keys, N);
    umbel_unless_cost cost = {0};
    bool hit[N] = {false};

    (void)state;
    slices[N - 1] = (umbel_slice){"word", 4};
    for (int order = UMBEL_FILTER_FIRST; order <= UMBEL_EXCEPTIONS_FIRST;
         order++)
        assert_refused(umbel_query_unless(f, r, (umbel_unless_order)order,
                                          slices, N, hit, &cost, &test_refusal),
                       UMBEL_E_KEY, "decimal");
    for (size_t i = 0; i < N; i++)
        assert_false(hit[i]);
    assert_int_equal(cost.keys, 0);
    free(slices);
    free(keys);
    umbel_close(f);
    umbel_close(r);
}

static void both_want_their_secret(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = holding("blocked512", NULL, 0, 10), *locked = NULL;
    umbel_slice key = {"1", 1};
    bool hit;
    size_t len;

    (void)state;
    p.hash = "sip";
    p.capacity = 10;
    p.secret = test_secret;
    umbel_filter *keyed = test_open(&p);
    uint8_t *bytes = test_encode(keyed, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &locked, &test_refusal));
    assert_refused(umbel_query_unless(f, locked, UMBEL_FILTER_FIRST, &key, 1,
                                      &hit, NULL, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_query_unless(locked, f, UMBEL_EXCEPTIONS_FIRST, &key,
                                      1, &hit, NULL, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_ok(umbel_query_unless(f, keyed, UMBEL_FILTER_FIRST, &key, 1, &hit,
                                 NULL, &test_refusal));
    free(bytes);
    umbel_close(locked);
    umbel_close(keyed);
    umbel_close(f);
}

TEST_GROUP(unless)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_changes_the_cost_only),
        cmocka_unit_test(keys_that_one_refuses_are_refused),
        cmocka_unit_test(both_want_their_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
