/*
 * query.c - membership, counts with a threshold, values of maps.
 */
#include "support/test.h"

#include "base/batch.h"
#include "query/query.h"

#include <umbel/counting.h>

#include <stdlib.h>

enum { N = 3 * UM_BATCH - 1 };

/* Keys 0 .. N-1, and the answers to them. */
typedef struct asked {
    char *keys;
    umbel_slice *slices;
    bool hit[N];
    uint64_t values[N];
    um_query_result result;
    size_t answered;
} asked;

static void asked_init(asked *a)
{
    *a = (asked){.keys = test_keys(0, N)};
    a->slices = test_slices(a->keys, N);
    a->result = (um_query_result){.hit = a->hit, .values = a->values};
}

static void asked_fini(asked *a)
{
    free(a->slices);
    free(a->keys);
}

static umbel_status ask(asked *a, const um_query *q)
{
    return um_query_keys(q, a->slices, N, &a->result, &a->answered,
                         &test_refusal);
}

static umbel_filter *open_kind(const char *kind, const char *addressing,
                               size_t from, size_t n)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.capacity = N;
    p.addressing = addressing;
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    test_add(f, from, n);
    return f;
}

static void a_set_answers_membership(void **state)
{
    umbel_filter *f = open_kind("bloom", NULL, 0, N / 2);
    um_query q = {.filter = f};
    asked a;

    (void)state;
    asked_init(&a);
    assert_ok(um_query_init(&q, &test_refusal));
    assert_false(q.map || q.counting);
    assert_ok(ask(&a, &q));
    assert_int_equal(a.answered, N);
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(a.hit[i], test_has(f, i));
    asked_fini(&a);
    umbel_close(f);
}

static void counts_match_from_the_threshold_on(void **state)
{
    umbel_filter *f = open_kind("counting", NULL, 0, N);
    umbel_filter *exceptions = open_kind("bloom", NULL, 0, 10);
    um_query q = {.filter = f, .threshold = 2};
    asked a;

    (void)state;
    test_add(f, 0, 100);
    asked_init(&a);
    assert_ok(um_query_init(&q, &test_refusal));
    assert_true(q.counting);
    assert_ok(ask(&a, &q));
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(a.hit[i], test_count(f, i) >= 2);
    assert_int_equal(a.result.cost.asked_exceptions, 0);

    q.exceptions = exceptions;
    assert_ok(ask(&a, &q));
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(a.hit[i],
                         test_count(f, i) >= 2 && !test_has(exceptions, i));
    assert_int_equal(a.result.cost.keys, 2 * N);
    assert_int_equal(a.result.cost.asked_exceptions, N);
    asked_fini(&a);
    umbel_close(exceptions);
    umbel_close(f);
}

static void counts_without_a_threshold_match_from_one_on(void **state)
{
    umbel_filter *f = open_kind("counting", NULL, 0, 10);
    um_query q = {.filter = f, .values = true};
    asked a;

    (void)state;
    asked_init(&a);
    assert_ok(um_query_init(&q, &test_refusal));
    assert_int_equal(q.threshold, 1);
    assert_ok(ask(&a, &q));
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(a.values[i], test_count(f, i));
        assert_int_equal(a.hit[i], a.values[i] > 0);
    }
    asked_fini(&a);
    umbel_close(f);
}

static void a_threshold_that_no_counter_reaches_is_refused(void **state)
{
    umbel_filter *f = open_kind("counting", NULL, 0, 1);
    um_query q = {.filter = f, .threshold = umbel_count_limit(f)};

    (void)state;
    assert_ok(um_query_init(&q, &test_refusal));
    q.threshold++;
    assert_refused(um_query_init(&q, &test_refusal), UMBEL_E_RANGE, "1 to 15");
    umbel_close(f);
}

static void kinds_without_counts_and_values_are_refused(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *set = open_kind("bloom", NULL, 0, 1);
    umbel_filter *built = test_build("ribbon", &p, 0, 10);
    um_query q = {.filter = set, .values = true};

    (void)state;
    assert_refused(um_query_init(&q, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "cannot count");
    q = (um_query){.filter = built, .values = true};
    assert_refused(um_query_init(&q, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "--value-bits");
    q = (um_query){.filter = built, .threshold = 2};
    assert_refused(um_query_init(&q, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "cannot count");
    umbel_close(built);
    umbel_close(set);
}

static void keys_before_a_refused_one_are_answered(void **state)
{
    umbel_filter *f = open_kind("bloom", "universal", 0, N);
    um_query q = {.filter = f};
    asked a;

    (void)state;
    asked_init(&a);
    a.slices[UM_BATCH + 1] = (umbel_slice){"word", 4};
    assert_ok(um_query_init(&q, &test_refusal));
    assert_refused(ask(&a, &q), UMBEL_E_KEY, "decimal");
    assert_int_equal(a.answered, UM_BATCH + 1);
    for (size_t i = 0; i < a.answered; i++)
        assert_true(a.hit[i]);
    asked_fini(&a);
    umbel_close(f);
}

static void false_negatives_are_allowed_as_the_filter_says(void **state)
{
    umbel_filter *f = open_kind("bloom", NULL, 0, 10);
    umbel_filter *forgets = open_kind("aging", NULL, 0, 10);

    (void)state;
    assert_true(um_allows_false_negatives(f, 0));
    assert_false(um_allows_false_negatives(f, 1));
    assert_true(um_allows_false_negatives(forgets, 1000));
    umbel_close(forgets);
    umbel_close(f);
}

TEST_GROUP(query)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_answers_membership),
        cmocka_unit_test(counts_match_from_the_threshold_on),
        cmocka_unit_test(counts_without_a_threshold_match_from_one_on),
        cmocka_unit_test(a_threshold_that_no_counter_reaches_is_refused),
        cmocka_unit_test(kinds_without_counts_and_values_are_refused),
        cmocka_unit_test(keys_before_a_refused_one_are_answered),
        cmocka_unit_test(false_negatives_are_allowed_as_the_filter_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
