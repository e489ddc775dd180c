/*
 * code.c - decodes arbitrary bytes as coded cells.
 *
 * The input is two bytes of shape and a code. Coded files carry the checksum of
 * the decoded cells, which a fuzzer cannot guess, so the decoder is called
 * directly, below that check. Each array of cells has exactly one code, so an
 * accepted code must equal what the encoder writes. If bit 7 is set, the input
 * is cells instead of a code; encoding and decoding must return the same cells.
 *
 *   byte 0   0-2 width of cells   3 many cells   4 pad with ones, not zeros
 *            5 repeat the input   6 current code version, not version 1
 *            7 cells follow
 *   byte 1   number of cells, in steps, minus one
 *
 * Bits 4 and 5 apply to cells only. Inputs with many cells take milliseconds
 * and run once in 64.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 8, NOW = 64, CELLS = 128 };

/*
 * Returns the code version that the shape selects. The current version codes
 * small arrays, which are most arrays here, adaptively.
 */
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
