/*
 * bytes.h - a buffer that grows, for decoders that ask for room before they
 * write and then write without looking.
 */
#ifndef UM_MAIL_BYTES_H
#define UM_MAIL_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct um_bytes {
    uint8_t *data;
    size_t len, cap;
} um_bytes;

/* Makes room for more bytes behind the last; false: no memory. */
static inline bool um_bytes_room(um_bytes *b, size_t more)
{
    size_t cap = b->len + more;
    uint8_t *bigger;

    if (cap <= b->cap && b->data)
        return true;
    cap += cap / 4 + 64;
    bigger = realloc(b->data, cap);
    if (!bigger)
        return false;
    b->data = bigger;
    b->cap = cap;
    return true;
}

static inline void um_bytes_append(um_bytes *b, const void *data, size_t len)
{
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

/* Appends a character as UTF-8; at most four bytes. */
static inline void um_bytes_append_char(um_bytes *b, uint32_t c)
{
    uint8_t *at = b->data + b->len;

    if (c < 0x80) {
        at[0] = (uint8_t)c;
        b->len += 1;
    } else if (c < 0x800) {
        at[0] = (uint8_t)(0xc0 | c >> 6);
        at[1] = (uint8_t)(0x80 | (c & 0x3f));
        b->len += 2;
    } else if (c < 0x10000) {
        at[0] = (uint8_t)(0xe0 | c >> 12);
        at[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        at[2] = (uint8_t)(0x80 | (c & 0x3f));
        b->len += 3;
    } else {
        at[0] = (uint8_t)(0xf0 | c >> 18);
        at[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        at[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        at[3] = (uint8_t)(0x80 | (c & 0x3f));
        b->len += 4;
    }
}

/* Gives back what a large mail needed. */
static inline void um_bytes_trim(um_bytes *b, size_t most)
{
    b->len = 0;
    if (b->cap > most) {
        free(b->data);
        *b = (um_bytes){0};
    }
}

static inline void um_bytes_fini(um_bytes *b)
{
    free(b->data);
    *b = (um_bytes){0};
}

#endif
