/* retouch_input.c - retouching with unusual lists, and its refusals. */
#include "support/retouching.h"

#include <umbel/describe.h>
#include <umbel/estimate.h>
#include <umbel/file.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void nothing_to_do_is_a_bill_of_zeros(void **state)
{
    (void)state;
    umbel_params shape = test_classic(1 << 20, 5, 3);
    umbel_retouch_result b;
    test_fixture s;

    test_fixture_init(&s, &shape, 100, 1000, 0);
    b = test_retouch(&s, NULL);
    test_check_bill(&s, &b);
    assert_int_equal(b.never, 1000);
    assert_int_equal(b.matched + b.lost + b.bits_cleared, 0);
    s.never.n = 0;
    b = test_retouch(&s, NULL);
    test_check_bill(&s, &b);
    test_fixture_fini(&s);

    shape = test_classic(64, 3, 3); /* without members every bit is free */
    test_fixture_init(&s, &shape, 0, 100, 0);
    b = test_retouch(&s, NULL);
    test_check_bill(&s, &b);
    test_fixture_fini(&s);
}

static void a_key_listed_twice_is_one_key_of_twice_the_weight(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(4000, 5, 3);
    umbel_retouch_result once, twice;
    test_fixture s, t;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    test_fixture_init(&t, &shape, 400, 20000, 0);
    t.digests = realloc(t.digests, 40800 * sizeof *t.digests);
    t.lost = realloc(t.lost, 800);
    assert_non_null(t.digests);
    assert_non_null(t.lost);
    memcpy(t.digests, s.digests, 400 * sizeof *t.digests);
    memcpy(t.digests + 400, s.digests, 400 * sizeof *t.digests);
    memcpy(t.digests + 800, s.never.digests, 20000 * sizeof *t.digests);
    memcpy(t.digests + 20800, s.never.digests, 20000 * sizeof *t.digests);
    t.members = (umbel_key_list)UMBEL_KEY_LIST(t.digests, 800);
    t.never = (umbel_key_list)UMBEL_KEY_LIST(t.digests + 800, 40000);
    once = test_retouch(&s, &p);
    twice = test_retouch(&t, &p);
    once.seconds = twice.seconds = 0;
    once.matched_weight *= 2;
    once.left_weight *= 2;
    once.members_weight *= 2;
    once.lost_weight *= 2;
    assert_memory_equal(&once, &twice, sizeof once);
    for (size_t i = 0; i < 400; i++)
        assert_int_equal(t.lost[i], t.lost[400 + i]);
    test_assert_same_file(s.f, t.f);
    test_fixture_fini(&s);
    test_fixture_fini(&t);
}

static void members_that_must_not_match_are_refused_or_lost(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(4000, 5, 3);
    bool both[20];
    size_t n;
    umbel_retouch_result b;
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    s.never = (umbel_key_list)UMBEL_KEY_LIST(s.digests + 390, 20);
    p.max_fn = 1;
    assert_refused(
        umbel_retouch(s.f, &s.members, &s.never, &p, &b, NULL, &test_refusal),
        UMBEL_E_KEY, "10 of the keys");
    test_assert_same_file(s.before, s.f);
    assert_ok(umbel_find_conflicts(s.f, &s.members, &s.never, both, &n,
                                   &test_refusal));
    assert_int_equal(n, 10);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(both[i], i < 10);
    p.allow_members = true;
    b = test_retouch(&s, &p);
    test_check_bill(&s, &b);
    assert_int_equal(b.left, 0);
    assert_true(b.lost >= 10);
    test_fixture_fini(&s);
}

static void other_members_are_noticed(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(4000, 5, 3);
    umbel_retouch_result b;
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    umbel_key_list foreign = UMBEL_KEY_LIST(s.never.digests + 10000, 400);
    umbel_key_list some = UMBEL_KEY_LIST(s.digests, 200);
    s.never.n = 10000;
    assert_refused(
        umbel_retouch(s.f, &foreign, &s.never, &p, &b, NULL, &test_refusal),
        UMBEL_E_MISMATCH, "do not match");
    assert_refused(
        umbel_retouch(s.f, &some, &s.never, &p, &b, NULL, &test_refusal),
        UMBEL_E_MISMATCH, "only 200 members");
    test_assert_same_file(s.before, s.f);

    /* Forced with half of the members, most others survive. */
    p.force = true;
    p.max_fn = 1;
    assert_ok(umbel_retouch(s.f, &some, &s.never, &p, &b, NULL, &test_refusal));
    assert_int_equal(b.left, 0);
    assert_true(umbel_has_false_negatives(s.f));
    assert_int_equal(umbel_known_false_negatives(s.f),
                     b.lost + umbel_added(s.f) - 200);
    test_fixture_fini(&s);
}

/* A merged filter's number of keys is an estimate, but still more than half. */
static void merged_filters_want_all_their_members(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(40000, 5, 3);
    umbel_retouch_result b;
    test_fixture s, t;

    test_fixture_init(&s, &shape, 4000, 20000, 0);
    test_fixture_init(&t, &shape, 4000, 20000, 0);
    assert_ok(umbel_merge(s.f, t.f, UMBEL_OR, &test_refusal));
    umbel_key_list half = UMBEL_KEY_LIST(s.digests, 2000);
    assert_refused(
        umbel_retouch(s.f, &half, &s.never, &p, &b, NULL, &test_refusal),
        UMBEL_E_MISMATCH, "only 2000 members");
    assert_ok(
        umbel_retouch(s.f, &s.members, &s.never, &p, &b, NULL, &test_refusal));
    test_fixture_fini(&s);
    test_fixture_fini(&t);
}

static void weights_have_bounds(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(4000, 5, 3);
    double weights[2] = {1, 0}, wrong[] = {-1, 1e-300, 1e300, NAN, INFINITY};
    umbel_retouch_result b;
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    umbel_key_list two = UMBEL_KEY_LIST(s.never.digests, 2);
    two.weights = weights;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        weights[1] = wrong[i];
        assert_refused(
            umbel_retouch(s.f, &s.members, &two, &p, &b, NULL, &test_refusal),
            UMBEL_E_RANGE, "weights are 0, or from");
    }
    test_fixture_fini(&s);
}

/* Keys of weight 0 are not worth a member. */
static void weight_zero_buys_nothing(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(4000, 5, 3);
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    double *zeros = calloc(s.never.n, sizeof *zeros);
    s.never.weights = zeros;
    p.cost = 1;
    umbel_retouch_result b = test_retouch(&s, &p);
    assert_true(b.matched > 0);
    assert_int_equal(b.lost, 0);
    test_fixture_fini(&s);
    free(zeros);
}

/* A second retouching starts from the members that the first left. */
static void retouched_filters_can_be_retouched(void **state)
{
    (void)state;
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_params shape = test_classic(4000, 5, 3);
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    p.max_fn = 0.02;
    umbel_retouch_result first = test_retouch(&s, &p);
    assert_int_equal(first.lost, 8);
    p.max_fn = 1;
    umbel_retouch_result second = test_retouch(&s, &p);
    assert_int_equal(second.false_negatives_before, 8);
    assert_int_equal(second.left, 0);
    assert_int_equal(second.never, first.never);
    assert_int_equal(second.matched, first.left);
    assert_int_equal(umbel_known_false_negatives(s.f), 8 + second.lost);
    assert_refused(
        umbel_estimate_keys(s.f, &(umbel_interval){0}, &test_refusal),
        UMBEL_E_UNSUPPORTED, "retouched");
    test_fixture_fini(&s);
}

static void check_refused(test_fixture *s, umbel_retouch_params p,
                          const char *word)
{
    umbel_status want =
        strcmp(word, "no method") == 0 ? UMBEL_E_UNKNOWN : UMBEL_E_RANGE;
    umbel_retouch_result b;

    assert_refused(umbel_retouch(s->f, &s->members, &s->never, &p, &b, NULL,
                                 &test_refusal),
                   want, word);
    test_assert_same_file(s->before, s->f);
}

static void parameters_out_of_range_are_refused(void **state)
{
    (void)state;
    umbel_params shape = test_classic(4000, 5, 3);
    const umbel_retouch_params zero = UMBEL_RETOUCH_INIT;
    umbel_retouch_params p;
    double weights[20000] = {0};
    test_fixture s;

    test_fixture_init(&s, &shape, 400, 20000, 0);
    p = zero, p.method = "magic", check_refused(&s, p, "no method");
    p = zero, p.max_fn = 1.5, check_refused(&s, p, "max_fn");
    p = zero, p.max_fn = (double)NAN, check_refused(&s, p, "max_fn");
    p = zero, p.beta = -0.1, check_refused(&s, p, "beta");
    p = zero, p.cost = -1, check_refused(&s, p, "cost");
    p = zero, p.seconds = (double)INFINITY, check_refused(&s, p, "seconds");
    p = zero, p.size = 3, check_refused(&s, p, "INIT");
    s.never.weights = weights;
    weights[7] = -1, check_refused(&s, zero, "weight");
    weights[7] = (double)NAN, check_refused(&s, zero, "weight");
    test_fixture_fini(&s);
}

static void only_bits_in_own_memory_can_be_retouched(void **state)
{
    (void)state;
    umbel_key_list none = UMBEL_KEY_LIST(NULL, 0);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_source source = UMBEL_SOURCE_INIT;
    char *dir = test_dir_make(), *path = test_path(dir, "f.umb");
    umbel_filter *f;
    umbel_retouch_result b;

    p.capacity = 100;
    assert_ok(umbel_create("aging", &p, &f, &test_refusal));
    assert_refused(
        umbel_retouch(f, &none, &none, NULL, &b, NULL, &test_refusal),
        UMBEL_E_UNSUPPORTED, "single bits");
    umbel_close(f);
    f = test_open(&p);
    assert_ok(umbel_save(f, path, &test_refusal));
    umbel_close(f);
    assert_ok(umbel_map(path, &source, &f, &test_refusal));
    assert_refused(
        umbel_retouch(f, &none, &none, NULL, &b, NULL, &test_refusal),
        UMBEL_E_READONLY, "read-only");
    umbel_close(f);
    free(path);
    test_dir_remove(dir);
}

/* Fails the nth allocation, for every n: it must be refused without changes. */
static size_t try_without_memory(test_fixture *s, test_memory *m,
                                 const umbel_retouch_params *p)
{
    size_t failures = 0;
    umbel_retouch_result b;

    for (size_t n = 1;; n++) {
        test_fixture_again(s);
        m->fail_at = m->calls + n;
        umbel_status status = umbel_retouch(s->f, &s->members, &s->never, p, &b,
                                            s->lost, &test_refusal);
        bool reached = m->calls >= m->fail_at;
        m->fail_at = 0;
        if (!reached) {
            assert_int_equal(status, UMBEL_OK);
            test_check_bill(s, &b);
            return failures;
        }
        failures++;
        assert_int_equal(status, UMBEL_E_NOMEM);
        test_assert_same_file(s->before, s->f);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    test_memory m = {0};
    const umbel_alloc alloc = test_alloc(&m);
    umbel_params shape = test_classic(4000, 5, 3);
    double weights[20000];
    const char *method;
    test_fixture s;

    shape.alloc = &alloc;
    test_fixture_init(&s, &shape, 400, 20000, 0);
    for (size_t i = 0; i < 20000; i++)
        weights[i] = (double)(i % 7);
    for (size_t i = 0; umbel_retouch_method_at(i, &method, NULL); i++) {
        umbel_retouch_params p = UMBEL_RETOUCH_INIT;
        p.method = method;
        p.moves = 1000;
        p.max_fn = 0.3;
        p.beta = 0.5;
        p.count_outside = true;
        s.never.weights = i % 2 ? weights : NULL;
        p.heaviest = i % 2;
        assert_true(try_without_memory(&s, &m, &p) > 15);
    }
    test_fixture_fini(&s);
    assert_int_equal(m.live_blocks, 0);
}

TEST_GROUP(retouch_input)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_do_is_a_bill_of_zeros),
        cmocka_unit_test(a_key_listed_twice_is_one_key_of_twice_the_weight),
        cmocka_unit_test(merged_filters_want_all_their_members),
        cmocka_unit_test(weights_have_bounds),
        cmocka_unit_test(weight_zero_buys_nothing),
        cmocka_unit_test(members_that_must_not_match_are_refused_or_lost),
        cmocka_unit_test(other_members_are_noticed),
        cmocka_unit_test(retouched_filters_can_be_retouched),
        cmocka_unit_test(parameters_out_of_range_are_refused),
        cmocka_unit_test(only_bits_in_own_memory_can_be_retouched),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
