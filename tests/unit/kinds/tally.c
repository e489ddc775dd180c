/*
 * tally.c - counts of rare and frequent keys are never too low, even when the
 * table is full.
 */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"
#include "kinds/counting/cells.h"

#include <umbel/counting.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 400, FULL = 15, LINE_CELLS = 128 };

static umbel_filter *open_tally(uint64_t cells, uint32_t hashes, uint64_t heavy)
{
    umbel_setting set = {"heavy", heavy};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.cells = cells;
    p.hashes = hashes;
    p.settings = &set;
    p.nsettings = 1;
    assert_ok(umbel_create("tally", &p, &f, &test_refusal));
    return f;
}

static uint64_t field(const umbel_filter *f, const char *name)
{
    umbel_info info;

    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++)
        if (strcmp(info.field[i].name, name) == 0)
            return info.field[i].value.count;
    fail_msg("no field %s", name);
    return 0;
}

/* --- one key ----------------------------------------------------------------
 */

static void a_lonely_key_is_counted_exactly(void **state)
{
    (void)state;
    for (uint32_t hashes = 1; hashes <= 8; hashes++) {
        umbel_filter *f = open_tally(1024, hashes, 100);
        for (uint64_t n = 0; n < 300; n++) {
            assert_int_equal(test_count(f, 1), n);
            assert_int_equal(field(f, "heavy_keys"), n > FULL);
            test_add(f, 1, 1);
        }
        assert_int_equal(umbel_added(f), 1);
        umbel_close(f);
    }
}

/* Counting must use the same cells as adding. */
static void a_key_is_fresh_if_it_counted_nothing(void **state)
{
    (void)state;
    for (uint32_t hashes = 1; hashes <= 8; hashes++) {
        umbel_filter *f = open_tally(1024, hashes, 100);
        for (uint64_t i = 0; i < 300; i++) {
            char key[TEST_KEY_LEN];
            bool fresh, nothing = test_count(f, i) == 0;
            test_key(i, key);
            assert_ok(umbel_add(f, key, sizeof key, &fresh, &test_refusal));
            assert_int_equal(fresh, nothing);
        }
        umbel_close(f);
    }
}

static void no_amount_makes_a_count_wrap(void **state)
{
    umbel_filter *f = open_tally(1024, 5, 100);

    (void)state;
    assert_int_equal(umbel_count_limit(f), UINT32_MAX);
    test_add_times(f, 1, UINT32_MAX - 1);
    assert_int_equal(test_count(f, 1), UINT32_MAX - 1);
    test_add_times(f, 1, 1);
    assert_int_equal(test_count(f, 1), UINT32_MAX);
    test_add_times(f, 1, UINT64_MAX);
    assert_int_equal(test_count(f, 1), UINT32_MAX);
    test_add_times(f, 2, UINT64_MAX);
    assert_int_equal(test_count(f, 2), UINT32_MAX);
    test_add_times(f, 3, 0);
    assert_int_equal(test_count(f, 3), 0);
    umbel_close(f);
}

/* Checks that a key uses exactly the cells of its addressing. */
static void the_cells_are_those_of_the_addressing(void **state)
{
    (void)state;
    for (uint32_t hashes = 1; hashes <= 8; hashes++)
        for (uint64_t i = 0; i < 100; i++) {
            umbel_filter *f = open_tally(4096, hashes, 100);
            um_cells cells = um_cells_of(f->payload, 4);
            char key[TEST_KEY_LEN];
            umbel_slice slice = {key, sizeof key};
            umbel_digest d;
            uint64_t pos[8], sum = 0;

            test_key(i, key);
            test_add_times(f, i, 7);
            assert_ok(umbel_digest_many(f, &slice, 1, &d, &test_refusal));
            f->layout.row->positions(&f->layout, &d, 1, pos);
            for (uint32_t j = 0; j < hashes; j++)
                assert_int_equal(um_cell(&cells, pos[j]), 7);
            for (uint64_t c = 0; c < 4096; c++)
                sum += um_cell(&cells, c);
            assert_int_equal(sum, 7 * hashes);
            umbel_close(f);
        }
}

/* --- streams ----------------------------------------------------------------
 */

/* Draws a count with P(count >= x) = 1/x, up to `most`. */
static uint64_t draw(um_rng *rng, double most)
{
    double u = (double)((um_random(rng) >> 11) + 1) * 0x1p-53;
    return (uint64_t)fmin(1 / u, most);
}

/*
 * Returns the numbers of keys, each repeated as often as it occurs, in random
 * order.
 */
static uint32_t *draw_stream(uint64_t seed, size_t keys, double most,
                             uint64_t *truth, size_t *n)
{
    um_rng rng = {seed};
    size_t at = 0;

    *n = 0;
    for (size_t i = 0; i < keys; i++)
        *n += truth[i] = draw(&rng, most);
    uint32_t *stream = malloc(*n * sizeof *stream);
    assert_non_null(stream);
    for (size_t i = 0; i < keys; i++)
        for (uint64_t j = 0; j < truth[i]; j++)
            stream[at++] = (uint32_t)i;
    for (size_t i = *n; i > 1; i--) {
        size_t j = (size_t)um_random_below(&rng, i);
        uint32_t x = stream[i - 1];
        stream[i - 1] = stream[j];
        stream[j] = x;
    }
    return stream;
}

static void add_stream(umbel_filter *f, const uint32_t *stream, size_t n)
{
    assert_ok(
        umbel_add_fixed(f, stream, sizeof *stream, n, NULL, &test_refusal));
}

static void count_keys(const umbel_filter *f, size_t keys, uint64_t *out)
{
    for (uint32_t i = 0; i < keys; i++) {
        umbel_slice slice = {&i, sizeof i};
        assert_ok(umbel_count_many(f, &slice, 1, &out[i], &test_refusal));
    }
}

/*
 * Returns how many counts are too high; asserts that none is too low, up to the
 * limit.
 */
static size_t check_counts(const umbel_filter *f, const uint64_t *truth,
                           size_t keys)
{
    uint64_t limit = umbel_count_limit(f);
    uint64_t *counts = malloc(keys * sizeof *counts);
    size_t wrong = 0;

    assert_non_null(counts);
    count_keys(f, keys, counts);
    for (size_t i = 0; i < keys; i++) {
        assert_true(counts[i] >= (truth[i] < limit ? truth[i] : limit));
        wrong += counts[i] != truth[i];
    }
    free(counts);
    return wrong;
}

/* Tests crowded and sparse filters while the table has space. */
static void counts_are_never_too_low(void **state)
{
    uint64_t truth[KEYS];

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (uint32_t hashes = 1; hashes <= 8; hashes++) {
            size_t n;
            uint32_t *stream = draw_stream(seed, KEYS, 1e4, truth, &n);
            umbel_filter *f = open_tally(seed * 256, hashes, 1600);
            add_stream(f, stream, n);
            if (seed > 8)
                assert_int_equal(field(f, "table_full"), false);
            check_counts(f, truth, KEYS);
            umbel_close(f);
            free(stream);
        }
}

/*
 * The promise: full counts in at most 37 bits per key, at most 0.9 % wrong.
 * With ten million keys 0.798 % are wrong; the smaller number here must be
 * within five sigma of that.
 */
static void few_counts_are_wrong_in_37_bits_a_key(void **state)
{
    enum { N = 100000 };
    const double share = 0.00798;
    uint64_t *truth = malloc(N * sizeof *truth);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    size_t n;

    (void)state;
    assert_non_null(truth);
    uint32_t *stream = draw_stream(11, N, 1e6, truth, &n);
    p.capacity = N;
    assert_ok(umbel_create("tally", &p, &f, &test_refusal));
    assert_true(8 * (double)umbel_encoded_len(f) / N <= 37);
    add_stream(f, stream, n);
    assert_int_equal(field(f, "table_full"), false);
    double wrong = (double)check_counts(f, truth, N) / N;
    assert_near(wrong, share, 5 * sqrt(share / N));
    umbel_close(f);
    free(stream);
    free(truth);
}

static void an_amount_is_as_many_single_adds(void **state)
{
    umbel_filter *a = open_tally(1024, 4, 100), *b = open_tally(1024, 4, 100);

    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t amount = i * 37 % 50;
        test_add_times(a, i, amount);
        for (uint64_t n = 0; n < amount; n++)
            test_add(b, i, 1);
    }
    assert_true(field(a, "heavy_keys") > 8);
    test_assert_same_file(a, b);
    umbel_close(a);
    umbel_close(b);
}

/* A batch updates the table after the cells, which must make no difference. */
static void a_batch_is_one_key_after_the_other(void **state)
{
    uint64_t truth[KEYS];
    size_t n;
    uint32_t *stream = draw_stream(5, KEYS, 1e4, truth, &n);

    (void)state;
    for (uint64_t heavy = 1; heavy <= 1600; heavy *= 40) {
        umbel_filter *a = open_tally(1024, 4, heavy);
        umbel_filter *b = open_tally(1024, 4, heavy);
        bool *fresh = malloc(n), one;
        assert_non_null(fresh);
        assert_ok(umbel_add_fixed(a, stream, 4, n, fresh, &test_refusal));
        for (size_t i = 0; i < n; i++) {
            assert_ok(umbel_add(b, &stream[i], 4, &one, &test_refusal));
            assert_int_equal(one, fresh[i]);
        }
        test_assert_same_file(a, b);
        umbel_close(a);
        umbel_close(b);
        free(fresh);
    }
    free(stream);
}

/* --- a full table -----------------------------------------------------------
 */

static void a_full_table_says_so_and_how_much_is_missing(void **state)
{
    umbel_filter *f = open_tally(64 * LINE_CELLS, 5, 1); /* two buckets */
    const uint64_t slots = 16, heavy = 40, times = 100;
    uint64_t stuck = 0;

    (void)state;
    assert_int_equal(field(f, "heavy_slots"), slots);
    for (uint64_t i = 0; i < heavy; i++) {
        assert_int_equal(umbel_count_limit(f), i <= slots ? UINT32_MAX : FULL);
        test_add_times(f, i, times);
    }
    assert_int_equal(field(f, "heavy_keys"), slots);
    assert_int_equal(field(f, "table_full"), true);
    assert_int_equal(field(f, "not_counted"), (heavy - slots) * (times - FULL));
    assert_int_equal(field(f, "count_limit"), FULL);
    for (uint64_t i = 0; i < heavy; i++)
        stuck += test_count(f, i) == FULL;
    assert_int_equal(stuck, heavy - slots);
    test_add_times(f, heavy - 1, 3); /* a full table stays full */
    assert_int_equal(test_count(f, heavy - 1), FULL);
    assert_int_equal(field(f, "not_counted"),
                     (heavy - slots) * (times - FULL) + 3);
    assert_ok(umbel_clear(f, &test_refusal));
    assert_int_equal(umbel_count_limit(f), UINT32_MAX);
    umbel_close(f);
}

static void counts_of_a_full_table_keep_to_the_limit(void **state)
{
    uint64_t truth[KEYS];
    size_t n;
    uint32_t *stream = draw_stream(3, KEYS, 1e4, truth, &n);

    (void)state;
    for (uint64_t cells = 512; cells <= 8192; cells *= 2) {
        umbel_filter *f = open_tally(cells, 4, 1);
        add_stream(f, stream, n);
        assert_int_equal(field(f, "table_full"), true);
        check_counts(f, truth, KEYS);
        umbel_close(f);
    }
    free(stream);
}

/* Uses twice as many keys per bucket as fit, until none finds space. */
static void the_table_finds_what_it_took(void **state)
{
    enum { BUCKETS = 300, TRIES = 16 * BUCKETS };
    um_heavy t = {calloc(BUCKETS, UM_LINE), BUCKETS};
    um_rng rng = {9};
    uint64_t *took = malloc(TRIES * sizeof *took);
    size_t n = 0;

    (void)state;
    assert_non_null(t.at);
    assert_non_null(took);
    for (int i = 0; i < TRIES; i++) {
        uint64_t lo = um_random(&rng);
        uint8_t *slot = um_heavy_find(&t, lo);
        if (!slot)
            continue;
        assert_int_equal(um_heavy_count(slot), 0);
        took[n] = lo;
        um_heavy_set(slot, lo, ++n);
    }
    assert_int_equal(n, BUCKETS * UM_HEAVY_BUCKET);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(um_heavy_count(um_heavy_find(&t, took[i])), i + 1);
    free(t.at);
    free(took);
}

/* --- other properties -------------------------------------------------------
 */

static void its_bits_are_a_bloom_filter(void **state)
{
    umbel_filter *f = open_tally(4096, 5, 100), *bits = NULL, *bloom = NULL;
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.addressing = "blocked128";
    p.cells = 4096;
    p.hashes = 5;
    assert_ok(umbel_create("bloom", &p, &bloom, &test_refusal));
    test_add(bloom, 0, KEYS);
    for (uint64_t i = 0; i < KEYS; i++)
        test_add_times(f, i, 1 + i % 30);
    assert_ok(umbel_to_bloom(f, &bits, &test_refusal));
    test_assert_same_payload(bits, bloom);
    assert_near(umbel_predict(f), umbel_predict(bloom), 1e-12);
    assert_int_equal(test_hits(f, 0, KEYS), KEYS);
    assert_int_equal(test_hits(f, KEYS, 1000), test_hits(bits, KEYS, 1000));
    umbel_close(f);
    umbel_close(bits);
    umbel_close(bloom);
}

/* Checks that every call returns and stays in bounds for any payload. */
static void any_payload_is_safe(void **state)
{
    static const int fills[] = {0xFF, 0x01, 0xF0, -1};
    um_rng rng = {13};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(fills); i++) {
        umbel_filter *f = open_tally(1024, 6, 700);
        for (size_t j = 0; j < f->payload_len; j++)
            f->payload[j] =
                (uint8_t)(fills[i] < 0 ? (int)um_random(&rng) : fills[i]);
        for (uint64_t k = 0; k < KEYS; k++) {
            uint64_t before = test_count(f, k);
            test_add_times(f, k, 5);
            assert_true(test_count(f, k) >= before);
            test_add_times(f, k, UINT64_MAX);
            assert_true(test_count(f, k) >= FULL);
        }
        field(f, "largest_count");
        umbel_close(f);
    }
}

static void what_would_count_too_low_is_refused(void **state)
{
    umbel_filter *f = open_tally(1024, 4, 100), *out = NULL;
    umbel_slice slice = {"1", 1};

    (void)state;
    assert_refused(umbel_merge(f, f, UMBEL_ADD, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "for each origin");
    assert_refused(umbel_fold(f, 2, &out, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "right size");
    assert_refused(umbel_remove_many(f, &slice, 1, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "update plain");
    assert_refused(umbel_share(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "shared");
    umbel_close(f);
}

static void it_stands_on_one_line_only(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.capacity = 1000;
    p.addressing = "blocked512";
    assert_refused(umbel_create("tally", &p, &f, &test_refusal), UMBEL_E_RANGE,
                   "blocked128");
    p.addressing = NULL;
    p.hashes = 9;
    assert_refused(umbel_create("tally", &p, &f, &test_refusal), UMBEL_E_RANGE,
                   "8 hashes");
    p.hashes = 0;
    assert_refused(
        umbel_create_unsized("tally", NULL, 1 << 20, &f, &test_refusal),
        UMBEL_E_UNSUPPORTED, "different");
    for (p.fpr = 0.5; p.fpr > 1e-7; p.fpr /= 3) {
        assert_ok(umbel_create("tally", &p, &f, &test_refusal));
        assert_true(umbel_hashes(f) <= 8);
        umbel_close(f);
    }
}

TEST_GROUP(tally)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lonely_key_is_counted_exactly),
        cmocka_unit_test(a_key_is_fresh_if_it_counted_nothing),
        cmocka_unit_test(no_amount_makes_a_count_wrap),
        cmocka_unit_test(the_cells_are_those_of_the_addressing),
        cmocka_unit_test(counts_are_never_too_low),
        cmocka_unit_test(few_counts_are_wrong_in_37_bits_a_key),
        cmocka_unit_test(an_amount_is_as_many_single_adds),
        cmocka_unit_test(a_batch_is_one_key_after_the_other),
        cmocka_unit_test(a_full_table_says_so_and_how_much_is_missing),
        cmocka_unit_test(counts_of_a_full_table_keep_to_the_limit),
        cmocka_unit_test(the_table_finds_what_it_took),
        cmocka_unit_test(its_bits_are_a_bloom_filter),
        cmocka_unit_test(any_payload_is_safe),
        cmocka_unit_test(what_would_count_too_low_is_refused),
        cmocka_unit_test(it_stands_on_one_line_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
