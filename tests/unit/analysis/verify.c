/* verify.c - counting errors on keys whose membership is known. */
#include "support/test.h"

#include <umbel/estimate.h>
#include <umbel/verify.h>

#include <math.h>
#include <stdlib.h>

static umbel_filter *sample(double fpr, size_t keys)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.capacity = 3000;
    p.fpr = fpr;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, keys);
    return f;
}

static umbel_verifier *verifier(const umbel_filter *f)
{
    umbel_verifier *v = NULL;

    assert_ok(umbel_verify_open(f, &v, &test_refusal));
    return v;
}

static void pass_members(umbel_verifier *v, uint64_t from, size_t n)
{
    char *keys = test_keys(from, n);
    umbel_slice *slices = test_slices(keys, n);

    assert_ok(umbel_verify_members(v, slices, n, &test_refusal));
    free(slices);
    free(keys);
}

static void pass_outside(umbel_verifier *v, uint64_t from, size_t n,
                         bool *wrong)
{
    char *keys = test_keys(from, n);
    umbel_slice *slices = test_slices(keys, n);

    assert_ok(umbel_verify_outside(v, slices, n, wrong, &test_refusal));
    free(slices);
    free(keys);
}

static umbel_verdict result(umbel_verifier *v)
{
    umbel_verdict out;

    umbel_verify_result(v, &out);
    umbel_verify_close(v);
    return out;
}

static void everything_asked_is_counted(void **state)
{
    umbel_filter *f = sample(0.05, 3000);
    umbel_verifier *v = verifier(f);

    (void)state;
    pass_members(v, 0, 1);
    pass_members(v, 1, 2999); /* batches of any size; the table grows */
    pass_outside(v, 10000, 777, NULL);
    pass_outside(v, 10777, 20000, NULL);
    umbel_verdict x = result(v);
    assert_int_equal(x.members, 3000);
    assert_int_equal(x.false_negatives, 0);
    assert_int_equal(x.outside, 20777);
    assert_int_equal(x.dropped, 0);
    assert_int_equal(x.false_positives, test_hits(f, 10000, 20777));
    umbel_close(f);
}

static void the_interval_is_that_of_the_counts(void **state)
{
    umbel_filter *f = sample(0.05, 3000);
    umbel_verifier *v = verifier(f);

    (void)state;
    pass_outside(v, 10000, 5000, NULL);
    umbel_verdict x = result(v);
    umbel_interval want = umbel_rate_interval(x.false_positives, 5000);
    assert_near(x.rate, (double)x.false_positives / 5000, 1e-15);
    assert_near(x.low, want.low, 0);
    assert_near(x.high, want.high, 0);
    assert_near(x.predicted, umbel_predict(f), 0);
    umbel_close(f);
}

static void the_prediction_is_near_what_is_counted(void **state)
{
    enum { N = 200000 };
    umbel_filter *f = sample(0.01, 3000);
    umbel_verifier *v = verifier(f);

    (void)state;
    pass_members(v, 0, 3000);
    pass_outside(v, 10000, N, NULL);
    umbel_verdict x = result(v);
    assert_near(x.rate, x.predicted,
                5 * sqrt(x.predicted * (1 - x.predicted) / N));
    assert_true(x.low <= x.rate && x.rate <= x.high);
    umbel_close(f);
}

static void members_among_the_outside_keys_are_dropped(void **state)
{
    umbel_filter *f = sample(0.01, 1000);
    umbel_verifier *v = verifier(f);

    (void)state;
    pass_members(v, 0, 1000);
    pass_outside(v, 900, 600, NULL);
    umbel_verdict x = result(v);
    assert_int_equal(x.dropped, 100);
    assert_int_equal(x.outside, 500);
    assert_int_equal(x.false_positives, test_hits(f, 1000, 500));
    umbel_close(f);
}

/* Uses a filter that lacks the second half of its alleged members. */
static void missing_members_are_counted_and_still_dropped(void **state)
{
    umbel_filter *f = sample(0.01, 1000);
    umbel_verifier *v = verifier(f);
    size_t lucky = test_hits(f, 1000, 1000);

    (void)state;
    pass_members(v, 0, 2000);
    pass_outside(v, 1500, 1000, NULL);
    umbel_verdict x = result(v);
    assert_int_equal(x.members, 2000);
    assert_int_equal(x.false_negatives, 1000 - lucky);
    assert_int_equal(x.dropped, 500);
    assert_int_equal(x.outside, 500);
    umbel_close(f);
}

static void wrong_flags_mark_the_false_positives(void **state)
{
    enum { FROM = 900, N = 3000 };
    umbel_filter *f = sample(0.05, 3000);
    umbel_verifier *v = verifier(f);
    bool *wrong = malloc(N);
    size_t marked = 0;

    (void)state;
    assert_non_null(wrong);
    pass_members(v, 0, 3000);
    pass_outside(v, FROM, N, wrong);
    for (uint64_t i = 0; i < N; i++) {
        bool member = FROM + i < 3000;
        assert_int_equal(wrong[i], !member && test_has(f, FROM + i));
        marked += wrong[i];
    }
    umbel_verdict x = result(v);
    assert_int_equal(marked, x.false_positives);
    assert_true(marked > 0);
    free(wrong);
    umbel_close(f);
}

static void a_member_given_twice_is_asked_twice(void **state)
{
    umbel_filter *f = sample(0.01, 10);
    umbel_verifier *v = verifier(f);

    (void)state;
    pass_members(v, 0, 10);
    pass_members(v, 0, 10);
    assert_int_equal(result(v).members, 20);
    umbel_close(f);
}

static void nothing_asked_is_an_interval_that_says_nothing(void **state)
{
    umbel_filter *f = sample(0.01, 10);
    umbel_verdict x = result(verifier(f));

    (void)state;
    assert_int_equal(x.outside, 0);
    assert_true(x.low == 0 && x.high == 1);
    umbel_verify_close(NULL);
    umbel_close(f);
}

static void a_locked_filter_cannot_be_verified(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *locked = NULL;
    umbel_slice key = {"x", 1};
    size_t len;

    (void)state;
    p.capacity = 10;
    p.hash = "sip";
    p.secret = test_secret;
    umbel_filter *f = test_open(&p);
    uint8_t *bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &locked, &test_refusal));
    umbel_verifier *v = verifier(locked);
    assert_refused(umbel_verify_members(v, &key, 1, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_verify_outside(v, &key, 1, NULL, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_int_equal(result(v).members, 0);
    free(bytes);
    umbel_close(f);
    umbel_close(locked);
}

TEST_GROUP(verify)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_asked_is_counted),
        cmocka_unit_test(the_interval_is_that_of_the_counts),
        cmocka_unit_test(the_prediction_is_near_what_is_counted),
        cmocka_unit_test(members_among_the_outside_keys_are_dropped),
        cmocka_unit_test(missing_members_are_counted_and_still_dropped),
        cmocka_unit_test(wrong_flags_mark_the_false_positives),
        cmocka_unit_test(a_member_given_twice_is_asked_twice),
        cmocka_unit_test(nothing_asked_is_an_interval_that_says_nothing),
        cmocka_unit_test(a_locked_filter_cannot_be_verified),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
