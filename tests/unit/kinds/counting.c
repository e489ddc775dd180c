/* counting.c - counts: removed, merged, and never too low. */
#include "support/test.h"

#include "base/batch.h"
#include "base/rng.h"
#include "filter/handle.h"
#include "kinds/counting/cells.h"

#include <umbel/counting.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN, REFINED, KEYS = 300, PARTS = 8 };

static umbel_filter *open_wide(const char *addressing, uint64_t cells,
                               uint32_t hashes, uint64_t bits, uint64_t update)
{
    umbel_setting set[] = {{"cell_bits", bits}, {"update", update}};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = addressing;
    p.cells = cells;
    p.hashes = hashes;
    p.settings = set;
    p.nsettings = 2;
    assert_ok(umbel_create("counting", &p, &f, &test_refusal));
    return f;
}

static umbel_filter *open_counting(uint64_t update)
{
    return open_wide("classic", 4096, 4, 4, update);
}

static umbel_status consume_back(umbel_filter *f, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};

    test_key(i, key);
    return umbel_remove_many(f, &slice, 1, &test_refusal);
}

static um_cells cells_of(const umbel_filter *f)
{
    return um_cells_of(f->payload, (uint32_t)um_settings_of(f)[0]);
}

/* With one bit per cell it equals a Bloom filter of its keys, and ADD is OR. */
static void one_bit_a_cell_is_a_bloom_filter(void **state)
{
    umbel_filter *a = open_wide("classic", 4096, 4, 1, PLAIN);
    umbel_filter *b = open_wide("classic", 4096, 4, 1, PLAIN), *bloom = NULL;
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.addressing = "classic";
    p.cells = 4096;
    p.hashes = 4;
    assert_ok(umbel_create("bloom", &p, &bloom, &test_refusal));
    for (uint64_t i = 0; i < 400; i++) {
        test_add_times(i % 2 ? a : b, i, 1 + i % 3);
        test_add(bloom, i, 1);
    }
    assert_int_equal(test_count(a, 1), 1);
    assert_int_equal(umbel_count_limit(a), 1);
    assert_ok(umbel_merge(a, b, UMBEL_ADD, &test_refusal));
    assert_memory_equal(a->payload, bloom->payload, 4096 / 8);
    umbel_close(a);
    umbel_close(b);
    umbel_close(bloom);
}

/* --- cells ------------------------------------------------------------------
 */

static void cells_of_every_width_keep_to_themselves(void **state)
{
    enum { N = 200 };
    um_rng rng = {7};
    uint64_t want[N];

    (void)state;
    for (uint32_t width = 1; width <= 32; width++) {
        uint8_t memory[(N * 32 / 8 + 63) / 64 * 64 + 64];
        size_t room = ((size_t)N * width + 511) / 512 * 64;
        um_cells c = um_cells_of(memory, width);
        memset(memory, 0xA5, sizeof memory);
        memset(memory, 0, room);
        memset(want, 0, sizeof want);
        for (int step = 0; step < 4000; step++) {
            uint64_t i = um_random(&rng) % N;
            want[i] = um_random(&rng) & c.max;
            um_set_cell(&c, i, want[i]);
        }
        for (uint64_t i = 0; i < N; i++)
            assert_int_equal(um_cell(&c, i), want[i]);
        for (size_t i = room; i < sizeof memory; i++)
            assert_int_equal(memory[i], 0xA5);
    }
}

/* --- counting ---------------------------------------------------------------
 */

static void a_lonely_key_is_counted_exactly(void **state)
{
    (void)state;
    for (uint64_t update = PLAIN; update <= REFINED; update++) {
        umbel_filter *f = open_counting(update);
        for (uint64_t n = 0; n < 20; n++) {
            assert_int_equal(test_count(f, 1), n < 15 ? n : 15);
            test_add(f, 1, 1);
        }
        assert_int_equal(umbel_count_limit(f), 15);
        umbel_close(f);
    }
}

/*
 * With two cells and eight hashes, nearly every key has only two different
 * cells.
 */
static void cells_that_coincide_count_once(void **state)
{
    (void)state;
    for (uint64_t update = PLAIN; update <= REFINED; update++) {
        umbel_filter *f = open_wide("classic", 2, 8, 16, update);
        for (uint64_t n = 1; n <= 100; n++) {
            test_add(f, 5, 1);
            assert_int_equal(test_count(f, 5), n);
        }
        umbel_close(f);
    }
}

static void an_amount_is_as_many_single_adds(void **state)
{
    (void)state;
    for (uint64_t update = PLAIN; update <= REFINED; update++) {
        umbel_filter *a = open_wide("classic", 200, 4, 5, update);
        umbel_filter *b = open_wide("classic", 200, 4, 5, update);
        for (uint64_t i = 0; i < 100; i++) {
            test_add_times(a, i, i % 7);
            for (uint64_t n = 0; n < i % 7; n++)
                test_add(b, i, 1);
        }
        test_assert_same_file(a, b);
        umbel_close(a);
        umbel_close(b);
    }
}

static void no_amount_makes_a_cell_wrap(void **state)
{
    (void)state;
    for (uint64_t bits = 2; bits <= 32; bits++)
        for (uint64_t update = PLAIN; update <= REFINED; update++) {
            umbel_filter *f = open_wide("classic", 64, 4, bits, update);
            uint64_t limit = ((uint64_t)1 << bits) - 1;
            test_add_times(f, 1, limit - 1);
            assert_int_equal(test_count(f, 1), limit - 1);
            test_add_times(f, 1, UINT64_MAX);
            assert_int_equal(test_count(f, 1), limit);
            test_add_times(f, 1, UINT64_MAX);
            assert_int_equal(test_count(f, 1), limit);
            umbel_close(f);
        }
}

/* Draws counts of a skewed stream, the same for every filter of a test. */
static void draw_counts(uint64_t seed, uint64_t *counts, size_t n)
{
    um_rng rng = {seed};

    for (size_t i = 0; i < n; i++) {
        uint64_t x = um_random(&rng);
        counts[i] = (x & 1023) / ((x >> 10 & 127) + 1) % 40;
    }
}

static void assert_not_under(const umbel_filter *f, const uint64_t *truth,
                             size_t n)
{
    uint64_t limit = umbel_count_limit(f);

    for (uint64_t i = 0; i < n; i++)
        assert_true(test_count(f, i) >= (truth[i] < limit ? truth[i] : limit));
}

static void counts_are_never_too_low(void **state)
{
    static const uint64_t widths[] = {2, 4, 5, 8, 32};
    uint64_t truth[KEYS];
    const char *addressing;

    (void)state;
    draw_counts(3, truth, KEYS);
    for (size_t a = 0; umbel_addressing_at(a, &addressing, NULL); a++)
        for (size_t w = 0; w < TEST_COUNT(widths); w++)
            for (uint64_t update = PLAIN; update <= REFINED; update++) {
                umbel_filter *f =
                    open_wide(addressing, 1024, 4, widths[w], update);
                for (uint64_t round = 0; round < 40; round++)
                    for (uint64_t i = 0; i < KEYS; i++)
                        if (round < truth[i])
                            test_add(f, i, 1);
                assert_not_under(f, truth, KEYS);
                umbel_close(f);
            }
}

/* Merges n filters; the true counts are the sums, or the maxima. */
static void check_parts(uint64_t update, size_t parts, umbel_merge_op op)
{
    umbel_filter *sum = open_wide("classic", 600, 4, 6, update);
    uint64_t truth[KEYS] = {0}, part[KEYS];

    for (size_t p = 0; p < parts; p++) {
        umbel_filter *f = open_wide("classic", 600, 4, 6, update);
        draw_counts(100 + p, part, KEYS);
        for (uint64_t i = 0; i < KEYS; i++) {
            test_add_times(f, i, part[i]);
            uint64_t larger = part[i] > truth[i] ? part[i] : truth[i];
            truth[i] = op == UMBEL_ADD ? truth[i] + part[i] : larger;
        }
        assert_ok(umbel_merge(sum, f, op, &test_refusal));
        umbel_close(f);
    }
    assert_not_under(sum, truth, KEYS);
    umbel_close(sum);
}

static void merged_counts_are_never_too_low(void **state)
{
    (void)state;
    for (uint64_t update = PLAIN; update <= REFINED; update++)
        for (size_t parts = 1; parts <= PARTS; parts++) {
            check_parts(update, parts, UMBEL_ADD);
            check_parts(update, parts, UMBEL_MAX);
            check_parts(update, parts, UMBEL_OR);
        }
}

static void refined_counts_are_closer(void **state)
{
    umbel_filter *plain = open_wide("classic", 1000, 4, 8, PLAIN);
    umbel_filter *refined = open_wide("classic", 1000, 4, 8, REFINED);
    uint64_t truth[KEYS], wrong[2] = {0, 0};

    (void)state;
    draw_counts(3, truth, KEYS);
    for (uint64_t i = 0; i < KEYS; i++) {
        test_add_times(plain, i, truth[i]);
        test_add_times(refined, i, truth[i]);
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_true(test_count(refined, i) <= test_count(plain, i));
        wrong[PLAIN] += test_count(plain, i) != truth[i];
        wrong[REFINED] += test_count(refined, i) != truth[i];
    }
    assert_true(wrong[REFINED] < wrong[PLAIN]);
    umbel_close(plain);
    umbel_close(refined);
}

/* --- removing ---------------------------------------------------------------
 */

static void taking_back_undoes_adding(void **state)
{
    umbel_filter *f = open_counting(PLAIN), *before = NULL;

    (void)state;
    test_add(f, 0, 200);
    assert_ok(umbel_copy(f, &before, &test_refusal));
    test_add(f, 500, 100);
    for (uint64_t i = 0; i < 100; i++)
        assert_ok(consume_back(f, 599 - i));
    test_assert_same_payload(f, before);
    assert_int_equal(test_hits(f, 0, 200), 200);
    umbel_close(f);
    umbel_close(before);
}

static void what_is_not_in_cannot_be_taken_back(void **state)
{
    enum { N = 3 * UM_BATCH - 1 };
    umbel_filter *f = open_counting(PLAIN), *before = NULL;
    char *keys = test_keys(0, N);
    umbel_slice *slices = test_slices(keys, N);
    char last[40];

    (void)state;
    snprintf(last, sizeof last, "key %d of %d is not in", N, N);
    test_add(f, 0, N - 1); /* the last key is missing */
    assert_false(test_has(f, N - 1));
    assert_ok(umbel_copy(f, &before, &test_refusal));
    assert_refused(umbel_remove_many(f, slices, N, &test_refusal),
                   UMBEL_E_RANGE, last);
    test_assert_same_file(f, before);
    assert_ok(umbel_remove_many(f, slices, N - 1, &test_refusal));
    assert_int_equal(umbel_added(f), 0);
    assert_int_equal(test_hits(f, 0, N), 0);
    umbel_close(f);
    umbel_close(before);
    free(slices);
    free(keys);
}

static void cells_at_their_limit_never_fall(void **state)
{
    umbel_filter *f = open_counting(PLAIN), *whole = NULL;

    (void)state;
    test_add_times(f, 1, 16);
    assert_ok(umbel_copy(f, &whole, &test_refusal));
    for (int i = 0; i < 40; i++)
        assert_ok(consume_back(f, 1));
    assert_int_equal(test_count(f, 1), 15);
    assert_ok(umbel_merge(f, whole, UMBEL_MINUS, &test_refusal));
    assert_int_equal(test_count(f, 1), 15);
    umbel_close(f);
    umbel_close(whole);
}

/* --- differences ------------------------------------------------------------
 */

static void a_whole_minus_a_part_is_the_other_part(void **state)
{
    umbel_filter *a = open_counting(PLAIN), *b = open_counting(PLAIN);
    umbel_filter *only_a = NULL;

    (void)state;
    test_add(a, 0, 200);
    test_add(b, 100, 200);
    assert_ok(umbel_copy(a, &only_a, &test_refusal));
    assert_ok(umbel_merge(a, b, UMBEL_ADD, &test_refusal));
    assert_ok(umbel_merge(a, b, UMBEL_MINUS, &test_refusal));
    test_assert_same_payload(a, only_a);
    assert_int_equal(a->estimated, true); /* marks a merge */
    assert_near((double)umbel_added(a), 200, 15);
    assert_false(umbel_has_false_negatives(a));
    umbel_close(a);
    umbel_close(b);
    umbel_close(only_a);
}

static void a_difference_of_what_is_no_part_is_refused(void **state)
{
    umbel_filter *a = open_counting(PLAIN), *b = open_counting(PLAIN);
    umbel_filter *before = NULL;

    (void)state;
    test_add(a, 0, 200);
    test_add(b, 100, 200);
    assert_ok(umbel_copy(a, &before, &test_refusal));
    assert_refused(umbel_merge(a, b, UMBEL_MINUS, &test_refusal), UMBEL_E_RANGE,
                   "does not hold");
    test_assert_same_file(a, before);
    umbel_close(a);
    umbel_close(b);
    umbel_close(before);
}

/*
 * A server's later state minus an earlier one, added to the earlier, gives the
 * later.
 */
static void own_refined_differences_add_up(void **state)
{
    umbel_filter *early = open_counting(REFINED), *late = NULL, *diff = NULL;
    umbel_filter *none = NULL;

    (void)state;
    test_add(early, 0, 200);
    assert_ok(umbel_copy(early, &late, &test_refusal));
    test_add(late, 100, 200);
    assert_ok(umbel_copy(late, &diff, &test_refusal));
    assert_ok(umbel_merge(diff, early, UMBEL_MINUS, &test_refusal));
    assert_true(umbel_has_false_negatives(diff));
    assert_refused(umbel_to_bloom(diff, &none, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "difference");
    assert_refused(umbel_merge(early, diff, UMBEL_MAX, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "only be added");
    assert_ok(umbel_merge(early, diff, UMBEL_ADD, &test_refusal));
    test_assert_same_payload(early, late);
    assert_false(umbel_has_false_negatives(early));
    umbel_close(early);
    umbel_close(late);
    umbel_close(diff);
}

/* --- refused operations, and what they would do -----------------------------
 */

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

/* Returns true if two keys of two cells each share exactly one. */
static bool share_one(const umbel_filter *f, uint64_t x, uint64_t y)
{
    uint64_t p[UM_MAX_HASHES], q[UM_MAX_HASHES];

    locate(f, x, p);
    locate(f, y, q);
    return p[0] != p[1] && q[0] != q[1] &&
           (p[0] == q[0] || p[1] == q[1]) + (p[0] == q[1] || p[1] == q[0]) == 1;
}

/* x has cells {A, B}, y has {B, C}: adding both and removing x would lose y. */
static void refined_counts_are_not_taken_back(void **state)
{
    umbel_filter *f = open_wide("classic", 64, 2, 8, REFINED);
    uint64_t y = 1, pos[UM_MAX_HASHES];
    um_cells c = cells_of(f);

    (void)state;
    while (!share_one(f, 0, y))
        y++;
    test_add(f, 0, 1);
    test_add(f, y, 1);
    assert_refused(consume_back(f, 0), UMBEL_E_UNSUPPORTED, "refined");
    assert_int_equal(test_count(f, y), 1);
    locate(f, 0, pos);
    for (int j = 0; j < 2; j++)
        um_set_cell(&c, pos[j], um_cell(&c, pos[j]) - 1);
    assert_int_equal(test_count(f, y), 0);
    umbel_close(f);
}

/* Sets the first cell of key i in f to a, the others to b. */
static void force_cells(umbel_filter *f, uint64_t i, uint64_t a, uint64_t b)
{
    uint64_t pos[UM_MAX_HASHES];
    um_cells c = cells_of(f);

    locate(f, i, pos);
    for (uint32_t j = 0; j < f->layout.hashes; j++)
        um_set_cell(&c, pos[j], j ? b : a);
}

static void subtract_cells(umbel_filter *f, const umbel_filter *g, int sign)
{
    um_cells a = cells_of(f), b = cells_of(g);

    for (uint64_t i = 0; i < f->layout.cells; i++)
        um_set_cell(&a, i,
                    sign > 0 ? um_cell(&a, i) + um_cell(&b, i)
                             : um_cell(&a, i) - um_cell(&b, i));
}

/*
 * Notes on the paper's section V: two servers share the cells (5, 3) of a key
 * added 3 times, and each adds it 3 times. The base with both differences
 * counts 7 instead of 9, so the library refuses the differences.
 */
static void merged_refined_counts_have_no_differences(void **state)
{
    umbel_filter *base = open_wide("classic", 4096, 2, 8, REFINED);
    umbel_filter *empty = open_wide("classic", 4096, 2, 8, REFINED);
    umbel_filter *server[2] = {NULL, NULL}, *refused = NULL;

    (void)state;
    force_cells(base, 1, 5, 3);
    assert_int_equal(test_count(base, 1), 3);
    assert_ok(umbel_merge(base, empty, UMBEL_ADD, &test_refusal));
    for (int i = 0; i < 2; i++) {
        assert_ok(umbel_copy(base, &server[i], &test_refusal));
        test_add_times(server[i], 1, 3);
        assert_ok(umbel_copy(server[i], &refused, &test_refusal));
        assert_refused(umbel_merge(refused, base, UMBEL_MINUS, &test_refusal),
                       UMBEL_E_UNSUPPORTED, "merged have no difference");
        umbel_close(refused);
        subtract_cells(server[i], base, -1);
    }
    subtract_cells(base, server[0], 1);
    subtract_cells(base, server[1], 1);
    assert_int_equal(test_count(base, 1), 7); /* 3 + 3 + 3 */
    umbel_close(base);
    umbel_close(empty);
    umbel_close(server[0]);
    umbel_close(server[1]);
}

/* Two keys share a cell, one in each filter: the maximum is 1, not 2. */
static void joined_counts_are_not_taken_back(void **state)
{
    umbel_filter *a = open_wide("classic", 2, 8, 8, PLAIN);
    umbel_filter *b = open_wide("classic", 2, 8, 8, PLAIN);

    (void)state;
    test_add(a, 1, 1);
    test_add(b, 2, 1);
    assert_ok(umbel_merge(a, b, UMBEL_MAX, &test_refusal));
    assert_int_equal(test_count(a, 1), 1);
    assert_refused(consume_back(a, 1), UMBEL_E_UNSUPPORTED,
                   "otherwise than by");
    assert_refused(umbel_merge(a, b, UMBEL_MINUS, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "otherwise than by");
    um_cells c = cells_of(a);
    for (uint64_t i = 0; i < 2; i++)
        if (um_cell(&c, i))
            um_set_cell(&c, i, um_cell(&c, i) - 1);
    assert_int_equal(test_count(a, 2), 0); /* the effect of removing */
    umbel_close(a);
    umbel_close(b);
}

/* --- other properties -------------------------------------------------------
 */

static void its_bits_are_those_of_a_bloom_filter(void **state)
{
    (void)state;
    for (uint64_t update = PLAIN; update <= REFINED; update++) {
        umbel_filter *f = open_counting(update), *bits = NULL, *bloom = NULL;
        umbel_params p = UMBEL_PARAMS_INIT;
        p.addressing = "classic";
        p.cells = 4096;
        p.hashes = 4;
        assert_ok(umbel_create("bloom", &p, &bloom, &test_refusal));
        test_add(f, 0, KEYS);
        test_add(f, 0, KEYS / 2);
        test_add(bloom, 0, KEYS);
        assert_ok(umbel_to_bloom(f, &bits, &test_refusal));
        test_assert_same_file(bits, bloom);
        assert_true(umbel_predict(f) == umbel_predict(bloom));
        assert_refused(umbel_to_bloom(bloom, &f, &test_refusal),
                       UMBEL_E_UNSUPPORTED, "already");
        umbel_close(f);
        umbel_close(bits);
        umbel_close(bloom);
    }
}

static void folded_counts_are_never_too_low(void **state)
{
    uint64_t truth[KEYS];

    (void)state;
    draw_counts(9, truth, KEYS);
    for (uint64_t update = PLAIN; update <= REFINED; update++) {
        umbel_filter *f = open_wide("classic", 4096, 4, 6, update);
        umbel_filter *small = NULL;
        for (uint64_t i = 0; i < KEYS; i++)
            test_add_times(f, i, truth[i]);
        assert_ok(umbel_fold(f, 4, &small, &test_refusal));
        assert_not_under(small, truth, KEYS);
        for (uint64_t i = 0; update == PLAIN && i < KEYS / 2; i++)
            for (; truth[i]; truth[i]--)
                assert_ok(consume_back(small, i));
        assert_not_under(small, truth, KEYS);
        umbel_close(f);
        umbel_close(small);
    }
}

static void the_marks_of_merges_survive_a_file(void **state)
{
    umbel_filter *a = open_counting(PLAIN), *b = open_counting(PLAIN);
    umbel_filter *back = NULL;
    uint8_t *bytes;
    size_t len;

    (void)state;
    assert_ok(umbel_merge(a, b, UMBEL_MAX, &test_refusal));
    a->difference = true;
    bytes = test_encode(a, &len);
    assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
    assert_true(back->joined && back->difference);
    assert_ok(umbel_clear(back, &test_refusal));
    assert_false(back->joined || back->difference);
    free(bytes);
    umbel_close(a);
    umbel_close(b);
    umbel_close(back);
}

static void what_it_cannot_do_is_refused(void **state)
{
    umbel_filter *f = open_counting(PLAIN);
    umbel_filter *wide = open_wide("classic", 4096, 4, 5, PLAIN);
    umbel_filter *refined = open_counting(REFINED), *bloom = NULL;
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting narrow = {"cell_bits", 33}, other = {"update", 2};
    umbel_slice key = {"1", 1};
    uint64_t n = 1;

    (void)state;
    assert_refused(umbel_merge(f, wide, UMBEL_ADD, &test_refusal),
                   UMBEL_E_MISMATCH, "cell_bits");
    assert_refused(umbel_merge(f, refined, UMBEL_ADD, &test_refusal),
                   UMBEL_E_MISMATCH, "update");
    assert_refused(umbel_share(wide, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "across two words");
    p.cells = 4096;
    assert_ok(umbel_create("bloom", &p, &bloom, &test_refusal));
    assert_refused(umbel_merge(bloom, bloom, UMBEL_ADD, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom");
    assert_refused(umbel_count_many(bloom, &key, 1, &n, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot count");
    assert_refused(umbel_count_digests(bloom, NULL, 0, &n, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot count");
    assert_refused(umbel_add_amounts(bloom, &key, &n, 1, NULL, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot count");
    assert_refused(umbel_remove_many(bloom, &key, 1, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "bloom cannot take keys back");
    assert_int_equal(umbel_count_limit(bloom), 0);
    assert_int_equal(n, 1);
    umbel_close(bloom);
    p.settings = &narrow;
    p.nsettings = 1;
    assert_refused(umbel_create("counting", &p, &bloom, &test_refusal),
                   UMBEL_E_RANGE, "cell_bits must be 1..32");
    p.settings = &other;
    assert_refused(umbel_create("counting", &p, &bloom, &test_refusal),
                   UMBEL_E_RANGE, "update");
    umbel_close(f);
    umbel_close(wide);
    umbel_close(refined);
}

/*
 * Without the secret, on a mapped filter, and with keys that the hash refuses.
 */
static void it_refuses_as_the_other_verbs_do(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_slice keys[] = {{"1", 1}, {"a b", 3}};
    uint64_t n[2] = {1, 1};
    umbel_filter *f = NULL, *locked = NULL, *linear = NULL;
    uint8_t *bytes;
    size_t len;

    (void)state;
    p.cells = 4096;
    p.hash = "sip";
    p.secret = test_secret;
    assert_ok(umbel_create("counting", &p, &f, &test_refusal));
    bytes = test_encode(f, &len);
    assert_ok(umbel_decode(bytes, len, &source, &locked, &test_refusal));
    assert_refused(umbel_add_amounts(locked, keys, n, 1, NULL, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_count_many(locked, keys, 1, n, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_count_digests(locked, NULL, 0, n, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    assert_refused(umbel_remove_many(locked, keys, 1, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    p.addressing = "universal";
    p.hash = NULL;
    p.secret = NULL;
    assert_ok(umbel_create("counting", &p, &linear, &test_refusal));
    assert_int_equal(umbel_add_amounts(linear, keys, n, 2, NULL, &test_refusal),
                     UMBEL_E_KEY);
    assert_int_equal(umbel_added(linear), 0);
    free(bytes);
    umbel_close(f);
    umbel_close(locked);
    umbel_close(linear);
}

static void counts_by_digest_are_counts_by_key(void **state)
{
    enum { N = 3 * UM_BATCH - 1 };
    umbel_filter *f = open_wide("classic", 1 << 16, 4, 8, PLAIN);
    char *keys = test_keys(0, N);
    umbel_slice *slices = test_slices(keys, N);
    uint64_t by_key[N], by_digest[N];
    umbel_digest d[N];

    (void)state;
    for (uint64_t i = 0; i < N; i += 2)
        test_add_times(f, i, 1 + i % 7);
    assert_ok(umbel_count_many(f, slices, N, by_key, &test_refusal));
    assert_ok(umbel_digest_many(f, slices, N, d, &test_refusal));
    memset(by_digest, 0xFF, sizeof by_digest);
    assert_ok(umbel_count_digests(f, d, N, by_digest, &test_refusal));
    assert_memory_equal(by_key, by_digest, sizeof by_key);
    for (uint64_t i = 0; i < N; i += 2)
        assert_true(by_key[i] >= 1 + i % 7);
    umbel_close(f);
    free(slices);
    free(keys);
}

/* The refused key is in the third batch; nothing may be done before it. */
static void a_refused_key_refuses_the_whole_list(void **state)
{
    enum { N = 3 * UM_BATCH - 1 };
    umbel_filter *f = open_wide("universal", 1 << 16, 4, 4, PLAIN);
    umbel_filter *before = NULL;
    char *keys = test_keys(0, N);
    umbel_slice *slices = test_slices(keys, N);
    uint64_t amounts[N], counts[N] = {0};
    bool fresh[N] = {false};

    (void)state;
    for (size_t i = 0; i < N; i++)
        amounts[i] = 2;
    test_add(f, 0, N);
    assert_ok(umbel_copy(f, &before, &test_refusal));
    keys[(N - 1) * TEST_KEY_LEN] = 'x';
    assert_refused(
        umbel_add_amounts(f, slices, amounts, N, fresh, &test_refusal),
        UMBEL_E_KEY, "\"x");
    assert_refused(umbel_count_many(f, slices, N, counts, &test_refusal),
                   UMBEL_E_KEY, "\"x");
    assert_refused(umbel_remove_many(f, slices, N, &test_refusal), UMBEL_E_KEY,
                   "\"x");
    test_assert_same_file(f, before);
    for (size_t i = 0; i < N; i++)
        assert_false(fresh[i] || counts[i]);
    umbel_close(f);
    umbel_close(before);
    free(slices);
    free(keys);
}

/* Checks that amounts and counts belong to the right keys in every batch. */
static void lists_of_several_batches_are_counted_key_by_key(void **state)
{
    enum { N = 3 * UM_BATCH - 1 };
    umbel_filter *f = open_wide("classic", 1 << 16, 4, 16, PLAIN);
    char *keys = test_keys(0, N);
    umbel_slice *slices = test_slices(keys, N);
    uint64_t amounts[N], counts[N];
    bool fresh[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        amounts[i] = i + 1;
    assert_ok(umbel_add_amounts(f, slices, amounts, N, fresh, &test_refusal));
    assert_ok(umbel_count_many(f, slices, N, counts, &test_refusal));
    for (size_t i = 0; i < N; i++) {
        assert_true(fresh[i]);
        assert_int_equal(counts[i], i + 1);
    }
    umbel_close(f);
    free(slices);
    free(keys);
}

/*
 * Beyond the second-level cache queries use other code than counts; tests
 * batches of any length, with few hashes and many.
 */
static void far_queries_are_counts_above_zero(void **state)
{
    enum { N = 3 * UM_BATCH - 1, CELLS = 1 << 22 }; /* of 4 bits: 2 MiB */
    static const uint32_t hashes[] = {1, 2, 3, 9, 64};
    static umbel_digest d[N];
    static uint64_t counts[N];
    static bool hit[N];
    um_rng rng = {4};

    (void)state;
    for (size_t h = 0; h < TEST_COUNT(hashes); h++) {
        umbel_filter *f = open_wide("classic", CELLS, hashes[h], 4, PLAIN);
        for (size_t i = 0; i < N; i++)
            d[i] = (umbel_digest){um_random(&rng), um_random(&rng)};
        for (size_t i = 0; i < N; i += 2)
            assert_ok(umbel_add_digests(f, d + i, 1, NULL, &test_refusal));
        assert_ok(umbel_count_digests(f, d, N, counts, &test_refusal));
        for (size_t from = 0, n = 1; from < N; from += n, n = n % 97 + 1) {
            n = n < N - from ? n : N - from;
            assert_ok(umbel_query_digests(f, d + from, n, hit, &test_refusal));
            for (size_t i = 0; i < n; i++)
                assert_int_equal(hit[i], counts[from + i] > 0);
        }
        for (size_t i = 0; i < N; i += 2)
            assert_true(counts[i] > 0);
        umbel_close(f);
    }
}

/* Checks that the counting kinds are those whose filters have a count limit. */
static void a_kind_counts_if_its_filters_do(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; umbel_kind_at(i, &name, NULL); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *f = NULL;
        if (umbel_is_static(name))
            continue;
        p.capacity = 100;
        assert_ok(umbel_create(name, &p, &f, &test_refusal));
        assert_int_equal(umbel_is_counting(name), umbel_count_limit(f) > 0);
        umbel_close(f);
    }
    assert_false(umbel_is_counting("ribbon"));
    assert_false(umbel_is_counting("nothing"));
    assert_false(umbel_is_counting(NULL));
}

TEST_GROUP(counting)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bit_a_cell_is_a_bloom_filter),
        cmocka_unit_test(a_kind_counts_if_its_filters_do),
        cmocka_unit_test(cells_of_every_width_keep_to_themselves),
        cmocka_unit_test(a_lonely_key_is_counted_exactly),
        cmocka_unit_test(cells_that_coincide_count_once),
        cmocka_unit_test(an_amount_is_as_many_single_adds),
        cmocka_unit_test(no_amount_makes_a_cell_wrap),
        cmocka_unit_test(counts_are_never_too_low),
        cmocka_unit_test(merged_counts_are_never_too_low),
        cmocka_unit_test(refined_counts_are_closer),
        cmocka_unit_test(taking_back_undoes_adding),
        cmocka_unit_test(what_is_not_in_cannot_be_taken_back),
        cmocka_unit_test(cells_at_their_limit_never_fall),
        cmocka_unit_test(a_whole_minus_a_part_is_the_other_part),
        cmocka_unit_test(a_difference_of_what_is_no_part_is_refused),
        cmocka_unit_test(own_refined_differences_add_up),
        cmocka_unit_test(refined_counts_are_not_taken_back),
        cmocka_unit_test(merged_refined_counts_have_no_differences),
        cmocka_unit_test(joined_counts_are_not_taken_back),
        cmocka_unit_test(its_bits_are_those_of_a_bloom_filter),
        cmocka_unit_test(folded_counts_are_never_too_low),
        cmocka_unit_test(the_marks_of_merges_survive_a_file),
        cmocka_unit_test(what_it_cannot_do_is_refused),
        cmocka_unit_test(counts_by_digest_are_counts_by_key),
        cmocka_unit_test(a_refused_key_refuses_the_whole_list),
        cmocka_unit_test(lists_of_several_batches_are_counted_key_by_key),
        cmocka_unit_test(far_queries_are_counts_above_zero),
        cmocka_unit_test(it_refuses_as_the_other_verbs_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
