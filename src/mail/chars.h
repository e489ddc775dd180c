/*
 * chars.h - characters of UTF-8 text, with Python's idea of white space and of
 * lines, because the Pyzor client is written in Python.
 */
#ifndef UM_MAIL_CHARS_H
#define UM_MAIL_CHARS_H

#include "base/buffer.h"
#include "base/text.h"

#include <stdbool.h>

typedef struct um_char {
    uint32_t code;
    unsigned len; /* bytes */
} um_char;

/* The character at s, of left > 0 bytes. A byte that is not UTF-8 is one
 * character, U+FFFD. */
static inline um_char um_char_at(const uint8_t *s, size_t left)
{
    static const uint8_t mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};

    if (*s < 0x80)
        return (um_char){*s, 1};
    size_t len = um_utf8_len(s, left);
    if (!len)
        return (um_char){0xfffd, 1};
    uint32_t code = *s & mask[len];
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (s[i] & 0x3f);
    return (um_char){code, (unsigned)len};
}

/* str.isspace, and \s of re */
static inline bool um_char_is_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* str.splitlines; CR LF is then two ends, with an empty line between. */
static inline bool um_char_ends_line(uint32_t c)
{
    return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 ||
           c == 0x2028 || c == 0x2029;
}

/* Appends a character as UTF-8; at most four bytes, which
 * must be reserved. */
static inline void um_append_char(um_buffer *b, uint32_t c)
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

#endif
