/*
 * emulate.c - emulated instructions, compared with different definitions,
 * mostly bit by bit.
 *
 * emulate_x86.c compares them with the processor, where it has them.
 */
#include "support/test.h"

#include "base/rng.h"
#include "emulate/vectors.h"

#include <string.h>

enum { ROUNDS = 2000 };

/*
 * Returns a random number, often a small one, so that counts are in range and
 * beyond.
 */
static uint64_t some(um_rng *rng)
{
    uint64_t x = um_random(rng);
    return x >> (um_random_below(rng, 3) ? um_random_below(rng, 64) : 0);
}

static e_m256i some256(um_rng *rng)
{
    e_m256i v;
    for (int i = 0; i < 4; i++)
        v.q[i] = some(rng) ^ some(rng) << 32;
    return v;
}

static e_m512i some512(um_rng *rng)
{
    e_m512i v;
    for (int i = 0; i < 8; i++)
        v.q[i] = some(rng);
    return v;
}

/* --- alternative definitions -----------------------------------------------
 */

static unsigned bit(uint64_t x, unsigned i)
{
    return (unsigned)(x >> i) & 1;
}

/* Rotates bit by bit: bit i goes to (i + n) mod width. */
static uint64_t slow_rol(uint64_t x, uint64_t n, unsigned width)
{
    uint64_t out = 0;
    for (unsigned i = 0; i < width; i++)
        out |= (uint64_t)bit(x, i) << (i + n % width) % width;
    return out;
}

/* Shifts bit by bit: bit i comes from i + n, if there is one. */
static uint64_t slow_srl(uint64_t x, uint64_t n, unsigned width)
{
    uint64_t out = 0;
    for (unsigned i = 0; n < width && i + n < width; i++)
        out |= (uint64_t)bit(x, i + (unsigned)n) << i;
    return out;
}

static uint64_t slow_sll(uint64_t x, uint64_t n)
{
    uint64_t out = 0;
    for (unsigned i = 0; n < 64 && i + n < 64; i++)
        out |= (uint64_t)bit(x, i) << (i + n);
    return out;
}

/* Multiplies by adding x shifted for every bit of y. */
static uint64_t slow_mul(uint64_t x, uint64_t y)
{
    uint64_t out = 0;
    for (unsigned i = 0; i < 64; i++)
        out += bit(y, i) ? slow_sll(x, i) : 0;
    return out;
}

static uint64_t slow_ternary(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
    uint64_t out = 0;
    for (unsigned i = 0; i < 64; i++) {
        unsigned row = 4 * bit(a, i) + 2 * bit(b, i) + bit(c, i);
        out |= (uint64_t)bit(table, row) << i;
    }
    return out;
}

static uint32_t half(e_m256i v, int i)
{
    uint32_t h[8];
    memcpy(h, &v, sizeof h);
    return h[i];
}

static void shifts_and_rotations_do_as_defined(void **state)
{
    um_rng rng = {1};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        e_m512i a = some512(&rng), b = some512(&rng);
        unsigned imm = (unsigned)um_random_below(&rng, 256);
        e_mmask8 k = (e_mmask8)um_random(&rng);
        e_m128i count = {{imm, um_random(&rng)}};
        e_m512i srlv = e_mm512_srlv_epi64(a, b);
        e_m512i srli = e_mm512_srli_epi64(a, imm);
        e_m512i sll = e_mm512_sll_epi64(a, count);
        e_m512i rol = e_mm512_rol_epi64(a, (int)imm);
        e_m512i rolv = e_mm512_rolv_epi64(a, b);
        e_m512i maskz = e_mm512_maskz_rolv_epi64(k, a, b);
        for (int i = 0; i < 8; i++) {
            uint64_t x = a.q[i], n = b.q[i];
            assert_int_equal(srlv.q[i], slow_srl(x, n, 64));
            assert_int_equal(srli.q[i], slow_srl(x, imm, 64));
            assert_int_equal(sll.q[i], slow_sll(x, imm));
            assert_int_equal(rol.q[i], slow_rol(x, imm, 64));
            assert_int_equal(rolv.q[i], slow_rol(x, n, 64));
            assert_int_equal(maskz.q[i],
                             bit(k, (unsigned)i) ? slow_rol(x, n, 64) : 0);
        }
    }
}

static void halves_shift_and_rotate_as_defined(void **state)
{
    um_rng rng = {2};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        e_m256i a = some256(&rng), b = some256(&rng);
        e_mmask8 k = (e_mmask8)um_random(&rng);
        e_m256i srlv = e_mm256_srlv_epi32(a, b);
        e_m256i rolv = e_mm256_maskz_rolv_epi32(k, a, b);
        for (int i = 0; i < 8; i++) {
            uint32_t x = half(a, i), n = half(b, i);
            assert_int_equal(half(srlv, i), slow_srl(x, n, 32));
            assert_int_equal(half(rolv, i),
                             bit(k, (unsigned)i) ? slow_rol(x, n, 32) : 0);
        }
    }
}

static uint32_t half512(e_m512i v, int i)
{
    uint32_t h[16];
    memcpy(h, &v, sizeof h);
    return h[i];
}

static void halves_of_whole_lines_do_as_defined(void **state)
{
    um_rng rng = {6};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        e_m512i a = some512(&rng), b = some512(&rng), c = some512(&rng);
        unsigned imm = (unsigned)um_random_below(&rng, 40);
        e_mmask16 k = (e_mmask16)um_random(&rng);
        e_m512i add = e_mm512_add_epi32(a, b), max = e_mm512_max_epu32(a, b);
        e_m512i sllv = e_mm512_sllv_epi32(a, b);
        e_m512i sllv64 = e_mm512_sllv_epi64(a, b);
        e_m512i srli = e_mm512_srli_epi32(a, imm);
        e_m512i masked = e_mm512_mask_and_epi32(c, k, a, b);
        e_mmask16 none = e_mm512_testn_epi32_mask(a, b);
        for (int i = 0; i < 16; i++) {
            uint32_t x = half512(a, i), y = half512(b, i);
            bool chosen = bit(k, (unsigned)i);
            assert_int_equal(half512(add, i) - y, x);
            assert_true(half512(max, i) >= x && half512(max, i) >= y);
            assert_true(half512(max, i) == x || half512(max, i) == y);
            assert_int_equal(half512(sllv, i),
                             y < 32 ? (uint32_t)slow_sll(x, y) : 0);
            assert_int_equal(half512(srli, i), slow_srl(x, imm, 32));
            assert_int_equal(sllv64.q[i / 2], slow_sll(a.q[i / 2], b.q[i / 2]));
            assert_int_equal(half512(masked, i),
                             chosen ? x & y : half512(c, i));
            assert_int_equal(bit(none, (unsigned)i), (x & y) == 0);
        }
    }
}

static void arithmetic_does_as_defined(void **state)
{
    um_rng rng = {3};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        e_m512i a = some512(&rng), b = some512(&rng), c = some512(&rng);
        int imm = round % 256;
        e_m512i mul = e_mm512_mullo_epi64(a, b);
        e_m512i mul32 = e_mm512_mul_epu32(a, b);
        e_m512i add = e_mm512_add_epi64(a, b);
        e_m512i ternary = e_mm512_ternarylogic_epi64(a, b, c, imm);
        for (int i = 0; i < 8; i++) {
            uint64_t x = a.q[i], y = b.q[i];
            assert_int_equal(mul.q[i], slow_mul(x, y));
            assert_int_equal(mul32.q[i], slow_mul((uint32_t)x, (uint32_t)y));
            assert_int_equal(add.q[i] - y, x);
            assert_int_equal(ternary.q[i],
                             slow_ternary(x, y, c.q[i], (unsigned)imm));
        }
    }
}

static uint32_t part(e_m512i v, int i)
{
    uint32_t h[16];
    memcpy(h, &v, sizeof h);
    return h[i];
}

static void sixteen_elements_do_as_defined(void **state)
{
    um_rng rng = {6};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        e_m512i a = some512(&rng), b = some512(&rng), c = some512(&rng);
        unsigned imm = (unsigned)round % 256;
        e_m512i add = e_mm512_add_epi32(a, b), sub = e_mm512_sub_epi32(a, b);
        e_m512i mul = e_mm512_mullo_epi32(a, b);
        e_m512i right = e_mm512_srli_epi32(a, imm);
        e_m512i left = e_mm512_slli_epi32(a, imm);
        e_mmask16 less = e_mm512_cmplt_epu32_mask(a, b);
        e_m512i either = e_mm512_mask_or_epi32(a, less, b, c);
        for (int i = 0; i < 16; i++) {
            uint32_t x = part(a, i), y = part(b, i);
            assert_int_equal((uint32_t)(part(add, i) - y), x);
            assert_int_equal((uint32_t)(part(sub, i) + y), x);
            assert_int_equal(part(mul, i), (uint32_t)slow_mul(x, y));
            assert_int_equal(part(right, i), slow_srl(x, imm, 32));
            assert_int_equal(part(left, i),
                             imm < 32 ? (uint32_t)slow_sll(x, imm) : 0);
            assert_int_equal(less >> i & 1, (int64_t)x - (int64_t)y < 0);
            assert_int_equal(
                part(either, i),
                x < y ? (uint32_t)slow_ternary(y, part(c, i), 0, 0xFC) : x);
        }
    }
}

static void elements_are_fetched_spread_and_narrowed(void **state)
{
    static const uint8_t from[20] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                     10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
    e_m512i numbers = {{0}}, index = e_mm512_set1_epi32(-2), got;
    e_m256i words;
    e_m128i bytes;
    uint8_t out[17] = {0};

    (void)state;
    for (int i = 0; i < 16; i++)
        numbers.q[i / 2] |= (uint64_t)(0x1100 + i) << 32 * (i % 2);
    memcpy(&words, from, sizeof from);
    memset((uint8_t *)&words + sizeof from, 0xFF, sizeof words - sizeof from);
    got = e_mm512_i32gather_epi32(index, from + 8, 4); /* two ints before */
    assert_int_equal(part(got, 15), 0x03020100);
    index = e_mm512_set1_epi32(5);
    got = e_mm512_i32gather_epi32(index, from, 1);
    assert_int_equal(part(got, 0), 0x08070605);
    got = e_mm512_cvtepu16_epi32(words);
    assert_int_equal(part(got, 0), 0x0100);
    assert_int_equal(part(got, 9), 0x1312);
    assert_int_equal(part(got, 10), 0xFFFF);
    got = e_mm512_maskz_expand_epi32(0x8012, numbers);
    for (int i = 0; i < 16; i++)
        assert_int_equal(part(got, i), i == 1    ? 0x1100
                                       : i == 4  ? 0x1101
                                       : i == 15 ? 0x1102
                                                 : 0);
    bytes = e_mm512_cvtepi32_epi8(numbers);
    e_mm_storeu_si128(out + 1, bytes);
    for (int i = 0; i < 16; i++)
        assert_int_equal(out[i + 1], i);
}

static void logic_follows_its_truth_tables(void **state)
{
    um_rng rng = {4};
    e_m512i a = some512(&rng), b = some512(&rng);
    e_m512i both = e_mm512_and_si512(a, b), any = e_mm512_or_si512(a, b);
    e_m512i one = e_mm512_xor_si512(a, b);
    e_m256i low_a = {{a.q[0], a.q[1], a.q[2], a.q[3]}};
    e_m256i low_b = {{b.q[0], b.q[1], b.q[2], b.q[3]}};
    e_m256i low = e_mm256_or_si256(low_a, low_b);

    (void)state;
    for (int i = 0; i < 8; i++) { /* of a and b; the third is unused */
        assert_int_equal(both.q[i], slow_ternary(a.q[i], b.q[i], 0, 0xC0));
        assert_int_equal(any.q[i], slow_ternary(a.q[i], b.q[i], 0, 0xFC));
        assert_int_equal(one.q[i], slow_ternary(a.q[i], b.q[i], 0, 0x3C));
    }
    assert_memory_equal(&low, &any, sizeof low);
}

/* Changes one bit at a time. */
static void tests_and_comparisons_see_every_bit(void **state)
{
    um_rng rng = {5};
    e_m512i a = some512(&rng), b = a;
    e_m256i none = {{0}}, all = e_mm256_set1_epi64x(-1);

    (void)state;
    assert_int_equal(e_mm512_cmpneq_epi64_mask(a, a), 0);
    for (int at = 0; at < 512; at++) {
        b.q[at / 64] ^= UINT64_C(1) << at % 64;
        assert_int_equal(e_mm512_cmpneq_epi64_mask(a, b), 1 << at / 64);
        b = a;
    }
    for (int at = 0; at < 256; at++) {
        e_m256i one = none, rest = all;
        one.q[at / 64] ^= UINT64_C(1) << at % 64;
        rest.q[at / 64] ^= UINT64_C(1) << at % 64;
        assert_true(e_mm256_testc_si256(one, one));
        assert_true(e_mm256_testc_si256(all, one));
        assert_false(e_mm256_testc_si256(rest, one));
        assert_false(e_mm256_testc_si256(none, one));
        assert_true(e_mm256_testc_si256(one, none));
    }
    for (unsigned i = 0; i < 256; i++) {
        assert_int_equal(e_kortestz_mask8_u8((e_mmask8)i, 0), i == 0);
        assert_int_equal(e_kortestz_mask8_u8(0, (e_mmask8)i), i == 0);
    }
}

static void elements_are_numbered_from_the_lowest_address(void **state)
{
    uint64_t bytes[9] = {0}, want[8] = {0, 11, 2, 13, 4, 15, 6, 17};
    e_m512i a = e_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    e_m512i b = e_mm512_setr_epi64(10, 11, 12, 13, 14, 15, 16, 17);
    e_m512i pick = e_mm512_setr_epi64(0, 9, 2, 11, 4 + 16, 13, -10, 15);
    e_m512i got = e_mm512_permutex2var_epi64(a, pick, b);
    e_m256i halves = e_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, -7);
    e_m256i ones = e_mm256_set1_epi32(-1), one = e_mm256_set1_epi32(1);

    (void)state;
    assert_memory_equal(&got, want, sizeof want);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(half(halves, i), i < 7 ? (uint32_t)i : -7U);
        assert_int_equal(half(ones, i), UINT32_MAX);
        assert_int_equal(half(one, i), 1);
        assert_int_equal(e_mm512_set1_epi64(-3).q[i], UINT64_MAX - 2);
    }
    assert_int_equal(e_mm_cvtsi32_si128(-1).q[0], UINT32_MAX);
    assert_int_equal(e_mm_cvtsi32_si128(-1).q[1], 0);

    uint8_t *odd = (uint8_t *)bytes + 1; /* need not be aligned */
    e_mm512_storeu_si512(odd, b);
    assert_memory_equal(odd, &b, sizeof b);
    got = e_mm512_loadu_si512(odd);
    assert_memory_equal(&got, &b, sizeof b);
    e_mm256_storeu_si256(odd, halves);
    assert_memory_equal(odd, &halves, sizeof halves);
    assert_memory_equal(odd + 32, &b.q[4], 32);
    one = e_mm256_loadu_si256(odd);
    assert_memory_equal(&one, &halves, sizeof halves);
}

TEST_GROUP(emulate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_and_rotations_do_as_defined),
        cmocka_unit_test(halves_shift_and_rotate_as_defined),
        cmocka_unit_test(halves_of_whole_lines_do_as_defined),
        cmocka_unit_test(arithmetic_does_as_defined),
        cmocka_unit_test(sixteen_elements_do_as_defined),
        cmocka_unit_test(elements_are_fetched_spread_and_narrowed),
        cmocka_unit_test(logic_follows_its_truth_tables),
        cmocka_unit_test(tests_and_comparisons_see_every_bit),
        cmocka_unit_test(elements_are_numbered_from_the_lowest_address),
    };
    if (!E_AS_ON_X86) {
        print_message("skipped: bytes lie otherwise here than on x86\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
