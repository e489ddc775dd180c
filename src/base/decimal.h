/*
 * decimal.h - unsigned decimal numbers in text.
 *
 * Digits and nothing else: no sign, no white space, no exponent. strtoull
 * accepts all of these and wraps negative numbers.
 */
#ifndef UM_BASE_DECIMAL_H
#define UM_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads the digits that text begins with; returns their number. Above
 * UINT64_MAX *out is UINT64_MAX, without digits 0.
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
 * Reads a number from 0 to max, which is all of text. Returns false, and leaves
 * *out as it is, if text is empty, is not a number or exceeds max.
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

/* The same, of a text that ends with a NUL. */
static inline bool um_decimal_parse(const char *text, uint64_t max,
                                    uint64_t *out)
{
    return um_decimal_read(text, strlen(text), max, out);
}

#endif
