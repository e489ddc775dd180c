/*
 * cells.c - counting used cells, many at a time and one by one, for each width.
 */
#include "kinds/counting/cells.h"

#include "base/rng.h"
#include "support/test.h"

#include <string.h>

enum { CELLS = 333 };

static void cells_in_use_are_those_one_by_one(void **state)
{
    static const uint32_t widths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,
                                      11, 13, 15, 16, 17, 21, 31, 32, 64};
    um_rng rng = {1};
    (void)state;

    for (size_t w = 0; w < TEST_COUNT(widths); w++) {
        uint8_t memory[CELLS * 8 + 64] = {0}, bits[CELLS / 8 + 65] = {0};
        um_cells c = um_cells_of(memory, widths[w]);
        uint64_t used = 0, some = 0, later = 0;
        for (uint64_t i = 0; i < CELLS; i++) {
            uint64_t x = um_random(&rng);
            um_set_cell(&c, i, x & 64 ? (uint64_t)1 << x % widths[w] : 0);
            used += um_cell(&c, i) != 0;
            some += i >= 5 && i < 300 && um_cell(&c, i);
            later += i >= 64 && i < 331 && um_cell(&c, i);
        }
        assert_int_equal(um_cells_used_in(&c, 0, CELLS), used);
        assert_int_equal(um_cells_used_in(&c, 5, 295), some);
        assert_int_equal(um_cells_used_in(&c, 64, 331 - 64), later);
        um_cells_copy_bits(&c, CELLS, bits);
        for (uint64_t i = 0; i < CELLS; i++)
            assert_int_equal(bits[i / 8] >> i % 8 & 1, um_cell(&c, i) != 0);
        assert_true(!(bits[CELLS / 8] >> CELLS % 8));
    }
}

TEST_GROUP(cells)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_in_use_are_those_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
