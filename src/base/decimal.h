/*
 * decimal.h - unsigned decimal numbers in text.
 *
 * Only digits: no sign, no white space, no exponent. strtoull accepts signs and
 * white space, and wraps negative numbers.
 */
#ifndef UM_BASE_DECIMAL_H
#define UM_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads the digits at the start of text and returns how many there are. *out is
 * UINT64_MAX if the number is larger, and 0 without digits.
 */
static inline size_t um_decimal_scan(const void *text, size_t len,
                                     uint64_t *out)
{
    const uint8_t *at = text;
    uint64_t x = 0;
    size_t n = 0;

    for (; n < len && at[n] >= '0' && at[n] <= '9'; n++) {
        unsigned digit = at[n] - '0';
        x = x > (UINT64_MAX - digit) / 10 ? UINT64_MAX : x * 10 + digit;
    }
    *out = x;
    return n;
}

/*
 * Parses text, all of it, as a number from 0 to max. Returns false and leaves
 * *out unchanged if text is empty, is not a number or exceeds max.
 */
static inline bool um_decimal_read(const void *text, size_t len, uint64_t max,
                                   uint64_t *out)
{
    const uint8_t *at = text;
    uint64_t x = 0, tens = max / 10, ones = max % 10;

    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)at[i] - '0';
        if (digit > 9 || x > tens || (x == tens && digit > ones))
            return false;
        x = x * 10 + digit;
    }
    if (len)
        *out = x;
    return len > 0;
}

/* Parses a NUL-terminated text as um_decimal_read does. */
static inline bool um_decimal_parse(const char *text, uint64_t max,
                                    uint64_t *out)
{
    return um_decimal_read(text, strlen(text), max, out);
}

#endif
