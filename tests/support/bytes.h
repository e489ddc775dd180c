/* bytes.h - a sink and a feed in memory, in place of files. */
#ifndef UM_TESTS_BYTES_H
#define UM_TESTS_BYTES_H

#include "support/test.h"

#include <string.h>

typedef struct bytes {
    uint8_t *at;
    size_t len, cap; /* of a sink, which is full at cap */
    size_t pos;      /* position of a feed */
} bytes;

static inline umbel_status write_bytes(void *ctx, const void *data, size_t len,
                                       umbel_error *err)
{
    bytes *b = ctx;

    if (len > b->cap - b->len) {
        err->status = UMBEL_E_IO;
        strcpy(err->text, "disk full");
        return UMBEL_E_IO;
    }
    memcpy(b->at + b->len, data, len);
    b->len += len;
    return UMBEL_OK;
}

static inline umbel_status read_bytes(void *ctx, void *out, size_t len,
                                      umbel_error *err)
{
    bytes *b = ctx;

    (void)err;
    assert_true(len <= b->len - b->pos);
    memcpy(out, b->at + b->pos, len);
    b->pos += len;
    return UMBEL_OK;
}

#endif
