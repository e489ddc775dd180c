/*
 * occupancy_bounds.c - tail bounds are never below the exact tails, and not far
 * above.
 */
#include "support/test.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "filter/kind.h"
#include "kinds/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Relative rounding error of sums of doubles. */
#define SLACK 1e-9

static um_layout layout_of(const char *addressing, uint64_t cells,
                           uint32_t hashes)
{
    um_layout l;

    um_layout_init(&l, um_addressing_find(addressing), cells, hashes, 0);
    return l;
}

static um_occupancy tails_of(const um_layout *l, double keys)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_occupancy t;

    assert_ok(um_occupancy_init(&t, l, keys, &alloc, &test_refusal));
    return t;
}

static double *zeros(size_t n)
{
    double *x = calloc(n, sizeof *x);

    assert_non_null(x);
    return x;
}

/* --- exact ------------------------------------------------------------------
 */

/*
 * Returns the probabilities of 0 .. cells cells in use after `balls` balls,
 * computed ball by ball.
 */
static double *occupancy(size_t cells, size_t balls)
{
    double *p = zeros(cells + 1);

    p[0] = 1;
    for (size_t i = 0; i < balls; i++)
        for (size_t u = cells + 1; u-- > 0;) {
            double before = u ? p[u - 1] * (double)(cells - u + 1) : 0;
            p[u] = (p[u] * (double)u + before) / (double)cells;
        }
    return p;
}

/* Returns the distribution of the sum of two independent numbers. Frees x. */
static double *plus(double *x, size_t nx, const double *y, size_t ny)
{
    double *sum = zeros(nx + ny + 1);

    for (size_t i = 0; i <= nx; i++)
        for (size_t j = 0; j <= ny; j++)
            sum[i + j] += x[i] * y[j];
    free(x);
    return sum;
}

/* Returns the distribution for lanes of equal width with `balls` balls each. */
static double *lanes_of(size_t lanes, size_t width, size_t balls)
{
    double *one = occupancy(width, balls), *all = zeros(1);

    all[0] = 1;
    for (size_t i = 0; i < lanes; i++)
        all = plus(all, i * width, one, width);
    free(one);
    return all;
}

/* Returns the smallest u whose tail P(X >= u) is below chance. */
static uint64_t exact_limit(const double *p, size_t cells, double chance)
{
    double tail = 0;
    size_t u = cells + 1;

    while (u > 0 && tail + p[u - 1] < chance)
        tail += p[--u];
    return u;
}

static uint64_t bound_limit(const um_occupancy *t, double chance)
{
    uint64_t low = 0, high = t->layout->cells + 1;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if (um_occupancy_above(t, mid) < log(chance))
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/*
 * Asserts that every exact tail is below its bound, and that the limits at
 * 1e-10 are close.
 */
static void hold(const um_layout *l, double keys, const double *p, double wider)
{
    um_occupancy t = tails_of(l, keys);
    size_t m = (size_t)l->cells;
    double tail = 0, head = 0, mean = 0;

    for (size_t u = 0; u <= m; u++) {
        head += p[u];
        mean += (double)u * p[u];
        assert_true(head <=
                    exp(um_occupancy_below(l, keys, u)) * (1 + SLACK) + 1e-300);
    }
    for (size_t u = m + 1; u-- > 0;) {
        tail += p[u];
        assert_true(tail <=
                    exp(um_occupancy_above(&t, u)) * (1 + SLACK) + 1e-300);
    }
    double exact = (double)exact_limit(p, m, 1e-10) - mean;
    double bound = (double)bound_limit(&t, 1e-10) - mean;
    assert_true(bound >= exact);
    assert_true(bound <= wider * exact + 2);
    um_occupancy_fini(&t);
}

static void balls_on_cells_stay_below_the_bound(void **state)
{
    static const struct {
        uint64_t cells;
        uint32_t hashes;
        size_t keys;
    } cases[] = {{3, 1, 1},    {40, 2, 10},  {64, 3, 15},    {65, 1, 1},
                 {100, 7, 10}, {300, 4, 60}, {1000, 10, 69}, {500, 1, 2000}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        um_layout l = layout_of("classic", cases[i].cells, cases[i].hashes);
        double *p = occupancy(l.cells, cases[i].keys * cases[i].hashes);
        hold(&l, (double)cases[i].keys, p, 1.4);
        free(p);
    }
}

static void slices_stay_below_the_bound(void **state)
{
    static const struct {
        uint64_t width;
        uint32_t hashes;
        size_t keys;
    } cases[] = {{5, 3, 4}, {64, 4, 50}, {65, 2, 45}, {144, 7, 100}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        uint32_t k = cases[i].hashes;
        um_layout l = layout_of("partitioned", k * cases[i].width, k);
        double *p = lanes_of(k, cases[i].width, cases[i].keys);
        hold(&l, (double)cases[i].keys, p, 1.8);
        free(p);
    }
}

static void one_block_stays_below_the_bound(void **state)
{
    (void)state;
    for (size_t keys = 1; keys <= 60; keys += 13) {
        um_layout l = layout_of("blocked512", 512, 16);
        double *p = lanes_of(8, 64, 2 * keys);
        hold(&l, (double)keys, p, 1.3);
        free(p);
    }
}

/*
 * A toy block whose states can all be enumerated: 8 lanes of 2 cells, 16 bits,
 * with any number of throws and of extra lanes.
 */
enum { TOY_LANES = 8, TOY_CELLS = 16, TOY_STATES = 1 << TOY_CELLS, LOADS = 9 };

static um_layout toy_of(uint64_t blocks, uint32_t throws, uint32_t extra)
{
    return (um_layout){.row = um_addressing_find("blocked512"),
                       .cells = blocks * TOY_CELLS,
                       .hashes = TOY_LANES * throws + extra,
                       .blocks = blocks,
                       .width = 2,
                       .lanes = TOY_LANES,
                       .throws = throws,
                       .extra = (uint16_t)extra};
}

/*
 * Returns the cells that extra throws set from lane start on, in one of 2^e
 * ways.
 */
static uint32_t extra_cells(uint32_t start, uint32_t extra, uint32_t way)
{
    uint32_t cells = 0;

    for (uint32_t i = 0; i < extra; i++)
        cells |= (1u << (way >> i & 1)) << 2 * ((start + i) % TOY_LANES);
    return cells;
}

/* Adds a key to a block with these state probabilities. */
static void throw_key(const um_layout *l, double *p, double *next)
{
    for (uint32_t t = 0; t < l->throws * TOY_LANES; t++) {
        memset(next, 0, TOY_STATES * sizeof *next);
        for (uint32_t s = 0; s < TOY_STATES; s++)
            for (uint32_t way = 0; way < 2; way++)
                next[s | 1u << (2 * (t % TOY_LANES) + way)] += p[s] / 2;
        memcpy(p, next, TOY_STATES * sizeof *p);
    }
    uint32_t ways = 1u << l->extra;
    memset(next, 0, TOY_STATES * sizeof *next);
    for (uint32_t s = 0; s < TOY_STATES; s++)
        for (uint32_t c = 0; p[s] > 0 && c < TOY_LANES * ways; c++)
            next[s | extra_cells(c / ways, l->extra, c % ways)] +=
                p[s] / (TOY_LANES * ways);
    memcpy(p, next, TOY_STATES * sizeof *p);
}

/*
 * Sets by_load[j][u] to the probability of u cells in use in a block of j keys.
 */
static void count_states(const um_layout *l,
                         double by_load[LOADS][TOY_CELLS + 1])
{
    double *p = zeros(TOY_STATES), *next = zeros(TOY_STATES);

    p[0] = 1;
    for (size_t j = 0; j < LOADS; j++) {
        memset(by_load[j], 0, sizeof by_load[j]);
        for (uint32_t s = 0; s < TOY_STATES; s++)
            by_load[j][__builtin_popcount(s)] += p[s];
        throw_key(l, p, next);
    }
    free(p);
    free(next);
}

/*
 * Sets all[n][u] for n keys in `blocks` blocks, adding the last block to the
 * distribution of the others.
 */
static void split_off(double by_load[LOADS][TOY_CELLS + 1], size_t blocks,
                      double all[LOADS][4 * TOY_CELLS + 1])
{
    double fewer[LOADS][4 * TOY_CELLS + 1] = {{0}};

    if (blocks == 1) {
        for (size_t n = 0; n < LOADS; n++)
            memcpy(all[n], by_load[n], sizeof by_load[n]);
        return;
    }
    split_off(by_load, blocks - 1, fewer);
    for (size_t n = 0; n < LOADS; n++)
        for (size_t j = 0; j <= n; j++) {
            double ln =
                n ? test_ln_binomial((double)n, (double)j, 1 / (double)blocks)
                  : 0;
            for (size_t u = 0; u <= (blocks - 1) * TOY_CELLS; u++)
                for (size_t v = 0; v <= TOY_CELLS; v++)
                    all[n][u + v] += exp(ln) * fewer[n - j][u] * by_load[j][v];
        }
}

static void hold_block(const um_layout *l, size_t keys,
                       double by_load[LOADS][TOY_CELLS + 1])
{
    um_occupancy t = tails_of(l, (double)keys);
    double tail = 0;

    for (size_t u = TOY_CELLS + 1; u-- > 0;) {
        for (size_t j = 0; j <= keys; j++)
            tail +=
                by_load[j][u] * exp(test_ln_binomial((double)keys, (double)j,
                                                     1.0 / (double)l->blocks));
        assert_true(tail <= exp(um_occupancy_block(&t, u)) * (1 + SLACK));
    }
    um_occupancy_fini(&t);
}

static void toy_blocks_stay_below_the_bound(void **state)
{
    static const uint32_t shapes[][2] = {{0, 1}, {0, 2}, {0, 3},
                                         {0, 5}, {1, 0}, {1, 2}};
    static double by_load[LOADS][TOY_CELLS + 1];
    static double all[LOADS][4 * TOY_CELLS + 1];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++)
        for (size_t blocks = 1; blocks <= 4; blocks++) {
            um_layout l = toy_of(blocks, shapes[i][0], shapes[i][1]);
            if (blocks == 1)
                count_states(&l, by_load);
            memset(all, 0, sizeof all);
            split_off(by_load, blocks, all);
            for (size_t n = 1; n < LOADS; n++) {
                hold(&l, (double)n, all[n], 3);
                if (blocks > 1)
                    hold_block(&l, n, by_load);
            }
        }
}

/* --- simulated --------------------------------------------------------------
 */

/* Clears the filter and adds n random keys. */
static void refill(umbel_filter *f, um_rng *rng, size_t n)
{
    umbel_digest d[4096];

    assert_true(n <= TEST_COUNT(d));
    assert_ok(umbel_clear(f, &test_refusal));
    for (size_t i = 0; i < n; i++)
        d[i] = (umbel_digest){um_random(rng), um_random(rng)};
    assert_ok(umbel_add_digests(f, d, n, NULL, &test_refusal));
}

enum { ROUNDS = 20000, LEVELS = 8 };

/* Returns the j-th error level above the mean. */
static double level(double mean, size_t j)
{
    return mean * (1 + 0.1 * (double)(j + 1));
}

/* Counts how many of ROUNDS filters reach each level. */
static void simulate(const um_layout *l, size_t keys, um_rng *rng,
                     size_t above[LEVELS])
{
    double mean = um_model_error(l, (double)keys);
    umbel_params p = UMBEL_PARAMS_INIT;

    p.cells = l->cells;
    p.hashes = l->hashes;
    umbel_filter *f = test_open(&p);
    for (size_t r = 0; r < ROUNDS; r++) {
        refill(f, rng, keys);
        double error = umbel_predict(f);
        for (size_t j = 0; j < LEVELS; j++)
            above[j] += error >= level(mean, j);
    }
    umbel_close(f);
}

/*
 * Checks that no more filters reach a level than the bound says, plus five
 * sigma.
 */
static void mean_errors_stay_below_the_bound(void **state)
{
    static const uint32_t hashes[] = {3, 4, 8, 10, 13};
    um_rng rng = {11};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(hashes); i++) {
        um_layout l = layout_of("blocked512", 32 * 512, hashes[i]);
        size_t keys = (size_t)l.cells * 6 / (10 * hashes[i]);
        um_occupancy t = tails_of(&l, (double)keys);
        double mean = um_model_error(&l, (double)keys);
        size_t above[LEVELS] = {0};
        simulate(&l, keys, &rng, above);
        for (size_t j = 0; j < LEVELS; j++) {
            double bound = exp(um_occupancy_error(&t, level(mean, j)));
            double n = ROUNDS, sigma = sqrt(n * bound * (1 - bound));
            assert_true((double)above[j] <= n * bound + 5 * sigma);
        }
        um_occupancy_fini(&t);
    }
}

/* Checks that the bound tightens as filters get larger. */
static void mean_errors_of_many_blocks_stray_little(void **state)
{
    static const struct {
        uint64_t blocks;
        double most;
    } cases[] = {{1000, 1.4}, {10000, 1.12}, {100000, 1.04}, {1000000, 1.015}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        um_layout l = layout_of("blocked512", cases[i].blocks * 512, 8);
        double keys = (double)cases[i].blocks * 32;
        um_occupancy t = tails_of(&l, keys);
        double mean = um_model_error(&l, keys);
        assert_true(um_occupancy_error(&t, mean) == 0);
        assert_true(um_occupancy_error(&t, mean * cases[i].most) < log(1e-10));
        um_occupancy_fini(&t);
    }
}

/* --- sizes ------------------------------------------------------------------
 */

/*
 * Checks that the limits at 1e-10 of filters up to 2^48 cells are only a few
 * sigma from the mean.
 */
static void large_filters_have_narrow_limits(void **state)
{
    static const char *const names[] = {"classic", "blocked512", "blocked256",
                                        "partitioned"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++)
        for (int bits = 16; bits <= 48; bits += 8) {
            um_layout l = layout_of(names[i], (uint64_t)1 << bits, 8);
            double keys = floor(ldexp(1, bits) / 12);
            double sigma = sqrt(um_model_covariance(&l, keys, keys, keys));
            double mean = um_model_fill(&l, keys) * (double)l.cells;
            um_occupancy t = tails_of(&l, keys);
            double far = strcmp(names[i], "partitioned") == 0 ? 20 : 10;
            assert_true(um_occupancy_above(&t, (uint64_t)(mean + 6 * sigma)) >
                        log(1e-10));
            assert_true(um_occupancy_above(&t, (uint64_t)(mean + far * sigma)) <
                        log(1e-10));
            um_occupancy_fini(&t);
        }
}

/*
 * Checks that claims of any size take little time and memory, and give
 * probabilities.
 */
static void absurd_numbers_of_keys_give_no_nonsense(void **state)
{
    static const double keys[] = {1, 2, 1e6, 1e19, INFINITY};
    static const uint32_t hashes[] = {1, 8, 11, 64};

    (void)state;
    for (size_t a = 0; um_addressing_row(a); a++)
        for (size_t h = 0; h < TEST_COUNT(hashes); h++)
            for (size_t i = 0; i < TEST_COUNT(keys); i++) {
                const um_addressing *row = um_addressing_row(a);
                uint64_t granule = um_granule(row, hashes[h]);
                if (!granule || 16 * granule > um_limit(row, hashes[h]))
                    continue;
                um_layout l;
                um_layout_init(&l, row, 16 * granule, hashes[h], 0);
                um_occupancy t = tails_of(&l, keys[i]);
                for (uint64_t u = 0; u <= l.cells; u += l.cells / 4) {
                    assert_true(um_occupancy_above(&t, u) <= 0);
                    assert_true(um_occupancy_below(&l, keys[i], u) <= 0);
                    if (l.blocks > 1) {
                        assert_true(um_occupancy_block(&t, u / 16) <= 0);
                        assert_true(um_occupancy_error(
                                        &t, (double)u / (double)l.cells) <= 0);
                    }
                }
                um_occupancy_fini(&t);
            }
}

TEST_GROUP(occupancy_bounds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balls_on_cells_stay_below_the_bound),
        cmocka_unit_test(slices_stay_below_the_bound),
        cmocka_unit_test(one_block_stays_below_the_bound),
        cmocka_unit_test(toy_blocks_stay_below_the_bound),
        cmocka_unit_test(mean_errors_stay_below_the_bound),
        cmocka_unit_test(mean_errors_of_many_blocks_stray_little),
        cmocka_unit_test(large_filters_have_narrow_limits),
        cmocka_unit_test(absurd_numbers_of_keys_give_no_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
