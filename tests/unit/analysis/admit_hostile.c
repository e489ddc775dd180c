/*
 * admit_hostile.c - filters from lying makers: all ones, chosen fractions, full
 * blocks hidden by an honest fill.
 */
#include "support/rulings.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "filter/addressing/addressing.h"
#include "filter/handle.h"
#include "kinds/ribbon/ribbon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sets a random fraction of the cells, of any width. */
static void pollute(umbel_filter *f, double share)
{
    um_rng rng = {5};
    um_section s[UM_MAX_SECTIONS];

    f->kind->sections(um_shape_of(f), s);
    for (uint64_t i = 0; i < f->layout.cells; i++)
        if (ldexp((double)um_random(&rng), -64) < share)
            um_set_bit(f->payload, i * s[0].cell_bits);
}

static void all_ones_are_refused_whatever_is_demanded(void **state)
{
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        umbel_params p = test_combo_params(&c);
        umbel_filter *f =
            test_made(c.kind, &p, TEST_RULED_KEYS, TEST_RULED_KEYS);
        memset(f->payload, 0xFF, f->payload_len);
        um_clear_padding(f);
        for (uint64_t n = TEST_RULED_KEYS; n < UINT64_MAX / 100; n *= 50) {
            f->added = n;
            umbel_ruling r = test_ruled(f, NULL);
            if (umbel_predict(f) > 0.5)
                assert_true(test_refused_for(&r, UMBEL_REFUSED_ERROR));
        }
        f->estimated = true; /* the head claims nothing */
        umbel_ruling r = test_ruled(f, NULL);
        if (umbel_predict(f) > 0.5)
            assert_true(test_refused_for(&r, UMBEL_REFUSED_ERROR));
        umbel_close(f);
    }
}

static void half_ones_that_claim_few_keys_are_refused(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; (name = test_own_addressing(i)); i++) {
        umbel_filter *f = test_plain(name);
        umbel_admission w = test_no_demand;
        assert_ok(umbel_clear(f, &test_refusal));
        pollute(f, 0.5);
        f->added = 100;
        umbel_ruling r = test_ruled(f, &w);
        assert_true(test_refused_for(&r, UMBEL_REFUSED_TOO_FULL));
        f->added = TEST_RULED_KEYS; /* the same for the receiver's claim */
        w.claimed = 1000;
        r = test_ruled(f, &w);
        assert_true(test_refused_for(&r, UMBEL_REFUSED_TOO_FULL));
        umbel_close(f);
    }
}

/*
 * Refused because of a claim or an error limit; with neither, because of the
 * claim in the head.
 */
static void a_fill_of_0_65_is_refused(void **state)
{
    static const char *const kinds[] = {"bloom", "counting"};
    const char *name;

    (void)state;
    for (size_t k = 0; k < TEST_COUNT(kinds); k++)
        for (size_t i = 0; (name = test_own_addressing(i)); i++) {
            umbel_params p = UMBEL_PARAMS_INIT;
            umbel_admission w = test_no_demand;
            p.addressing = name;
            umbel_filter *f = test_made(kinds[k], &p, TEST_RULED_KEYS, 0);
            pollute(f, 0.65);
            f->added = TEST_RULED_KEYS;
            f->estimated = true;
            test_expect_admitted(f, &test_no_demand); /* no claim, no demand */
            w.claimed = TEST_RULED_KEYS;
            umbel_ruling r = test_ruled(f, &w);
            assert_true(test_refused_for(&r, UMBEL_REFUSED_TOO_FULL));
            w = test_no_demand, w.max_error = 0.002;
            test_expect_refused(f, &w, UMBEL_REFUSED_ERROR, "allowed");
            f->estimated = false;
            r = test_ruled(f, &test_no_demand);
            assert_true(test_refused_for(&r, UMBEL_REFUSED_TOO_FULL));
            umbel_close(f);
        }
}

/*
 * Fills one block with ones and clears another, so that the total fill stays
 * the same.
 */
static void full_blocks_are_refused_though_the_fill_is_right(void **state)
{
    static const char *const kinds[] = {"bloom", "counting"};
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.fpr = 0.1; /* allowed by the error limit, but not by chance */
    for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
        umbel_admission w = test_no_demand;
        umbel_filter *f = test_made(kinds[k], &p, 100 * TEST_RULED_KEYS,
                                    100 * TEST_RULED_KEYS);
        uint64_t before = f->kind->bits->used(f->self, NULL);
        size_t line = f->payload_len / (size_t)f->layout.blocks;
        test_expect_admitted(f, &test_no_demand);
        memset(f->payload + 3 * line, 0xFF, line);
        memset(f->payload + 5 * line, 0, line);
        uint64_t after = f->kind->bits->used(f->self, NULL);
        assert_near((double)after, (double)before, 600);
        w.max_error = 0.2;
        test_expect_refused(f, &w, UMBEL_REFUSED_BLOCK, "block 3 of");
        umbel_close(f);
    }
}

/* Makes blocks that are each below the limit but together exceed the error. */
static void the_error_is_the_mean_over_blocks(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_admission w = test_no_demand;

    (void)state;
    umbel_filter *f =
        test_made("bloom", &p, 100 * TEST_RULED_KEYS, 100 * TEST_RULED_KEYS);
    w.max_error = 0.001;
    test_expect_admitted(f, &w);
    for (uint64_t i = 0; i < f->layout.blocks; i++)
        if (i % 2)
            memset(f->payload + 64 * i, 0, 64);
        else
            for (uint64_t u = 0; u < 380; u++)
                um_set_bit(f->payload, 512 * i + u * 401 % 512);
    f->estimated = true;
    umbel_ruling r = test_ruled(f, &w);
    assert_true(r.fill < 0.45);
    assert_true(r.error > 0.01);
    assert_true(test_refused_for(&r, UMBEL_REFUSED_ERROR));
    umbel_close(f);
}

/* Returns the fraction of random digests that match. */
static double share_matching(const umbel_filter *f, size_t n)
{
    um_rng rng = {77};
    size_t hits = 0;

    for (size_t i = 0; i < n; i++) {
        umbel_digest d = {um_random(&rng), 0};
        bool hit;
        d.hi = um_remix(d.lo);
        f->kind->query(f->self, &d, 1, &hit);
        hits += hit;
    }
    return (double)hits / (double)n;
}

static umbel_filter *empty_dcso(uint64_t cells, uint32_t hashes)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = "dcso";
    p.cells = cells;
    p.hashes = hashes;
    return test_made("bloom", &p, 0, 0);
}

/*
 * Sets all cells that are not a multiple of a power of 2: a walk of dcso that
 * starts there never leaves them.
 */
static void closed_sets_of_dcso_are_refused(void **state)
{
    static const struct {
        uint64_t cells, unit;
        uint32_t hashes;
    } forged[] = {{4096, 8, 64}, {65536, 2, 10}, {3 * 4096, 8, 64}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(forged); i++) {
        umbel_filter *f = empty_dcso(forged[i].cells, forged[i].hashes);
        umbel_admission w = test_no_demand;
        double share = 1 - 1 / (double)forged[i].unit;
        for (uint64_t c = 0; c < forged[i].cells; c++)
            if (c % forged[i].unit)
                um_set_bit(f->payload, c);
        f->added = (uint64_t)llround(um_model_keys(
            &f->layout, (uint64_t)(share * (double)forged[i].cells)));
        assert_near(share_matching(f, 10000), share, 0.03);
        assert_near(umbel_predict(f), share, 1e-9);
        w.max_error = 0.001;
        umbel_ruling r = test_ruled(f, &w);
        assert_true(test_refused_for(&r, UMBEL_REFUSED_ERROR));
        umbel_close(f);
    }
}

/*
 * From cell x the walk continues at c r - 1469 x mod m, r = 2^64 mod m, for one
 * of 1469 numbers c. With x = y r, cells are numbers y of two digits in base
 * 1469, and a step moves the last digit, mirrored, to the front: a walk among
 * digits from the middle stays among them.
 */
static void sets_that_the_walk_of_dcso_prefers_are_refused(void **state)
{
    enum { WAYS = 1469, FROM = 214 };
    const uint64_t m = (uint64_t)WAYS * WAYS - 2; /* odd: one class */
    const uint64_t r = UINT64_MAX % m + 1;
    umbel_admission w = test_no_demand;
    umbel_filter *f = empty_dcso(m, 10);

    (void)state;
    for (uint64_t y = 0, x = 0; y < m; y++, x = (x + r) % m) {
        uint64_t high = y / WAYS, low = y % WAYS;
        if (low >= FROM && low < WAYS - FROM && high >= FROM &&
            high < WAYS - FROM)
            um_set_bit(f->payload, x);
    }
    f->estimated = true;
    assert_true(umbel_predict(f) < 0.0011);
    assert_true(share_matching(f, 20000) > 0.01);
    w.max_error = 0.0011;
    test_expect_refused(f, &w, UMBEL_REFUSED_ERROR, "sampled");
    umbel_close(f);
}

/*
 * Uses a seed whose two functions have the same factor: the second cell is the
 * first plus a constant, so a key whose first cell is a multiple of that
 * constant has only such cells.
 */
static void seeds_that_align_functions_are_refused(void **state)
{
    enum { CELLS = 10007, USED = 310 };
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_admission w = test_no_demand;

    (void)state;
    p.addressing = "universal";
    p.seed = 310438037;
    p.cells = CELLS;
    p.hashes = 2;
    umbel_filter *f = test_made("bloom", &p, 0, 0);
    um_universal h[UM_MAX_HASHES];
    um_draw_universal(&f->layout, h);
    assert_int_equal(h[0].c, h[1].c);
    uint64_t on = (UM_INTEGER_PRIME + h[1].d - h[0].d) % UM_INTEGER_PRIME;
    uint64_t back = UM_INTEGER_PRIME - on; /* most keys do not wrap */
    uint64_t shift = on < back ? on % CELLS : CELLS - back % CELLS;
    for (uint64_t i = 0, x = 0; i < USED; i++, x = (x + shift) % CELLS)
        um_set_bit(f->payload, x);
    f->estimated = true;
    assert_true(umbel_predict(f) < 0.001);
    assert_true(share_matching(f, 20000) > 0.02);
    w.max_error = 0.001;
    test_expect_refused(f, &w, UMBEL_REFUSED_ERROR, "sampled");
    umbel_close(f);
}

/* Builds one column whose only slot in use is the one that every row uses. */
static void a_second_level_of_ribbon_that_denies_nothing_is_seen(void **state)
{
    const um_ribbon_form none = {0, 0};
    const um_ribbon_sizes members = {.tail = 0}, never = {.tail = 64};
    umbel_alloc alloc = um_alloc_or_default(NULL);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *any = test_build("ribbon", &p, 0, 10), *f = NULL;
    um_shape s = *um_shape_of(any);

    (void)state;
    um_ribbon_shape(&s, &none, 0, &members, &never);
    uint8_t *payload = um_get(&alloc, 64);
    payload[0] = 1;
    assert_ok(um_filter_own(&s, &alloc, payload, &f, &test_refusal));
    assert_near(share_matching(f, 1000), 1, 0);
    assert_near(umbel_predict(f), 1, 0);
    test_expect_refused(f, &test_no_demand, UMBEL_REFUSED_ERROR, "100 %");
    umbel_close(f);
    umbel_close(any);
}

/* --- files in tests/hostile ------------------------------------------------
 */

/* Share of digests whose halves are random: of keys in partitions, too. whole:
 * of keys whose partition is the whole key. */
static double share_of_any(const umbel_filter *f, size_t n, bool whole)
{
    um_rng rng = {78};
    size_t hits = 0;

    for (size_t i = 0; i < n; i++) {
        umbel_digest d = {um_random(&rng), um_random(&rng)};
        bool hit;
        if (whole)
            d.hi = d.lo;
        f->kind->query(f->self, &d, 1, &hit);
        hits += hit;
    }
    return (double)hits / (double)n;
}

/* Each file matches this share of random keys. It states at least that, and is
 * not admitted. */
static void forged_files_are_refused(void **state)
{
    static const struct {
        const char *name;
        size_t asked;
        double share;
        bool whole; /* keys of this share are their own partition */
    } files[] = {{"ribbon-parts-all.umb", 1000, 1, false},
                 {"ribbon-parts-alike.umb", 1000000, 7.1e-4, true},
                 {"near-forged.umb", 1000000, 3.2e-5, false}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(files); i++) {
        umbel_admission w = test_no_demand;
        umbel_filter *f = NULL;
        umbel_ruling r;
        size_t len;
        char *path = test_path(UM_GOLDEN_DIR "/../hostile", files[i].name);
        uint8_t *bytes = test_read_file(path, &len);
        assert_ok(umbel_decode(bytes, len, NULL, &f, &test_refusal));
        double share = share_of_any(f, files[i].asked, files[i].whole);
        double sigma = sqrt(files[i].share / (double)files[i].asked);
        assert_near(share, files[i].share, 5 * sigma);
        assert_true(umbel_predict(f) > share - 5 * sigma);
        w.max_error = 1e-6;
        assert_ok(
            umbel_admit_bytes(bytes, len, NULL, &w, NULL, &r, &test_refusal));
        assert_true(test_refused_for(&r, UMBEL_REFUSED_ERROR));
        umbel_close(f);
        free(bytes);
        free(path);
    }
}

/* Strangers come from partitions that the index does not know. All keys of
 * these files are in tails: what they state is exact. */
static void honest_partitions_state_what_strangers_meet(void **state)
{
    enum { ASKED = 200000 };
    static const char *const files[] = {"ribbon-parts-v2.umb",
                                        "ribbon-parts-uniform-v2.umb"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(files); i++) {
        size_t len;
        char *path = test_path(UM_GOLDEN_DIR, files[i]);
        uint8_t *bytes = test_read_file(path, &len);
        umbel_filter *f = NULL;
        assert_ok(umbel_decode(bytes, len, NULL, &f, &test_refusal));
        double p = umbel_predict(f);
        for (int whole = 0; whole < 2; whole++) {
            double share = share_of_any(f, ASKED, whole);
            assert_near(share, p, 5 * sqrt(p * (1 - p) / ASKED));
        }
        umbel_close(f);
        free(bytes);
        free(path);
    }
}

TEST_GROUP(admit_hostile)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ones_are_refused_whatever_is_demanded),
        cmocka_unit_test(half_ones_that_claim_few_keys_are_refused),
        cmocka_unit_test(a_fill_of_0_65_is_refused),
        cmocka_unit_test(full_blocks_are_refused_though_the_fill_is_right),
        cmocka_unit_test(the_error_is_the_mean_over_blocks),
        cmocka_unit_test(closed_sets_of_dcso_are_refused),
        cmocka_unit_test(sets_that_the_walk_of_dcso_prefers_are_refused),
        cmocka_unit_test(seeds_that_align_functions_are_refused),
        cmocka_unit_test(a_second_level_of_ribbon_that_denies_nothing_is_seen),
        cmocka_unit_test(forged_files_are_refused),
        cmocka_unit_test(honest_partitions_state_what_strangers_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
