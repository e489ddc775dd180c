/* hash_groups.c - filters whose keys may use one of several digests. */
#include "support/test.h"

#include "filter/addressing/hash_groups.h"
#include "filter/handle.h"
#include "kinds/bloom/bloom.h"

#include <umbel/estimate.h>
#include <umbel/file.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 3000, OUTSIDE = 100000 };

static umbel_filter *grouped(const char *addressing, uint64_t groups,
                             uint64_t cells, uint32_t hashes)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting setting = {"groups", groups};

    p.addressing = addressing;
    p.settings = &setting;
    p.nsettings = 1;
    p.cells = cells;
    p.hashes = hashes;
    p.capacity = KEYS;
    return test_open(&p);
}

static int by_digest(const void *a, const void *b)
{
    const umbel_digest *x = a, *y = b;

    if (x->lo != y->lo)
        return (x->lo > y->lo) - (x->lo < y->lo);
    return (x->hi > y->hi) - (x->hi < y->hi);
}

/* Returns the number of digests whose lower half equals that of another. */
static size_t twins(umbel_digest *d, size_t n)
{
    size_t equal = 0;

    qsort(d, n, sizeof *d, by_digest);
    for (size_t i = 1; i < n; i++)
        equal += d[i].lo == d[i - 1].lo;
    return equal;
}

/*
 * Returns a digest for a dense integer: hashed, as in universal, and as from a
 * careless caller.
 */
static umbel_digest dense(size_t family, uint64_t i)
{
    if (family == 0)
        return (umbel_digest){um_remix(i), um_remix(um_remix(i))};
    return (umbel_digest){i, family == 1 ? 0 : 3 * i};
}

/*
 * Tests 2^17 dense integers in all 8 groups: 2^20 digests, 2^39 pairs, so that
 * 2^-25 equal 64-bit halves are expected. XORing small numbers into the key
 * made each key's digest equal to another's.
 */
static void dense_integers_have_no_twins_in_other_groups(void **state)
{
    enum { N = 1 << 17 };
    umbel_digest *d = malloc((size_t)N * UM_MAX_HASH_GROUPS * sizeof *d);

    (void)state;
    assert_non_null(d);
    for (size_t family = 0; family < 3; family++) {
        size_t n = 0;
        for (uint64_t i = 0; i < N; i++)
            for (uint32_t g = 0; g < UM_MAX_HASH_GROUPS; g++)
                d[n++] = um_group_digest(dense(family, i), g);
        assert_int_equal(twins(d, n), 0);
    }
    free(d);
}

/*
 * With this few cells, keys of two groups share cells by chance: checks that
 * they do so exactly as often.
 */
static void cells_of_groups_are_independent(void **state)
{
    enum { N = 1 << 16, CELLS = 1 << 20 };
    umbel_filter *f = grouped("classic", 2, CELLS, 1);
    uint8_t *seen = calloc(CELLS, 1);
    double both = 0, expected = 0;
    uint64_t pos[UM_GROUPED_CELLS];

    (void)state;
    assert_non_null(seen);
    for (uint64_t i = 0; i < N; i++) {
        umbel_digest d;
        assert_ok(umbel_digest_fixed(f, &i, 8, 1, &d, &test_refusal));
        um_group_cells(&f->layout, 2, d, pos);
        seen[pos[0]] = 1;
    }
    for (uint64_t i = 0; i < CELLS; i++)
        expected += seen[i];
    expected *= (double)N / CELLS;
    for (uint64_t i = 0; i < N; i++) {
        umbel_digest d;
        assert_ok(umbel_digest_fixed(f, &i, 8, 1, &d, &test_refusal));
        um_group_cells(&f->layout, 2, d, pos);
        both += seen[pos[1]];
    }
    assert_near(both, expected, 5 * sqrt(expected));
    free(seen);
    umbel_close(f);
}

static void the_first_group_is_the_digest_itself(void **state)
{
    umbel_digest d = {123, 456};

    (void)state;
    umbel_digest first = um_group_digest(d, 0), next = um_group_digest(d, 1);
    assert_memory_equal(&first, &d, sizeof d);
    /* Part of the format: computed independently from docs/FORMAT.md. */
    assert_int_equal(next.lo, UINT64_C(0xB4DC9BD462DE412B));
    assert_int_equal(next.hi, UINT64_C(0xC6470BEBB52269DA));
}

/*
 * Checks for each addressing and number of groups that there are no false
 * negatives and that the error is as predicted.
 */
static void predictions_hold_in_every_addressing(void **state)
{
    static const char *const names[] = {"classic", "partitioned", "blocked512",
                                        "blocked256", "chunks-md5"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++)
        for (uint64_t groups = 1; groups <= UM_MAX_HASH_GROUPS; groups++) {
            umbel_filter *f = grouped(names[i], groups, 30720, 4);
            test_add(f, 0, KEYS);
            assert_int_equal(test_hits(f, 0, KEYS), KEYS);
            double p = umbel_predict(f);
            double hits = (double)test_hits(f, 1u << 20, OUTSIDE);
            assert_near(hits / OUTSIDE, p, 5 * sqrt(p * (1 - p) / OUTSIDE));
            umbel_close(f);
        }
}

/*
 * Checks the formula for keys that choose a group: with one block it is right
 * within 5 %, the variation of a run; with several it may be too high, but not
 * too low.
 */
static void the_formula_knows_that_keys_choose(void **state)
{
    static const char *const one_block[] = {"classic", "partitioned"};
    static const char *const blocks[] = {"blocked512", "blocked256"};

    (void)state;
    for (uint64_t groups = 2; groups <= 8; groups *= 2)
        for (uint32_t hashes = 4; hashes <= 10; hashes += 3)
            for (size_t i = 0; i < 2; i++) {
                umbel_filter *f = grouped(one_block[i], groups,
                                          100000 / hashes * hashes, hashes);
                test_add(f, 0, 10000);
                double told = umbel_fpr_at(f, 10000);
                assert_near(umbel_predict(f), told, 0.05 * told);
                umbel_close(f);
                f = grouped(blocks[i], groups, 100352, hashes);
                test_add(f, 0, 10000);
                assert_true(umbel_predict(f) <= 1.03 * umbel_fpr_at(f, 10000));
                umbel_close(f);
            }
}

/* Two groups at their best need fewer bits than one (Lumetta 2007). */
static void a_choice_does_not_cost_size(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting setting = {"groups", 2};
    umbel_size_plan one, two;

    (void)state;
    p.addressing = "classic";
    p.capacity = 100000;
    assert_ok(umbel_plan_size(NULL, &p, 0, &one, &test_refusal));
    p.settings = &setting;
    p.nsettings = 1;
    assert_ok(umbel_plan_size(NULL, &p, 0, &two, &test_refusal));
    assert_true(two.bits_per_key < one.bits_per_key);
    assert_true(two.bits_per_key > 0.95 * one.bits_per_key);
    assert_true(two.error <= 0.001);
}

static void a_fast_path_asks_every_group(void **state)
{
    static const char *const names[] = {"classic", "blocked512", "blocked256"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        umbel_filter *f = grouped(names[i], 3, 30720, 5);
        um_bloom *inside = f->self;
        const struct um_fast *fast = inside->fast;
        assert_null(f->fast); /* rows support one group only */
        test_add(f, 0, KEYS);
        size_t hits = test_hits(f, 0, 50000);
        inside->fast = NULL;
        assert_int_equal(test_hits(f, 0, 50000), hits);
        inside->fast = fast;
        umbel_close(f);
    }
    umbel_filter *classic = grouped("classic", 3, 30720, 5);
    assert_non_null(((um_bloom *)classic->self)->fast);
    umbel_close(classic);
}

static void a_union_keeps_and_an_intersection_is_refused(void **state)
{
    umbel_filter *a = grouped("classic", 2, 60000, 5);
    umbel_filter *b = grouped("classic", 2, 60000, 5);
    umbel_filter *c = grouped("classic", 3, 60000, 5);
    umbel_interval keys;

    (void)state;
    test_add(a, 0, KEYS);
    test_add(b, KEYS, KEYS);
    assert_refused(umbel_merge(a, c, UMBEL_OR, &test_refusal), UMBEL_E_MISMATCH,
                   "groups: 2 and 3");
    uint64_t before = umbel_payload_checksum(a), added = umbel_added(a);
    assert_refused(umbel_merge(a, b, UMBEL_AND, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "groups");
    assert_int_equal(umbel_payload_checksum(a), before);
    assert_int_equal(umbel_added(a), added);
    assert_ok(umbel_merge(a, b, UMBEL_OR, &test_refusal));
    assert_int_equal(test_hits(a, 0, 2 * KEYS), 2 * KEYS);
    /*
     * b chose without knowing a's cells, so more are used than in one filter.
     */
    assert_near((double)umbel_added(a), 2 * KEYS, 0.1 * 2 * KEYS);
    assert_refused(umbel_estimate_keys(a, &keys, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "chose");
    umbel_close(a);
    umbel_close(b);
    umbel_close(c);
}

static void a_fold_keeps_every_member(void **state)
{
    umbel_filter *f = grouped("blocked512", 4, 512 * 120, 6), *small = NULL;

    (void)state;
    test_add(f, 0, KEYS);
    assert_ok(umbel_fold(f, 3, &small, &test_refusal));
    assert_int_equal(test_hits(small, 0, KEYS), KEYS);
    assert_int_equal(um_settings_of(small)[0], 4);
    umbel_close(small);
    umbel_close(f);
}

/*
 * Choices made among many cells have no effect in a fold; the size allows for
 * that.
 */
static void a_fold_to_an_error_keeps_it(void **state)
{
    static const char *const names[] = {"classic", "blocked512"};
    umbel_setting setting = {"groups", 3};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *large = NULL, *small = NULL;
        p.addressing = names[i];
        p.fpr = 0.01;
        p.settings = &setting;
        p.nsettings = 1;
        assert_ok(
            umbel_create_unsized(NULL, &p, 1 << 20, &large, &test_refusal));
        test_add(large, 0, KEYS);
        assert_ok(umbel_fit(large, &small, &test_refusal));
        assert_int_equal(test_hits(small, 0, KEYS), KEYS);
        assert_true(umbel_cells(small) < umbel_cells(large) / 50);
        assert_true(umbel_predict(small) <= 0.01 * 1.05);
        umbel_close(large);
        umbel_close(small);
    }
}

static void hostile_groups_are_refused(void **state)
{
    static const struct {
        uint64_t groups;
        const char *word;
    } wrong[] = {{0, "groups must be 1..8"},
                 {9, "groups must be 1..8"},
                 {UINT64_MAX, "groups must be 1..8"},
                 {UINT64_C(1) << 32 | 2, "groups must be 1..8"}};
    umbel_filter *f = grouped("classic", 2, 1000, 4), *out = NULL;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    assert_ok(umbel_decode(bytes, len, NULL, &out, &test_refusal));
    assert_int_equal(((um_bloom *)out->self)->groups, 2);
    umbel_close(out);
    free(bytes);
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        um_shape s = *um_shape_of(f);
        out = NULL;
        s.setting[0] = wrong[i].groups;
        bytes = test_forge(f, &s, &len);
        assert_refused(umbel_decode(bytes, len, NULL, &out, &test_refusal),
                       UMBEL_E_FORMAT, wrong[i].word);
        assert_null(out);
        free(bytes);
    }
    umbel_close(f);
}

TEST_GROUP(hash_groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_integers_have_no_twins_in_other_groups),
        cmocka_unit_test(cells_of_groups_are_independent),
        cmocka_unit_test(the_first_group_is_the_digest_itself),
        cmocka_unit_test(predictions_hold_in_every_addressing),
        cmocka_unit_test(the_formula_knows_that_keys_choose),
        cmocka_unit_test(a_choice_does_not_cost_size),
        cmocka_unit_test(a_fast_path_asks_every_group),
        cmocka_unit_test(a_union_keeps_and_an_intersection_is_refused),
        cmocka_unit_test(a_fold_keeps_every_member),
        cmocka_unit_test(a_fold_to_an_error_keeps_it),
        cmocka_unit_test(hostile_groups_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
