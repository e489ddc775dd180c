/* countmin.c - counters in rows: never too low, and within their bounds. */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"
#include "kinds/counting/cells.h"

#include <umbel/counting.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 300, PARTS = 8, ROWS = 4, WIDTH = 64 };

static umbel_filter *open_bits(const char *addressing, uint64_t cells,
                               uint32_t hashes, uint64_t bits)
{
    umbel_setting set = {"cell_bits", bits};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = addressing;
    p.cells = cells;
    p.hashes = hashes;
    p.settings = &set;
    p.nsettings = 1;
    assert_ok(umbel_create("countmin", &p, &f, &test_refusal));
    return f;
}

static umbel_filter *open_rows(void)
{
    return open_bits(NULL, (uint64_t)ROWS * WIDTH, ROWS, 32);
}

/* Finds the cells of key i. */
static void locate(const umbel_filter *f, uint64_t i,
                   uint64_t pos[UM_MAX_HASHES])
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    umbel_digest d;

    test_key(i, key);
    assert_ok(umbel_digest_many(f, &slice, 1, &d, &test_refusal));
    f->layout.row->positions(&f->layout, &d, 1, pos);
}

static um_cells cells_of(const umbel_filter *f)
{
    return um_cells_of(f->payload, (uint32_t)um_settings_of(f)[0]);
}

/* --- the update -------------------------------------------------------------
 */

static void unless_asked_a_row_is_a_slice(void **state)
{
    umbel_filter *f = open_rows();
    uint64_t pos[UM_MAX_HASHES];

    (void)state;
    assert_string_equal(f->layout.row->name, "partitioned");
    assert_int_equal(umbel_count_limit(f), UINT32_MAX);
    for (uint64_t i = 0; i < 100; i++) {
        locate(f, i, pos);
        for (uint64_t row = 0; row < ROWS; row++)
            assert_int_equal(pos[row] / WIDTH, row);
    }
    umbel_close(f);
}

/*
 * Figure 2 of the survey's section 8.1: a flow of 4 whose counters hold 2, 5, 8
 * can have counted at most 2 before, so they become 6, 6, 8.
 */
static void an_amount_raises_to_the_least_and_itself(void **state)
{
    static const uint64_t before[] = {2, 5, 8}, after[] = {6, 6, 8};

    (void)state;
    for (uint64_t bits = 32; bits <= 64; bits += 32) {
        umbel_filter *f = open_bits(NULL, 96, 3, bits);
        uint64_t pos[UM_MAX_HASHES];
        um_cells c = cells_of(f);
        locate(f, 7, pos);
        for (int j = 0; j < 3; j++)
            um_set_cell(&c, pos[j], before[j]);
        test_add_times(f, 7, 4);
        for (int j = 0; j < 3; j++)
            assert_int_equal(um_cell(&c, pos[j]), after[j]);
        assert_int_equal(test_count(f, 7), 6);
        umbel_close(f);
    }
}

static void counters_stick_at_their_limit(void **state)
{
    (void)state;
    for (uint64_t bits = 32; bits <= 64; bits += 32) {
        umbel_filter *f = open_bits(NULL, 96, 3, bits), *twice = NULL;
        uint64_t limit = UINT64_MAX >> (64 - bits);
        assert_int_equal(umbel_count_limit(f), limit);
        test_add_times(f, 1, limit - 1);
        assert_int_equal(test_count(f, 1), limit - 1);
        assert_ok(umbel_copy(f, &twice, &test_refusal));
        assert_ok(umbel_merge(twice, f, UMBEL_ADD, &test_refusal));
        assert_int_equal(test_count(twice, 1), limit);
        test_add_times(f, 1, UINT64_MAX);
        assert_int_equal(test_count(f, 1), limit);
        test_add(f, 1, 1);
        assert_int_equal(test_count(f, 1), limit);
        umbel_close(f);
        umbel_close(twice);
    }
}

/* --- error bounds -----------------------------------------------------------
 */

/* Draws amounts of many magnitudes, some of them 0. */
static uint64_t draw(um_rng *rng)
{
    uint64_t x = um_random(rng);
    return (x & 7) == 0 ? 0 : x >> 34 >> (x >> 3 & 31);
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void assert_not_under(const umbel_filter *f, const uint64_t *truth)
{
    uint64_t limit = umbel_count_limit(f);

    for (uint64_t i = 0; i < KEYS; i++)
        assert_true(test_count(f, i) >= (truth[i] < limit ? truth[i] : limit));
}

static void fill(umbel_filter *f, uint64_t seed, uint64_t *truth)
{
    um_rng rng = {seed};

    for (int step = 0; step < 3000; step++) {
        uint64_t i = um_random_below(&rng, KEYS), amount = draw(&rng);
        test_add_times(f, i, amount);
        truth[i] = more(truth[i], amount);
    }
}

static void counts_are_never_too_low(void **state)
{
    const char *addressing;

    (void)state;
    for (size_t a = 0; umbel_addressing_at(a, &addressing, NULL); a++)
        for (uint64_t bits = 32; bits <= 64; bits += 32) {
            umbel_filter *f = open_bits(addressing, 1024, 4, bits);
            uint64_t truth[KEYS] = {0};
            fill(f, 11, truth);
            assert_not_under(f, truth);
            umbel_close(f);
        }
}

static void check_parts(uint64_t bits, size_t parts, umbel_merge_op op)
{
    umbel_filter *sum = open_bits(NULL, 512, 4, bits);
    uint64_t truth[KEYS] = {0};

    for (size_t p = 0; p < parts; p++) {
        umbel_filter *f = open_bits(NULL, 512, 4, bits);
        uint64_t part[KEYS] = {0};
        fill(f, 100 + p, part);
        for (uint64_t i = 0; i < KEYS; i++) {
            uint64_t larger = part[i] > truth[i] ? part[i] : truth[i];
            truth[i] = op == UMBEL_ADD ? more(truth[i], part[i]) : larger;
        }
        assert_ok(umbel_merge(sum, f, op, &test_refusal));
        umbel_close(f);
    }
    assert_not_under(sum, truth);
    umbel_close(sum);
}

static void merged_counts_are_never_too_low(void **state)
{
    (void)state;
    for (uint64_t bits = 32; bits <= 64; bits += 32)
        for (size_t parts = 1; parts <= PARTS; parts++) {
            check_parts(bits, parts, UMBEL_ADD);
            check_parts(bits, parts, UMBEL_MAX);
            check_parts(bits, parts, UMBEL_OR);
        }
}

/*
 * Adds the same stream to counters that all grow: kind counting, update plain.
 */
static void no_counter_is_above_that_of_a_plain_update(void **state)
{
    umbel_setting set[] = {{"cell_bits", 32}, {"update", 0}};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *plain = NULL, *f = open_bits("partitioned", 512, 4, 32);
    uint64_t truth[KEYS] = {0}, again[KEYS] = {0}, lower = 0;

    (void)state;
    p.addressing = "partitioned";
    p.cells = 512;
    p.hashes = 4;
    p.settings = set;
    p.nsettings = 2;
    assert_ok(umbel_create("counting", &p, &plain, &test_refusal));
    fill(f, 5, truth);
    fill(plain, 5, again);
    um_cells a = cells_of(f), b = cells_of(plain);
    for (uint64_t i = 0; i < 512; i++)
        assert_true(um_cell(&a, i) <= um_cell(&b, i));
    for (uint64_t i = 0; i < KEYS; i++)
        lower += test_count(f, i) < test_count(plain, i);
    assert_true(lower > KEYS / 4);
    umbel_close(f);
    umbel_close(plain);
}

static const umbel_field *field(const umbel_info *info, const char *name)
{
    for (size_t i = 0; i < info->n; i++)
        if (strcmp(info->field[i].name, name) == 0)
            return &info->field[i];
    return NULL;
}

/*
 * w = e/epsilon, d = ln(1/delta): of the keys added, at most a fraction delta
 * is too high by epsilon N or more; of absent keys, at most that fraction is
 * above the bound computed from the counters. Five sigma, seeds are fixed.
 */
static void it_keeps_its_promise(void **state)
{
    enum { MEMBERS = 2000, OUTSIDE = 20000, W = 272, D = 3 };
    umbel_filter *f = open_bits(NULL, (uint64_t)W * D, D, 32);
    uint64_t *truth = calloc(MEMBERS, sizeof *truth), total = 0;
    uint64_t over = 0, above = 0;
    um_rng rng = {21};
    umbel_info info;

    (void)state;
    assert_non_null(truth);
    for (uint64_t i = 0; i < MEMBERS; i++) {
        truth[i] = 1 + 1000 / (1 + um_random_below(&rng, 1000));
        test_add_times(f, i, truth[i]);
        total += truth[i];
    }
    umbel_describe(f, &info);
    double share = field(&info, "error_share")->value.real;
    double delta = field(&info, "error_chance")->value.real;
    uint64_t bound = field(&info, "error_bound")->value.count;
    assert_near(share, 0.01, 1e-4);
    assert_near(delta, 0.0498, 1e-4);
    assert_int_equal(field(&info, "row_width")->value.count, W);
    assert_true((double)bound <= share * (double)total);
    for (uint64_t i = 0; i < MEMBERS; i++)
        over += (double)(test_count(f, i) - truth[i]) >= share * (double)total;
    for (uint64_t i = MEMBERS; i < MEMBERS + OUTSIDE; i++)
        above += test_count(f, i) > bound;
    assert_true((double)over <= delta * MEMBERS + 5 * sqrt(delta * MEMBERS));
    assert_true((double)above <= delta * OUTSIDE + 5 * sqrt(delta * OUTSIDE));
    free(truth);
    umbel_close(f);
}

/*
 * Cells in one cache line are not independent, so the bound of rows does not
 * hold there.
 */
static void only_rows_promise(void **state)
{
    static const char *const others[] = {"classic", "blocked512", "universal"};
    umbel_info info;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(others); i++) {
        umbel_filter *f = open_bits(others[i], 1024, 4, 32);
        umbel_describe(f, &info);
        assert_non_null(field(&info, "count_limit"));
        assert_null(field(&info, "error_bound"));
        umbel_close(f);
    }
}

/* With every counter full the bound is the limit, and no sum wraps. */
static void a_full_one_describes_itself(void **state)
{
    umbel_filter *f = open_bits(NULL, 96, 3, 64);
    umbel_info info;

    (void)state;
    for (uint64_t i = 0; i < KEYS; i++)
        test_add_times(f, i, UINT64_MAX);
    umbel_describe(f, &info);
    assert_true(field(&info, "cells_at_limit")->value.count == 96);
    assert_true(field(&info, "sum_of_cells")->value.count == UINT64_MAX);
    assert_true(field(&info, "error_bound")->value.count == UINT64_MAX);
    umbel_close(f);
}

/* --- refused operations, and what they would do -----------------------------
 */

/* Returns a key that shares exactly one counter with x in two rows. */
static uint64_t one_that_shares(const umbel_filter *f, uint64_t x)
{
    uint64_t p[UM_MAX_HASHES], q[UM_MAX_HASHES], y = x;

    locate(f, x, p);
    do
        locate(f, ++y, q);
    while ((p[0] == q[0]) + (p[1] == q[1]) != 1);
    return y;
}

/* x has A and B, y has B and C: y raises only C; removing x would make B 0. */
static void nothing_is_taken_back(void **state)
{
    umbel_filter *f = open_bits(NULL, 64, 2, 32);
    uint64_t y = one_that_shares(f, 0), pos[UM_MAX_HASHES];
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    um_cells c = cells_of(f);

    (void)state;
    test_key(0, key);
    test_add_times(f, 0, 3);
    test_add_times(f, y, 3);
    assert_refused(umbel_remove_many(f, &slice, 1, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "two keys share");
    assert_int_equal(test_count(f, y), 3);
    locate(f, 0, pos);
    for (int j = 0; j < 2; j++)
        um_set_cell(&c, pos[j], um_cell(&c, pos[j]) - 3);
    assert_int_equal(test_count(f, y), 0);
    umbel_close(f);
}

/*
 * Two filters start from counters (5, 3) of a key added 3 times, and each adds
 * 3: both differences are (1, 3), and with both the key counts 7, not 9.
 */
static void there_are_no_differences(void **state)
{
    static const uint64_t shared[] = {5, 3};
    umbel_filter *base = open_bits(NULL, 64, 2, 32), *later = NULL;
    uint64_t pos[UM_MAX_HASHES];
    um_cells b = cells_of(base);

    (void)state;
    locate(base, 1, pos);
    for (int j = 0; j < 2; j++)
        um_set_cell(&b, pos[j], shared[j]);
    assert_ok(umbel_copy(base, &later, &test_refusal));
    test_add_times(later, 1, 3);
    assert_refused(umbel_merge(later, base, UMBEL_MINUS, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "no differences");
    assert_int_equal(test_count(later, 1), 6);
    um_cells l = cells_of(later);
    for (int j = 0; j < 2; j++) {
        uint64_t gained = um_cell(&l, pos[j]) - shared[j];
        um_set_cell(&b, pos[j], shared[j] + 2 * gained);
    }
    assert_int_equal(test_count(base, 1), 7);
    umbel_close(base);
    umbel_close(later);
}

/* --- other properties -------------------------------------------------------
 */

static void folded_counts_are_never_too_low(void **state)
{
    umbel_filter *f = open_bits(NULL, 4096, 4, 64), *small = NULL;
    uint64_t truth[KEYS] = {0};

    (void)state;
    fill(f, 9, truth);
    assert_ok(umbel_fold(f, 8, &small, &test_refusal));
    assert_not_under(small, truth);
    umbel_close(f);
    umbel_close(small);
}

static void other_widths_are_refused(void **state)
{
    umbel_setting set = {"cell_bits", 48};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.cells = 1024;
    p.settings = &set;
    p.nsettings = 1;
    assert_refused(umbel_create("countmin", &p, &f, &test_refusal),
                   UMBEL_E_RANGE, "32 or 64");
    set.value = 16;
    assert_refused(umbel_create("countmin", &p, &f, &test_refusal),
                   UMBEL_E_RANGE, "32..64");
    set.value = 65;
    assert_refused(umbel_create("countmin", &p, &f, &test_refusal),
                   UMBEL_E_RANGE, "32..64");
}

static void widths_do_not_merge(void **state)
{
    umbel_filter *a = open_bits(NULL, 96, 3, 32);
    umbel_filter *b = open_bits(NULL, 96, 3, 64);

    (void)state;
    assert_refused(umbel_merge(a, b, UMBEL_ADD, &test_refusal),
                   UMBEL_E_MISMATCH, "cell_bits");
    umbel_close(a);
    umbel_close(b);
}

TEST_GROUP(countmin)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unless_asked_a_row_is_a_slice),
        cmocka_unit_test(an_amount_raises_to_the_least_and_itself),
        cmocka_unit_test(counters_stick_at_their_limit),
        cmocka_unit_test(counts_are_never_too_low),
        cmocka_unit_test(merged_counts_are_never_too_low),
        cmocka_unit_test(no_counter_is_above_that_of_a_plain_update),
        cmocka_unit_test(it_keeps_its_promise),
        cmocka_unit_test(only_rows_promise),
        cmocka_unit_test(a_full_one_describes_itself),
        cmocka_unit_test(nothing_is_taken_back),
        cmocka_unit_test(there_are_no_differences),
        cmocka_unit_test(folded_counts_are_never_too_low),
        cmocka_unit_test(other_widths_are_refused),
        cmocka_unit_test(widths_do_not_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
