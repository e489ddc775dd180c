/*
 * address.c - addresses as text, and the networks they belong to.
 *
 * A household or customer usually has at most an IPv6 /56 or an IPv4 /24. A
 * limit per address would be useless against a client with 2^72 of them.
 */
#include "net/server/address.h"

#include "base/decimal.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { MAPPED_BITS = 96 }; /* of ::ffff:0:0/96, before an IPv4 address */
#define MAPPED UINT64_C(0xffff00000000)

static umbel_status bad_address(const char *text, umbel_error *err)
{
    return um_fail(err, UMBEL_E_RANGE,
                   "\"%s\" is not an address: give ADDRESS:PORT like "
                   "127.0.0.1:24441 or [::1]:24441, or a path that begins "
                   "with \"/\"",
                   text);
}

static umbel_status parse_path(const char *text, um_address *out,
                               umbel_error *err)
{
    struct sockaddr_un *un = NULL;

    if (strlen(text) >= sizeof un->sun_path)
        return um_fail(err, UMBEL_E_RANGE,
                       "the path of a unix socket has at most %zu bytes: "
                       "\"%s%s\" has %zu",
                       sizeof un->sun_path - 1, strlen(text) > 80 ? "..." : "",
                       text + (strlen(text) > 80 ? strlen(text) - 80 : 0),
                       strlen(text));
    *out = (um_address){.path = text};
    return UMBEL_OK;
}

/* Parses a port up to the end of text; returns false if it is not one. */
static bool parse_port(const char *text, in_port_t *port)
{
    uint64_t n = 0;
    bool fine = um_decimal_parse(text, UINT16_MAX, &n);

    *port = htons((uint16_t)n);
    return fine;
}

/* Copies the host of HOST:PORT or [HOST]:PORT; returns the port's text. */
static const char *split_host(const char *text, char host[INET6_ADDRSTRLEN])
{
    bool bracket = *text == '[';
    const char *begin = text + bracket;
    const char *end = strchr(begin, bracket ? ']' : ':');

    if (!end || (bracket && end[1] != ':') ||
        (size_t)(end - begin) >= INET6_ADDRSTRLEN)
        return NULL;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    return end + bracket + 1;
}

umbel_status um_address_parse(const char *text, um_address *out,
                              umbel_error *err)
{
    char host[INET6_ADDRSTRLEN];
    um_address a = {.path = NULL};
    in_port_t port;

    if (*text == '/')
        return parse_path(text, out, err);
    const char *port_text = split_host(text, host);
    if (!port_text || !parse_port(port_text, &port))
        return bad_address(text, err);
    if (*text == '[' && inet_pton(AF_INET6, host, &a.ip.v6.sin6_addr) == 1) {
        a.ip.v6.sin6_family = AF_INET6;
        a.ip.v6.sin6_port = port;
    } else if (*text != '[' &&
               inet_pton(AF_INET, host, &a.ip.v4.sin_addr) == 1) {
        a.ip.v4.sin_family = AF_INET;
        a.ip.v4.sin_port = port;
    } else {
        return bad_address(text, err);
    }
    *out = a;
    return UMBEL_OK;
}

unsigned um_address_port(const um_address *a)
{
    if (a->path)
        return 0;
    return ntohs(a->ip.any.sa_family == AF_INET6 ? a->ip.v6.sin6_port
                                                 : a->ip.v4.sin_port);
}

socklen_t um_address_len(const um_address *a)
{
    return a->ip.any.sa_family == AF_INET6 ? sizeof a->ip.v6 : sizeof a->ip.v4;
}

const char *um_address_print(const um_address *a, char text[UM_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "";

    if (a->path) {
        snprintf(text, UM_ADDRESS_TEXT, "%s", *a->path ? a->path : "unix");
    } else if (a->ip.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a->ip.v6.sin6_addr, host, sizeof host);
        snprintf(text, UM_ADDRESS_TEXT, "[%s]:%u", host, um_address_port(a));
    } else {
        inet_ntop(AF_INET, &a->ip.v4.sin_addr, host, sizeof host);
        snprintf(text, UM_ADDRESS_TEXT, "%s:%u", host, um_address_port(a));
    }
    return text;
}

/* --- networks ------------------------------------------------------------- */

static uint64_t read_u64_be(const uint8_t *p)
{
    uint64_t n = 0;

    for (int i = 0; i < 8; i++)
        n = n << 8 | p[i];
    return n;
}

/* Returns the address as 128 bits; IPv4 is mapped. */
static um_network address_bits(const um_address *a)
{
    if (a->path)
        return (um_network){0, 0};
    if (a->ip.any.sa_family == AF_INET)
        return (um_network){0, MAPPED | ntohl(a->ip.v4.sin_addr.s_addr)};
    const uint8_t *bytes = a->ip.v6.sin6_addr.s6_addr;
    return (um_network){read_u64_be(bytes), read_u64_be(bytes + 8)};
}

/* Returns true for an IPv4 address. A socket for both families reports IPv4
 * clients as mapped addresses, too. */
static bool is_v4(um_network n)
{
    return n.hi == 0 && n.lo >> 32 == MAPPED >> 32;
}

bool um_address_is_loopback(const um_address *a)
{
    um_network n = address_bits(a);

    return a->path ||
           (is_v4(n) ? (uint32_t)n.lo >> 24 == 127 : n.hi == 0 && n.lo == 1);
}

bool um_address_is_local(const um_address *a)
{
    um_network n = address_bits(a);

    return um_address_is_loopback(a) &&
           (a->path || !is_v4(n) || ((uint32_t)n.lo & 0xffffff) == 1);
}

bool um_address_equal(const um_address *a, const um_address *b)
{
    if (a->path || b->path)
        return a->path && b->path && strcmp(a->path, b->path) == 0;
    return um_address_port(a) == um_address_port(b) &&
           um_network_equal(address_bits(a), address_bits(b));
}

/* Clears all but the first bits of n. */
static uint64_t first_bits(uint64_t n, unsigned bits)
{
    if (bits == 0)
        return 0;
    return bits >= 64 ? n : n & ~(UINT64_MAX >> bits);
}

static unsigned prefix_len(um_network n, const um_prefixes *p)
{
    if (is_v4(n))
        return MAPPED_BITS + (p ? p->v4 : UM_PREFIX_V4);
    return p ? p->v6 : UM_PREFIX_V6;
}

um_network um_network_mask(um_network n, unsigned bits)
{
    return (um_network){first_bits(n.hi, bits),
                        first_bits(n.lo, bits > 64 ? bits - 64 : 0)};
}

um_network um_address_network(const um_address *a, const um_prefixes *p)
{
    um_network n = address_bits(a);

    return um_network_mask(n, prefix_len(n, p));
}

static const char *print_prefix(um_network n, unsigned bits,
                                char text[UM_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "";
    uint8_t bytes[16];

    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(n.hi >> (56 - 8 * i));
        bytes[8 + i] = (uint8_t)(n.lo >> (56 - 8 * i));
    }
    if (is_v4(n)) {
        inet_ntop(AF_INET, bytes + 12, host, sizeof host);
        snprintf(text, UM_ADDRESS_TEXT, "%s/%u", host, bits - MAPPED_BITS);
    } else {
        inet_ntop(AF_INET6, bytes, host, sizeof host);
        snprintf(text, UM_ADDRESS_TEXT, "%s/%u", host, bits);
    }
    return text;
}

const char *um_network_print(um_network n, const um_prefixes *p,
                             char text[UM_ADDRESS_TEXT])
{
    if (n.hi || n.lo)
        return print_prefix(n, prefix_len(n, p), text);
    snprintf(text, UM_ADDRESS_TEXT, "unix");
    return text;
}

/* Parses the number of bits after the slash; returns false if it is not one. */
static bool parse_bits(const char *text, unsigned max, unsigned *bits)
{
    uint64_t n = 0;
    bool fine = um_decimal_parse(text, max, &n);

    *bits = (unsigned)n;
    return fine;
}

/* Parses an address without port. */
static bool parse_host(const char *host, um_network *out)
{
    um_address a = {.path = NULL};

    if (inet_pton(AF_INET, host, &a.ip.v4.sin_addr) == 1)
        a.ip.any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, host, &a.ip.v6.sin6_addr) == 1)
        a.ip.any.sa_family = AF_INET6;
    else
        return false;
    *out = address_bits(&a);
    return true;
}

umbel_status um_network_parse(const char *text, um_network *out, unsigned *bits,
                              umbel_error *err)
{
    char host[INET6_ADDRSTRLEN] = "", meant[UM_ADDRESS_TEXT];
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    um_network n;

    if (len < sizeof host)
        snprintf(host, sizeof host, "%.*s", (int)len, text);
    bool fine = parse_host(host, &n);
    unsigned before = fine && !strchr(host, ':') ? MAPPED_BITS : 0;
    unsigned length = 128 - before;
    if (fine && slash)
        fine = parse_bits(slash + 1, 128 - before, &length);
    if (!fine)
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.60s\" is not a network: give one like "
                       "192.0.2.0/24, 2001:db8::/32 or 192.0.2.7",
                       text);
    um_network whole = um_network_mask(n, before + length);
    if (!um_network_equal(n, whole))
        return um_fail(err, UMBEL_E_RANGE,
                       "%.60s has bits set behind its prefix: write %s", text,
                       print_prefix(whole, before + length, meant));
    *out = n;
    *bits = before + length;
    return UMBEL_OK;
}
