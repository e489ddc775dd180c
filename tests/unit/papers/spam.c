/* spam.c - the counters of the spam paper, and the shortcut to its errors. */
#include "support/test.h"

#include "papers/spam/draw.h"
#include "papers/spam/signatures/signature.h"
#include "papers/spam/split/store.h"
#include "papers/spam/table.h"

#include <umbel/counting.h>

#include <math.h>
#include <string.h>

/* --- counters --------------------------------------------------------------*/

/*
 * Checks that the same keys are wrong whether a filter gets all insertions or
 * only the relevant ones, and that the plain filter's errors are exactly the
 * suspects.
 */
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
        /*
         * In rounds and runs the order is fixed: only the seed is drawn, and
         * both must agree exactly.
         */
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

/*
 * Checks that a shuffled sequence, reduced to the relevant keys, gives each of
 * them the same count.
 */
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
    um_spam_parse_keys(&s->keys, &load);
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

/*
 * Means must be within five sigma of their distributions' (variances 0, 36.7,
 * 10, 20, 140).
 */
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
        if (cell < N / 2) /* these overflow, and never shrink */
            value = wide[cell] + (uint32_t)um_random_below(&rng, 1 << 24);
        um_split_append(&s, cell, value);
        wide[cell] = value;
    }
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(um_split_get(&s, i), wide[i]);
    assert_int_equal(s.used, N / 2);
    for (uint32_t i = 0; i < N; i++) /* all tables are full */
        um_split_append(&s, i, 1000 + i);
    assert_int_equal(s.used, N);
    um_split_merge(&s, &s, N);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(um_split_get(&s, i), 2 * (1000 + i));
    um_split_fini(&s);
}

/* --- variance from the draw ------------------------------------------------*/

/*
 * The plain rate depends only on the number of inserted keys, by k a e^-a / (1
 * - e^-a): with zeros and sum fixed, it does not vary.
 */
static void plain_rates_follow_the_number_of_keys_alone(void **state)
{
    const um_spam_experiment *e = &um_spam_experiments[3];

    (void)state;
    for (size_t i = 0; i < um_spam_shapes(e); i++) {
        double none = 1 / 21., keys = SPAM_KEYS * (1 - none);
        double a = um_spam_k(i) * keys / um_spam_size(e, i);
        double elasticity = um_spam_k(i) * a * exp(-a) / (1 - exp(-a));
        double by_keys =
            elasticity * sqrt(SPAM_KEYS * none * (1 - none)) / keys;
        assert_near(um_spam_draw_spread(e, i, SPAM_OF_PLAIN, false), by_keys,
                    1e-9);
        assert_near(um_spam_draw_spread(e, i, SPAM_OF_PLAIN, true), 0, 1e-9);
    }
    assert_near(
        um_spam_draw_spread(&um_spam_experiments[0], 0, SPAM_OF_REFINED, false),
        0, 0);
}

/* Refined counters of SMALL keys at k = 4, eight cells per key. */
enum { SMALL = 50, SMALL_CELLS = 8 * SMALL, SMALL_K = 4, SMALL_MAX = 20 };

static double small_rate(const uint8_t *count, um_rng *rng)
{
    uint32_t cell[SMALL][SMALL_K], sequence[SMALL * SMALL_MAX];
    uint8_t counter[SMALL_CELLS] = {0};
    size_t n = 0;
    double wrong = 0;

    for (uint32_t i = 0; i < SMALL; i++) {
        for (size_t j = 0; j < SMALL_K; j++)
            cell[i][j] = (uint32_t)um_random_below(rng, SMALL_CELLS);
        for (size_t j = 0; j < count[i]; j++)
            sequence[n++] = i;
    }
    um_spam_shuffle(sequence, n, rng);
    for (size_t i = 0; i < n + SMALL; i++) { /* then each key is queried */
        const uint32_t *c = cell[i < n ? sequence[i] : i - n];
        uint8_t least = UINT8_MAX;
        for (size_t j = 0; j < SMALL_K; j++)
            least = counter[c[j]] < least ? counter[c[j]] : least;
        for (size_t j = 0; j < SMALL_K && i < n; j++)
            if (counter[c[j]] == least)
                counter[c[j]] = (uint8_t)(least + 1);
        if (i >= n && least != count[i - n])
            wrong += count[i - n];
    }
    return wrong / (double)n;
}

/*
 * The means of rounds vary over draws of the counts, beyond the noise of the
 * rounds. Scaled to 10,000 keys, that variance must agree with the delta method
 * within five standard errors of 600 draws. The model omits errors caused by
 * the order: it may be too low by half, but not too high.
 */
static void refined_rates_spread_over_draws_as_predicted(void **state)
{
    enum { DRAWS = 600, ROUNDS = 300 };
    um_rng rng = {11};
    double mean[DRAWS], within = 0;

    (void)state;
    for (size_t i = 0; i < DRAWS; i++) {
        uint8_t count[SMALL];
        double rate[ROUNDS];
        for (size_t j = 0; j < SMALL; j++)
            count[j] = (uint8_t)um_random_below(&rng, SMALL_MAX + 1);
        for (size_t j = 0; j < ROUNDS; j++)
            rate[j] = small_rate(count, &rng);
        um_mean m = um_mean_of(rate, ROUNDS, 1);
        mean[i] = m.value;
        within += m.error * m.error / DRAWS;
    }
    um_mean all = um_mean_of(mean, DRAWS, 1);
    double found = (all.sd * all.sd - within) / (all.value * all.value);
    double error = sqrt(2. / DRAWS) * all.sd * all.sd / all.value / all.value;
    double said =
        um_spam_draw_spread(&um_spam_experiments[3], 0, SPAM_OF_REFINED, false);
    said *= said * SPAM_KEYS / SMALL;
    print_message("variance over draws: %.4f +- %.4f, said %.4f\n", found,
                  error, said);
    assert_true(found - 5 * error > 0);
    assert_true(said < found + 5 * error);
    assert_true(said > (found - 5 * error) / 2);
}

/* --- signatures ------------------------------------------------------------*/

static um_wide wide(const char *hex)
{
    um_wide x = {{0}};

    for (size_t i = 0, n = strlen(hex); i < n; i++) {
        const char *digits = "0123456789abcdef";
        uint32_t digit = (uint32_t)(strchr(digits, hex[n - 1 - i]) - digits);
        x.word[i / 8] |= digit << (4 * (i % 8));
    }
    return x;
}

/*
 * Computed with Python's integers: (c x + d) mod (2^160 + 7), x being a SHA-1.
 */
static void signatures_are_hashed_by_equation_2(void **state)
{
    static const struct {
        uint64_t message;
        const char *c, *d, *x, *y;
        uint64_t rest; /* mod 1,000,003 */
    } rows[] = {{0, "c386bbc4cd613e30d8f16adf91b7584a2265b1f6",
                 "7311d8a3c2ce6f447ed4d57b1e2feb89414c343c",
                 "5fe405753166f125559e7c9ac558654f107c7e9",
                 "99b3c8fa428474e24dd7b996d2bb0aa5546ff346", 403770},
                {3, "a46d6753ec148cb48e73ca47ea90a8f0d66b829f",
                 "dc2574bdb94067edfe175330a11d459a2f978d87",
                 "ef4862c8fb031cd58eba3b882589e445c7e1f0e2",
                 "f0378bffcefef6e4908a3e9271770870b1168cd6", 440225},
                {4, "10000000000000000000000000000000000000006",
                 "10000000000000000000000000000000000000006",
                 "f4533a73e647c710d3ddbfb253de66e1ac8a6891",
                 "bacc58c19b838ef2c22404dac21991e53759775", 857842}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        um_wide c = wide(rows[i].c), d = wide(rows[i].d), x = wide(rows[i].x);
        um_wide signature = um_signature_of(rows[i].message);
        assert_memory_equal(&signature, &x, sizeof x);
        um_wide y = um_wide_linear(&c, &x, &d), want = wide(rows[i].y);
        assert_memory_equal(&y, &want, sizeof y);
        assert_int_equal(um_wide_mod(&y, 1000003), rows[i].rest);
    }
    um_wide x = wide(rows[0].x), c = wide(rows[2].c);
    um_wide most = wide("ffffffffffffffffffffffffffffffffffffffff");
    assert_int_equal(um_wide_chunk(&x, 0, 8), 0x05fe4);
    assert_int_equal(um_wide_chunk(&x, 9, 10), 0xc7e9);
    um_wide y = um_wide_linear(&c, &most, &c);
    assert_int_equal(um_wide_mod(&y, 1000), 7);
}

TEST_GROUP(spam)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_way_has_the_same_errors),
        cmocka_unit_test(a_shuffled_part_counts_as_the_whole_does),
        cmocka_unit_test(fitted_counts_have_their_zeros_and_sum),
        cmocka_unit_test(even_counts_have_the_mean_of_their_law),
        cmocka_unit_test(free_counts_follow_their_laws),
        cmocka_unit_test(a_split_store_holds_any_counts),
        cmocka_unit_test(plain_rates_follow_the_number_of_keys_alone),
        cmocka_unit_test(refined_rates_spread_over_draws_as_predicted),
        cmocka_unit_test(signatures_are_hashed_by_equation_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
