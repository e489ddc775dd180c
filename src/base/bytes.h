/*
 * bytes.h - bounded little-endian reader and writer.
 *
 * A bad read or write sets a flag, so a parser can run to its end and check
 * once.
 */
#ifndef UM_BASE_BYTES_H
#define UM_BASE_BYTES_H

#include "base/bits.h"

#include <stddef.h>

typedef struct um_reader {
    const uint8_t *at, *end;
    bool bad; /* a read went past the end */
} um_reader;

typedef struct um_writer {
    uint8_t *at, *end;
    bool bad; /* a write did not fit */
} um_writer;

static inline bool um_all_zero(const void *from, size_t len)
{
    const uint8_t *at = from;

    return !len || (!at[0] && memcmp(at, at + 1, len - 1) == 0);
}

static inline void um_get_bytes(um_reader *r, void *out, size_t len)
{
    if ((size_t)(r->end - r->at) < len) {
        r->bad = true;
        memset(out, 0, len);
        return;
    }
    memcpy(out, r->at, len);
    r->at += len;
}

static inline uint64_t um_get_u64(um_reader *r)
{
    uint64_t x;
    um_get_bytes(r, &x, sizeof x);
    return um_le64(x);
}

static inline uint32_t um_get_u32(um_reader *r)
{
    uint8_t b[4];
    um_get_bytes(r, b, sizeof b);
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

static inline double um_get_f64(um_reader *r)
{
    uint64_t x = um_get_u64(r);
    double d;
    memcpy(&d, &x, sizeof d);
    return d;
}

static inline void um_write_bytes(um_writer *w, const void *data, size_t len)
{
    if ((size_t)(w->end - w->at) < len) {
        w->bad = true;
        return;
    }
    memcpy(w->at, data, len);
    w->at += len;
}

static inline void um_write_u64(um_writer *w, uint64_t x)
{
    x = um_le64(x);
    um_write_bytes(w, &x, sizeof x);
}

static inline void um_write_u32(um_writer *w, uint32_t x)
{
    uint8_t b[4] = {(uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16),
                    (uint8_t)(x >> 24)};
    um_write_bytes(w, b, sizeof b);
}

static inline void um_write_f64(um_writer *w, double d)
{
    uint64_t x;
    memcpy(&x, &d, sizeof x);
    um_write_u64(w, x);
}

#endif
