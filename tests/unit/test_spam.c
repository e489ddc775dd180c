/*
 * test_spam.c - the counters of the spam paper, and the short way to its
 * errors.
 */
#include "support/test.h"

#include "papers/spam-split/store.h"
#include "papers/spam/table.h"

#include <string.h>

static const uint32_t three[] = {0, 1, 2};
static const um_spam_list all = {three, 3};

/* --- counters --------------------------------------------------------------*/

/* Section IV: servers a and b, before and after one more x each. */
static void the_merge_example_gives_6_8_and_7(void **state)
{
    static const uint8_t a[3] = {2, 5, 8}, b[3] = {4, 4, 3};
    uint8_t x[3], y[3];

    (void)state;
    memcpy(x, a, 3);
    um_spam_merge(x, b, 3, 31);
    assert_int_equal(um_spam_count(x, all), 6);

    memcpy(x, a, 3);
    memcpy(y, b, 3);
    um_spam_add_plain(x, all, 1, 31);
    um_spam_add_plain(y, all, 1, 31);
    um_spam_merge(x, y, 3, 31);
    assert_memory_equal(x, ((uint8_t[]){8, 11, 13}), 3);
    assert_int_equal(um_spam_count(x, all), 8);

    memcpy(x, a, 3);
    memcpy(y, b, 3);
    um_spam_add_refined(x, all, 1, 31);
    um_spam_add_refined(y, all, 1, 31);
    um_spam_merge(x, y, 3, 31);
    assert_memory_equal(x, ((uint8_t[]){7, 9, 12}), 3);
    assert_int_equal(um_spam_count(x, all), 7);
}

static void cells_stick_at_the_cap(void **state)
{
    uint8_t x[3] = {30, 31, 7}, y[3] = {30, 0, 31};

    (void)state;
    um_spam_add_plain(x, all, 1, 31);
    assert_memory_equal(x, ((uint8_t[]){31, 31, 8}), 3);
    um_spam_add_refined(x, all, 40, 31);
    assert_memory_equal(x, ((uint8_t[]){31, 31, 31}), 3);
    um_spam_add_refined(x, all, 1, 31);
    um_spam_merge(x, y, 3, 31);
    assert_memory_equal(x, ((uint8_t[]){31, 31, 31}), 3);
}

static void many_times_in_a_row_are_once_many_times(void **state)
{
    um_rng rng = {3};

    (void)state;
    for (int trial = 0; trial < 1000; trial++) {
        uint8_t row[3], once[3];
        unsigned times = (unsigned)um_random_below(&rng, 40);
        for (int i = 0; i < 3; i++)
            row[i] = once[i] = (uint8_t)um_random_below(&rng, 32);
        um_spam_add_refined(row, all, times, 31);
        for (unsigned i = 0; i < times; i++)
            um_spam_add_refined(once, all, 1, 31);
        assert_memory_equal(row, once, 3);
    }
}

/* --- nets ------------------------------------------------------------------*/

enum { KEYS = 600, CELLS = 3000, COUNTS = 31 };

/* Keys with random counts on a crowded filter; s is initialised. */
static void draw_net(um_net_space *s, uint8_t *count, unsigned k, um_rng *rng)
{
    uint32_t keys[KEYS];

    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = (uint32_t)(1 + um_random_below(rng, SPAM_PRIME - 1));
        count[i] = (uint8_t)um_random_below(rng, COUNTS);
    }
    um_net_hash(s, keys, count, KEYS, k, CELLS, rng);
    um_net_reduce(s);
}

static void keys_without_a_count_own_nothing(void **state)
{
    um_net_space s;
    um_rng rng = {4};
    uint8_t count[KEYS];

    (void)state;
    assert_ok(um_net_init(&s, KEYS, CELLS, &test_refusal));
    draw_net(&s, count, 8, &rng);
    for (size_t i = 0; i < s.whole.nkeys; i++) {
        um_spam_list l = um_net_list(&s.whole, i);
        assert_true(count[s.whole.key[i]] > 0 && l.n >= 1 && l.n <= 8);
        for (size_t j = 0; j < l.n; j++) /* H2 */
            for (size_t other = 0; other < j; other++)
                assert_int_not_equal(l.cell[j], l.cell[other]);
    }
    um_net_fini(&s);
}

/* Insert what sequence says, keys of the whole net, into a net. */
static void replay(const um_net *net, const uint32_t *sequence, size_t n,
                   uint8_t *value, bool refined)
{
    int32_t place[KEYS];

    memset(place, -1, sizeof place);
    for (size_t i = 0; i < net->nkeys; i++)
        place[net->key[i]] = (int32_t)i;
    memset(value, 0, net->ncells);
    for (size_t i = 0; i < n; i++) {
        if (place[sequence[i]] < 0)
            continue;
        um_spam_list l = um_net_list(net, (size_t)place[sequence[i]]);
        if (refined)
            um_spam_add_refined(value, l, 1, SPAM_CAP);
        else
            um_spam_add_plain(value, l, 1, SPAM_CAP);
    }
}

/* wrong[key]; nobody may be counted too low. */
static size_t find_wrong(const um_net *net, const uint8_t *value,
                         const uint8_t *count, bool *wrong)
{
    size_t n = 0;

    memset(wrong, 0, KEYS * sizeof *wrong);
    for (size_t i = 0; i < net->nkeys; i++) {
        unsigned got = um_spam_count(value, um_net_list(net, i));
        assert_true(got >= count[net->key[i]]);
        wrong[net->key[i]] = got != count[net->key[i]];
        n += wrong[net->key[i]];
    }
    return n;
}

/* The whole net, cell by cell, against the short way: the same keys err. */
static void the_reduced_net_has_the_same_errors(void **state)
{
    um_net_space s;
    um_rng rng = {5};
    uint8_t count[KEYS], value[CELLS + KEYS];
    static uint32_t sequence[KEYS * COUNTS];
    bool whole[KEYS], reduced[KEYS], suspect[KEYS] = {0};
    size_t errors = 0;

    (void)state;
    assert_ok(um_net_init(&s, KEYS, CELLS, &test_refusal));
    for (unsigned trial = 0; trial < 60; trial++) {
        draw_net(&s, count, 4 + 2 * (trial % 3), &rng);
        size_t n = um_spam_fill(&s.whole, count, sequence);
        for (size_t i = 0; i < n; i++) /* numbers in the net to keys */
            sequence[i] = s.whole.key[sequence[i]];
        if (trial % 2)
            um_spam_shuffle(sequence, n, &rng);
        replay(&s.whole, sequence, n, value, true);
        errors += find_wrong(&s.whole, value, count, whole);
        replay(&s.reduced, sequence, n, value, true);
        find_wrong(&s.reduced, value, count, reduced);
        assert_memory_equal(whole, reduced, sizeof whole);

        replay(&s.whole, sequence, n, value, false);
        find_wrong(&s.whole, value, count, whole);
        memset(suspect, 0, sizeof suspect);
        for (size_t i = 0; i < s.suspects; i++)
            suspect[s.suspect[i]] = true;
        assert_memory_equal(whole, suspect, sizeof whole);
        assert_true(s.reduced.nkeys < s.whole.nkeys);
    }
    assert_true(errors > 100);
    um_net_fini(&s);
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
        cmocka_unit_test(the_merge_example_gives_6_8_and_7),
        cmocka_unit_test(cells_stick_at_the_cap),
        cmocka_unit_test(many_times_in_a_row_are_once_many_times),
        cmocka_unit_test(keys_without_a_count_own_nothing),
        cmocka_unit_test(the_reduced_net_has_the_same_errors),
        cmocka_unit_test(fitted_counts_have_their_zeros_and_sum),
        cmocka_unit_test(even_counts_have_the_mean_of_their_law),
        cmocka_unit_test(free_counts_follow_their_laws),
        cmocka_unit_test(a_split_store_holds_any_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
