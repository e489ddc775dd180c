/*
 * code.c - codes of cells from anyone: cells, or a refusal.
 *
 * The input is two bytes of shape and a code. Coded files carry the checksum of
 * what they decode to, which no fuzzer guesses; here the decoders are called
 * below it. Cells have one code, so a code that is accepted is the one that the
 * encoder writes. Odd shapes come with cells instead of a code: these must come
 * back.
 *
 *   byte 0   0-2 width of cells   3 many   4 ones behind the input, not zeros
 *            5 the input again and again   6 the present rule, not version 1
 *            7 cells follow
 *   byte 1   cells, in steps, and one
 *
 * Bits 4 and 5 are for cells. Many cells take milliseconds, and are tried for
 * one input in 64.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 8, NOW = 64, CELLS = 128 };

/* Both rules: most cells here are few, which the second codes adaptively. */
static um_code_version rule_of(const uint8_t *shape)
{
    return shape[0] & NOW ? UM_CODE_NOW : UM_CODE_V1;
}

static size_t encode(const um_packed *c, um_code_version rule, uint8_t **out)
{
    *out = malloc(um_code_max(c) + UM_CODE_SPACE);
    if (!*out)
        abort();
    size_t len = um_code_encode(c, rule, *out);
    UM_WANT(len <= um_code_max(c));
    if (um_fuzz_one_in(8, *out, len))
        UM_WANT(len == um_code_len(c, rule));
    return len;
}

static void check_code(const uint8_t *shape, const uint8_t *code, size_t len)
{
    um_packed c = um_fuzz_cells(shape);
    uint8_t *again;

    if (um_code_decode(code, len, rule_of(shape), &c)) {
        size_t same = encode(&c, rule_of(shape), &again);
        UM_WANT(same == len && memcmp(again, code, len) == 0);
        free(again);
    }
    free(c.at);
}

static void check_cells(const uint8_t *shape, const uint8_t *data, size_t len)
{
    um_packed c = um_fuzz_cells(shape), back = um_fuzz_cells(shape);
    uint8_t *code;

    um_fuzz_fill(&c, shape[0], data, len);
    len = encode(&c, rule_of(shape), &code);
    UM_WANT(um_code_decode(code, len, rule_of(shape), &back));
    UM_WANT(memcmp(c.at, back.at, um_packed_bytes(&c)) == 0);
    free(code);
    free(back.at);
    free(c.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < UM_FUZZ_SHAPE ||
        (data[0] & MANY && !um_fuzz_one_in(64, data, len)))
        return 0;
    if (data[0] & CELLS)
        check_cells(data, data + UM_FUZZ_SHAPE, len - UM_FUZZ_SHAPE);
    else
        check_code(data, data + UM_FUZZ_SHAPE, len - UM_FUZZ_SHAPE);
    return 0;
}
