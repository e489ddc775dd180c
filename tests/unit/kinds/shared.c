/*
 * shared.c - shared filters behave like exclusive ones with one thread, and are
 * safe with several.
 *
 * The tests with threads are most useful with ThreadSanitizer.
 */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"

#include <umbel/file.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static umbel_filter *open_kind(const char *kind, const umbel_params *p)
{
    umbel_filter *f = NULL;

    assert_ok(umbel_create(kind, p, &f, &test_refusal));
    return f;
}

/* Adds the same keys in pieces of odd sizes, some of them twice. */
static void compare_adds(umbel_filter *shared, umbel_filter *alone)
{
    enum { MOST = 700 };
    bool a[MOST], b[MOST];
    um_rng rng = {3};

    for (int round = 0; round < 12; round++) {
        size_t n = (size_t)um_random_below(&rng, MOST + 1);
        char *keys = test_keys(um_random_below(&rng, 3000), n);
        umbel_slice *slices = test_slices(keys, n);
        assert_ok(umbel_query_many(shared, slices, n, a, &test_refusal));
        assert_ok(umbel_query_many(alone, slices, n, b, &test_refusal));
        assert_memory_equal(a, b, n);
        assert_ok(
            umbel_add_fixed(shared, keys, TEST_KEY_LEN, n, a, &test_refusal));
        assert_ok(
            umbel_add_fixed(alone, keys, TEST_KEY_LEN, n, b, &test_refusal));
        assert_memory_equal(a, b, n);
        assert_int_equal(umbel_added(shared), umbel_added(alone));
        free(slices);
        free(keys);
    }
}

static void compare_combo(const test_combo *c, uint64_t cells, uint32_t hashes)
{
    umbel_params p = test_combo_params(c);

    p.cells = cells;
    p.hashes = hashes;
    umbel_filter *shared = open_kind(c->kind, &p);
    umbel_filter *alone = open_kind(c->kind, &p);
    assert_ok(umbel_share(shared, &test_refusal));
    compare_adds(shared, alone);
    test_assert_same_file(shared, alone);
    umbel_close(shared);
    umbel_close(alone);
}

/*
 * cells: no whole words, whole words, and enough cells for prefetching, which
 * counts do not use.
 */
static void gives_the_answers_and_cells_of_an_exclusive_filter(void **state)
{
    static const uint64_t cells[] = {1001, 16384, 5 << 20};
    static const uint32_t hashes[] = {1, 4, 7, 8, 13, 30};
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        const um_kind *kind = um_kind_find(c.kind);
        if (!kind->shared)
            continue;
        for (size_t j = 0; j < TEST_COUNT(cells) - !!kind->counting; j++)
            for (size_t k = 0; k < TEST_COUNT(hashes); k++) {
                const um_addressing *a = um_addressing_find(c.addressing);
                if (um_granule(a, hashes[k]) &&
                    cells[j] <= um_limit(a, hashes[k]))
                    compare_combo(&c, cells[j], hashes[k]);
            }
    }
}

static void a_kind_that_cannot_is_refused_with_the_reason(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    size_t refused = 0;

    (void)state;
    p.capacity = 100;
    for (size_t i = 0; um_kind_row(i); i++) {
        const um_kind *kind = um_kind_row(i);
        if (kind->shared)
            assert_true(kind->shared->add && kind->shared->query);
        if (kind->shared || kind->built)
            continue;
        umbel_filter *f = open_kind(kind->name, &p);
        assert_refused(umbel_share(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                       "cannot be shared");
        test_add(f, 0, 10); /* and it still works */
        assert_int_equal(test_hits(f, 0, 10), 10);
        umbel_close(f);
        refused++;
    }
    assert_true(refused > 0);
}

static void groups_are_refused_with_the_reason(void **state)
{
    umbel_setting two = {"groups", 2};
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.capacity = 100;
    p.settings = &two;
    p.nsettings = 1;
    umbel_filter *f = open_kind("bloom", &p);
    assert_refused(umbel_share(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "with groups cannot be shared");
    umbel_close(f);
}

static umbel_filter *filled(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.capacity = 1000;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, 500);
    return f;
}

/*
 * Checks that sharing does not change the behaviour, however the filter was
 * created.
 */
static void check_shared(umbel_filter *f)
{
    assert_ok(umbel_share(f, &test_refusal));
    assert_int_equal(test_hits(f, 0, 500), 500);
    test_add(f, 500, 500);
    assert_int_equal(test_hits(f, 0, 1000), 1000);
    umbel_close(f);
}

static void works_after_decode_load_and_copy(void **state)
{
    umbel_filter *f = filled(), *g = NULL;
    char *dir = test_dir_make(), *path = test_path(dir, "f.umb");
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    assert_ok(umbel_decode(bytes, len, NULL, &g, &test_refusal));
    check_shared(g);
    assert_ok(umbel_save(f, path, &test_refusal));
    assert_ok(umbel_load(path, NULL, &g, &test_refusal));
    check_shared(g);
    assert_ok(umbel_copy(f, &g, &test_refusal));
    check_shared(g);
    check_shared(f);
    free(bytes);
    free(path);
    test_dir_remove(dir);
}

static void a_mapped_one_answers_and_takes_no_key(void **state)
{
    umbel_filter *f = filled(), *mapped = NULL;
    char *dir = test_dir_make(), *path = test_path(dir, "f.umb");

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    assert_ok(umbel_map(path, NULL, &mapped, &test_refusal));
    assert_ok(umbel_share(mapped, &test_refusal));
    assert_int_equal(test_hits(mapped, 0, 500), 500);
    assert_refused(umbel_add(mapped, "x", 1, NULL, &test_refusal),
                   UMBEL_E_READONLY, "read-only");
    umbel_close(mapped);
    umbel_close(f);
    free(path);
    test_dir_remove(dir);
}

/* A copy of a shared filter belongs to one thread. */
static void copies_are_not_shared(void **state)
{
    umbel_filter *f = filled(), *copy = NULL;
    const um_fast *fast = f->fast;

    (void)state;
    assert_ok(umbel_share(f, &test_refusal));
    assert_true(!f->fast || f->fast->set_hash[0]);
    assert_ok(umbel_copy(f, &copy, &test_refusal));
    assert_null(copy->gate);
    assert_ptr_equal(copy->fast, fast);
    test_assert_same_file(f, copy);
    umbel_close(copy);
    umbel_close(f);
}

static void stays_shared_when_cleared(void **state)
{
    umbel_filter *f = filled();

    (void)state;
    assert_ok(umbel_share(f, &test_refusal));
    assert_ok(umbel_clear(f, &test_refusal));
    assert_non_null(f->gate);
    assert_int_equal(test_hits(f, 0, 500), 0);
    check_shared(filled());
    umbel_close(f);
}

static void its_count_stays_at_its_end(void **state)
{
    umbel_filter *f = filled();

    (void)state;
    assert_ok(umbel_share(f, &test_refusal));
    f->added = UINT64_MAX - 5;
    test_add(f, 1000, 100);
    assert_int_equal(umbel_added(f), UINT64_MAX);
    umbel_close(f);
}

/* --- threads ---------------------------------------------------------------
 */

enum { ADDERS = 3, READERS = 2, KEYS = 20000, COMMON = 4000, PIECE = 100 };

/*
 * Adder t adds the keys t * KEYS .. (t + 1) * KEYS - 1, and all adders the keys
 * from ADDERS * KEYS on: the same piece at the same time, by a barrier.
 */
typedef struct work {
    umbel_filter *filter;
    pthread_barrier_t *together;
    uint64_t number;
    bool fresh[COMMON];
    uint64_t seen; /* by a reader */
} work;

static void add_some(umbel_filter *f, uint64_t from, size_t n, bool *fresh)
{
    char keys[PIECE * TEST_KEY_LEN];

    for (size_t i = 0; i < n; i++)
        test_key(from + i, keys + i * TEST_KEY_LEN);
    if (umbel_add_fixed(f, keys, TEST_KEY_LEN, n, fresh, NULL) != UMBEL_OK)
        abort(); /* cmocka's assertions work in its own thread only */
}

static void *adder(void *arg)
{
    work *w = arg;
    uint64_t from = w->number * KEYS;

    for (uint64_t i = 0; i < KEYS; i += PIECE)
        add_some(w->filter, from + i, PIECE, NULL);
    for (uint64_t i = 0; i < COMMON; i += PIECE) {
        pthread_barrier_wait(w->together);
        add_some(w->filter, (uint64_t)ADDERS * KEYS + i, PIECE, w->fresh + i);
    }
    return NULL;
}

/* Checks that a found key stays found, and that the count only grows. */
static void *reader(void *arg)
{
    work *w = arg;
    uint64_t added = 0;

    for (uint64_t i = 0; i < (uint64_t)ADDERS * KEYS; i += 7) {
        char key[TEST_KEY_LEN];
        bool first = false, again = false;
        test_key(i, key);
        umbel_query(w->filter, key, sizeof key, &first, NULL);
        umbel_query(w->filter, key, sizeof key, &again, NULL);
        uint64_t now = umbel_added(w->filter);
        if ((first && !again) || now < added)
            abort();
        added = now;
        w->seen += first;
    }
    return NULL;
}

static void run_together(umbel_filter *f, work w[ADDERS + READERS])
{
    pthread_t thread[ADDERS + READERS];
    pthread_barrier_t together;

    pthread_barrier_init(&together, NULL, ADDERS);
    for (size_t i = 0; i < ADDERS + READERS; i++) {
        w[i] = (work){.filter = f, .together = &together, .number = i};
        assert_int_equal(pthread_create(&thread[i], NULL,
                                        i < ADDERS ? adder : reader, &w[i]),
                         0);
    }
    for (size_t i = 0; i < ADDERS + READERS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&together);
}

/* Checks that every common key was new to at least one adder. */
static void check_fresh(const work *w)
{
    for (size_t i = 0; i < COMMON; i++) {
        int told = 0;
        for (size_t t = 0; t < ADDERS; t++)
            told += w[t].fresh[i];
        assert_true(told >= 1);
    }
}

/*
 * Adds from several threads. The error of 1e-9 for 64,000 keys excludes false
 * positives. Each adder may count the common keys.
 */
static void check_addressing(const char *addressing)
{
    enum { ALL = ADDERS * KEYS + COMMON };
    umbel_params p = UMBEL_PARAMS_INIT;
    work *w = calloc(ADDERS + READERS, sizeof *w);

    assert_non_null(w);
    p.addressing = addressing;
    p.capacity = ALL;
    p.fpr = 1e-9;
    umbel_filter *shared = test_open(&p), *alone = test_open(&p);
    assert_ok(umbel_share(shared, &test_refusal));
    run_together(shared, w);
    test_add(alone, 0, ALL);
    assert_int_equal(umbel_added(alone), ALL);
    assert_int_equal(test_hits(shared, 0, ALL), ALL);
    test_assert_same_payload(shared, alone);
    check_fresh(w);
    assert_true(umbel_added(shared) >= ALL);
    assert_true(umbel_added(shared) <= ALL + (ADDERS - 1) * COMMON);
    umbel_close(shared);
    umbel_close(alone);
    free(w);
}

static void threads_lose_no_key_and_no_first_add(void **state)
{
    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        check_addressing(test_own_addressing(i));
}

TEST_GROUP(shared)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_answers_and_cells_of_an_exclusive_filter),
        cmocka_unit_test(a_kind_that_cannot_is_refused_with_the_reason),
        cmocka_unit_test(groups_are_refused_with_the_reason),
        cmocka_unit_test(works_after_decode_load_and_copy),
        cmocka_unit_test(a_mapped_one_answers_and_takes_no_key),
        cmocka_unit_test(copies_are_not_shared),
        cmocka_unit_test(stays_shared_when_cleared),
        cmocka_unit_test(its_count_stays_at_its_end),
        cmocka_unit_test(threads_lose_no_key_and_no_first_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
