/*
 * misuse.c - encoders that get other numbers than were counted, or too little
 * space; decoders that get codes of other cells.
 *
 * A mapped filter may change while it is coded, so an encoder must detect that.
 */
#include "support/test.h"

#include "coding/internal.h"
#include "coding/section.h"

#include <stdlib.h>
#include <string.h>

enum { N = 2000 };

/* --- rANS --- */

static um_freqs two_symbols(void)
{
    uint64_t weight[256] = {3, 5};
    um_freqs f;

    um_freqs_fit(&f, weight);
    return f;
}

static void a_piece_is_never_larger_than_agreed(void **state)
{
    static const uint8_t symbols[2 * UM_RANS_PIECE] = {0};
    um_freqs f = two_symbols();
    um_rans_encoder e;

    (void)state;
    um_rans_encoder_init(&e, &f, 3 * UM_RANS_PIECE, NULL, 0);
    um_rans_append(&e, symbols, UM_RANS_PIECE + 1);
    assert_true(e.bad);
    um_rans_append(&e, symbols, 1); /* an encoder stays bad */
    assert_true(e.bad);
    assert_int_equal(um_rans_finish(&e), 0);
}

static void no_more_symbols_are_coded_than_announced(void **state)
{
    static const uint8_t symbols[8] = {0};
    um_freqs f = two_symbols();
    um_rans_encoder e;

    (void)state;
    um_rans_encoder_init(&e, &f, 7, NULL, 0);
    um_rans_append(&e, symbols, 8);
    assert_true(e.bad);
    um_rans_encoder_init(&e, &f, 9, NULL, 0);
    um_rans_append(&e, symbols, 8);
    assert_false(e.bad);
    assert_int_equal(um_rans_finish(&e), 0); /* one is missing */
}

static void a_symbol_without_a_frequency_is_refused(void **state)
{
    static const uint8_t symbols[] = {0, 1, 2};
    um_freqs f = two_symbols();
    um_rans_encoder e;

    (void)state;
    um_rans_encoder_init(&e, &f, 3, NULL, 0);
    um_rans_append(&e, symbols, 3);
    assert_int_equal(um_rans_finish(&e), 0);
}

/* Checks that only space for the whole code suffices. */
static void too_little_room_is_noticed(void **state)
{
    uint8_t symbols[UM_RANS_PIECE], out[4 * UM_RANS_PIECE];
    um_freqs f = two_symbols();
    um_rans_encoder e;
    size_t fits = 0;

    (void)state;
    for (size_t i = 0; i < sizeof symbols; i++)
        symbols[i] = i % 3 == 0;
    um_rans_encoder_init(&e, &f, sizeof symbols, NULL, 0);
    um_rans_append(&e, symbols, sizeof symbols);
    uint64_t len = um_rans_finish(&e);
    assert_true(len > 0);
    for (size_t room = 0; room <= sizeof out; room++) {
        um_rans_encoder_init(&e, &f, sizeof symbols, out, room);
        um_rans_append(&e, symbols, sizeof symbols);
        uint64_t got = um_rans_finish(&e);
        assert_true(got == 0 || (got == len && room >= len));
        fits += got > 0;
    }
    assert_true(fits > 0);
    for (size_t room = 2; room < 6; room++) { /* a word, perhaps no state */
        um_rans_encoder_init(&e, &f, 1, out, room);
        um_rans_append(&e, symbols, 1);
        assert_int_equal(um_rans_finish(&e) > 0, room >= 4);
    }
}

/* --- values --- */

typedef struct numbers {
    uint64_t of[N];
    size_t n, at;
} numbers;

static size_t before(void *self, uint64_t out[UM_VALUES_PIECE])
{
    numbers *x = self;
    size_t left = x->n - x->at;
    size_t some = left < UM_VALUES_PIECE ? left : UM_VALUES_PIECE;

    for (size_t i = 0; i < some; i++)
        out[i] = x->of[x->n - 1 - x->at - i];
    x->at = some ? x->at + some : 0;
    return some;
}

static bool encodes(numbers *x, const um_values_count *count, size_t room)
{
    um_values_from from = {before, x};
    uint8_t *out = malloc(room + 1);
    um_writer w = {out, out + room, false};
    uint64_t len = 0;

    assert_non_null(out);
    bool fine = um_values_encode(&w, &from, count, &len);
    if (fine)
        assert_int_equal(len, w.at - out);
    free(out);
    return fine;
}

static void numbers_that_changed_since_counting_are_refused(void **state)
{
    numbers *x = calloc(1, sizeof *x);
    um_values_from from = {before, x};
    um_values_count count;
    size_t room = 20 * N;

    (void)state;
    assert_non_null(x);
    x->n = N;
    for (size_t i = 0; i < N; i++)
        x->of[i] = i % 40 * 100;
    um_values_count_all(&from, &count);
    assert_true(encodes(x, &count, room));
    x->of[7] = UINT64_MAX; /* a different token with more bits */
    assert_false(encodes(x, &count, room));
    for (size_t i = 0; i < N; i++)
        x->of[i] = 3900; /* a known token with more bits than counted */
    assert_false(encodes(x, &count, room));
    for (size_t i = 0; i < N; i++)
        x->of[i] = 100; /* fewer bits */
    assert_false(encodes(x, &count, room));
    x->n--; /* fewer numbers */
    for (size_t i = 0; i < N; i++)
        x->of[i] = i % 40 * 100;
    assert_false(encodes(x, &count, room));
    free(x);
}

static void values_fit_or_are_refused(void **state)
{
    numbers *x = calloc(1, sizeof *x);
    um_values_from from = {before, x};
    um_values_count count;
    bool fits = false;

    (void)state;
    assert_non_null(x);
    x->n = N;
    for (size_t i = 0; i < N; i++)
        x->of[i] = i * 977 % 5000;
    um_values_count_all(&from, &count);
    for (size_t room = 0; room < 20 * N; room += room < 1200 ? 1 : 97) {
        bool now = encodes(x, &count, room);
        assert_true(now || !fits); /* more space never fails */
        fits = now;
    }
    assert_true(fits);
    x->n = 0; /* a count of zero takes one byte */
    um_values_count_all(&from, &count);
    assert_false(encodes(x, &count, 0));
    assert_true(encodes(x, &count, 1));
    free(x);
}

/* --- cells --- */

static um_packed cells(uint64_t n, unsigned bits, uint64_t step)
{
    um_packed c = {.n = n, .bits = bits};

    c.at = calloc(1, um_packed_bytes(&c) + 64);
    assert_non_null(c.at);
    for (uint64_t i = 0; i < n; i++)
        um_packed_set(&c, i, step && i % step == 0 ? um_packed_max(&c) : 0);
    return c;
}

/* Decodes the code of wide cells as that of narrower ones. */
static void values_that_cells_cannot_hold_are_refused(void **state)
{
    (void)state;
    for (uint64_t step = 2; step < 300; step *= 3) {
        um_packed wide = cells(N, 8, step), narrow = cells(N, 4, 0);
        uint8_t *code = malloc(um_code_max(&wide) + UM_CODE_SPACE);
        assert_non_null(code);
        size_t len = um_code_encode(&wide, UM_CODE_NOW, code);
        assert_true(um_code_decode(code, len, UM_CODE_NOW, &narrow) == false);
        free(code);
        free(wide.at);
        free(narrow.at);
    }
}

static void codes_that_say_nothing_sensible_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"", 0},             /* nothing */
        {"\1", 1},           /* bits without a probability */
        {"\1\0", 2},         /* half a probability */
        {"\1\0\0\0\0\0", 6}, /* probability 0 */
        {"\1\1\0\0", 4},     /* no states */
        {"\1\377\377\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0", 19}, /* wrong bits */
        {"\2", 1},   /* gaps without a count */
        {"\3", 1},   /* values without a count */
        {"\3\1", 2}, /* a value without a model */
        {"\3\1\0\1\377\377\377\377\377\377\377\377\377\1", 14}, /* a string of
                                                                 2^64 bits */
        {"\4", 1},                                 /* holes without a count */
        {"\5", 1},                                 /* adaptive without a code */
        {"\5\377\377\377\377\377\377\377\377", 9}, /* after the last code */
        {"\6", 1},                                 /* unknown method */
    };

    (void)state;
    for (unsigned bits = 1; bits <= 4; bits += 3)
        for (size_t i = 0; i < TEST_COUNT(bad); i++) {
            um_packed c = cells(N, bits, 0);
            uint8_t *exact = malloc(bad[i].len + 1);
            assert_non_null(exact);
            memcpy(exact, bad[i].bytes, bad[i].len);
            assert_false(um_code_decode(exact, bad[i].len, UM_CODE_V1, &c));
            free(c.at);
            c = cells(N, bits, 0);
            assert_false(um_code_decode(exact, bad[i].len, UM_CODE_NOW, &c));
            free(exact);
            free(c.at);
        }
}

TEST_GROUP(misuse)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_is_never_larger_than_agreed),
        cmocka_unit_test(no_more_symbols_are_coded_than_announced),
        cmocka_unit_test(a_symbol_without_a_frequency_is_refused),
        cmocka_unit_test(too_little_room_is_noticed),
        cmocka_unit_test(numbers_that_changed_since_counting_are_refused),
        cmocka_unit_test(values_fit_or_are_refused),
        cmocka_unit_test(values_that_cells_cannot_hold_are_refused),
        cmocka_unit_test(codes_that_say_nothing_sensible_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
