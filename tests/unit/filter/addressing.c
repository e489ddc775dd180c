/* addressing.c - which cells a digest has, and that they never change. */
#include "support/test.h"

#include "base/rng.h"
#include "filter/addressing/addressing.h"
#include "filter/kind.h"

#include <string.h>

enum { SHAPES = 40, DIGESTS = 50, MAX_KNOWN = 24 };

static umbel_digest random_digest(um_rng *rng)
{
    umbel_digest d = {um_random(rng), um_random(rng)};
    return d;
}

/* Returns a random size of any magnitude that the addressing accepts, or 0. */
static uint64_t random_cells(um_rng *rng, const um_addressing *row,
                             uint32_t hashes)
{
    uint64_t granule = um_granule(row, hashes);
    if (!granule)
        return 0;
    uint64_t most = um_limit(row, hashes) / granule;
    uint64_t parts = um_random_below(rng, most) >> um_random_below(rng, 48);
    return parts < 2 ? 2 * granule : parts * granule;
}

static bool random_layout(um_rng *rng, const um_addressing *row, um_layout *l)
{
    uint32_t hashes = 1 + (uint32_t)um_random_below(rng, UM_MAX_HASHES);
    uint64_t cells = random_cells(rng, row, hashes);

    if (!cells)
        return false;
    um_layout_init(l, row, cells, hashes, um_random(rng));
    return true;
}

/* Calls check with the cells of many digests in many layouts of a row. */
static void over_layouts(const um_addressing *row,
                         void (*check)(const um_layout *l,
                                       const umbel_digest *d,
                                       const uint64_t *pos))
{
    um_rng rng = {11};
    um_layout l;
    uint64_t pos[UM_MAX_HASHES];

    for (int shapes = 0; shapes < SHAPES;) {
        if (!random_layout(&rng, row, &l))
            continue;
        shapes++;
        for (int i = 0; i < DIGESTS; i++) {
            umbel_digest d = random_digest(&rng);
            row->positions(&l, &d, 1, pos);
            check(&l, &d, pos);
        }
    }
}

static void in_range(const um_layout *l, const umbel_digest *d,
                     const uint64_t *pos)
{
    (void)d;
    for (uint32_t j = 0; j < l->hashes; j++)
        assert_true(pos[j] < l->cells);
}

static void cells_are_within_the_filter(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        over_layouts(um_addressing_row(i), in_range);
}

/* Tries the digests most likely to round out of range. */
static void the_largest_digest_is_within_the_filter(void **state)
{
    static const umbel_digest edges[] = {
        {0, 0}, {UINT64_MAX, UINT64_MAX}, {UINT64_MAX, 0}, {0, UINT64_MAX}};
    um_rng rng = {12};
    um_layout l;
    uint64_t pos[UM_MAX_HASHES];

    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        for (int shapes = 0; shapes < SHAPES; shapes++) {
            if (!random_layout(&rng, um_addressing_row(i), &l))
                continue;
            for (size_t e = 0; e < TEST_COUNT(edges); e++) {
                l.row->positions(&l, &edges[e], 1, pos);
                in_range(&l, &edges[e], pos);
            }
        }
}

static void layouts_account_for_all_cells_and_hashes(void **state)
{
    um_rng rng = {13};
    um_layout l;

    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        for (int shapes = 0; shapes < SHAPES; shapes++)
            if (random_layout(&rng, um_addressing_row(i), &l)) {
                assert_int_equal(l.blocks * l.lanes * l.width, l.cells);
                assert_int_equal(l.lanes * l.throws + l.extra, l.hashes);
                assert_true(l.extra < l.lanes);
            }
}

static void many_digests_give_what_each_gives_alone(void **state)
{
    enum { N = 37 };
    um_rng rng = {14};
    umbel_digest d[N];
    uint64_t together[N * UM_MAX_HASHES], alone[UM_MAX_HASHES];
    um_layout l;

    (void)state;
    for (size_t i = 0; i < N; i++)
        d[i] = random_digest(&rng);
    for (size_t row = 0; um_addressing_row(row); row++) {
        while (!random_layout(&rng, um_addressing_row(row), &l))
            continue;
        l.row->positions(&l, d, N, together);
        for (size_t i = 0; i < N; i++) {
            l.row->positions(&l, &d[i], 1, alone);
            assert_memory_equal(together + i * l.hashes, alone,
                                l.hashes * sizeof *alone);
        }
    }
}

/* Asserts distinct cells, which rows promise up to a number of hashes. */
static void distinct(const um_layout *l, const umbel_digest *d,
                     const uint64_t *pos)
{
    (void)d;
    if (l->hashes > l->row->distinct)
        return;
    for (uint32_t i = 0; i < l->hashes; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_true(pos[i] != pos[j]);
}

static void cells_of_a_key_are_distinct_where_promised(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        over_layouts(um_addressing_row(i), distinct);
    assert_int_equal(um_addressing_find("blocked512")->distinct, 8);
    assert_int_equal(um_addressing_find("blocked256")->distinct, 8);
    assert_int_equal(um_addressing_find("blocked128")->distinct, 8);
    assert_int_equal(um_addressing_find("partitioned")->distinct, 64);
}

static void in_slices(const um_layout *l, const umbel_digest *d,
                      const uint64_t *pos)
{
    uint64_t slice = l->cells / l->hashes;

    (void)d;
    for (uint32_t j = 0; j < l->hashes; j++)
        assert_int_equal(pos[j] / slice, j);
}

static void partitioned_takes_one_cell_of_each_slice(void **state)
{
    (void)state;
    over_layouts(um_addressing_find("partitioned"), in_slices);
}

static void in_one_block(const um_layout *l, const umbel_digest *d,
                         const uint64_t *pos)
{
    uint64_t block = l->row->block;

    (void)d;
    for (uint32_t j = 1; j < l->hashes; j++)
        assert_int_equal(pos[j] / block, pos[0] / block);
}

/*
 * Asserts that each lane gets hashes/8 cells, and neighbouring lanes one more
 * each for the rest.
 */
static void spread_over_lanes(const um_layout *l, const umbel_digest *d,
                              const uint64_t *pos)
{
    uint32_t load[8] = {0}, more = 0;

    in_one_block(l, d, pos);
    for (uint32_t j = 0; j < l->hashes; j++)
        load[pos[j] % l->row->block / l->width]++;
    for (int lane = 0; lane < 8; lane++) {
        assert_in_range(load[lane], l->hashes / 8, l->hashes / 8 + 1);
        more += load[lane] > l->hashes / 8;
    }
    assert_int_equal(more, l->hashes % 8);
}

static void blocked_cells_share_a_block_and_spread_over_its_lanes(void **state)
{
    (void)state;
    over_layouts(um_addressing_find("blocked512"), spread_over_lanes);
    over_layouts(um_addressing_find("blocked256"), spread_over_lanes);
    over_layouts(um_addressing_find("blocked128"), spread_over_lanes);
}

/* Summary Cache uses the four 32-bit words of MD5, big-endian, modulo m. */
static void md5_in_four_chunks_is_its_four_words(void **state)
{
    static const uint32_t words[4] = {0x90015098, 0x3CD24FB0, 0xD6963F7D,
                                      0x28E17F72}; /* of "abc" */
    static const uint64_t sizes[] = {2, 1000, 65536, 99991, UINT64_C(1) << 32};
    umbel_digest abc = {UINT64_C(0xD6963F7D28E17F72),
                        UINT64_C(0x900150983CD24FB0)};
    um_layout l;
    uint64_t pos[4];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        um_layout_init(&l, um_addressing_find("chunks-md5"), sizes[i], 4, 0);
        l.row->positions(&l, &abc, 1, pos);
        for (int j = 0; j < 4; j++)
            assert_int_equal(pos[j], words[j] % sizes[i]);
    }
}

static void chunks_come_only_in_divisors_of_128(void **state)
{
    const um_addressing *row = um_addressing_find("chunks-md5");

    (void)state;
    for (uint32_t k = 1; k <= UM_MAX_HASHES; k++)
        assert_int_equal(um_granule(row, k) != 0, 128 % k == 0);
    assert_int_equal(um_limit(row, 4), UINT64_C(1) << 32);
    assert_int_equal(um_limit(row, 8), 1 << 16);
    assert_int_equal(um_limit(row, 64), 4);
}

/*
 * Asserts ((c x + d) mod p) mod m, computed in 128 bits, with 1 <= c < p and d
 * < p.
 */
static void linear(const um_layout *l, const umbel_digest *d,
                   const uint64_t *pos)
{
    uint64_t x = d->lo % UM_INTEGER_PRIME;
    um_universal h[UM_MAX_HASHES];

    um_draw_universal(l, h);
    for (uint32_t j = 0; j < l->hashes; j++) {
        uint64_t c = h[j].c, plus = h[j].d;
        assert_in_range(c, 1, UM_INTEGER_PRIME - 1);
        assert_in_range(plus, 0, UM_INTEGER_PRIME - 1);
        um_u128 y = (um_u128)c * x + plus;
        assert_int_equal(pos[j], (uint64_t)(y % UM_INTEGER_PRIME) % l->cells);
    }
}

static void universal_is_linear_modulo_the_prime(void **state)
{
    (void)state;
    over_layouts(um_addressing_find("universal"), linear);
}

/*
 * Checks that building a small filter equals folding the cells of a large one.
 */
static void folding_cells_equals_addressing_the_smaller_filter(void **state)
{
    um_rng rng = {15};
    um_layout large, small;
    uint64_t wide[UM_MAX_HASHES], narrow[UM_MAX_HASHES];

    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++)
        for (int shapes = 0; shapes < SHAPES; shapes++) {
            uint64_t by = 1 + um_random_below(&rng, 30);
            if (!random_layout(&rng, um_addressing_row(i), &small) ||
                small.cells > um_limit(small.row, small.hashes) / by)
                continue;
            um_layout_init(&large, small.row, small.cells * by, small.hashes,
                           small.seed);
            assert_int_equal(um_fold_parts(&large) % by, 0);
            umbel_digest d = random_digest(&rng);
            large.row->positions(&large, &d, 1, wide);
            small.row->positions(&small, &d, 1, narrow);
            for (uint32_t j = 0; j < large.hashes; j++)
                assert_int_equal(um_fold_cell(&large, by, wide[j]), narrow[j]);
        }
}

/*
 * Computed by a separate program from the comments in src/addressing. Files
 * depend on these numbers: a change here changes the format.
 */
static const struct known {
    const char *addressing;
    uint64_t cells;
    uint32_t hashes;
    uint64_t seed;
    umbel_digest digest;
    uint64_t pos[MAX_KNOWN];
} known[] = {
    {"blocked512",
     512000,
     21,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {2111, 2157, 2226, 2298, 2342, 2375, 2457, 2516, 2058, 2129, 2204,
      2241, 2321, 2427, 2434, 2545, 2272, 2358, 2372, 2495, 2545}},
    {"blocked512",
     3584,
     3,
     0,
     {0xA5C3F00D5EED1234, 0xDEADBEEFCAFEF00D},
     {2428, 2475, 2558}},
    {"blocked256",
     256000,
     21,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {1038, 1087, 1113, 1147, 1162, 1198, 1219, 1259, 1046, 1061, 1090,
      1124, 1176, 1195, 1232, 1264, 1129, 1176, 1193, 1246, 1266}},
    {"blocked256",
     1792,
     3,
     0,
     {0xA5C3F00D5EED1234, 0xDEADBEEFCAFEF00D},
     {1206, 1231, 1275}},
    {"blocked128",
     128000,
     21,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {527, 542, 557, 572, 587, 602, 617, 632, 514, 537, 545,
      567, 576, 593, 612, 631, 563, 578, 592, 621, 632}},
    {"blocked128",
     896,
     3,
     0,
     {0xA5C3F00D5EED1234, 0xDEADBEEFCAFEF00D},
     {606, 622, 639}},
    {"classic",
     1000003,
     12,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {4444, 431353, 870060, 988188, 669402, 238153, 590792, 451125, 184572,
      259851, 607106, 117773}},
    {"classic",
     281474976710597,
     4,
     0,
     {0xA5C3F00D5EED1234, 0x0000000000000003},
     {182260964613830, 45630893320792, 127749030545648, 7280939463639}},
    {"partitioned",
     7007,
     7,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {4, 1432, 2872, 3992, 4674, 5243, 6597}},
    {"partitioned",
     3000000000,
     3,
     0,
     {0xA5C3F00D5EED1234, 0x0000000000000003},
     {647521022, 1162113498, 2453855728}},
    {"universal",
     65537,
     8,
     7,
     {0x00000000499602D2, 0x0000000000000000},
     {49350, 14006, 40693, 5187, 3277, 33537, 28843, 6162}},
    {"universal",
     2100000011,
     3,
     0,
     {0x000000007D2B750A, 0x0000000000000000},
     {1151256102, 1983341243, 464056054}},
    {"chunks-md5",
     100003,
     4,
     0,
     {0xD6963F7D28E17F72, 0x900150983CD24FB0},
     {32795, 85311, 62877, 46292}},
    {"chunks-md5",
     50000,
     8,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {15244, 47768, 30292, 12816, 291, 17767, 35243, 2719}},
    {"dcso",
     28755,
     20,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {6427,  24145, 6293,  9993, 24758, 19915, 10055, 23230, 10845, 20896,
      24529, 19622, 21235, 3344, 28242, 19086, 25735, 27982, 27592, 21349}},
    {"redisbloom",
     11072,
     8,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {6191, 9215, 3023, 7903, 1711, 6591, 399, 5279}},
    {"dcso", 999983, 3, 0, {0xFFFFFFFFFFFFFFFF, 0}, {919127, 163863, 285502}},
    {"guava",
     11072,
     8,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {6191, 4607, 9487, 3295, 8175, 1983, 6863, 671}},
    {"guava32",
     11072,
     8,
     0,
     {0x0123456789ABCDEF, 0},
     {8041, 7426, 6811, 6196, 5581, 4966, 4351, 3736}},
    {"guava32",
     UINT64_C(1) << 31,
     5,
     0,
     {0xA5C3F00D5EED1234, 0},
     {78709313, 1435176369, 1345905243, 167980439, 1681866122}},
    {"chunks-md5",
     1000003,
     1,
     0,
     {0x0123456789ABCDEF, 0xFEDCBA9876543210},
     {11730}},
};

static void check_known(const struct known *k)
{
    uint64_t pos[MAX_KNOWN];
    um_layout l;

    um_layout_init(&l, um_addressing_find(k->addressing), k->cells, k->hashes,
                   k->seed);
    l.row->positions(&l, &k->digest, 1, pos);
    assert_memory_equal(pos, k->pos, k->hashes * sizeof *pos);
}

static void every_addressing_keeps_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        const char *name = um_addressing_row(i)->name;
        bool found = false;
        for (size_t j = 0; j < TEST_COUNT(known); j++)
            if (strcmp(known[j].addressing, name) == 0) {
                check_known(&known[j]);
                found = true;
            }
        if (!found)
            fail_msg("no known cells for addressing %s: add some", name);
    }
}

static void the_table_finds_each_name_and_no_other(void **state)
{
    (void)state;
    assert_null(um_addressing_find("diagonal"));
    for (size_t i = 0; um_addressing_row(i); i++)
        assert_ptr_equal(um_addressing_find(um_addressing_row(i)->name),
                         um_addressing_row(i));
}

TEST_GROUP(addressing)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_within_the_filter),
        cmocka_unit_test(the_largest_digest_is_within_the_filter),
        cmocka_unit_test(layouts_account_for_all_cells_and_hashes),
        cmocka_unit_test(many_digests_give_what_each_gives_alone),
        cmocka_unit_test(cells_of_a_key_are_distinct_where_promised),
        cmocka_unit_test(partitioned_takes_one_cell_of_each_slice),
        cmocka_unit_test(blocked_cells_share_a_block_and_spread_over_its_lanes),
        cmocka_unit_test(md5_in_four_chunks_is_its_four_words),
        cmocka_unit_test(chunks_come_only_in_divisors_of_128),
        cmocka_unit_test(universal_is_linear_modulo_the_prime),
        cmocka_unit_test(folding_cells_equals_addressing_the_smaller_filter),
        cmocka_unit_test(every_addressing_keeps_its_meaning),
        cmocka_unit_test(the_table_finds_each_name_and_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
