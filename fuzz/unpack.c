/*
 * unpack.c - arbitrary compressed files, in pieces of any size.
 *
 * The input is the length of a piece of input, minus 1, that of the output, and
 * the file.
 */
#include "fuzz.h"

#include "base/hash.h"
#include "keylist/internal.h"

#include <stdlib.h>
#include <string.h>

/* FEW: a bomb is slow, so only tests decompress it as far as it is allowed. */
enum { HEAD = 2, MAX_OUT = 1 << 16, FEW = 1 << 20 };

typedef struct outcome {
    uint64_t len, hash;
    const char *wrong; /* or NULL */
} outcome;

/* Decompresses all of it, in pieces. */
static outcome unpack_all(const uint8_t *bytes, size_t len, size_t step,
                          size_t cap)
{
    static uint8_t out[MAX_OUT];
    outcome o = {0};
    um_unpacker *u = NULL;
    size_t at = 0, got;
    umbel_error err;

    UM_WANT(um_unpack_open(bytes, len, &u, &err) == UMBEL_OK);
    if (!u)
        return o;
    uint8_t *copy = malloc(len);
    UM_WANT(copy);
    memcpy(copy, bytes, len);
    while (!(o.wrong = um_unpack_wrong(u)) &&
           (at < len || um_unpack_has_more(u))) {
        size_t some = len - at < step ? len - at : step;
        um_span in = {copy + at, some};
        got = um_unpack_some(u, &in, out, cap);
        UM_WANT(got <= cap && in.len <= some);
        UM_WANT(got || in.len == 0 || um_unpack_wrong(u));
        at += some - in.len;
        o.len += got;
        for (size_t i = 0; i < got; i++)
            o.hash = (o.hash ^ out[i]) * UINT64_C(0x100000001B3);
        if (!um_fuzz_thorough && o.len > FEW)
            break;
        UM_WANT(o.len <= UM_UNPACK_FREE + cap ||
                o.len <= (uint64_t)UM_UNPACK_TIMES * (at + 1) + cap);
    }
    if (!o.wrong)
        o.wrong = um_unpack_cut(u);
    UM_WANT(*um_unpack_format(u));
    um_unpack_close(u);
    free(copy);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < HEAD)
        return 0;
    const uint8_t *file = data + HEAD;
    outcome whole = unpack_all(file, len - HEAD, len, MAX_OUT);
    outcome pieces = unpack_all(file, len - HEAD, (size_t)data[0] + 1,
                                ((size_t)data[1] + 1) * 64);

    /* libzstd checks more if a frame arrives at once, and how many bytes come
     * before the damage depends on the pieces. */
    if (whole.wrong ||
        (!um_fuzz_thorough && (whole.len > FEW || pieces.len > FEW)))
        return 0;
    UM_WANT(!pieces.wrong);
    UM_WANT(whole.len == pieces.len && whole.hash == pieces.hash);
    return 0;
}
