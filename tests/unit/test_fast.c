/*
 * test_fast.c - every fast path against the kind's own functions.
 */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 700 };

static umbel_filter *open_pair(const um_fast *row, uint32_t hashes,
                               uint64_t cells, uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = row->addressing;
    p.cells = cells;
    p.hashes = hashes;
    p.seed = seed;
    assert_ok(umbel_open(row->kind, &p, &f, &test_refusal));
    return f;
}

/* Single keys of every length, some of which are hashed without the library. */
static void check_strings(umbel_filter *fast, umbel_filter *plain,
                          const void *text)
{
    bool a = false, b = false;

    for (size_t len = 0; len <= 40; len++) {
        assert_ok(umbel_query(fast, text, len, &a, &test_refusal));
        assert_ok(umbel_query(plain, text, len, &b, &test_refusal));
        assert_int_equal(a, b);
        assert_ok(umbel_add(fast, text, len, &a, &test_refusal));
        assert_ok(umbel_add(plain, text, len, &b, &test_refusal));
        assert_int_equal(a, b);
        assert_ok(umbel_query(fast, text, len, &a, &test_refusal));
        assert_true(a);
    }
}

/* The same keys by both ways: answers and cells must be equal. */
static void check_keys(umbel_filter *fast, umbel_filter *plain,
                       const uint64_t *keys, size_t n)
{
    bool a[MOST] = {false}, b[MOST] = {false};
    umbel_digest d[MOST];

    assert_ok(umbel_query_fixed(fast, keys, 8, n, a, &test_refusal));
    assert_ok(umbel_query_fixed(plain, keys, 8, n, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
    assert_ok(umbel_add_fixed(fast, keys, 8, n / 2, a, &test_refusal));
    assert_ok(umbel_add_fixed(plain, keys, 8, n / 2, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
    assert_ok(umbel_digest_fixed(plain, keys, 8, n, d, &test_refusal));
    assert_ok(umbel_query_digests(fast, d, n, a, &test_refusal));
    assert_ok(umbel_query_fixed(plain, keys, 8, n, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
    assert_ok(umbel_add_digests(fast, d, n, a, &test_refusal));
    assert_ok(umbel_add_fixed(plain, keys, 8, n, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
    test_assert_same_file(fast, plain);
    for (size_t i = 0; i < n; i++) {
        assert_ok(umbel_query(fast, keys + i, 8, a, &test_refusal));
        assert_ok(umbel_query(plain, keys + i, 8, b, &test_refusal));
        assert_int_equal(a[0], b[0]);
    }
    check_strings(fast, plain, keys);
}

static void check_shape(const um_fast *row, uint32_t hashes, um_rng *rng)
{
    uint64_t keys[MOST], seed = um_random(rng);
    uint64_t cells = 512 * (1 + um_random_below(rng, 40));
    umbel_filter *fast = open_pair(row, hashes, cells, seed);
    umbel_filter *plain = open_pair(row, hashes, cells, seed);

    um_filter_use(fast, row->usable(&fast->layout) ? row : NULL);
    um_filter_use(plain, NULL);
    for (size_t i = 0; i < MOST; i++)
        keys[i] = um_random(rng);
    check_keys(fast, plain, keys, (size_t)um_random_below(rng, MOST + 1));
    check_keys(fast, plain, keys, 1);
    check_keys(fast, plain, keys, 64);
    umbel_close(fast);
    umbel_close(plain);
}

static void fast_paths_give_the_same_answers_and_cells(void **state)
{
    um_rng rng = {1};

    (void)state;
    for (size_t i = 0; um_fast_row(i); i++)
        for (uint32_t hashes = 1; hashes <= 20; hashes++)
            for (int round = 0; round < 20; round++)
                check_shape(um_fast_row(i), hashes, &rng);
}

/* Past the second cache the loops fetch ahead. */
static void large_filters_too(void **state)
{
    enum { N = 5000 };
    um_rng rng = {2};
    uint64_t *keys = malloc(N * sizeof *keys);
    bool *a = malloc(N), *b = malloc(N);

    (void)state;
    for (size_t i = 0; i < N; i++)
        keys[i] = um_random(&rng);
    for (size_t i = 0; um_fast_row(i); i++)
        for (uint32_t hashes = 6; hashes <= 9; hashes += 3) {
            umbel_filter *f = open_pair(um_fast_row(i), hashes, 1 << 26, 3);
            umbel_filter *g = open_pair(um_fast_row(i), hashes, 1 << 26, 3);
            um_filter_use(f, um_fast_row(i)->usable(&f->layout) ? um_fast_row(i)
                                                                : NULL);
            um_filter_use(g, NULL);
            assert_ok(umbel_add_fixed(f, keys, 8, N, a, &test_refusal));
            assert_ok(umbel_add_fixed(g, keys, 8, N, b, &test_refusal));
            assert_memory_equal(a, b, N);
            assert_ok(umbel_query_fixed(f, keys, 8, N, a, &test_refusal));
            for (size_t j = 0; j < N; j++)
                assert_true(a[j]);
            test_assert_same_file(f, g);
            umbel_close(f);
            umbel_close(g);
        }
    free(keys);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_paths_give_the_same_answers_and_cells),
        cmocka_unit_test(large_filters_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
