/* exact.c - sets without false positives on a list. */
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keys are numbers of 8 bytes; each instance has its own seed. */
typedef struct fixture {
    umbel_params params;
    umbel_filter *empty;
    umbel_digest *universe; /* the first n are members */
    size_t n, all;
} fixture;

static void fixture_init(fixture *s, uint64_t seed, size_t n, size_t all)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.seed = seed;
    *s = (fixture){.params = p, .n = n, .all = all};
    assert_ok(umbel_build("ribbon", &p, NULL, NULL, &s->empty, &test_refusal));
    s->universe = malloc((all + 1) * sizeof *s->universe);
    assert_non_null(s->universe);
    for (uint64_t i = 0; i < all; i++)
        assert_ok(umbel_digest_fixed(s->empty, &i, 8, 1, &s->universe[i],
                                     &test_refusal));
}

static void fixture_fini(fixture *s)
{
    umbel_close(s->empty);
    free(s->universe);
}

static umbel_exact *begin(const fixture *s, uint64_t listed)
{
    umbel_key_list m = UMBEL_KEY_LIST(s->universe, s->n);
    umbel_build_params how = UMBEL_BUILD_INIT;
    umbel_exact *x = NULL;

    how.threads = 2;
    assert_ok(
        umbel_exact_open(&s->params, &m, &how, listed, &x, &test_refusal));
    return x;
}

/* Builds from the `listed` keys after the members in the universe. */
static umbel_filter *build(const fixture *s, const double *weights,
                           size_t listed, umbel_exact_result *bill)
{
    umbel_exact *x = begin(s, listed);
    umbel_filter *f = NULL;

    assert_ok(umbel_exact_never(x,
                                TEST_LIST(s->universe + s->n, weights, listed),
                                NULL, &test_refusal));
    assert_ok(umbel_exact_finish(x, &f, bill, &test_refusal));
    umbel_exact_close(x);
    return f;
}

static size_t hits(const umbel_filter *f, const umbel_digest *d, size_t n)
{
    bool *hit = malloc(n + 1);
    size_t sum = 0;

    assert_non_null(hit);
    assert_ok(umbel_query_digests(f, d, n, hit, &test_refusal));
    for (size_t i = 0; i < n; i++)
        sum += hit[i];
    free(hit);
    return sum;
}

/* Returns the fraction of keys in neither list that match. */
static double unseen(const umbel_filter *f, const fixture *s)
{
    enum { OUTSIDE = 200000 };
    bool hit;
    size_t sum = 0;

    for (uint64_t i = s->all; i < s->all + OUTSIDE; i++) {
        assert_ok(umbel_query(f, &i, 8, &hit, &test_refusal));
        sum += hit;
    }
    return (double)sum / OUTSIDE;
}

static double sigma(double p)
{
    return sqrt(p * (1 - p) / 200000);
}

static uint64_t payload_bits(const umbel_filter *f)
{
    return 8 * (uint64_t)f->payload_len;
}

static double log2_choose(double n, double k)
{
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2);
}

static void ten_thousand_of_two_million_are_exact(void **state)
{
    enum { MEMBERS = 10000, ALL = 2000000 };

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        umbel_exact_result bill;
        fixture s;
        fixture_init(&s, seed, MEMBERS, ALL);
        umbel_filter *f = build(&s, NULL, ALL - MEMBERS, &bill);
        assert_true(payload_bits(f) <= 97000);
        assert_int_equal(hits(f, s.universe, MEMBERS), MEMBERS);
        assert_int_equal(hits(f, s.universe + MEMBERS, ALL - MEMBERS), 0);
        assert_near(unseen(f, &s), 0x1p-8, 5 * sigma(0x1p-8));
        assert_true(umbel_predict(f) <= 0.0041);
        assert_int_equal(bill.lost, 0);
        assert_int_equal(bill.matched, 0);
        assert_int_equal(bill.listed, ALL - MEMBERS);
        umbel_close(f);
        fixture_fini(&s);
    }
}

static void a_large_universe_is_near_the_least_bits(void **state)
{
    enum { MEMBERS = 117000, ALL = 8160000 };
    umbel_exact_result bill;
    fixture s;

    (void)state;
    fixture_init(&s, 1, MEMBERS, ALL);
    umbel_filter *f = build(&s, NULL, ALL - MEMBERS, &bill);
    assert_true(8 * (double)umbel_encoded_len(f) <=
                1.075 * log2_choose(ALL, MEMBERS));
    assert_int_equal(hits(f, s.universe, MEMBERS), MEMBERS);
    assert_int_equal(hits(f, s.universe + MEMBERS, ALL - MEMBERS), 0);
    assert_near(unseen(f, &s), umbel_predict(f), 5 * sigma(umbel_predict(f)));
    umbel_close(f);
    fixture_fini(&s);
}

/* Most keys are members, so there is only a second level, in wide layers. */
static void a_large_share_of_a_universe_is_exact(void **state)
{
    enum { MEMBERS = 70000, ALL = 100000 };
    umbel_exact_result bill;
    umbel_filter *back = NULL;
    size_t len;
    fixture s;

    (void)state;
    fixture_init(&s, 1, MEMBERS, ALL);
    umbel_filter *f = build(&s, NULL, ALL - MEMBERS, &bill);
    uint8_t *bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    assert_int_equal(hits(back, s.universe, MEMBERS), MEMBERS);
    assert_int_equal(hits(back, s.universe + MEMBERS, ALL - MEMBERS), 0);
    assert_true((double)umbel_cells(f) <= 1.0075 * ALL);
    umbel_close(back);
    umbel_close(f);
    free(bytes);
    fixture_fini(&s);
}

enum { FEW = 10000, LISTED = 20000 };

static void zipf(double weights[LISTED])
{
    for (size_t i = 0; i < LISTED; i++)
        weights[i] = 1 / (double)(i + 1);
}

static void a_list_fits_into_a_budget(void **state)
{
    static const struct {
        uint64_t bits;
        double error;
    } bars[] = {{92500, 0.002}, {52500, 0.032}, {36000, 0.13}};
    static double weights[LISTED];

    (void)state;
    zipf(weights);
    for (size_t i = 0; i < TEST_COUNT(bars); i++) {
        umbel_exact_result bill;
        fixture s;
        fixture_init(&s, i, FEW, FEW + LISTED);
        s.params.cells = bars[i].bits;
        umbel_filter *f = build(&s, weights, LISTED, &bill);
        assert_true(umbel_cells(f) <= bars[i].bits);
        assert_int_equal(hits(f, s.universe, FEW), FEW);
        assert_int_equal(hits(f, s.universe + FEW, LISTED), 0);
        assert_true(bill.weight_left == 0);
        assert_true(umbel_predict(f) <= bars[i].error);
        assert_near(unseen(f, &s), bill.error, 5 * sigma(bill.error));
        umbel_close(f);
        fixture_fini(&s);
    }
}

/* Half of the keys for which there is no space match by chance. */
static void too_few_bits_leave_the_lightest_keys(void **state)
{
    static double weights[LISTED];
    static bool hit[LISTED];
    umbel_exact_result bill;
    double left = 0;
    size_t matched = 0;
    fixture s;

    (void)state;
    zipf(weights);
    fixture_init(&s, 4, FEW, FEW + LISTED);
    s.params.cells = 25000;
    umbel_filter *f = build(&s, weights, LISTED, &bill);
    assert_true(umbel_cells(f) <= 25000);
    assert_int_equal(hits(f, s.universe, FEW), FEW);
    assert_ok(
        umbel_query_digests(f, s.universe + FEW, LISTED, hit, &test_refusal));
    for (size_t i = 0; i < LISTED; i++) {
        matched += hit[i];
        left += hit[i] ? weights[i] : 0;
    }
    assert_true(matched > 100);
    assert_int_equal(matched, bill.matched);
    assert_near(left, bill.weight_left, 1e-9);
    assert_int_equal(hits(f, s.universe + FEW, LISTED / 4), 0);
    assert_true(bill.weight_left < 0.03 * bill.weight);
    umbel_close(f);
    fixture_fini(&s);
}

static void too_few_bits_for_the_members_are_refused(void **state)
{
    umbel_key_list m;
    umbel_exact *x = NULL;
    fixture s;

    (void)state;
    fixture_init(&s, 4, FEW, FEW);
    s.params.cells = 100;
    m = (umbel_key_list)UMBEL_KEY_LIST(s.universe, s.n);
    assert_refused(
        umbel_exact_open(&s.params, &m, NULL, LISTED, &x, &test_refusal),
        UMBEL_E_RANGE, "are too few for");
    s.params.cells = 0;
    m.values = (const uint64_t[]){1};
    assert_refused(
        umbel_exact_open(&s.params, &m, NULL, LISTED, &x, &test_refusal),
        UMBEL_E_UNSUPPORTED, "not for maps");
    assert_null(x);
    fixture_fini(&s);
}

/* Builds from the list after the members, in a file of at most `bytes`. */
static umbel_filter *build_within(const fixture *s, const double *weights,
                                  const umbel_exact_class *classes, size_t n,
                                  uint64_t bytes, umbel_exact_result *bill)
{
    umbel_key_list m = UMBEL_KEY_LIST(s->universe, s->n);
    umbel_exact *x = NULL;
    umbel_filter *f = NULL;

    assert_ok(umbel_exact_open_classes(&s->params, &m, NULL, classes, n, bytes,
                                       &x, &test_refusal));
    assert_ok(umbel_exact_never(
        x, TEST_LIST(s->universe + s->n, weights, s->all - s->n), NULL,
        &test_refusal));
    assert_ok(umbel_exact_finish(x, &f, bill, &test_refusal));
    umbel_exact_close(x);
    return f;
}

static double plain_error(const fixture *s, uint64_t bytes)
{
    umbel_key_list m = UMBEL_KEY_LIST(s->universe, s->n);
    umbel_params p = s->params;
    umbel_filter *f = NULL;
    umbel_size_plan plan;

    p.capacity = 1;
    assert_ok(umbel_plan_size("ribbon", &p, bytes, &plan, &test_refusal));
    p.capacity = 0;
    p.cells = plan.cells;
    assert_ok(umbel_build("ribbon", &p, &m, NULL, &f, &test_refusal));
    double error = umbel_predict(f);
    umbel_close(f);
    return error;
}

/*
 * The head is longer with two levels, and longer still with a fraction of a
 * column: files limited to 7,500 bytes once took 7,552. A step of the form is
 * 1/64 of a column, 20 bytes.
 */
static void a_limit_of_bytes_holds_and_is_filled(void **state)
{
    enum { OTHERS = 200000, STEP = 1 + FEW / 64 / 8 };
    const umbel_exact_class one = {1, OTHERS};
    fixture s;

    (void)state;
    fixture_init(&s, 5, FEW, FEW + OTHERS);
    for (uint64_t bytes = 1500; bytes <= 12000; bytes += 500) {
        umbel_exact_result bill;
        umbel_filter *f = build_within(&s, NULL, &one, 1, bytes, &bill);
        double plain = plain_error(&s, bytes);
        double noise = sqrt(OTHERS * plain * (1 - plain));
        assert_in_range(umbel_encoded_len(f), bytes - 2 * 64 - 2 * STEP, bytes);
        assert_int_equal(hits(f, s.universe, FEW), FEW);
        assert_int_equal(hits(f, s.universe + FEW, OTHERS), bill.matched);
        assert_true(bill.weight_left <= OTHERS * plain + 5 * noise);
        umbel_close(f);
    }
    fixture_fini(&s);
}

/* A requested error determines the first level. */
static void a_limit_of_bytes_holds_with_an_error(void **state)
{
    enum { OTHERS = 200000 };
    const umbel_exact_class one = {1, OTHERS};
    umbel_exact_result bill;
    fixture s;

    (void)state;
    fixture_init(&s, 6, FEW, FEW + OTHERS);
    s.params.fpr = 0.02;
    umbel_filter *f = build_within(&s, NULL, &one, 1, 7500, &bill);
    assert_in_range(umbel_encoded_len(f), 7500 - 127, 7500);
    assert_true(bill.error <= 0.0202);
    assert_true(bill.matched > 0);
    umbel_close(f);
    fixture_fini(&s);
}

/* Classes that know the weights leave less weight than one that counts keys. */
static void weights_decide_which_keys_are_worth_their_bit(void **state)
{
    static double weights[10 * LISTED];
    static umbel_exact_class classes[10 * LISTED];
    const umbel_exact_class one = {1, 10 * LISTED};
    umbel_exact_result by_weight, by_number;
    fixture s;

    (void)state;
    fixture_init(&s, 7, FEW, FEW + 10 * LISTED);
    for (size_t i = 0; i < 10 * LISTED; i++) {
        weights[i] = 1 / (double)(i + 1);
        classes[i] = (umbel_exact_class){weights[i], 1};
    }
    umbel_filter *f =
        build_within(&s, weights, classes, 10 * LISTED, 5000, &by_weight);
    umbel_filter *g = build_within(&s, weights, &one, 1, 5000, &by_number);
    assert_true(by_weight.weight_left < 0.5 * by_number.weight_left);
    assert_int_equal(by_weight.lost, 0);
    assert_true(umbel_encoded_len(f) <= 5000 && umbel_encoded_len(g) <= 5000);
    umbel_close(f);
    umbel_close(g);
    fixture_fini(&s);
}

static void classes_descend_and_have_weights(void **state)
{
    static const umbel_exact_class bad[][2] = {{{1, 5}, {2, 5}},
                                               {{-1, 5}, {-1, 5}},
                                               {{NAN, 5}, {1, 5}},
                                               {{INFINITY, 5}, {1, 5}}};
    umbel_exact *x = NULL;
    fixture s;

    (void)state;
    fixture_init(&s, 2, 10, 20);
    umbel_key_list m = UMBEL_KEY_LIST(s.universe, s.n);
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_refused(umbel_exact_open_classes(&s.params, &m, NULL, bad[i], 2,
                                                500, &x, &test_refusal),
                       UMBEL_E_RANGE, "the heaviest first");
    assert_null(x);
    fixture_fini(&s);
}

static void an_error_that_was_asked_for_is_kept(void **state)
{
    static const double errors[] = {0.6, 0.3, 0.01, 0.0003};
    static const size_t listed[] = {0, 1, LISTED};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(errors); i++)
        for (size_t j = 0; j < TEST_COUNT(listed); j++) {
            umbel_exact_result bill;
            fixture s;
            fixture_init(&s, i, FEW, FEW + LISTED);
            s.params.fpr = errors[i];
            umbel_filter *f = build(&s, NULL, listed[j], &bill);
            assert_true(bill.error <= errors[i] * 1.01);
            assert_near(unseen(f, &s), bill.error, 5 * sigma(bill.error));
            assert_int_equal(hits(f, s.universe, FEW), FEW);
            assert_int_equal(hits(f, s.universe + FEW, listed[j]), 0);
            umbel_close(f);
            fixture_fini(&s);
        }
}

static void members_in_the_list_are_reported_and_stay(void **state)
{
    umbel_digest lacking[3];
    umbel_exact_result bill;
    umbel_filter *f = NULL;
    bool member[60];
    fixture s;

    (void)state;
    fixture_init(&s, 2, 100, 1000);
    umbel_exact *x = begin(&s, 900);
    assert_ok(umbel_exact_never(x, TEST_LIST(s.universe + 70, NULL, 60), member,
                                &test_refusal));
    for (size_t i = 0; i < 60; i++)
        assert_int_equal(member[i], i < 30);
    assert_int_equal(umbel_exact_unlisted(x, lacking, 3), 70);
    for (size_t i = 0; i < 3; i++)
        assert_true(memcmp(&lacking[i], &s.universe[70], sizeof *lacking) != 0);
    assert_ok(umbel_exact_never(x, TEST_LIST(s.universe, NULL, 1000), NULL,
                                &test_refusal));
    assert_int_equal(umbel_exact_unlisted(x, NULL, 0), 0);
    assert_ok(umbel_exact_finish(x, &f, &bill, &test_refusal));
    umbel_exact_close(x);
    assert_int_equal(hits(f, s.universe, 1000), 100);
    umbel_close(f);
    fixture_fini(&s);
}

static void nothing_at_all_works_too(void **state)
{
    static const size_t sizes[][2] = {{0, 0}, {0, 50}, {1, 0}, {1, 1}, {50, 0}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        size_t n = sizes[i][0], listed = sizes[i][1];
        umbel_exact_result bill;
        umbel_filter *back = NULL;
        size_t len;
        fixture s;
        fixture_init(&s, 2, n, n + listed);
        umbel_filter *f = build(&s, NULL, listed, &bill);
        assert_int_equal(hits(f, s.universe, n + listed), n);
        uint8_t *bytes = test_encode(f, &len);
        assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
        test_assert_same_file(f, back);
        free(bytes);
        umbel_close(back);
        umbel_close(f);
        fixture_fini(&s);
    }
}

static void a_key_listed_twice_counts_once(void **state)
{
    enum { MEMBERS = 1000, OTHERS = 5000 };
    umbel_exact_result bill;
    umbel_filter *f = NULL;
    fixture s;

    (void)state;
    fixture_init(&s, 3, MEMBERS, MEMBERS + OTHERS);
    umbel_exact *x = begin(&s, OTHERS);
    for (size_t i = 0; i < 3; i++)
        assert_ok(
            umbel_exact_never(x, TEST_LIST(s.universe, NULL, s.all - 100 * i),
                              NULL, &test_refusal));
    assert_ok(umbel_exact_finish(x, &f, &bill, &test_refusal));
    assert_int_equal(bill.listed, OTHERS);
    assert_int_equal(bill.weight, 3 * OTHERS - 300);
    umbel_exact_close(x);
    umbel_close(f);
    fixture_fini(&s);
}

static void weights_that_are_none_are_refused(void **state)
{
    static const double bad[] = {-1, NAN, INFINITY};
    fixture s;

    (void)state;
    fixture_init(&s, 2, 10, 20);
    umbel_exact *x = begin(&s, 10);
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_refused(umbel_exact_never(x,
                                         TEST_LIST(s.universe + 10, &bad[i], 1),
                                         NULL, &test_refusal),
                       UMBEL_E_RANGE, "weights");
    umbel_exact_close(x);
    umbel_exact_close(NULL);
    fixture_fini(&s);
}

static umbel_status try_all(const fixture *s, umbel_filter **out)
{
    umbel_key_list m = UMBEL_KEY_LIST(s->universe, s->n);
    umbel_exact_result bill;
    umbel_exact *x = NULL;

    umbel_status status = umbel_exact_open(&s->params, &m, NULL, s->all - s->n,
                                           &x, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_exact_never(
            x, TEST_LIST(s->universe + s->n, NULL, s->all - s->n), NULL,
            &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_exact_finish(x, out, &bill, &test_refusal);
    umbel_exact_close(x);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    umbel_status status;
    size_t n = 0;
    fixture s;

    (void)state;
    fixture_init(&s, 2, 2000, 20000);
    do {
        test_memory c = {.fail_at = ++n};
        umbel_alloc a = test_alloc(&c);
        umbel_filter *f = NULL;
        s.params.alloc = &a;
        status = try_all(&s, &f);
        if (status != UMBEL_OK)
            assert_refused(status, UMBEL_E_NOMEM, "no memory");
        assert_int_equal(f != NULL, status == UMBEL_OK);
        umbel_close(f);
        assert_int_equal(c.live_blocks, 0);
    } while (status != UMBEL_OK);
    assert_true(n > 15);
    fixture_fini(&s);
}

TEST_GROUP(exact)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_of_two_million_are_exact),
        cmocka_unit_test(a_large_universe_is_near_the_least_bits),
        cmocka_unit_test(a_large_share_of_a_universe_is_exact),
        cmocka_unit_test(a_list_fits_into_a_budget),
        cmocka_unit_test(too_few_bits_leave_the_lightest_keys),
        cmocka_unit_test(too_few_bits_for_the_members_are_refused),
        cmocka_unit_test(a_limit_of_bytes_holds_and_is_filled),
        cmocka_unit_test(a_limit_of_bytes_holds_with_an_error),
        cmocka_unit_test(weights_decide_which_keys_are_worth_their_bit),
        cmocka_unit_test(classes_descend_and_have_weights),
        cmocka_unit_test(an_error_that_was_asked_for_is_kept),
        cmocka_unit_test(members_in_the_list_are_reported_and_stay),
        cmocka_unit_test(nothing_at_all_works_too),
        cmocka_unit_test(a_key_listed_twice_counts_once),
        cmocka_unit_test(weights_that_are_none_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
