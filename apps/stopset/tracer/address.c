/*
 * address.c - IPv4 and IPv6 addresses, and their prefixes.
 *
 * IPv4 has code of its own: readers parse, and queries format, millions of
 * addresses, and inet_pton takes five times as long.
 */
#include "stopset/tracer/address.h"

#include "base/decimal.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t load_be(const uint8_t *bytes, size_t len)
{
    uint64_t x = 0;

    for (size_t i = 0; i < len; i++)
        x = x << 8 | bytes[i];
    return x;
}

ss_addr ss_addr_from_bytes(const uint8_t *bytes, size_t len)
{
    if (len == 4)
        return ss_addr_v4((uint32_t)load_be(bytes, 4));
    return (ss_addr){load_be(bytes, 8), load_be(bytes + 8, 8)};
}

void ss_addr_to_bytes(ss_addr a, uint8_t out[16])
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(a.hi >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(a.lo >> (56 - 8 * i));
    }
}

/* The first bits of a word, 0 to 64 of them. */
static uint64_t retain_first(uint64_t word, unsigned bits)
{
    return bits == 0 ? 0 : bits >= 64 ? word : word & ~(UINT64_MAX >> bits);
}

ss_addr ss_addr_mask(ss_addr a, ss_prefix_len len)
{
    unsigned bits = ss_addr_is_v4(a) ? 96u + len.v4 : len.v6;

    a.hi = retain_first(a.hi, bits);
    a.lo = retain_first(a.lo, bits > 64 ? bits - 64 : 0);
    return a;
}

/* Parses a number of one to three digits, at most 255; NULL: there is none. */
static const char *parse_part(const char *at, const char *end, uint32_t *out)
{
    uint64_t part;
    size_t digits =
        um_decimal_scan(at, end - at < 3 ? (size_t)(end - at) : 3, &part);

    *out = (uint32_t)part;
    return digits == 0 || part > 255 ? NULL : at + digits;
}

static bool parse_v4(const char *text, size_t len, ss_addr *out)
{
    const char *end = text + len;
    uint32_t address = 0, part;

    for (unsigned i = 0; i < 4; i++) {
        if (i && (text == end || *text++ != '.'))
            return false;
        text = parse_part(text, end, &part);
        if (!text)
            return false;
        address = address << 8 | part;
    }
    *out = ss_addr_v4(address);
    return text == end;
}

bool ss_addr_parse(const char *text, size_t len, ss_addr *out)
{
    char copy[SS_ADDR_TEXT];
    uint8_t bytes[16];

    if (parse_v4(text, len, out))
        return true;
    if (len >= sizeof copy || memchr(text, '\0', len))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (inet_pton(AF_INET6, copy, bytes) != 1)
        return false;
    *out = ss_addr_from_bytes(bytes, sizeof bytes);
    return true;
}

static char *write_part(char *at, unsigned x)
{
    if (x >= 100)
        *at++ = (char)('0' + x / 100);
    if (x >= 10)
        *at++ = (char)('0' + x / 10 % 10);
    *at++ = (char)('0' + x % 10);
    return at;
}

size_t ss_addr_format(ss_addr a, char *out)
{
    char *at = out;

    if (!ss_addr_is_v4(a)) {
        uint8_t bytes[16];
        for (size_t i = 0; i < 8; i++) {
            bytes[i] = (uint8_t)(a.hi >> (56 - 8 * i));
            bytes[8 + i] = (uint8_t)(a.lo >> (56 - 8 * i));
        }
        inet_ntop(AF_INET6, bytes, out, SS_ADDR_TEXT);
        return strlen(out);
    }
    for (int shift = 24; shift >= 0; shift -= 8) {
        at = write_part(at, (unsigned)(a.lo >> shift) & 255);
        *at++ = shift ? '.' : '\0';
    }
    return (size_t)(at - out) - 1;
}

static const uint64_t DISCARD = UINT64_C(1) << 56; /* 100:: */
static const char PROBE[] = "probe-";

ss_addr ss_monitor_probe(uint64_t number)
{
    return (ss_addr){DISCARD, number};
}

bool ss_monitor_parse(const char *text, size_t len, ss_addr *out)
{
    const size_t head = sizeof PROBE - 1;
    uint64_t number = 0;

    if (len <= head || memcmp(text, PROBE, head) != 0)
        return ss_addr_parse(text, len, out);
    if (!um_decimal_read(text + head, len - head, UINT64_MAX, &number))
        return false;
    *out = ss_monitor_probe(number);
    return true;
}

size_t ss_monitor_format(ss_addr monitor, char *out)
{
    if (monitor.hi != DISCARD)
        return ss_addr_format(monitor, out);
    return (size_t)snprintf(out, SS_ADDR_TEXT, "%s%" PRIu64, PROBE, monitor.lo);
}

int ss_addr_compare(const void *a, const void *b)
{
    const ss_addr *x = a, *y = b;
    bool x4 = ss_addr_is_v4(*x), y4 = ss_addr_is_v4(*y);

    if (x4 != y4)
        return x4 ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi < y->hi ? -1 : 1;
    return (x->lo > y->lo) - (x->lo < y->lo);
}
