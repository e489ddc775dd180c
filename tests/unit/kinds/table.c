/* table.c - kind table: entries, counts, its error, and its refusals. */
#include "support/rulings.h"
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/counting.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 3000 };

static umbel_filter *open_table(uint64_t capacity, double fpr, uint64_t bits)
{
    umbel_setting set = {"cell_bits", bits};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = capacity;
    p.fpr = fpr;
    p.settings = &set;
    p.nsettings = 1;
    assert_ok(umbel_create("table", &p, &f, &test_refusal));
    return f;
}

static uint64_t field(const umbel_filter *f, const char *name)
{
    umbel_field field;

    assert_ok(umbel_info_get(f, name, &field, &test_refusal));
    return field.value.count;
}

/*
 * Adds keys from `from` on until one is refused. Returns how many were added.
 */
static uint64_t fill_up(umbel_filter *f, uint64_t from)
{
    for (uint64_t i = 0;; i++) {
        char key[TEST_KEY_LEN];
        test_key(from + i, key);
        if (umbel_add(f, key, sizeof key, NULL, &test_refusal) != UMBEL_OK)
            return i;
    }
}

/* --- counts --- */

static void every_form_counts_exactly(void **state)
{
    (void)state;
    static const double errors[] = {0.1, 0.01, 1e-3, 1e-5, 1e-7, 1e-9, 1e-10};
    static const uint64_t bits[] = {1, 2, 7, 12, 16, 25, 32};

    for (size_t e = 0; e < TEST_COUNT(errors); e++)
        for (size_t b = 0; b < TEST_COUNT(bits); b++) {
            umbel_filter *f = open_table(200, errors[e] * 1e-1, bits[b]);
            uint64_t limit = umbel_count_limit(f);

            assert_true(limit >= (uint64_t)1 << bits[b]);
            assert_true(limit <= (uint64_t)1 << 32);
            for (uint64_t i = 0; i < 100; i++)
                test_add_times(f, i, i % 3 ? i : 0);
            for (uint64_t i = 0; i < 100; i++) {
                uint64_t want = i % 3 ? i : 0;
                assert_true(test_count(f, i) >= (want < limit ? want : limit));
                if (errors[e] < 1e-4)
                    assert_int_equal(test_count(f, i),
                                     want < limit ? want : limit);
            }
            umbel_close(f);
        }
}

static void counts_stick_at_their_limit_and_say_so(void **state)
{
    (void)state;
    umbel_filter *f = open_table(100, 1e-5, 12);
    uint64_t limit = umbel_count_limit(f);

    test_add_times(f, 1, limit - 1);
    assert_int_equal(test_count(f, 1), limit - 1);
    assert_int_equal(field(f, "counts_at_limit"), 0);
    test_add(f, 1, 1);
    assert_int_equal(test_count(f, 1), limit);
    test_add_times(f, 1, UINT64_MAX);
    assert_int_equal(test_count(f, 1), limit);
    test_add_times(f, 2, UINT64_MAX);
    assert_int_equal(test_count(f, 2), limit);
    assert_int_equal(test_count(f, 3), 0);
    assert_int_equal(field(f, "counts_at_limit"), 2);
    assert_int_equal(field(f, "largest_count"), limit);
    umbel_close(f);
}

static void an_amount_of_zero_adds_nothing(void **state)
{
    (void)state;
    umbel_filter *f = open_table(100, 1e-5, 16);

    test_add_times(f, 1, 0);
    assert_int_equal(umbel_added(f), 0);
    assert_int_equal(field(f, "entries"), 0);
    assert_false(test_has(f, 1));
    umbel_close(f);
}

/* Entries never move, so all keys of a full table keep their place. */
static void no_count_changes_when_others_come(void **state)
{
    (void)state;
    umbel_filter *f = open_table(KEYS, 1e-9, 16);
    char *keys = test_keys(0, KEYS);

    for (uint64_t i = 0; i < KEYS; i++)
        test_add_times(f, i, 1 + i % 50);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_int_equal(test_count(f, i), 1 + i % 50);
    assert_int_equal(umbel_added(f), KEYS);
    assert_int_equal(field(f, "entries"), KEYS);
    free(keys);
    umbel_close(f);
}

/*
 * Checks that adding a batch gives the same bytes as adding its keys one by
 * one.
 */
static void batches_give_the_same_bytes(void **state)
{
    (void)state;
    umbel_filter *one = open_table(KEYS, 1e-3, 8);
    umbel_filter *many = open_table(KEYS, 1e-3, 8);

    for (int twice = 0; twice < 2; twice++) {
        for (uint64_t i = 0; i < KEYS; i++)
            test_add(one, i, 1);
        test_add(many, 0, KEYS);
    }
    test_assert_same_file(one, many);
    umbel_close(one);
    umbel_close(many);
}

/* --- room --- */

static void it_takes_its_capacity_and_then_refuses(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 10, 50, 300, 5000};

    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        umbel_filter *f = open_table(sizes[i], 1e-6, 16);
        uint64_t room = field(f, "room"), n = fill_up(f, 0);

        assert_int_equal(n, room);
        assert_true(n >= sizes[i]);
        assert_int_equal(test_refusal.status, UMBEL_E_FULL);
        assert_int_equal(umbel_added(f), n);
        assert_int_equal(field(f, "table_full"), 1);
        assert_int_equal(test_hits(f, 0, n), n);
        assert_false(test_has(f, n));
        test_add(f, 0, n); /* existing keys need no space */
        assert_int_equal(test_count(f, n - 1), 2);
        umbel_close(f);
    }
}

static void a_full_table_takes_the_keys_it_can(void **state)
{
    (void)state;
    umbel_filter *f = open_table(100, 1e-6, 16);
    uint64_t n = fill_up(f, 0);
    char *keys = test_keys(n - 2, 4);
    umbel_slice *slices = test_slices(keys, 4);
    bool fresh[4];

    assert_refused(umbel_add_many(f, slices, 4, fresh, &test_refusal),
                   UMBEL_E_FULL, "2 of 4 keys");
    assert_int_equal(test_count(f, n - 2), 2);
    assert_int_equal(test_count(f, n - 1), 2);
    assert_false(fresh[0] || fresh[1] || fresh[2] || fresh[3]);
    assert_ok(umbel_add_many(f, slices, 2, NULL, &test_refusal));
    assert_ok(umbel_clear(f, &test_refusal));
    assert_ok(umbel_add_many(f, slices, 4, NULL, &test_refusal));
    free(keys);
    free(slices);
    umbel_close(f);
}

static void verbs_that_move_or_lower_are_refused(void **state)
{
    (void)state;
    umbel_filter *f = open_table(100, 1e-6, 16), *out;
    umbel_slice none = {"", 0};

    assert_refused(umbel_merge(f, f, UMBEL_ADD, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "add their counts");
    assert_refused(umbel_fold(f, 2, &out, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "table");
    assert_refused(umbel_remove_many(f, &none, 1, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "taken back");
    umbel_close(f);
}

/* --- error --- */

/*
 * Compares the model, the prediction from the lines, and the measured error, at
 * several loads.
 */
static void the_error_is_as_predicted(void **state)
{
    (void)state;
    enum { TRIALS = 100000 };
    static const double share[] = {0.3, 0.7, 0.9, 1};
    umbel_filter *f = open_table(20000, 2e-3, 16);
    uint64_t have = 0;

    for (size_t i = 0; i < TEST_COUNT(share); i++) {
        uint64_t want = (uint64_t)(share[i] * 20000);
        test_add(f, have, (size_t)(want - have));
        have = want;
        double p = umbel_predict(f);
        double hits = (double)test_hits(f, 1 << 24, TRIALS);
        assert_near(hits, TRIALS * p, 5 * sqrt(TRIALS * p));
        assert_near(umbel_fpr_at(f, (double)umbel_added(f)) / p, 1, 0.03);
    }
    assert_true(umbel_fpr_at(f, 20000) <= 2e-3);
    umbel_close(f);
}

static void the_error_of_wide_fingerprints_is_small(void **state)
{
    (void)state;
    umbel_filter *f = open_table(KEYS, 1e-7, 16);

    test_add(f, 0, KEYS);
    assert_int_equal(test_hits(f, 1 << 24, 200000), 0);
    assert_true(umbel_predict(f) <= 1.05e-7);
    umbel_close(f);
}

/* Five and a half bytes at an error of 1 in 400,000. */
static void a_key_takes_few_bytes(void **state)
{
    (void)state;
    umbel_filter *f = open_table(1000000, 1e-5 / 4, 15);

    assert_true((double)umbel_cells(f) / 8 / 1e6 < 5.5);
    assert_true(umbel_count_limit(f) >= 1 << 15);
    umbel_close(f);
}

static void counts_reach_a_threshold_as_planned(void **state)
{
    (void)state;
    enum { TRIALS = 100000, THRESHOLD = 5 };
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;
    uint64_t counts[KEYS], reached = 0;
    umbel_count_plan plan;

    p.capacity = KEYS;
    p.fpr = 0.02;
    assert_ok(umbel_create("table", &p, &f, &test_refusal));
    for (uint64_t i = 0; i < KEYS; i++) {
        counts[i] = i % 3 ? 1 : 9;
        test_add_times(f, i, counts[i]);
    }
    assert_ok(umbel_plan_counts("table", &p, THRESHOLD, counts, KEYS, &plan,
                                &test_refusal));
    for (uint64_t i = 0; i < TRIALS; i++)
        reached += test_count(f, (1 << 24) + i) >= THRESHOLD;
    double want = plan.f_compound * TRIALS;
    assert_true(want > 100);
    /*
     * The number of keys that share an entry, and the load of lines, vary as
     * well.
     */
    assert_near((double)reached, want, 5 * sqrt(want) + 0.05 * want);
    assert_false(plan.is_bound);
    assert_true(isnan(plan.f_paper));
    umbel_close(f);
}

/* --- forged tables --- */

static umbel_admission demand(double error, uint64_t claimed)
{
    umbel_admission w = UMBEL_ADMISSION_INIT;
    w.max_error = error;
    w.claimed = claimed;
    return w;
}

static void honest_tables_are_admitted(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *f;

        p.capacity = 500;
        p.fpr = 0.01;
        p.seed = seed;
        assert_ok(umbel_create("table", &p, &f, &test_refusal));
        test_add(f, 0, 500);
        umbel_admission w = demand(p.fpr, 500), head = demand(p.fpr, 0);
        test_expect_admitted(f, &w);
        test_expect_admitted(f, &head);
        umbel_close(f);
    }
}

static void claims_are_held_against_entries(void **state)
{
    (void)state;
    umbel_filter *f = open_table(KEYS, 1e-4, 16);
    umbel_admission fewer = demand(0, KEYS - 200), more = demand(0, KEYS + 200);

    test_add(f, 0, KEYS);
    test_expect_refused(f, &fewer, UMBEL_REFUSED_TOO_FULL, "entries");
    test_expect_refused(f, &more, UMBEL_REFUSED_TOO_EMPTY, "entries");
    f->added -= 100;
    test_expect_refused(f, &test_no_demand, UMBEL_REFUSED_TOO_FULL, "head");
    f->added += 200;
    test_expect_refused(f, &test_no_demand, UMBEL_REFUSED_TOO_EMPTY, "head");
    umbel_close(f);
}

/* Returns the fraction of random keys that match. */
static double measured(const umbel_filter *f)
{
    enum { TRIALS = 100000 };
    return (double)test_hits(f, 1 << 24, TRIALS) / TRIALS;
}

static void a_table_of_full_lines_is_refused_for_its_error(void **state)
{
    (void)state;
    umbel_filter *f = open_table(KEYS, 1e-3, 16);

    memset(f->payload, 0xA5, f->payload_len);
    f->added = field(f, "entries");
    double p = umbel_predict(f);
    assert_true(p > 1e-3);
    /* All entries are equal, so they match fewer keys than the bound. */
    assert_true(measured(f) <= p);
    umbel_admission w = demand(1e-3, 0);
    test_expect_refused(f, &w, UMBEL_REFUSED_ERROR, "more than");
    uint64_t hits = test_hits(f, 0, 1000);
    assert_true(hits <= 1000);
    umbel_close(f);
}

/* Checks that the bound holds for any bytes, and that every call returns. */
static void the_bound_holds_for_any_bytes(void **state)
{
    (void)state;
    for (unsigned holes = 0; holes < 8; holes++) {
        umbel_filter *f = open_table(300, 0.02, 4);
        uint64_t x = 0x9E3779B97F4A7C15 + holes;

        for (size_t i = 0; i < f->payload_len; i++) {
            x = x * 6364136223846793005 + 1442695040888963407;
            f->payload[i] = x >> 61 < holes ? 0 : (uint8_t)(x >> 33);
        }
        double p = umbel_predict(f), hits = 100000 * measured(f);
        assert_true(hits <= 100000 * p + 5 * sqrt(100000 * p));
        char key[TEST_KEY_LEN];
        for (uint64_t i = 0; i < 200; i++) {
            test_key(i, key);
            umbel_status s = umbel_add(f, key, sizeof key, NULL, &test_refusal);
            assert_true(s == UMBEL_OK || s == UMBEL_E_FULL);
            assert_int_equal(s == UMBEL_OK, test_has(f, i));
        }
        umbel_close(f);
    }
}

/* Tries a head that claims a full table, and one that claims an empty one. */
static void a_false_number_of_keys_is_safe(void **state)
{
    (void)state;
    umbel_filter *f = open_table(100, 1e-4, 16);

    f->added = UINT64_MAX;
    assert_int_equal(fill_up(f, 0), 0);
    f->added = 0;
    uint64_t n = fill_up(f, 0);
    f->added = 0;
    n += fill_up(f, n); /* up to the last slot that a search reaches */
    assert_true(n <= field(f, "slots"));
    assert_int_equal(test_hits(f, 0, n), n);
    assert_int_equal(field(f, "entries"), n);
    umbel_close(f);
}

static void a_table_may_be_copied_and_coded(void **state)
{
    (void)state;
    umbel_filter *f = open_table(KEYS, 1e-4, 16), *copy, *back;
    size_t len;

    test_add(f, 0, KEYS);
    assert_ok(umbel_copy(f, &copy, &test_refusal));
    test_add(copy, KEYS - 10, 10);
    assert_int_equal(umbel_added(copy), KEYS);
    assert_int_equal(test_count(f, KEYS - 1), 1);
    assert_int_equal(test_count(copy, KEYS - 1), 2);
    umbel_set_coded(copy, true);
    uint8_t *bytes = test_encode(copy, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    test_assert_same_file(copy, back);
    free(bytes);
    umbel_close(f);
    umbel_close(copy);
    umbel_close(back);
}

TEST_GROUP(table)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_counts_exactly),
        cmocka_unit_test(counts_stick_at_their_limit_and_say_so),
        cmocka_unit_test(an_amount_of_zero_adds_nothing),
        cmocka_unit_test(no_count_changes_when_others_come),
        cmocka_unit_test(batches_give_the_same_bytes),
        cmocka_unit_test(it_takes_its_capacity_and_then_refuses),
        cmocka_unit_test(a_full_table_takes_the_keys_it_can),
        cmocka_unit_test(verbs_that_move_or_lower_are_refused),
        cmocka_unit_test(the_error_is_as_predicted),
        cmocka_unit_test(the_error_of_wide_fingerprints_is_small),
        cmocka_unit_test(a_key_takes_few_bytes),
        cmocka_unit_test(counts_reach_a_threshold_as_planned),
        cmocka_unit_test(honest_tables_are_admitted),
        cmocka_unit_test(claims_are_held_against_entries),
        cmocka_unit_test(a_table_of_full_lines_is_refused_for_its_error),
        cmocka_unit_test(the_bound_holds_for_any_bytes),
        cmocka_unit_test(a_false_number_of_keys_is_safe),
        cmocka_unit_test(a_table_may_be_copied_and_coded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
