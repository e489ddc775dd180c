/*
 * generalized.c - keys that clear some cells and set others: which cells, what
 * is forgotten, and the effect of hostile bits.
 */
#include "support/test.h"

#include "base/rng.h"
#include "filter/addressing/addressing.h"
#include "filter/handle.h"
#include "kinds/generalized/generalized.h"

#include <umbel/file.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape {
    const char *addressing;
    uint32_t reset, set;
} shape;

/* Drawn from the whole block, and in pairs. */
static const shape shapes[] = {
    {"classic", 2, 2},    {"classic", 1, 4},    {"classic", 4, 4},
    {"classic", 8, 8},    {"blocked512", 2, 2}, {"blocked512", 2, 3},
    {"blocked512", 3, 3}, {"blocked512", 4, 4}, {"blocked512", 8, 8},
    {"blocked512", 9, 9}, {"blocked256", 2, 2}, {"blocked256", 4, 4},
    {"blocked256", 8, 8}, {"blocked256", 1, 3},
};

static umbel_status try_open(const shape *s, uint64_t cells, uint64_t start,
                             uint64_t seed, umbel_filter **out)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting settings[] = {
        {"reset", s->reset}, {"set", s->set}, {"start", start}};

    p.addressing = s->addressing;
    p.cells = cells;
    p.seed = seed;
    p.settings = settings;
    p.nsettings = TEST_COUNT(settings);
    return umbel_create("generalized", &p, out, &test_refusal);
}

static umbel_filter *open_shape(const shape *s, uint64_t cells, uint64_t start,
                                uint64_t seed)
{
    umbel_filter *f = NULL;

    assert_ok(try_open(s, cells, start, seed, &f));
    return f;
}

static void fill(um_rng *rng, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = um_random(rng);
}

static size_t hits(const umbel_filter *f, const uint64_t *keys, size_t n)
{
    bool *hit = malloc(n + 1);
    size_t sum = 0;

    assert_non_null(hit);
    assert_ok(umbel_query_fixed(f, keys, 8, n, hit, &test_refusal));
    for (size_t i = 0; i < n; i++)
        sum += hit[i];
    free(hit);
    return sum;
}

static void append(umbel_filter *f, const uint64_t *keys, size_t n)
{
    assert_ok(umbel_add_fixed(f, keys, 8, n, NULL, &test_refusal));
}

/* --- which cells ------------------------------------------------------------
 */

static void check_distinct(const shape *s, uint64_t cells, umbel_digest d)
{
    umbel_filter *f = open_shape(s, cells, 0, 0);
    uint64_t pos[UM_MAX_HASHES];
    uint32_t k = s->reset + s->set;

    um_role_cells(&f->layout, s->reset, s->set, &d, 1, pos);
    for (uint32_t i = 0; i < k; i++) {
        assert_true(pos[i] < f->layout.cells);
        assert_int_equal(pos[i] / 512 * (f->layout.lanes > 1),
                         pos[0] / 512 * (f->layout.lanes > 1));
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(pos[i], pos[j]);
    }
    umbel_close(f);
}

/* Includes degenerate digests, and sizes with hardly enough cells. */
static void the_cells_of_a_key_are_distinct(void **state)
{
    static const umbel_digest hopeless[] = {
        {0, 0}, {0, 1}, {1, 0}, {UINT64_MAX, 0}, {UINT64_MAX, UINT64_MAX}};
    um_rng rng = {1};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
        for (size_t j = 0; j < TEST_COUNT(hopeless); j++)
            check_distinct(&shapes[i], 18, hopeless[j]);
        for (int j = 0; j < 500; j++)
            check_distinct(&shapes[i], 18 + um_random_below(&rng, 2000),
                           (umbel_digest){um_random(&rng), um_random(&rng)});
    }
}

/* The format specifies 64 draws for a cell, then the next free one. */
static void a_cell_is_drawn_64_times(void **state)
{
    enum { CELLS = 64, DRAWS = 64 };
    uint64_t pos[CELLS];
    um_rng rng = {7};

    (void)state;
    for (int i = 0; i < 100; i++) {
        umbel_digest d = {um_random(&rng), um_random(&rng)};
        bool used[CELLS] = {false};
        uint64_t x = d.lo, cell;
        um_free_cells(CELLS, CELLS, d, pos);
        for (size_t j = 0; j < CELLS; j++) {
            int draws = 0;
            do {
                cell = um_scale(x, CELLS);
                x = um_classic_step(x, d.hi);
            } while (used[cell] && ++draws < DRAWS);
            while (used[cell])
                cell = (cell + 1) % CELLS;
            used[cell] = true;
            assert_int_equal(pos[j], cell);
        }
    }
}

/* Checks that every cell of a block is equally likely, for both roles. */
static void check_even(const shape *s)
{
    enum { N = 200000, BLOCK = 512 };
    umbel_filter *f = open_shape(s, BLOCK, 0, 0);
    uint64_t pos[UM_MAX_HASHES], seen[2][BLOCK] = {{0}};
    uint64_t cells = f->layout.cells;
    um_rng rng = {3};

    for (int i = 0; i < N; i++) {
        umbel_digest d = {um_random(&rng), um_random(&rng)};
        um_role_cells(&f->layout, s->reset, s->set, &d, 1, pos);
        for (uint32_t j = 0; j < s->reset + s->set; j++)
            seen[j >= s->reset][pos[j]]++;
    }
    for (int role = 0; role < 2; role++) {
        double p = (double)(role ? s->set : s->reset) / (double)cells;
        for (uint64_t c = 0; c < cells; c++)
            assert_near((double)seen[role][c], N * p,
                        5.5 * sqrt(N * p * (1 - p)));
    }
    umbel_close(f);
}

static void all_cells_are_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++)
        check_even(&shapes[i]);
}

static void a_key_is_found_right_after_it_was_added(void **state)
{
    um_rng rng = {4};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
        umbel_filter *f = open_shape(&shapes[i], 600, 500000000, i);
        for (int j = 0; j < 2000; j++) {
            uint64_t key = um_random(&rng);
            append(f, &key, 1);
            assert_int_equal(hits(f, &key, 1), 1);
        }
        umbel_close(f);
    }
}

/* --- functions of one kind --------------------------------------------------
 */

static umbel_filter *open_bloom(const char *addressing, uint32_t hashes)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = addressing;
    p.cells = 5000;
    p.hashes = hashes;
    return test_open(&p);
}

static void without_reset_it_is_the_plain_filter(void **state)
{
    static const char *const on[] = {"classic", "blocked512", "blocked256"};
    um_rng rng = {5};
    uint64_t keys[3000];

    (void)state;
    fill(&rng, keys, 3000);
    for (size_t i = 0; i < 3; i++)
        for (uint32_t k = 1; k <= 20; k++) {
            umbel_filter *bloom = open_bloom(on[i], k);
            umbel_filter *f = open_shape(&(shape){on[i], 0, k}, 5000, 0, 0);
            append(bloom, keys, 500);
            append(f, keys, 500);
            test_assert_same_payload(bloom, f);
            assert_int_equal(hits(bloom, keys, 3000), hits(f, keys, 3000));
            assert_near(umbel_predict(f), umbel_predict(bloom), 1e-12);
            assert_near(umbel_fpr_at(f, 500), umbel_fpr_at(bloom, 500), 0);
            umbel_close(bloom);
            umbel_close(f);
        }
}

static void without_set_it_is_the_mirror(void **state)
{
    um_rng rng = {6};
    uint64_t keys[3000];

    (void)state;
    fill(&rng, keys, 3000);
    for (uint32_t k = 1; k <= 20; k += 3) {
        umbel_filter *bloom = open_bloom("blocked512", k);
        umbel_filter *f =
            open_shape(&(shape){"blocked512", k, 0}, 5000, UM_START_ALL, 0);
        append(bloom, keys, 500);
        append(f, keys, 500);
        for (size_t i = 0; i < bloom->layout.cells / 8; i++)
            assert_int_equal(bloom->payload[i] ^ f->payload[i], 0xFF);
        assert_int_equal(hits(bloom, keys, 3000), hits(f, keys, 3000));
        assert_near(umbel_predict(f), umbel_predict(bloom), 1e-12);
        umbel_close(bloom);
        umbel_close(f);
    }
}

/* --- before the first key ---------------------------------------------------
 */

static uint64_t ones(const umbel_filter *f)
{
    return um_popcount(f->payload, 0, f->layout.cells);
}

static void it_starts_with_the_share_of_ones_that_was_asked_for(void **state)
{
    static const uint64_t shares[] = {1,         250000000, 333333333,
                                      500000000, 900000001, 999999999};
    const shape s = {"classic", 2, 2};
    const double n = 1000003;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shares); i++) {
        double p = (double)shares[i] / 1e9;
        umbel_filter *f = open_shape(&s, (uint64_t)n, shares[i], i);
        assert_near((double)ones(f), n * p, 5 * sqrt(n * p * (1 - p)) + 1);
        umbel_close(f);
    }
    umbel_filter *full = open_shape(&s, (uint64_t)n, UM_START_ALL, 0);
    assert_int_equal(ones(full), (uint64_t)n);
    umbel_close(full);
    umbel_filter *empty = open_shape(&s, (uint64_t)n, 0, 0);
    assert_int_equal(ones(empty), 0);
    umbel_close(empty);
}

/*
 * Checks that no bit after the last cell is set, for every size of the last
 * word.
 */
static void a_start_ends_with_the_last_cell(void **state)
{
    const shape s = {"classic", 2, 2};
    umbel_filter *back = NULL;
    size_t len;

    (void)state;
    for (uint64_t cells = 64; cells <= 192; cells++) {
        umbel_filter *f = open_shape(&s, cells, UM_START_ALL, 0);
        assert_int_equal(ones(f), cells);
        uint8_t *bytes = test_encode(f, &len);
        assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
        umbel_close(back);
        umbel_close(f);
        free(bytes);
    }
}

static double described(const umbel_filter *f, const char *name)
{
    umbel_info info;

    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++)
        if (strcmp(info.field[i].name, name) == 0)
            return info.field[i].value.real;
    fail_msg("there is no %s", name);
    return NAN;
}

/* Checks descriptions from the first key on. */
static void it_describes_what_the_paper_expects(void **state)
{
    const shape s = {"classic", 2, 3};

    (void)state;
    for (size_t keys = 0; keys < 3; keys++) {
        umbel_filter *f = open_shape(&s, 4096, 500000000, 1);
        test_add(f, 0, keys);
        double n = (double)umbel_added(f);
        umbel_generalized paper = {4096, 2, 3, 0.5, n};
        umbel_bounds bounds;
        assert_ok(umbel_bounds_of(f, &bounds, &test_refusal));
        double first = n > 0 ? umbel_generalized_fn_at(&paper, 1) : 0;
        double bound = n > 0 ? umbel_generalized_fn_bound(2, 3, 4096 / n) : 0;
        assert_near(described(f, "fn_first"), first, 0);
        assert_near(described(f, "fn_bound"), bound, 0);
        assert_near(bounds.fn_bound, bound, 0);
        umbel_close(f);
    }
}

/* If half of the bits are ones, more keys match before they are added. */
static void the_start_does_not_change_the_bound_on_false_negatives(void **state)
{
    const shape s = {"classic", 2, 2};
    uint64_t keys[1000];
    um_rng rng = {7};
    double bound[3];

    (void)state;
    fill(&rng, keys, TEST_COUNT(keys));
    for (uint64_t i = 0; i < TEST_COUNT(bound); i++) {
        umbel_filter *f = open_shape(&s, 64000, i * UM_START_ALL / 2, 1);
        assert_true(i != 1 || hits(f, keys, TEST_COUNT(keys)) > 0);
        append(f, keys, TEST_COUNT(keys));
        bound[i] = described(f, "fn_bound");
        umbel_close(f);
    }
    assert_near(bound[0], umbel_generalized_fn_bound(2, 2, 64), 0);
    assert_near(bound[1], bound[0], 0);
    assert_near(bound[2], bound[0], 0);
}

static void the_seed_decides_the_start(void **state)
{
    const shape s = {"blocked512", 4, 4};
    umbel_filter *a = open_shape(&s, 5120, 300000000, 1);
    umbel_filter *b = open_shape(&s, 5120, 300000000, 1);
    umbel_filter *c = open_shape(&s, 5120, 300000000, 2);

    (void)state;
    test_assert_same_file(a, b);
    assert_true(umbel_payload_checksum(a) != umbel_payload_checksum(c));
    umbel_close(a);
    umbel_close(b);
    umbel_close(c);
}

static void it_starts_from_given_bits(void **state)
{
    const shape s = {"classic", 2, 2};
    umbel_filter *f = open_shape(&s, 1001, 0, 0), *bloom = NULL;
    umbel_params p = UMBEL_PARAMS_INIT;
    uint8_t bits[126];

    (void)state;
    memset(bits, 0xFF, sizeof bits);
    bits[3] = 0x5A;
    test_add(f, 0, 10);
    assert_ok(umbel_set_cells(f, bits, sizeof bits, &test_refusal));
    assert_int_equal(umbel_added(f), 0);
    assert_int_equal(ones(f), 1001 - 4);
    assert_memory_equal(f->payload, bits, 125);
    assert_int_equal(f->payload[125], 1); /* the other bits are padding */
    assert_refused(umbel_set_cells(f, bits, 125, &test_refusal), UMBEL_E_RANGE,
                   "126 bytes");
    assert_int_equal(ones(f), 1001 - 4);
    assert_ok(umbel_clear(f, &test_refusal));
    assert_int_equal(ones(f), 0);
    p.cells = 1001;
    bloom = test_open(&p);
    assert_refused(umbel_set_cells(bloom, bits, 126, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom");
    umbel_close(bloom);
    umbel_close(f);
}

/* --- hostile bits -----------------------------------------------------------
 */

enum { CELLS = 4096, ASKED = 40000 };

/* Returns bit i of some content, counted from the beginning of the array. */
typedef bool content(uint64_t i, uint64_t which, um_rng *rng);

/*
 * Returns the parity of selected bits of i: all patterns of stripes, halves and
 * words.
 */
static bool parity(uint64_t i, uint64_t which, um_rng *rng)
{
    (void)rng;
    return __builtin_parityll(i & which);
}

/* Returns random bits, a fraction of which / 1000 being ones. */
static bool at_random(uint64_t i, uint64_t which, um_rng *rng)
{
    (void)i;
    return um_random_below(rng, 1000) < which;
}

/* Returns zeros for the first which / 1000 of every line, then ones. */
static bool first_part(uint64_t i, uint64_t which, um_rng *rng)
{
    (void)rng;
    return i % 512 * 1000 >= which * 512;
}

/* Returns ones in every (which + 1)-th block, zeros in the others. */
static bool whole_blocks(uint64_t i, uint64_t which, um_rng *rng)
{
    (void)rng;
    return i / 512 % (which + 1) == 0;
}

static double bound_of(const umbel_filter *f)
{
    umbel_bounds promise;

    assert_ok(umbel_bounds_of(f, &promise, &test_refusal));
    return promise.fp_bound;
}

static void check_content(umbel_filter *f, content *of, uint64_t which,
                          const uint64_t *keys, size_t n)
{
    uint8_t bits[CELLS / 8] = {0};
    um_rng rng = {which + 1};
    double bound = bound_of(f);

    for (uint64_t i = 0; i < CELLS; i++)
        if (of(i, which, &rng))
            um_set_bit(bits, i);
    assert_ok(umbel_set_cells(f, bits, sizeof bits, &test_refusal));
    double rate = (double)hits(f, keys, n) / (double)n;
    assert_true(rate <= bound + 5 * sqrt(bound * (1 - bound) / (double)n));
    assert_true(umbel_predict(f) <= bound * (1 + 1e-12));
}

static void no_content_passes_the_bound(void **state)
{
    uint64_t *keys = malloc(ASKED * sizeof *keys);
    um_rng rng = {7};

    (void)state;
    fill(&rng, keys, ASKED);
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
        const shape *s = &shapes[i];
        umbel_filter *f = open_shape(s, CELLS, 0, i);
        check_content(f, at_random, 0, keys, ASKED); /* all zeros */
        check_content(f, at_random, 1000, keys, ASKED);
        for (uint64_t which = 100; which < 1000; which += 200) {
            check_content(f, at_random, which, keys, ASKED);
            check_content(f, first_part, which, keys, ASKED);
        }
        uint64_t worst = 1000 * s->reset / (s->reset + s->set);
        check_content(f, at_random, 1000 - worst, keys, ASKED);
        check_content(f, first_part, worst, keys, ASKED);
        check_content(f, whole_blocks, 1, keys, ASKED);
        for (uint64_t which = 1; which < 512; which = which * 2 + which % 5)
            check_content(f, parity, which, keys, ASKED);
        umbel_close(f);
    }
    free(keys);
}

/*
 * Colliding pairs are moved, which stripes exploit most. Needs many keys,
 * because few are moved.
 */
static void stripes_do_not_pass_the_bound_of_pairs(void **state)
{
    enum { MANY = 4000000 };
    uint64_t *keys = malloc(MANY * sizeof *keys);
    um_rng rng = {8};

    (void)state;
    fill(&rng, keys, MANY);
    for (uint32_t k = 4; k <= 8; k += 4) {
        umbel_filter *f = open_shape(&(shape){"blocked512", k, k}, CELLS, 0, 0);
        for (uint64_t which = 1; which < 64; which = which * 2 + 1)
            check_content(f, parity, which, keys, MANY);
        double rate = (double)hits(f, keys, MANY) / MANY;
        double bound = umbel_generalized_fp_bound(k, k);
        assert_true(rate > bound * 0.9 - 5 * sqrt(bound / MANY));
        umbel_close(f);
    }
    free(keys);
}

/*
 * The bound is exact if cells are drawn from the whole block; for pairs it is
 * slightly higher.
 */
static void the_bound_is_that_of_distinct_cells(void **state)
{
    static const struct {
        shape shape;
        double bound;
    } known[] = {
        {{"blocked512", 2, 2}, 0.062745}, {{"blocked512", 3, 3}, 0.015717},
        {{"blocked512", 4, 4}, 0.004033}, {{"blocked512", 8, 8}, 1.7389e-5},
        {{"blocked512", 0, 4}, 1},        {{"blocked512", 4, 0}, 1},
        {{"classic", 4, 4}, 0.0039101},   {{"blocked256", 4, 4}, 0.0039683},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(known); i++) {
        umbel_filter *f = open_shape(&known[i].shape, CELLS, 0, 0);
        assert_near(bound_of(f), known[i].bound, 1e-4 * known[i].bound);
        umbel_close(f);
    }
}

static void who_knows_the_keys_is_not_bounded(void **state)
{
    umbel_filter *f = open_shape(&(shape){"blocked512", 4, 4}, 65536, 0, 0);
    um_rng rng = {9};
    uint64_t keys[100];

    (void)state;
    fill(&rng, keys, 100);
    append(f, keys, 100); /* a sender adds targets so that they match */
    assert_true(hits(f, keys, 100) > 90);
    umbel_close(f);
}

/* --- false negatives and false positives ------------------------------------
 */

enum { ROUNDS = 300, KEYS = 256, STRANGERS = 2000 };

/*
 * Asserts the mean with the observed error, or with the binomial one if that is
 * larger.
 */
static void assert_mean(const test_spread *s, double want, double trials)
{
    double seen = sqrt(test_variance(s) / s->n);
    double least = sqrt(want * (1 - want) / (s->n * trials));
    assert_near(s->mean, want, 5 * fmax(seen, least) + 1e-12);
}

static double mean_fn(const um_roles *r)
{
    double sum = 0;

    for (int later = 0; later < KEYS; later++)
        sum += um_roles_fn(r, later);
    return sum / KEYS;
}

static void check_rates(const shape *s, uint64_t cells, uint64_t start)
{
    static uint64_t keys[KEYS], strangers[STRANGERS];
    test_spread fp = {0}, fn = {0}, first = {0};
    um_rng rng = {s->reset * 100 + s->set};
    um_roles r = {0};

    for (uint64_t round = 0; round < ROUNDS; round++) {
        umbel_filter *f = open_shape(s, cells, start, um_random(&rng));
        fill(&rng, keys, KEYS);
        fill(&rng, strangers, STRANGERS);
        append(f, keys, KEYS);
        test_spread_add(&fp, (double)hits(f, strangers, STRANGERS) / STRANGERS);
        test_spread_add(&fn, 1 - (double)hits(f, keys, KEYS) / KEYS);
        test_spread_add(&first, !hits(f, keys, 1));
        r = um_roles_of(&f->layout, s->reset, s->set);
        umbel_close(f);
    }
    assert_mean(&fp, um_roles_fp(&r, (double)start / 1e9, KEYS), STRANGERS);
    assert_mean(&fn, mean_fn(&r), KEYS);
    assert_mean(&first, um_roles_fn(&r, KEYS - 1), 1);
}

static void rates_are_those_of_the_formulas(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
        check_rates(&shapes[i], 8192, 0);
        check_rates(&shapes[i], 8192, 750000000);
    }
    check_rates(&(shape){"classic", 2, 2}, 65536, 500000000);
    check_rates(&(shape){"blocked512", 4, 4}, 65536, 500000000);
}

/*
 * Large arrays use the paper's formula, blocks an exact one: checks that they
 * agree.
 */
static void blocks_agree_with_the_paper(void **state)
{
    um_roles flat = {1, 65536, 1, 2, 3}, blocked = {128, 512, 1, 2, 3};
    umbel_generalized paper = {65536, 2, 3, 0.5, 256};

    (void)state;
    assert_near(um_roles_fp(&flat, 0.5, 256), umbel_generalized_fp(&paper),
                1e-12);
    assert_near(um_roles_fp(&blocked, 0.5, 256), umbel_generalized_fp(&paper),
                0.0003);
    assert_near(um_roles_fn(&blocked, 256), umbel_generalized_fn_at(&paper, 0),
                0.002);
    assert_near(um_roles_fp(&blocked, 0, 1e9),
                umbel_generalized_distinct_bound(512, 2, 3), 0.0003);
}

static void a_filter_that_goes_on_stays_within_its_bound(void **state)
{
    enum { N = 20000 };
    static uint64_t keys[N];
    um_rng rng = {11};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
        umbel_filter *f = open_shape(&shapes[i], CELLS, 0, 0);
        fill(&rng, keys, N);
        append(f, keys, N);
        assert_true(umbel_predict(f) <= bound_of(f));
        assert_true(umbel_predict(f) > bound_of(f) / 2);
        umbel_close(f);
    }
}

/* --- refusals ---------------------------------------------------------------
 */

static umbel_filter *open_colliding(const char *addressing, uint64_t cells,
                                    uint32_t reset, uint32_t set, uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting settings[] = {
        {"reset", reset}, {"set", set}, {"start", 500000000}, {"collide", 1}};
    umbel_filter *f = NULL;

    p.addressing = addressing;
    p.cells = cells;
    p.seed = seed;
    p.settings = settings;
    p.nsettings = TEST_COUNT(settings);
    if (umbel_create("generalized", &p, &f, &test_refusal))
        return NULL;
    return f;
}

/*
 * Functions may collide here: checks the loss that follows from the definition,
 * and equation 16.
 */
static void colliding_functions_are_the_paper_s(void **state)
{
    enum { TRIED = 20000, SMALL = 256 };
    static const char *const on[] = {"classic", "universal"};
    double hole = 1 - pow(1 - 4. / SMALL, 4);

    (void)state;
    for (size_t a = 0; a < TEST_COUNT(on); a++) {
        double lost = 0, hit = 0;
        um_rng rng = {a + 1};
        for (int i = 0; i < TRIED; i++) {
            umbel_filter *f =
                open_colliding(on[a], SMALL, 4, 4, um_random(&rng));
            umbel_digest d = {.lo = 1 + um_random_below(&rng, 1000000000),
                              .hi = um_random(&rng)};
            umbel_digest other = {.lo = 1000000001 +
                                        um_random_below(&rng, 1000000000),
                                  .hi = um_random(&rng)};
            bool has;
            assert_non_null(f);
            assert_ok(umbel_query_digests(f, &other, 1, &has, &test_refusal));
            hit += has;
            assert_ok(umbel_add_digests(f, &d, 1, NULL, &test_refusal));
            assert_ok(umbel_query_digests(f, &d, 1, &has, &test_refusal));
            lost += !has;
            if (i == 0) {
                umbel_bounds b;
                assert_ok(umbel_bounds_of(f, &b, &test_refusal));
                assert_near(b.fp_bound, pow(0.5, 8), 1e-12);
                assert_near(umbel_fpr_at(f, 1), pow(0.5, 8), 1e-4);
            }
            umbel_close(f);
        }
        assert_near(lost / TRIED, hole,
                    5 * sqrt(hole * (1 - hole) / TRIED) + 2e-3);
        assert_near(hit / TRIED, pow(0.5, 8), 5 * sqrt(pow(0.5, 8) / TRIED));
    }
    assert_null(open_colliding("blocked512", 1024, 2, 2, 1));
    assert_refused(test_refusal.status, UMBEL_E_UNSUPPORTED, "universal");
}

static void it_refuses_what_cannot_be(void **state)
{
    umbel_filter *f = NULL;
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    assert_refused(try_open(&(shape){"classic", 0, 0}, 100, 0, 0, &f),
                   UMBEL_E_RANGE, "both be 0");
    assert_refused(try_open(&(shape){"classic", 33, 1}, 100, 0, 0, &f),
                   UMBEL_E_RANGE, "reset must be 0..32");
    assert_refused(try_open(&(shape){"classic", 1, 33}, 100, 0, 0, &f),
                   UMBEL_E_RANGE, "set must be 0..32");
    assert_refused(try_open(&(shape){"classic", 4, 4}, 7, 0, 0, &f),
                   UMBEL_E_RANGE, "take 8 bits or more");
    assert_refused(
        try_open(&(shape){"classic", 4, 4}, 100, UM_START_ALL + 1, 0, &f),
        UMBEL_E_RANGE, "start must be 0..1000000000");
    assert_refused(try_open(&(shape){"partitioned", 4, 4}, 100, 0, 0, &f),
                   UMBEL_E_UNSUPPORTED, "would match every key");
    assert_refused(try_open(&(shape){"universal", 4, 4}, 100, 0, 0, &f),
                   UMBEL_E_UNSUPPORTED, "coincide; take classic");
    assert_refused(try_open(&(shape){"chunks-md5", 4, 4}, 100, 0, 0, &f),
                   UMBEL_E_UNSUPPORTED, "coincide; take classic");
    p.cells = 100;
    p.hashes = 5;
    assert_refused(umbel_create("generalized", &p, &f, &test_refusal),
                   UMBEL_E_RANGE, "leave hashes out");
    assert_null(f);
}

static void it_stays_single(void **state)
{
    umbel_filter *f = open_shape(&(shape){"blocked512", 2, 2}, 5120, 0, 0);
    umbel_filter *out = NULL;
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    assert_refused(umbel_merge(f, f, UMBEL_OR, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "no common order");
    assert_refused(umbel_fold(f, 2, &out, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "no common order");
    assert_refused(
        umbel_create_unsized("generalized", &p, 100000, &out, &test_refusal),
        UMBEL_E_UNSUPPORTED, "say how many different");
    assert_null(out);
    umbel_close(f);
}

TEST_GROUP(generalized)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cells_of_a_key_are_distinct),
        cmocka_unit_test(a_cell_is_drawn_64_times),
        cmocka_unit_test(all_cells_are_alike),
        cmocka_unit_test(a_key_is_found_right_after_it_was_added),
        cmocka_unit_test(without_reset_it_is_the_plain_filter),
        cmocka_unit_test(without_set_it_is_the_mirror),
        cmocka_unit_test(it_starts_with_the_share_of_ones_that_was_asked_for),
        cmocka_unit_test(a_start_ends_with_the_last_cell),
        cmocka_unit_test(it_describes_what_the_paper_expects),
        cmocka_unit_test(
            the_start_does_not_change_the_bound_on_false_negatives),
        cmocka_unit_test(the_seed_decides_the_start),
        cmocka_unit_test(it_starts_from_given_bits),
        cmocka_unit_test(no_content_passes_the_bound),
        cmocka_unit_test(stripes_do_not_pass_the_bound_of_pairs),
        cmocka_unit_test(the_bound_is_that_of_distinct_cells),
        cmocka_unit_test(who_knows_the_keys_is_not_bounded),
        cmocka_unit_test(rates_are_those_of_the_formulas),
        cmocka_unit_test(blocks_agree_with_the_paper),
        cmocka_unit_test(a_filter_that_goes_on_stays_within_its_bound),
        cmocka_unit_test(colliding_functions_are_the_paper_s),
        cmocka_unit_test(it_refuses_what_cannot_be),
        cmocka_unit_test(it_stays_single),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
