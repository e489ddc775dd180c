/*
 * bits.c - words, arrays of bits, counting.
 */
#include "support/test.h"

#include "base/bits.h"
#include "base/rng.h"

#include <stdlib.h>

enum { ROUNDS = 2000, MAX_BITS = 400 };

/* Allocates exactly len bytes, so that ASan reports a read past the end. */
static uint8_t *random_bytes(um_rng *rng, size_t len)
{
    uint8_t *bytes = malloc(len ? len : 1);

    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)um_random(rng);
    return bytes;
}

static uint64_t count_slowly(const uint8_t *bits, uint64_t from, uint64_t n)
{
    uint64_t sum = 0;

    for (uint64_t i = from; i < from + n; i++)
        sum += bits[i / 8] >> i % 8 & 1;
    return sum;
}

static void counts_any_stretch_of_bits(void **state)
{
    um_rng rng = {1};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t from = um_random_below(&rng, MAX_BITS);
        uint64_t n = um_random_below(&rng, MAX_BITS);
        uint8_t *bits = random_bytes(&rng, (size_t)(from + n + 7) / 8);
        assert_int_equal(um_popcount(bits, from, n),
                         count_slowly(bits, from, n));
        free(bits);
    }
}

static void counts_the_union_of_two_arrays(void **state)
{
    um_rng rng = {2};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t n = um_random_below(&rng, MAX_BITS), want = 0;
        size_t len = (size_t)(n + 7) / 8;
        uint8_t *a = random_bytes(&rng, len), *b = random_bytes(&rng, len);
        for (uint64_t i = 0; i < n; i++)
            want += um_bit(a, i) || um_bit(b, i);
        assert_int_equal(um_popcount_or(a, b, n), want);
        free(a);
        free(b);
    }
}

static void setting_a_bit_tells_whether_it_was_clear(void **state)
{
    uint8_t bits[16] = {0};

    (void)state;
    for (uint64_t i = 0; i < 128; i += 3) {
        assert_false(um_bit(bits, i));
        assert_true(um_set_bit(bits, i));
        assert_false(um_set_bit(bits, i));
        assert_true(um_bit(bits, i));
    }
    assert_int_equal(um_popcount(bits, 0, 128), 43);
}

static void bit_numbers_are_those_of_little_endian_words(void **state)
{
    uint8_t bits[8] = {0};

    (void)state;
    um_set_bit(bits, 37);
    assert_int_equal(bits[4], 1 << 5);
    assert_int_equal(um_load64(bits), UINT64_C(1) << 37);
}

static void words_are_little_endian_in_memory(void **state)
{
    static const uint8_t want[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    uint8_t bytes[9];

    (void)state;
    um_store64(bytes + 1, UINT64_C(0x0102030405060708)); /* unaligned */
    assert_memory_equal(bytes + 1, want, sizeof want);
    assert_int_equal(um_load64(bytes + 1), UINT64_C(0x0102030405060708));
}

static void scaling_covers_the_range_and_no_more(void **state)
{
    static const uint64_t sizes[] = {1,         2, 3, 512, UINT64_C(1) << 48,
                                     UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        assert_int_equal(um_scale(0, sizes[i]), 0);
        assert_int_equal(um_scale(UINT64_MAX, sizes[i]), sizes[i] - 1);
    }
    assert_int_equal(um_scale(UINT64_C(1) << 63, 7), 3);
}

/*
 * "universal" derives its functions from this sequence, so it must not change.
 */
static void random_numbers_never_change(void **state)
{
    um_rng rng = {0};

    (void)state;
    assert_int_equal(um_random(&rng), UINT64_C(0xE220A8397B1DCDAF));
    assert_int_equal(um_random(&rng), UINT64_C(0x6E789E6AA1B965F4));
    assert_int_equal(um_random(&rng), UINT64_C(0x06C45D188009454F));
}

TEST_GROUP(bits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_any_stretch_of_bits),
        cmocka_unit_test(counts_the_union_of_two_arrays),
        cmocka_unit_test(setting_a_bit_tells_whether_it_was_clear),
        cmocka_unit_test(bit_numbers_are_those_of_little_endian_words),
        cmocka_unit_test(words_are_little_endian_in_memory),
        cmocka_unit_test(scaling_covers_the_range_and_no_more),
        cmocka_unit_test(random_numbers_never_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
