/*
 * model.c - the formulas, compared with exact cases and with counting.
 *
 * Counting uses hundreds of filters with different seeds; the tolerance is
 * computed from their variance and number.
 */
#include "support/test.h"

#include "analysis/analysis.h"
#include "base/rng.h"
#include "filter/handle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 1100 };

static um_layout layout_of(const char *addressing, uint64_t cells,
                           uint32_t hashes)
{
    um_layout l;

    um_layout_init(&l, um_addressing_find(addressing), cells, hashes, 0);
    return l;
}

/*
 * Returns the mean of (used/width)^u after that many throws into a lane, from
 * the distribution of the number of used cells, throw by throw.
 */
static double exact_lane(int width, int throws, int u)
{
    static double p[MAX_WIDTH + 1];
    double mean = 0;

    memset(p, 0, sizeof p);
    p[0] = 1;
    for (int t = 0; t < throws; t++)
        for (int used = width; used >= 0; used--)
            p[used] = p[used] * used / width +
                      (used ? p[used - 1] * (width - used + 1) / width : 0);
    for (int used = 0; used <= width; used++)
        mean += p[used] * pow((double)used / width, u);
    return mean;
}

static void one_or_two_hashes_are_exact_in_the_smallest_filters(void **state)
{
    (void)state;
    for (int m = 2; m < 40; m += 3)
        for (int k = 1; k <= 2; k++)
            for (int n = 1; n < 30; n += 4) {
                um_layout l = layout_of("classic", (uint64_t)m, (uint32_t)k);
                assert_near(um_model_error(&l, n), exact_lane(m, n * k, k),
                            1e-12);
            }
}

/* After second moments the formula omits terms of order k^3/m^2. */
static void many_hashes_are_exact_in_filters_of_some_size(void **state)
{
    (void)state;
    for (int k = 3; k <= 12; k++) {
        um_layout l = layout_of("classic", 1000, (uint32_t)k);
        double want = exact_lane(1000, 70 * k, k);
        assert_near(um_model_error(&l, 70), want, k * k * k * 1e-6 * want);
    }
}

static void slices_are_exact(void **state)
{
    (void)state;
    for (int k = 1; k <= 9; k++) {
        um_layout l = layout_of("partitioned", 20 * (uint64_t)k, (uint32_t)k);
        double want = pow(exact_lane(20, 11, 1), k);
        assert_near(um_model_error(&l, 11), want, 1e-12);
    }
}

/*
 * Returns the error of eight independent lanes, averaged over the number of
 * keys in a block.
 */
static double exact_blocks(int width, int blocks, int throws, int keys)
{
    double sum = 0;

    for (int load = 0; load <= keys; load++) {
        double lane = exact_lane(width, load * throws, throws);
        sum += exp(test_ln_binomial(keys, load, 1.0 / blocks)) * pow(lane, 8);
    }
    return sum;
}

static void blocks_of_eight_and_sixteen_hashes_are_exact(void **state)
{
    (void)state;
    for (int throws = 1; throws <= 2; throws++) {
        um_layout a = layout_of("blocked512", 7 * 512, 8 * (uint32_t)throws);
        um_layout b = layout_of("blocked256", 7 * 256, 8 * (uint32_t)throws);
        double x = exact_blocks(64, 7, throws, 150);
        double y = exact_blocks(32, 7, throws, 100);
        assert_near(um_model_error(&a, 150), x, 1e-9 * x);
        assert_near(um_model_error(&b, 100), y, 1e-9 * y);
    }
}

/*
 * The load per block is the same, so the error must be, too, without losing
 * digits.
 */
static void the_largest_filters_lose_no_digits(void **state)
{
    um_layout small = layout_of("blocked512", (uint64_t)1 << 30, 16);
    double want = um_model_error(&small, (double)((uint64_t)1 << 30) / 20);

    (void)state;
    for (int bits = 36; bits <= 48; bits += 4) {
        um_layout l = layout_of("blocked512", (uint64_t)1 << bits, 16);
        double keys = (double)((uint64_t)1 << bits) / 20;
        assert_near(um_model_error(&l, keys), want, 1e-6 * want);
    }
}

/* A single hash hits every cell with equal probability in every addressing. */
static void a_single_hash_is_the_same_in_every_addressing(void **state)
{
    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++) {
        um_layout l = layout_of(test_own_addressing(i), 2048, 1);
        double want = -expm1(700 * log1p(-1.0 / 2048));
        assert_near(um_model_error(&l, 700), want, 1e-9);
        assert_near(um_model_fill(&l, 700), want, 1e-12);
    }
}

static void an_empty_filter_never_errs_and_a_full_one_always(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        um_layout l = layout_of(um_addressing_row(i)->name, 4096, 4);
        assert_true(um_model_error(&l, 0) == 0);
        assert_near(um_model_error(&l, 1e6), 1, 1e-9);
        assert_near(um_model_error(&l, 1e18), 1, 1e-9); /* and quickly */
        assert_true(um_model_fill(&l, 0) == 0);
        assert_true(isinf(um_model_keys(&l, l.cells)));
        assert_near(um_model_keys(&l, 0), 0, 1e-9);
    }
}

static void more_keys_err_more(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        for (uint32_t k = 1; k <= 32; k *= 2) {
            const um_addressing *row = um_addressing_row(i);
            if (um_limit(row, k) < 32 * 512)
                continue;
            um_layout l = layout_of(row->name, 32 * 512, k);
            for (double n = 1, last = 0; n < 1e5; n *= 1.3) {
                double now = um_model_error(&l, floor(n));
                assert_true(now >= last * (1 - 1e-9)); /* sums of logs round */
                last = now;
            }
        }
}

/* Below some millionths of a key, rounding once made the error 1. */
static void less_than_a_key_errs_less_than_one_key(void **state)
{
    static const char *const names[] = {"classic", "dcso"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        um_layout l = layout_of(names[i], 1 << 19, 12);
        for (double keys = 1e-12; keys < 1; keys *= 4)
            assert_true(um_model_error(&l, keys) <= um_model_error(&l, 1));
    }
}

static void keys_undo_the_fill(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        for (uint32_t k = 1; k <= 8; k *= 2) {
            um_layout l = layout_of(um_addressing_row(i)->name, 40 * 1024, k);
            double cells = (double)l.cells, want = 3000;
            double used = round(um_model_fill(&l, want) * cells);
            /* The number of cells is an integer: keys are exact to one cell. */
            assert_near(um_model_keys(&l, (uint64_t)used), want,
                        fabs(um_model_slope(&l, want)) + 1e-6);
        }
}

/*
 * Checks the number of keys per additional used cell, from an empty filter on.
 */
static void the_slope_is_that_of_the_keys(void **state)
{
    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        for (double keys = 0; keys <= 9000; keys += 3000) {
            um_layout l = layout_of(test_own_addressing(i), 40 * 1024, 4);
            uint64_t used =
                (uint64_t)(um_model_fill(&l, keys) * (double)l.cells);
            double step = um_model_keys(&l, used + 1) - um_model_keys(&l, used);
            assert_near(fabs(um_model_slope(&l, keys)), step, 0.001 * step);
        }
}

/* Returns a filter of that shape and seed with n keys. */
static umbel_filter *seeded(const char *addressing, uint64_t cells,
                            uint32_t hashes, uint64_t seed, size_t n)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    uint64_t keys[1000];

    p.addressing = addressing;
    p.cells = cells;
    p.hashes = hashes;
    p.seed = seed;
    umbel_filter *f = test_open(&p);
    for (size_t i = 0; i < n; i++)
        keys[i] = i;
    assert_ok(umbel_add_fixed(f, keys, sizeof *keys, n, NULL, &test_refusal));
    return f;
}

/* Tests filters about half full, like planned ones. */
static void check_mean(const char *addressing, uint32_t hashes)
{
    enum { SEEDS = 300, KEYS = 400 };
    uint64_t cells = (uint64_t)(KEYS * hashes * 1.44) + 512;
    test_spread spread = {0};
    double plan = 0;

    cells -= cells % (hashes * 512); /* a granule of each addressing */
    if (cells == 0)
        cells = hashes * 512;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        umbel_filter *f = seeded(addressing, cells, hashes, seed, KEYS);
        test_spread_add(&spread, umbel_predict(f));
        plan = umbel_fpr_at(f, KEYS);
        umbel_close(f);
    }
    double sigma = sqrt(test_variance(&spread) / SEEDS);
    print_message("%-12s k %2u  model %.4e  mean %.4e  off by %5.2f sigma\n",
                  addressing, (unsigned)hashes, plan, spread.mean,
                  (spread.mean - plan) / sigma);
    assert_near(spread.mean, plan, 5 * sigma);
}

static void the_model_is_the_mean_of_many_filters(void **state)
{
    static const uint32_t hashes[] = {1, 2, 3, 5, 6, 7, 8, 9, 11, 13, 15, 16};

    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        for (size_t j = 0; j < TEST_COUNT(hashes); j++)
            check_mean(test_own_addressing(i), hashes[j]);
}

/* MD5 takes no seed, so the key sets vary instead; 16-bit chunks mod 50,000. */
static void the_bias_of_a_modulus_is_counted(void **state)
{
    enum { SETS = 200, KEYS = 3000 };
    umbel_params p = UMBEL_PARAMS_INIT;
    test_spread spread = {0}, hot = {0};

    (void)state;
    p.addressing = "chunks-md5";
    p.cells = 50000;
    p.hashes = 8;
    umbel_filter *f = test_open(&p);
    assert_int_equal(um_model_hot(&f->layout), 65536 - 50000);
    for (uint64_t set = 0; set < SETS; set++) {
        assert_ok(umbel_clear(f, &test_refusal));
        test_add(f, set * KEYS, KEYS);
        test_spread_add(&spread, umbel_predict(f));
        test_spread_add(&hot, (double)f->kind->bits->used(f->self, NULL));
    }
    assert_near(spread.mean, umbel_fpr_at(f, KEYS),
                5 * sqrt(test_variance(&spread) / SETS));
    assert_near(hot.mean, um_model_fill(&f->layout, KEYS) * 50000,
                5 * sqrt(test_variance(&hot) / SETS));
    umbel_close(f);
}

/*
 * Returns the mean number of cells that a key of 8 + extra hashes hits twice,
 * by counting over the bits that matter (model.c): v and y are the lowest bits
 * of the halves of hi, b those of what the lower half adds to the upper one of
 * z.
 */
static double twice_in_blocks(uint32_t width, uint32_t extra)
{
    double sum = 0;

    for (unsigned state = 0; state < 512; state++) {
        unsigned v = state & 7, y = state >> 3 & 7, b = state >> 6;
        unsigned high = (4 * y + b) & 7, low = ((v ^ y) + 3 * v) & 7;
        for (unsigned lane = 0; lane < 8; lane++) {
            unsigned bits = 0; /* of the cell that are known, and equal */
            if (((lane - (low ^ high)) & 7) >= extra)
                continue;
            if (width == 64 && lane == 4)
                bits = y >> 2 == high >> 2 ? 1 : 99;
            if (width == 64 && lane == 5)
                bits = (y & 3) == (high & 3) ? 2 : 99;
            if (width == 16 && lane == 7)
                bits = y == high ? 3 : 99;
            sum += bits == 99 ? 0 : (double)(1 << bits) / width;
        }
    }
    return sum / 512;
}

/* Returns the mean number of different cells of n random keys, and its standard
 * deviation. */
static double mean_cells(const um_layout *l, size_t n, double *sigma)
{
    uint64_t pos[UM_MAX_HASHES];
    test_spread spread = {0};
    um_rng rng = {l->hashes};

    for (size_t i = 0; i < n; i++) {
        bool used[512] = {false};
        unsigned cells = 0;
        umbel_digest d = {.lo = um_random(&rng)};
        d.hi = l->hi_follows ? um_remix(d.lo) : um_random(&rng);
        l->row->positions(l, &d, 1, pos);
        for (uint32_t j = 0; j < l->hashes; j++) {
            cells += !used[pos[j]];
            used[pos[j]] = true;
        }
        test_spread_add(&spread, cells);
    }
    *sigma = sqrt(test_variance(&spread) / (double)n);
    return spread.mean;
}

static void a_key_in_blocks_hits_as_many_cells_as_the_model_has(void **state)
{
    enum { N = 1 << 17 };
    static const char *const rows[] = {"blocked128", "blocked256",
                                       "blocked512"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++)
        for (uint32_t k = 8; k <= 17; k++)
            for (int follows = 0; follows < 2; follows++) {
                uint32_t block = um_addressing_find(rows[i])->block;
                um_layout l = layout_of(rows[i], block, k);
                l.hi_follows = follows;
                double sigma, got = mean_cells(&l, N, &sigma);
                double model = um_model_fill(&l, 1) * block;
                assert_near(got, model, 5 * sigma + 1e-9);
                if (follows && k > 8 && k < 16)
                    assert_near(model, k - twice_in_blocks(block / 8, k - 8),
                                1e-9);
            }
}

static void add_random(umbel_filter *f, um_rng *rng, size_t n)
{
    umbel_digest d[400];

    assert_true(n <= TEST_COUNT(d));
    for (size_t i = 0; i < n; i++)
        d[i] = (umbel_digest){um_random(rng), um_random(rng)};
    assert_ok(umbel_add_digests(f, d, n, NULL, &test_refusal));
}

static double unused(const umbel_filter *f)
{
    return (double)(f->layout.cells - f->kind->bits->used(f->self, NULL));
}

/*
 * Compares the variances of two filters and their covariance, counted and by
 * formula.
 */
static void check_covariance(const char *addressing, uint32_t hashes)
{
    enum { PAIRS = 600, SHARED = 150, A = 350, B = 250 };
    umbel_filter *a = seeded(addressing, hashes * 512, hashes, 0, 0);
    umbel_filter *b = seeded(addressing, hashes * 512, hashes, 0, 0);
    test_spread x = {0}, y = {0}, sum = {0};
    um_rng rng = {hashes};

    for (int i = 0; i < PAIRS; i++) {
        umbel_clear(a, NULL);
        umbel_clear(b, NULL);
        um_rng again = rng;
        add_random(a, &rng, SHARED);
        add_random(b, &again, SHARED);
        add_random(a, &rng, A - SHARED);
        add_random(b, &rng, B - SHARED);
        test_spread_add(&x, unused(a));
        test_spread_add(&y, unused(b));
        test_spread_add(&sum, unused(a) + unused(b));
    }
    const um_layout *l = &a->layout;
    double xx = um_model_covariance(l, A, A, A);
    double yy = um_model_covariance(l, B, B, B);
    double xy = um_model_covariance(l, A, B, SHARED), n = PAIRS - 1;
    double got =
        (test_variance(&sum) - test_variance(&x) - test_variance(&y)) / 2;
    assert_near(test_variance(&x), xx, 5 * xx * sqrt(2 / n));
    assert_near(test_variance(&y), yy, 5 * yy * sqrt(2 / n));
    assert_near(got, xy, 5 * sqrt((xx * yy + xy * xy) / n));
    umbel_close(a);
    umbel_close(b);
}

static void covariances_are_those_of_many_pairs(void **state)
{
    static const uint32_t hashes[] = {1, 3, 8, 11};

    (void)state;
    for (size_t i = 0; test_own_addressing(i); i++)
        for (size_t j = 0; j < TEST_COUNT(hashes); j++)
            check_covariance(test_own_addressing(i), hashes[j]);
}

TEST_GROUP(model)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_or_two_hashes_are_exact_in_the_smallest_filters),
        cmocka_unit_test(many_hashes_are_exact_in_filters_of_some_size),
        cmocka_unit_test(slices_are_exact),
        cmocka_unit_test(blocks_of_eight_and_sixteen_hashes_are_exact),
        cmocka_unit_test(the_largest_filters_lose_no_digits),
        cmocka_unit_test(a_single_hash_is_the_same_in_every_addressing),
        cmocka_unit_test(an_empty_filter_never_errs_and_a_full_one_always),
        cmocka_unit_test(more_keys_err_more),
        cmocka_unit_test(less_than_a_key_errs_less_than_one_key),
        cmocka_unit_test(keys_undo_the_fill),
        cmocka_unit_test(the_slope_is_that_of_the_keys),
        cmocka_unit_test(the_model_is_the_mean_of_many_filters),
        cmocka_unit_test(the_bias_of_a_modulus_is_counted),
        cmocka_unit_test(a_key_in_blocks_hits_as_many_cells_as_the_model_has),
        cmocka_unit_test(covariances_are_those_of_many_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
