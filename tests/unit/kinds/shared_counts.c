/*
 * shared_counts.c - shared counts behave like exclusive ones with one thread,
 * and are never too low with several.
 *
 * The tests with threads are most useful with ThreadSanitizer.
 */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"
#include "kinds/counting/cells.h"

#include <umbel/counting.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN, REFINED };

/* A kind with its cell width and update. */
typedef struct subject {
    const char *kind;
    uint64_t bits, update;
    bool has_update; /* has the setting; else always refined */
} subject;

static const subject subjects[] = {
    {"counting", 2, PLAIN, true},     {"counting", 4, PLAIN, true},
    {"counting", 8, PLAIN, true},     {"counting", 16, PLAIN, true},
    {"counting", 32, PLAIN, true},    {"counting", 2, REFINED, true},
    {"counting", 4, REFINED, true},   {"counting", 8, REFINED, true},
    {"counting", 16, REFINED, true},  {"counting", 32, REFINED, true},
    {"countmin", 32, REFINED, false}, {"countmin", 64, REFINED, false},
};

static umbel_filter *open_subject(const subject *s, const char *addressing,
                                  uint64_t cells, uint32_t hashes)
{
    umbel_setting set[] = {{"cell_bits", s->bits}, {"update", s->update}};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = addressing;
    p.cells = cells;
    p.hashes = hashes;
    p.settings = set;
    p.nsettings = s->has_update ? 2 : 1;
    assert_ok(umbel_create(s->kind, &p, &f, &test_refusal));
    return f;
}

static uint64_t count(const umbel_filter *f, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    uint64_t n = 0;

    test_key(i, key);
    if (umbel_count_many(f, &slice, 1, &n, NULL) != UMBEL_OK)
        abort(); /* cmocka's assertions work in its own thread only */
    return n;
}

/* --- alone ------------------------------------------------------------------
 */

/* Adds the same keys and amounts, some of them 0, in pieces of odd sizes. */
static void compare(umbel_filter *shared, umbel_filter *alone)
{
    enum { MOST = 400 };
    uint64_t amounts[MOST], x[MOST], y[MOST];
    bool a[MOST], b[MOST];
    um_rng rng = {3};

    for (int round = 0; round < 8; round++) {
        size_t n = (size_t)um_random_below(&rng, MOST + 1);
        char *keys = test_keys(um_random_below(&rng, 500), n);
        umbel_slice *slices = test_slices(keys, n);
        for (size_t i = 0; i < n; i++)
            amounts[i] = um_random_below(&rng, 4);
        assert_ok(
            umbel_add_amounts(shared, slices, amounts, n, a, &test_refusal));
        assert_ok(
            umbel_add_amounts(alone, slices, amounts, n, b, &test_refusal));
        assert_memory_equal(a, b, n);
        assert_ok(umbel_count_many(shared, slices, n, x, &test_refusal));
        assert_ok(umbel_count_many(alone, slices, n, y, &test_refusal));
        assert_memory_equal(x, y, n * sizeof *x);
        assert_int_equal(umbel_added(shared), umbel_added(alone));
        free(slices);
        free(keys);
    }
}

static void counts_and_cells_are_those_of_an_exclusive_filter(void **state)
{
    const char *addressing;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(subjects); i++)
        for (size_t j = 0; umbel_addressing_at(j, &addressing, NULL); j++) {
            umbel_filter *shared =
                open_subject(&subjects[i], addressing, 999, 4);
            umbel_filter *alone =
                open_subject(&subjects[i], addressing, 999, 4);
            assert_ok(umbel_share(shared, &test_refusal));
            compare(shared, alone);
            test_assert_same_file(shared, alone);
            umbel_close(shared);
            umbel_close(alone);
        }
}

static void cells_across_words_are_refused(void **state)
{
    (void)state;
    for (uint64_t bits = 2; bits <= 32; bits++) {
        subject s = {"counting", bits, REFINED, true};
        umbel_filter *f = open_subject(&s, "classic", 100, 3);
        if (64 % bits)
            assert_refused(umbel_share(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                           "across two words");
        else
            assert_ok(umbel_share(f, &test_refusal));
        test_add(f, 0, 10); /* it still works either way */
        assert_int_equal(test_hits(f, 0, 10), 10);
        umbel_close(f);
    }
}

/* Removing requires exclusive use; then it works as in any filter. */
static void keys_can_be_taken_back_when_nobody_adds(void **state)
{
    subject s = {"counting", 4, PLAIN, true};
    umbel_filter *f = open_subject(&s, "classic", 4096, 4), *before = NULL;
    char *keys = test_keys(50, 20);
    umbel_slice *slices = test_slices(keys, 20);

    (void)state;
    test_add(f, 0, 50);
    assert_ok(umbel_copy(f, &before, &test_refusal));
    assert_ok(umbel_share(f, &test_refusal));
    test_add(f, 50, 20);
    assert_ok(umbel_remove_many(f, slices, 20, &test_refusal));
    test_assert_same_file(f, before);
    free(slices);
    free(keys);
    umbel_close(f);
    umbel_close(before);
}

/* --- threads ----------------------------------------------------------------
 */

enum { ADDERS = 4, COMMON = 40, ROUNDS = 60 };

/*
 * Adders add the same few keys, each in its own order, and after each round a
 * key of their own: COMMON + number. The reader checks that counts only grow.
 */
typedef struct work {
    umbel_filter *filter;
    pthread_barrier_t *start;
    uint64_t number;
    uint64_t times[COMMON + ADDERS]; /* added by this thread */
    bool fresh[COMMON];              /* reported at least once */
    bool wrong;
} work;

static bool add_one(work *w, uint64_t i, uint64_t amount)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    bool fresh = false;

    test_key(i, key);
    if (umbel_add_amounts(w->filter, &slice, &amount, 1, &fresh, NULL) !=
        UMBEL_OK)
        abort();
    w->times[i] += amount;
    return fresh;
}

static void *adder(void *arg)
{
    work *w = arg;
    um_rng rng = {w->number + 1};
    uint64_t own = COMMON + w->number, limit = umbel_count_limit(w->filter);

    pthread_barrier_wait(w->start);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t from = um_random_below(&rng, COMMON);
        for (uint64_t i = 0; i < COMMON; i++) {
            uint64_t key = (from + i) % COMMON;
            bool fresh = add_one(w, key, um_random_below(&rng, 3));
            w->fresh[key] |= fresh;
        }
        add_one(w, own, 1);
        uint64_t want = w->times[own] < limit ? w->times[own] : limit;
        w->wrong |= count(w->filter, own) < want;
    }
    return NULL;
}

static void *reader(void *arg)
{
    work *w = arg;
    uint64_t seen[COMMON] = {0};

    pthread_barrier_wait(w->start);
    for (int round = 0; round < ROUNDS; round++)
        for (uint64_t i = 0; i < COMMON; i++) {
            uint64_t now = count(w->filter, i);
            w->wrong |= now < seen[i];
            seen[i] = now;
        }
    return NULL;
}

static void run_together(umbel_filter *f, work w[ADDERS + 1])
{
    pthread_t thread[ADDERS + 1];
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, ADDERS + 1);
    for (size_t i = 0; i <= ADDERS; i++) {
        w[i] = (work){.filter = f, .start = &start, .number = i};
        assert_int_equal(pthread_create(&thread[i], NULL,
                                        i < ADDERS ? adder : reader, &w[i]),
                         0);
    }
    for (size_t i = 0; i <= ADDERS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&start);
}

static uint64_t times(const work *w, uint64_t key)
{
    uint64_t sum = 0;

    for (size_t t = 0; t < ADDERS; t++)
        sum += w[t].times[key];
    return sum;
}

/*
 * Compares the cells with those of one thread. Saturating sums do not depend on
 * their order, so plain cells are equal. Refined cells depend on it, and are at
 * most these.
 */
static void check_cells(const umbel_filter *f, const work *w, bool plain)
{
    subject all = {"counting", um_settings_of(f)[0], PLAIN, true};
    umbel_filter *sum = NULL;

    if (all.bits > 32)
        return; /* plain counts are at most 32 bits wide */
    sum = open_subject(&all, f->layout.row->name, f->layout.cells,
                       f->layout.hashes);
    um_cells a = um_cells_of(f->payload, (uint32_t)all.bits);
    um_cells b = um_cells_of(sum->payload, (uint32_t)all.bits);
    for (uint64_t i = 0; i < COMMON + ADDERS; i++) {
        char key[TEST_KEY_LEN];
        umbel_slice slice = {key, sizeof key};
        uint64_t n = times(w, i);
        test_key(i, key);
        assert_ok(umbel_add_amounts(sum, &slice, &n, 1, NULL, &test_refusal));
    }
    if (plain)
        test_assert_same_payload(f, sum);
    for (uint64_t i = 0; i < f->layout.cells; i++)
        assert_true(um_cell(&a, i) <= um_cell(&b, i));
    umbel_close(sum);
}

/*
 * Adds from several threads to hardly more cells than keys, so that all keys
 * share some.
 */
static void check_threads(const subject *s, const char *addressing)
{
    umbel_filter *f = open_subject(s, addressing, 120, 3);
    uint64_t limit = umbel_count_limit(f);
    work w[ADDERS + 1];

    assert_ok(umbel_share(f, &test_refusal));
    run_together(f, w);
    for (uint64_t i = 0; i < COMMON + ADDERS; i++) {
        uint64_t n = times(w, i);
        assert_true(count(f, i) >= (n < limit ? n : limit));
    }
    for (size_t t = 0; t <= ADDERS; t++)
        assert_false(w[t].wrong);
    check_cells(f, w, s->has_update && s->update == PLAIN);
    assert_true(umbel_added(f) > 0);
    umbel_close(f);
}

static void threads_never_count_too_little(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(subjects); i++)
        for (size_t j = 0; test_own_addressing(j); j++)
            check_threads(&subjects[i], test_own_addressing(j));
}

/*
 * With this many cells no key shares one: every key is new to at least one
 * thread.
 */
static void a_first_add_is_reported_to_a_thread(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(subjects); i++) {
        umbel_filter *f = open_subject(&subjects[i], "classic", 1 << 20, 4);
        work w[ADDERS + 1];
        assert_ok(umbel_share(f, &test_refusal));
        run_together(f, w);
        for (uint64_t key = 0; key < COMMON; key++) {
            int reported = 0;
            for (size_t t = 0; t < ADDERS; t++)
                reported += w[t].fresh[key];
            assert_true(reported >= 1);
        }
        assert_true(umbel_added(f) >= COMMON + ADDERS);
        umbel_close(f);
    }
}

/*
 * Adds the only key in the filter: refined counts are exact, however the
 * threads interleave. Without the lock two would start from the same count.
 */
static void *hammer(void *arg)
{
    enum { TIMES = 100000 };
    work *w = arg;

    pthread_barrier_wait(w->start);
    for (int i = 0; i < TIMES / ADDERS; i++)
        add_one(w, 0, 1);
    return NULL;
}

static void one_key_is_counted_exactly_by_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(subjects); i++) {
        umbel_filter *f = open_subject(&subjects[i], "classic", 1 << 10, 4);
        uint64_t limit = umbel_count_limit(f);
        pthread_barrier_t start;
        pthread_t thread[ADDERS];
        work w[ADDERS + 1];
        assert_ok(umbel_share(f, &test_refusal));
        pthread_barrier_init(&start, NULL, ADDERS);
        for (size_t t = 0; t < ADDERS; t++) {
            w[t] = (work){.filter = f, .start = &start, .number = t};
            assert_int_equal(pthread_create(&thread[t], NULL, hammer, &w[t]),
                             0);
        }
        for (size_t t = 0; t < ADDERS; t++)
            pthread_join(thread[t], NULL);
        pthread_barrier_destroy(&start);
        uint64_t n = times(w, 0);
        assert_int_equal(n, 100000);
        assert_int_equal(count(f, 0), n < limit ? n : limit);
        umbel_close(f);
    }
}

TEST_GROUP(shared_counts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_cells_are_those_of_an_exclusive_filter),
        cmocka_unit_test(cells_across_words_are_refused),
        cmocka_unit_test(keys_can_be_taken_back_when_nobody_adds),
        cmocka_unit_test(threads_never_count_too_little),
        cmocka_unit_test(a_first_add_is_reported_to_a_thread),
        cmocka_unit_test(one_key_is_counted_exactly_by_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
