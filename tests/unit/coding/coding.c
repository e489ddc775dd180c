/*
 * coding.c - coded cells decode to the same cells, nothing else decodes, and
 * codes are as short as they should be.
 */
#include "support/test.h"

#include "base/rng.h"
#include "coding/internal.h"
#include "coding/section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The version that encode and decode below use. */
static um_code_version rule = UM_CODE_NOW;

static int by_the_first_rule(void **state)
{
    (void)state;
    rule = UM_CODE_V1;
    return 0;
}

static int by_the_rule_of_now(void **state)
{
    (void)state;
    rule = UM_CODE_NOW;
    return 0;
}

static um_packed create(uint64_t n, unsigned bits)
{
    um_packed c = {.n = n, .bits = bits};

    c.at = calloc(1, um_packed_bytes(&c) + 64);
    assert_non_null(c.at);
    return c;
}

/* Returns bits that are one with this probability. */
static um_packed random_bits(uint64_t n, double chance, uint64_t seed)
{
    um_packed c = create(n, 1);
    um_rng rng = {seed};

    for (uint64_t i = 0; i < n; i++)
        if ((double)(um_random(&rng) >> 11) * 0x1p-53 < chance)
            um_set_bit(c.at, i);
    return c;
}

/* Returns cells in which each value is half as likely as the one below. */
static um_packed random_cells(uint64_t n, unsigned bits, double chance,
                              uint64_t seed)
{
    um_packed c = create(n, bits);
    um_rng rng = {seed};

    for (uint64_t i = 0; i < n; i++) {
        uint64_t x = um_random(&rng);
        uint64_t value = 1 + (uint64_t)__builtin_ctzll(x | UINT64_C(1) << 40);
        if (x % 64 == 5)
            value = um_random(&rng);
        if ((double)(um_random(&rng) >> 11) * 0x1p-53 < chance)
            um_packed_set(&c, i, value & um_packed_max(&c));
    }
    return c;
}

static uint8_t *encode(const um_packed *c, size_t *len)
{
    uint8_t *out = malloc(um_code_max(c) + UM_CODE_SPACE);

    assert_non_null(out);
    *len = um_code_encode(c, rule, out);
    assert_true(*len <= um_code_max(c));
    assert_int_equal(um_code_len(c, rule), *len);
    return out;
}

/*
 * Decodes a copy of exactly len bytes, so that sanitizers detect reads past its
 * end.
 */
static bool decode(const uint8_t *bytes, size_t len, const um_packed *c)
{
    uint8_t *copy = malloc(len + !len);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    bool fine = um_code_decode(copy, len, rule, c);
    free(copy);
    return fine;
}

/*
 * Encodes and decodes c, and frees it. Returns the code's length, and its
 * method in *way.
 */
static size_t round_trip(um_packed c, int *way)
{
    um_packed back = create(c.n, c.bits);
    size_t len;
    uint8_t *code = encode(&c, &len);

    assert_true(decode(code, len, &back));
    assert_memory_equal(back.at, c.at, um_packed_bytes(&c) + 64);
    if (way)
        *way = code[0];
    free(code);
    free(back.at);
    free(c.at);
    return len;
}

static double shannon(const um_packed *c)
{
    double n = (double)c->n, ones = (double)um_popcount(c->at, 0, c->n);
    double p = ones / n;

    return p > 0 && p < 1 ? n * -(p * log2(p) + (1 - p) * log2(1 - p)) / 8 : 0;
}

/*
 * Checks that setting many cells at once equals setting them one by one, and
 * changes no others.
 */
static void cells_at_once_are_cells_one_by_one(void **state)
{
    enum { N = 200 };
    um_rng rng = {9};

    (void)state;
    for (unsigned bits = 1; bits <= 64; bits++)
        for (int round = 0; round < 40; round++) {
            um_packed c = random_cells(N, bits, 0.9, bits);
            um_packed same = random_cells(N, bits, 0.9, bits);
            size_t n = (size_t)um_random_below(&rng, N + 1);
            uint64_t from = um_random_below(&rng, N + 1 - n), out[N];
            um_packed_before(&c, from + n, n, out);
            for (size_t i = 0; i < n; i++)
                assert_true(out[i] == um_packed_get(&c, from + n - 1 - i));
            for (size_t i = 0; i < n; i++) {
                out[i] = um_random(&rng) & um_packed_max(&c);
                um_packed_set(&same, from + i, out[i]);
            }
            um_packed_set_many(&c, from, out, n);
            assert_memory_equal(c.at, same.at, um_packed_bytes(&c) + 64);
            free(c.at);
            free(same.at);
        }
}

static void bits_of_any_density_come_back(void **state)
{
    static const double density[] = {0,   0.0001, 0.001, 0.01, 0.05, 0.062,
                                     0.1, 0.25,   0.5,   0.75, 0.99, 1};
    static const uint64_t sizes[] = {2,    63,   64,    65,    512,
                                     1000, 4095, 65537, 300000};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(density); i++)
        for (size_t j = 0; j < TEST_COUNT(sizes); j++)
            round_trip(random_bits(sizes[j], density[i], 10 * i + j), NULL);
}

static void cells_of_any_width_come_back(void **state)
{
    static const uint64_t sizes[] = {1, 2, 63, 1025, 20000};

    (void)state;
    for (unsigned bits = 2; bits <= 64; bits++)
        for (size_t j = 0; j < TEST_COUNT(sizes); j++) {
            round_trip(random_cells(sizes[j], bits, 0.7, bits), NULL);
            round_trip(random_cells(sizes[j], bits, 0.02, bits), NULL);
            round_trip(random_cells(sizes[j], bits, 0, bits), NULL);
        }
}

/* The limits are those of a filter for a million keys at 1 %. */
static void bits_take_little_more_than_they_must(void **state)
{
    static const struct {
        double density, most;
    } bars[] = {{0.5, 1.002},    {0.4, 1.002}, {0.25, 1.002}, {0.1, 1.002},
                {0.0606, 1.002}, {0.05, 1.01}, {0.02, 1.01},  {0.01, 1.01},
                {0.001, 1.02},   {0.9, 1.002}, {0.95, 1.01},  {0.999, 1.02}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bars); i++) {
        um_packed c = random_bits(9600000, bars[i].density, i);
        double least = shannon(&c);
        assert_true((double)round_trip(c, NULL) <= bars[i].most * least);
    }
}

/*
 * Checks that filters of a few thousand keys become smaller, too, if there is
 * some redundancy.
 */
static void small_filters_take_little_more_than_they_must(void **state)
{
    static const struct {
        uint64_t n;
        double density, most;
    } bars[] = {
        {10000, 0.3, 1.02}, {50000, 0.4, 1.005}, {1000000, 0.47, 1.001}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bars); i++) {
        um_packed c = random_bits(bars[i].n, bars[i].density, i);
        double least = shannon(&c);
        assert_true((double)round_trip(c, NULL) <= bars[i].most * least);
    }
}

static void counts_take_little_more_than_they_must(void **state)
{
    um_packed c = create(2000000, 4);
    um_rng rng = {5};
    double n[16] = {0}, least = 0;

    (void)state;
    for (uint64_t i = 0; i < c.n; i++) {
        uint64_t v = 0; /* about Poisson with mean 0.7 */
        while (v < 15 && um_random(&rng) % 100 < 41)
            v++;
        um_packed_set(&c, i, v);
        n[v]++;
    }
    for (int v = 0; v < 16; v++)
        least += n[v] > 0 ? n[v] * log2((double)c.n / n[v]) / 8 : 0;
    assert_true((double)round_trip(c, NULL) <= 1.002 * least);
}

static void the_way_follows_from_the_cells(void **state)
{
    static const struct {
        uint64_t n;
        unsigned bits;
        double chance;
        int way, first; /* current version, and version 1 */
    } rows[] = {
        {1000000, 1, 0.5, 0, 0},   {1000000, 1, 0.3, 1, 1},
        {1000000, 1, 0.03, 5, 2},  {1000000, 1, 0.97, 5, 4},
        {1000000, 4, 0.01, 5, 2},  {1000000, 4, 0.5, 3, 3},
        {131071, 1, 0.3, 5, 1},    {131072, 1, 0.3, 1, 1},
        {280000, 4, 0.9, 5, 3},    {300000, 4, 0.9, 3, 3},
        {2097151, 1, 0.001, 5, 2}, {2097152, 1, 0.001, 2, 2},
        {2097152, 1, 0.999, 4, 4}, {2097152, 4, 0.01, 2, 2},
        {1000, 1, 0.1, 5, 0},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        int way;
        um_packed c = rows[i].bits == 1
                          ? random_bits(rows[i].n, rows[i].chance, 1)
                          : random_cells(rows[i].n, 4, rows[i].chance, 1);
        round_trip(c, &way);
        assert_int_equal(way,
                         rule == UM_CODE_NOW ? rows[i].way : rows[i].first);
    }
}

static void a_code_that_is_cut_or_longer_is_refused(void **state)
{
    static const struct {
        uint64_t n;
        double density;
    } bits[] = {{20000, 0.5}, {20000, 0.3}, {20000, 0.03}, {600000, 0.999}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bits); i++) {
        um_packed c = random_bits(bits[i].n, bits[i].density, i), back;
        size_t len;
        uint8_t *code = encode(&c, &len);
        uint8_t *more = calloc(1, len + 1);
        memcpy(more, code, len);
        for (size_t cut = 0; cut <= len + 1; cut += cut + 40 < len ? 37 : 1) {
            back = create(c.n, 1);
            assert_int_equal(decode(more, cut, &back), cut == len);
            free(back.at);
        }
        free(more);
        free(code);
        free(c.at);
    }
}

/*
 * Checks that accepted codes are those the encoder writes: flips single bits,
 * and tries random bytes after the first.
 */
static void nothing_is_taken_that_would_not_be_written(void **state)
{
    um_rng rng = {11};
    size_t taken = 0;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        unsigned bits = round % 3 ? 1 : 3;
        double density = (double)(round % 7) * 0.06 + (round % 11 ? 0 : 0.6);
        um_packed c = bits == 1
                          ? random_bits(5000, density, (uint64_t)round)
                          : random_cells(1500, bits, density, (uint64_t)round);
        um_packed back = create(c.n, bits);
        size_t len, again;
        uint8_t *code = encode(&c, &len);
        for (int flips = 1 + round % 3; flips; flips--)
            code[um_random_below(&rng, round % 2  ? len
                                       : len < 40 ? len
                                                  : 40)] ^=
                (uint8_t)(1u << um_random_below(&rng, 8));
        if (decode(code, len, &back)) {
            uint8_t *same = encode(&back, &again);
            /* The envelope checks the bits after the last cell. */
            bool padded =
                bits == 1 ? false : um_packed_bytes(&back) * 8 != back.n * bits;
            if (!padded || same[0] != 0) {
                assert_int_equal(again, len);
                assert_memory_equal(same, code, len);
            }
            taken++;
            free(same);
        }
        free(code);
        free(c.at);
        free(back.at);
    }
    assert_true(taken > 0); /* plain codes always decode */
}

/* Uses instructions that this machine may lack, in emulation. */
extern const um_rans_variant um_emulated_rans_avx512;

/* Returns the i-th variant, the emulated one last; NULL after that. */
static const um_rans_variant *variant(size_t i)
{
    size_t n = 0;

    while (um_rans_variant_row(n))
        n++;
    return i == n  ? &um_emulated_rans_avx512
           : i < n ? um_rans_variant_row(i)
                   : NULL;
}

static void every_way_to_decode_rows_gives_the_same(void **state)
{
    enum { N = 300007 };
    um_rng rng = {3};
    uint64_t weight[256];
    um_freqs f;
    uint8_t *symbols = malloc(N), *out = malloc(N), *code = malloc(2 * N);
    um_rans_encoder e;
    um_rans_decoder d;

    (void)state;
    for (int s = 0; s < 256; s++)
        weight[s] = 1 + um_random(&rng) % 1000 * (um_random(&rng) % 50 == 0);
    um_freqs_fit(&f, weight);
    for (size_t i = 0; i < N; i++) {
        uint64_t dice = um_random_below(&rng, UM_RANS_SUM), s = 0;
        for (; dice >= f.of[s]; s++)
            dice -= f.of[s];
        symbols[i] = (uint8_t)s;
    }
    um_rans_encoder_init(&e, &f, N, code, 2 * N);
    for (size_t left = N; left;) {
        size_t n = (left - 1) % UM_RANS_PIECE + 1;
        um_rans_append(&e, symbols + (left -= n), n);
    }
    size_t len = (size_t)um_rans_finish(&e);
    assert_true(len > 0);
    const um_rans_variant *v;
    for (size_t i = 0; (v = variant(i)); i++) {
        if (!v->usable())
            continue;
        memset(out, 0xAA, N);
        um_rans_decoder_init(&d, &f, N, e.at, e.at + len);
        d.rows = v->rows;
        for (size_t at = 0; at < N; at += 4096)
            um_rans_get(&d, out + at, N - at < 4096 ? N - at : 4096);
        assert_ptr_equal(um_rans_end(&d), e.at + len);
        assert_memory_equal(out, symbols, N);
    }
    free(symbols);
    free(out);
    free(code);
}

static void frequencies_add_up_and_leave_nobody_out(void **state)
{
    um_rng rng = {8};

    (void)state;
    for (int round = 0; round < 3000; round++) {
        uint64_t weight[256] = {0};
        um_freqs f;
        unsigned sum = 0;
        for (int s = 0; s < 256; s++)
            if (round % 2 || um_random(&rng) % 4 == 0)
                weight[s] = um_random(&rng) >> (16 + um_random(&rng) % 47);
        weight[round % 256] |= 1;
        um_freqs_fit(&f, weight);
        for (int s = 0; s < 256; s++) {
            assert_int_equal(f.of[s] > 0, weight[s] > 0);
            sum += f.of[s];
        }
        assert_int_equal(sum, UM_RANS_SUM);
    }
}

/* --- changes ---------------------------------------------------------------
 */

static size_t change_trip(const um_packed *old, const um_packed *now)
{
    size_t cap = um_packed_bytes(now) * 4 + 16384;
    uint8_t *out = malloc(cap);
    um_writer w = {out, out + cap, false}, nowhere = {NULL, NULL, false};
    um_packed back = create(now->n, now->bits);
    uint64_t len = 0, counted = 0;

    assert_true(um_changes_encode(&w, old, now, &len));
    assert_int_equal(w.at - out, len);
    assert_true(um_changes_encode(&nowhere, old, now, &counted));
    assert_int_equal(counted, len);
    memcpy(back.at, old->at, um_packed_bytes(old));
    um_reader r = {out, out + len, false};
    assert_true(um_changes_decode(&r, old, &back));
    assert_ptr_equal(r.at, r.end);
    assert_memory_equal(back.at, now->at, um_packed_bytes(now) + 64);
    free(back.at);
    free(out);
    return (size_t)len;
}

static void changes_of_cells_come_back(void **state)
{
    static const unsigned widths[] = {1, 2, 3, 4, 8, 13, 32, 63, 64};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(widths); i++)
        for (int share = 0; share < 4; share++) {
            um_packed old = random_cells(5001, widths[i], 0.6, i);
            um_packed now = random_cells(5001, widths[i], 0.6, i);
            um_rng rng = {i};
            for (uint64_t j = 0; share && j < now.n; j++)
                if (um_random(&rng) % 64 < 1u << 2 * share)
                    um_packed_set(&now, j,
                                  um_random(&rng) & um_packed_max(&now));
            change_trip(&old, &now);
            free(old.at);
            free(now.at);
        }
}

static double flips_shannon(const um_packed *old, const um_packed *now)
{
    double m[2] = {0}, flips[2] = {0}, bits = 0;

    for (uint64_t i = 0; i < old->n; i++) {
        bool v = um_bit(old->at, i);
        m[v]++;
        flips[v] += v != um_bit(now->at, i);
    }
    for (int v = 0; v < 2; v++) {
        double p = flips[v] / m[v];
        bits -= m[v] * (p * log2(p) + (1 - p) * log2(1 - p));
    }
    return bits / 8;
}

static void flips_take_little_more_than_they_must(void **state)
{
    um_packed old = random_bits(14400000, 0.5, 1), now = create(old.n, 1);
    um_rng rng = {2};

    (void)state;
    memcpy(now.at, old.at, um_packed_bytes(&old));
    for (uint64_t i = 0; i < now.n; i++)
        if (um_random(&rng) % 1000 < (um_bit(old.at, i) ? 5u : 14u))
            now.at[i / 8] ^= (uint8_t)(1u << i % 8);
    double least = flips_shannon(&old, &now);
    assert_true((double)change_trip(&old, &now) < 1.005 * least + 256);
    free(old.at);
    free(now.at);
}

/* Flips every bit of a short code. */
static void damaged_changes_stay_inside(void **state)
{
    static const unsigned widths[] = {1, 4};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(widths); i++) {
        um_packed old = random_cells(900, widths[i], 0.5, 1);
        um_packed now = random_cells(900, widths[i], 0.5, 2);
        uint8_t out[8192];
        um_writer w = {out, out + sizeof out, false};
        uint64_t len = 0;
        assert_true(um_changes_encode(&w, &old, &now, &len));
        for (size_t bit = 0; bit < 8 * len; bit++) {
            um_packed back = create(now.n, now.bits);
            memcpy(back.at, old.at, um_packed_bytes(&old));
            uint8_t *copy = malloc(len);
            memcpy(copy, out, len);
            copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
            um_reader r = {copy, copy + len, false};
            bool fine = um_changes_decode(&r, &old, &back) && r.at == r.end;
            assert_true(!fine ||
                        memcmp(back.at, now.at, um_packed_bytes(&now)) != 0);
            free(copy);
            free(back.at);
        }
        free(old.at);
        free(now.at);
    }
}

static void varints_are_as_short_as_they_can_be(void **state)
{
    static const uint64_t numbers[] = {0,     1,     127,        128,
                                       16383, 16384, UINT32_MAX, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(numbers); i++) {
        uint8_t out[16] = {0};
        um_writer w = {out, out + sizeof out, false};
        um_write_varint(&w, numbers[i]);
        um_reader r = {out, w.at, false};
        assert_true(um_get_varint(&r) == numbers[i] && !r.bad && r.at == w.at);
        w.at[-1] |= 0x80; /* overlong: the same with a zero byte after it */
        r = (um_reader){out, w.at + 1, false};
        um_get_varint(&r);
        assert_true(r.bad);
        r = (um_reader){out, w.at, false};
        um_get_varint(&r);
        assert_true(r.bad);
    }
}

TEST_GROUP(coding)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_at_once_are_cells_one_by_one),
        cmocka_unit_test_setup(bits_of_any_density_come_back,
                               by_the_first_rule),
        cmocka_unit_test_setup(bits_of_any_density_come_back,
                               by_the_rule_of_now),
        cmocka_unit_test_setup(cells_of_any_width_come_back, by_the_first_rule),
        cmocka_unit_test_setup(cells_of_any_width_come_back,
                               by_the_rule_of_now),
        cmocka_unit_test(bits_take_little_more_than_they_must),
        cmocka_unit_test(small_filters_take_little_more_than_they_must),
        cmocka_unit_test(counts_take_little_more_than_they_must),
        cmocka_unit_test_setup(the_way_follows_from_the_cells,
                               by_the_first_rule),
        cmocka_unit_test_setup(the_way_follows_from_the_cells,
                               by_the_rule_of_now),
        cmocka_unit_test_setup(a_code_that_is_cut_or_longer_is_refused,
                               by_the_first_rule),
        cmocka_unit_test_setup(a_code_that_is_cut_or_longer_is_refused,
                               by_the_rule_of_now),
        cmocka_unit_test_setup(nothing_is_taken_that_would_not_be_written,
                               by_the_first_rule),
        cmocka_unit_test_setup(nothing_is_taken_that_would_not_be_written,
                               by_the_rule_of_now),
        cmocka_unit_test(every_way_to_decode_rows_gives_the_same),
        cmocka_unit_test(frequencies_add_up_and_leave_nobody_out),
        cmocka_unit_test(changes_of_cells_come_back),
        cmocka_unit_test(flips_take_little_more_than_they_must),
        cmocka_unit_test(damaged_changes_stay_inside),
        cmocka_unit_test(varints_are_as_short_as_they_can_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
