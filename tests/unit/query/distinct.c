/* distinct.c - counting distinct keys without storing the list. */
#include "support/test.h"

#include "base/alloc.h"
#include "query/digest_set.h"

#include <math.h>

enum { PIECE = 1000 };

/* Adds the keys from, from + 1, ... as digests. */
static void come(um_distinct *d, uint64_t from, uint64_t n)
{
    umbel_digest digests[PIECE];

    for (uint64_t done = 0, some; done < n; done += some) {
        some = n - done < PIECE ? n - done : PIECE;
        for (uint64_t i = 0; i < some; i++)
            digests[i] = (umbel_digest){from + done + i, 7};
        assert_true(um_distinct_add(d, digests, (size_t)some));
    }
}

static um_distinct begun(umbel_alloc *alloc)
{
    *alloc = um_alloc_or_default(NULL);
    return (um_distinct){.alloc = alloc};
}

static void counts_few_keys_exactly(void **state)
{
    umbel_alloc alloc;
    um_distinct d = begun(&alloc);

    (void)state;
    assert_int_equal(um_distinct_count(&d), 0);
    come(&d, 0, 1);
    assert_int_equal(um_distinct_count(&d), 1);
    come(&d, 0, 30000);
    come(&d, 10000, 30000);
    come(&d, 0, 40000);
    assert_int_equal(um_distinct_count(&d), 40000);
    um_distinct_fini(&d);
}

static void counts_any_number_exactly_where_none_comes_twice(void **state)
{
    umbel_alloc alloc;
    um_distinct d = begun(&alloc);

    (void)state;
    come(&d, 0, 5 * (uint64_t)UM_DISTINCT_MAX);
    assert_true(d.level >= 2);
    assert_true(d.n <= UM_DISTINCT_MAX);
    assert_int_equal(um_distinct_count(&d), 5 * (uint64_t)UM_DISTINCT_MAX);
    um_distinct_fini(&d);
}

/*
 * Asserts the count within five sigma: the `telling` keys are in the sample
 * with probability 2^-level.
 */
static void assert_about(const um_distinct *d, uint64_t n, uint64_t telling)
{
    double sigma = sqrt((double)telling * (ldexp(1, (int)d->level) - 1));
    double off = (double)um_distinct_count(d) - (double)n;

    assert_true(d->level > 0);
    assert_true(fabs(off) < 5 * sigma);
}

static void estimates_what_comes_again_in_long_lists(void **state)
{
    const uint64_t n = 3 * (uint64_t)UM_DISTINCT_MAX, twice = 400000;
    umbel_alloc alloc;
    um_distinct d = begun(&alloc);

    (void)state;
    come(&d, 0, n);
    come(&d, 0, twice);
    assert_about(&d, n, twice);
    um_distinct_fini(&d);
}

/* The sample has about n 2^-level keys, however often each occurs. */
static void a_key_that_comes_often_is_no_more_than_one(void **state)
{
    const uint64_t n = 2 * (uint64_t)UM_DISTINCT_MAX, often = 3000;
    umbel_alloc alloc;
    um_distinct d = begun(&alloc);

    (void)state;
    come(&d, 0, n);
    for (uint64_t i = 0; i < often; i++)
        come(&d, i % 8, PIECE);
    assert_about(&d, n, n);
    um_distinct_fini(&d);
}

/* Tests a table that is just full, and one key more. */
static void a_full_table_is_exact(void **state)
{
    umbel_alloc alloc;
    um_distinct d = begun(&alloc);

    (void)state;
    come(&d, 0, UM_DISTINCT_MAX);
    come(&d, 0, UM_DISTINCT_MAX);
    assert_int_equal(um_distinct_count(&d), UM_DISTINCT_MAX);
    assert_int_equal(d.level, 0);
    come(&d, UM_DISTINCT_MAX, 1);
    assert_int_equal(d.level, 1);
    um_distinct_fini(&d);
}

static void memory_that_runs_out_is_reported(void **state)
{
    umbel_digest digests[PIECE];
    test_memory m = {0};
    umbel_alloc alloc = test_alloc(&m);

    (void)state;
    for (size_t i = 0; i < PIECE; i++)
        digests[i] = (umbel_digest){i, i};
    for (m.fail_at = 1; m.fail_at <= 4; m.fail_at++) {
        um_distinct d = {.alloc = &alloc};
        m.calls = 0;
        assert_false(um_distinct_add(&d, digests, PIECE));
        um_distinct_fini(&d);
        assert_int_equal(m.live_blocks, 0);
    }
}

TEST_GROUP(distinct)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_few_keys_exactly),
        cmocka_unit_test(counts_any_number_exactly_where_none_comes_twice),
        cmocka_unit_test(estimates_what_comes_again_in_long_lists),
        cmocka_unit_test(a_key_that_comes_often_is_no_more_than_one),
        cmocka_unit_test(a_full_table_is_exact),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
