/*
 * test_spam.c - the counters of the spam paper, and the short way to its
 * errors.
 */
#include "support/test.h"

#include "papers/spam-split/store.h"
#include "papers/spam/table.h"

#include <string.h>

/* --- counters --------------------------------------------------------------*/

/* The same keys are wrong whether a filter gets all insertions or only those
 * that matter; and the plain filter's errors are just the suspects. */
static void the_short_way_has_the_same_errors(void **state)
{
    static um_spam_load load;
    um_rng rng = {5};
    um_spam_space *s = um_spam_space_new(&test_refusal);
    double errors = 0;

    (void)state;
    assert_non_null(s);
    for (size_t i = 0; i < TEST_COUNT(um_spam_experiments); i++) {
        const um_spam_experiment *e = &um_spam_experiments[i];
        um_spam_draw_keys(&load, &rng);
        um_spam_draw_counts(e, false, &load, &rng);
        /* In rounds and runs the order is given: only the seed is drawn, and
         * both ways must agree exactly. */
        if (e->sequence == SPAM_SHUFFLED)
            continue;
        for (size_t shape = 0; shape < SPAM_HASHES; shape++) {
            um_spam_result brief, whole;
            um_rng same = rng;
            assert_ok(um_spam_run(e, &load, shape, false, s, &rng, &brief,
                                  &test_refusal));
            assert_ok(um_spam_run(e, &load, shape, true, s, &same, &whole,
                                  &test_refusal));
            assert_true(brief.plain == whole.plain);
            assert_true(brief.refined == whole.refined);
            assert_true(brief.refined_errors == whole.refined_errors);
            errors += whole.refined_errors;
        }
    }
    assert_true(errors > 100);
    um_spam_space_free(s);
}

/* A shuffled sequence: what is left of it when only the keys that matter are
 * kept gives each of them the same count. */
static void a_shuffled_part_counts_as_the_whole_does(void **state)
{
    static um_spam_load load;
    um_rng rng = {6};
    um_spam_space *s = um_spam_space_new(&test_refusal);
    const um_spam_experiment *e = &um_spam_experiments[3];
    umbel_filter *plain, *whole, *part;

    (void)state;
    assert_non_null(s);
    um_spam_draw_keys(&load, &rng);
    um_spam_draw_counts(e, false, &load, &rng);
    um_spam_take_keys(&s->keys, &load);
    assert_ok(um_spam_open(80000, 6, SPAM_BITS, SPAM_PLAIN_UPDATE, 9, &plain,
                           &test_refusal));
    assert_ok(um_spam_open(80000, 6, SPAM_BITS, SPAM_REFINED_UPDATE, 9, &whole,
                           &test_refusal));
    assert_ok(um_spam_open(80000, 6, SPAM_BITS, SPAM_REFINED_UPDATE, 9, &part,
                           &test_refusal));
    assert_ok(
        um_spam_insert(plain, SPAM_RUNS, &s->keys, s, &rng, &test_refusal));
    assert_ok(um_spam_find_wrong(plain, &s->keys, s, &test_refusal));
    um_spam_relevant(plain, s->keys.digest, s->keys.n, s->wrong, s->mark,
                     s->kept);
    assert_ok(
        um_spam_insert(whole, SPAM_SHUFFLED, &s->keys, s, &rng, &test_refusal));
    for (uint64_t i = 0; i < load.insertions; i++)
        if (s->kept[s->sequence[i]])
            assert_ok(
                umbel_add_digests(part, &s->stream[i], 1, NULL, &test_refusal));
    size_t kept = 0, suspects = 0;
    for (size_t i = 0; i < s->keys.n; i++) {
        uint64_t all, some;
        assert_ok(umbel_count_digests(whole, &s->keys.digest[i], 1, &all,
                                      &test_refusal));
        assert_ok(umbel_count_digests(part, &s->keys.digest[i], 1, &some,
                                      &test_refusal));
        assert_true(all == s->keys.amount[i] || s->wrong[i]);
        assert_true(!s->kept[i] || all == some);
        kept += s->kept[i];
        suspects += s->wrong[i];
    }
    assert_in_range(suspects, 50, 400);
    assert_in_range(kept, suspects, 3000);
    umbel_close(plain);
    umbel_close(whole);
    umbel_close(part);
    um_spam_space_free(s);
}

/* --- draws -----------------------------------------------------------------*/

static void fitted_counts_have_their_zeros_and_sum(void **state)
{
    static um_spam_load load;
    um_rng rng = {6};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(um_spam_experiments); i++) {
        const um_spam_experiment *e = &um_spam_experiments[i];
        uint64_t sum = 0;
        if (!e->total)
            continue;
        um_spam_draw_counts(e, true, &load, &rng);
        for (size_t j = 0; j < SPAM_KEYS; j++) {
            assert_true(load.count[j] <= e->parameter);
            sum += load.count[j];
        }
        assert_int_equal(sum, e->total);
        assert_int_equal(load.insertions, e->total);
        assert_int_equal(load.keys, SPAM_KEYS - e->zeros);
    }
}

static void even_counts_have_the_mean_of_their_law(void **state)
{
    static um_spam_load load;
    um_rng rng = {8};

    (void)state;
    for (size_t i = 5; i < 7; i++) { /* Poisson, 10 and 20 */
        const um_spam_experiment *e = &um_spam_experiments[i];
        um_spam_draw_counts(e, true, &load, &rng);
        assert_near((double)load.insertions / SPAM_KEYS, e->parameter, 0.005);
        for (size_t j = 1; j < SPAM_KEYS; j++)
            assert_true(load.count[j] >= load.count[j - 1]);
        assert_true(load.count[SPAM_KEYS - 1] < SPAM_CAP);
    }
}

/* Five sigma around the laws' means: variances 0, 36.7, 10, 20, 140. */
static void free_counts_follow_their_laws(void **state)
{
    static const double mean[] = {20, 20, 20, 10, 10, 10, 20, 20};
    static const double sd[] = {0, 0, 0, 6.06, 6.06, 3.17, 4.48, 11.84};
    static um_spam_load load;
    um_rng rng = {7};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(um_spam_experiments); i++) {
        um_spam_draw_counts(&um_spam_experiments[i], false, &load, &rng);
        assert_near((double)load.insertions / SPAM_KEYS, mean[i],
                    5 * sd[i] / 100);
    }
}

/* --- split storage ---------------------------------------------------------*/

static void a_split_store_holds_any_counts(void **state)
{
    enum { N = 1000 };
    um_split s;
    um_rng rng = {9};
    uint32_t wide[N] = {0};

    (void)state;
    assert_ok(um_split_init(&s, 3, N, &test_refusal));
    for (int i = 0; i < 20000; i++) {
        uint32_t cell = (uint32_t)um_random_below(&rng, N);
        uint32_t value = (uint32_t)um_random_below(&rng, 8);
        if (cell < N / 2) /* as many as may overflow; they never shrink */
            value = wide[cell] + (uint32_t)um_random_below(&rng, 1 << 24);
        assert_true(um_split_put(&s, cell, value));
        wide[cell] = value;
    }
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(um_split_get(&s, i), wide[i]);
    assert_int_equal(s.used, N / 2);
    assert_false(um_split_put(&s, N - 1, 8)); /* one too many */
    assert_int_equal(um_split_get(&s, N - 1), wide[N - 1]);
    um_split_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_way_has_the_same_errors),
        cmocka_unit_test(a_shuffled_part_counts_as_the_whole_does),
        cmocka_unit_test(fitted_counts_have_their_zeros_and_sum),
        cmocka_unit_test(even_counts_have_the_mean_of_their_law),
        cmocka_unit_test(free_counts_follow_their_laws),
        cmocka_unit_test(a_split_store_holds_any_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
