/*
 * code.c - codes of cells from anyone: cells, or a refusal.
 *
 * The input is two bytes of shape and a code. Coded files carry the checksum of
 * what they decode to, which no fuzzer guesses; here the decoders are called
 * below it. Cells have one code, so a code that is accepted is the one that the
 * encoder writes. Odd shapes come with cells instead of a code: these must come
 * back.
 *
 *   byte 0   bits of a cell: 1, 2, 3, 4, 8, 13, 32, 64; bit 7: cells follow
 *   byte 1   cells, in steps of 5, and one
 */
#include "fuzz.h"

#include "coding/code.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPE = 2, STEP = 5 };

/* Words with zeros behind the last cell, as decoders want them. */
static um_packed new_cells(const uint8_t *shape)
{
    static const unsigned bits[] = {1, 2, 3, 4, 8, 13, 32, 64};
    um_packed c = {.n = 1 + (uint64_t)STEP * shape[1],
                   .bits = bits[shape[0] & 7]};

    c.at = calloc((um_packed_bytes(&c) + 15) / 8, 8);
    if (!c.at)
        abort();
    return c;
}

/* Both rules: most cells here are few, which the second codes adaptively. */
static um_code_version rule_of(const uint8_t *shape)
{
    return shape[0] & 64 ? UM_CODE_NOW : UM_CODE_V1;
}

static size_t encode(const um_packed *c, um_code_version rule, uint8_t **out)
{
    *out = malloc(um_code_most(c) + UM_CODE_ROOM);
    if (!*out)
        abort();
    size_t len = um_code_encode(c, rule, *out);
    UM_WANT(len <= um_code_most(c));
    if (um_fuzz_one_in(8, *out, len))
        UM_WANT(len == um_code_len(c, rule));
    return len;
}

static void check_code(const uint8_t *shape, const uint8_t *code, size_t len)
{
    um_packed c = new_cells(shape);
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
    um_packed c = new_cells(shape), back = new_cells(shape);
    uint64_t bytes = um_packed_bytes(&c);
    uint8_t *code;

    memcpy(c.at, data, len < bytes ? len : bytes);
    if (c.n * c.bits % 8)
        c.at[bytes - 1] &= (uint8_t)((1u << c.n * c.bits % 8) - 1);
    len = encode(&c, rule_of(shape), &code);
    UM_WANT(um_code_decode(code, len, rule_of(shape), &back));
    UM_WANT(memcmp(c.at, back.at, bytes) == 0);
    free(code);
    free(back.at);
    free(c.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < SHAPE)
        return 0;
    if (data[0] & 128)
        check_cells(data, data + SHAPE, len - SHAPE);
    else
        check_code(data, data + SHAPE, len - SHAPE);
    return 0;
}
