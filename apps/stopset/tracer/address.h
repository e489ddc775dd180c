/*
 * address.h - IPv4 and IPv6 addresses, and their prefixes.
 *
 * An IPv4 address is kept as the IPv6 address that stands for it,
 * ::ffff:a.b.c.d, so that a tool that writes one for the other changes nothing.
 */
#ifndef UM_STOPSET_ADDRESS_H
#define UM_STOPSET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both halves as numbers. All zero: no address. */
typedef struct ss_addr {
    uint64_t hi, lo;
} ss_addr;

enum {
    SS_ADDR_TEXT = 48, /* room for the text of an address or prefix */
    SS_PREFIX4 = 24,   /* what a prefix is, unless told */
    SS_PREFIX6 = 48
};

/* Lengths of prefixes, in bits of the address. */
typedef struct ss_prefix_len {
    uint8_t v4, v6;
} ss_prefix_len;

static inline bool ss_addr_equal(ss_addr a, ss_addr b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

static inline bool ss_addr_none(ss_addr a)
{
    return (a.lo | a.hi) == 0;
}

static inline ss_addr ss_addr_v4(uint32_t address)
{
    return (ss_addr){0, UINT64_C(0xffff00000000) | address};
}

static inline bool ss_addr_is_v4(ss_addr a)
{
    return a.hi == 0 && a.lo >> 32 == 0xffff;
}

/* Returns the address of 4 or 16 bytes in network order. */
ss_addr ss_addr_from_bytes(const uint8_t *bytes, size_t len);

/* Writes the 16 bytes in network order; of IPv4 the last four are the address.
 */
void ss_addr_to_bytes(ss_addr a, uint8_t out[16]);

/* Keeps the first bits of an address: v4 of an IPv4 address, v6 of others. */
ss_addr ss_addr_mask(ss_addr a, ss_prefix_len len);

/* Parses "192.0.2.1" or "2001:db8::1", len characters. False: it is neither. */
bool ss_addr_parse(const char *text, size_t len, ss_addr *out);

/* Writes the text of an address; returns its length. out has SS_ADDR_TEXT. */
size_t ss_addr_format(ss_addr a, char *out);

/* Monitors are known by their address, or by the number of their RIPE Atlas
 * probe, which stands as an address of the prefix 100::/64 that no host has
 * (RFC 6666). Written "probe-6019". */
ss_addr ss_monitor_probe(uint64_t number);
bool ss_monitor_parse(const char *text, size_t len, ss_addr *out);
size_t ss_monitor_format(ss_addr monitor, char *out);

/* Orders addresses, for qsort: IPv4 before IPv6, then by number. */
int ss_addr_compare(const void *a, const void *b);

#endif
