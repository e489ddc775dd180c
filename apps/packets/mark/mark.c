/*
 * mark.c - adds a router to the filter that travels in a packet.
 *
 * The filter has 256 bits and is an option: of IPv4 with the number 158, of
 * IPv6 a hop-by-hop option with the number 0x3E. Both numbers are for
 * experiments (RFC 4727); unknown routers ignore the option, and many routers
 * of the internet drop packets that have one (RFC 9098). The option that a
 * router adds begins with zeros.
 *
 *   IPv4   158  36 | shape | suspicions | 32 bytes         36 bytes
 *   IPv6  0x3E  34 | shape | suspicions | 32 bytes         and padding: 40
 *
 * shape is 16 k0 + k1. An option of another length or shape is somebody else's
 * and stays as it is. A router's cells depend on a secret, its name, and on
 * what identifies the packet: they differ from packet to packet, so what an
 * attacker learns from one packet tells nothing about the next. Of IPv4 that is
 * addresses, identification and protocol, which all fragments share; of IPv6
 * addresses, flow label and the 8 bytes behind the hop-by-hop header.
 *
 * With policy loop the filter is a plain one. A router that changes nothing was
 * probably there before; if several in a row change nothing, the packet is in a
 * loop (Icarus: Whitaker and Wetherall 2002).
 *
 * A packet is not marked if its header has no space (IPv4 options have 40
 * bytes), if it would exceed the MTU and must not be fragmented, or if its
 * header is damaged. Checksums of TCP and UDP do not cover options; that of the
 * IPv4 header is computed again.
 */
#include "packets/mark/mark.h"
#include "base/error.h"

#include <umbel/experimental/generalized.h>

#include <stdlib.h>
#include <string.h>

enum {
    V4_OPTION = 158, /* copied into fragments */
    V4_OPTION_LEN = 36,
    V4_HEADER = 20,
    V4_OPTIONS = 40,
    V4_DF = 0x40,     /* in byte 6 */
    V6_OPTION = 0x3E, /* skipped if unknown, may change */
    V6_OPTION_LEN = 36,
    V6_HEADER = 40,
    V6_ADDED = 40, /* multiple of 8 */
    HOP_BY_HOP = 0,
    MAX_LENGTH = 65535
};

/* The part of the option that begins with shape. */
enum { SHAPE = 0, SUSPICIONS = 1, FILTER = 2, BODY = 2 + PK_MARK_BYTES };

struct pk_marker {
    pk_marker_config config;
    umbel_packet *filter;
    pk_marker_counts counts;
};

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static void set16(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)(x >> 8);
    p[1] = (uint8_t)x;
}

static uint8_t shape_byte(const pk_mark_shape *s)
{
    return (uint8_t)(s->reset << 4 | s->set);
}

/* --- finding the option --------------------------------------------------- */

/* What a look for the option found. */
typedef struct place {
    uint32_t body;  /* of our option; 0: none */
    uint32_t end;   /* of the last option before padding */
    uint32_t limit; /* of the header that holds options */
    bool bad;
} place;

/*
 * Walks through options from `at` to limit. A single byte is a pad; IPv6 also
 * pads with number 1, IPv4's list may end early.
 */
static place walk(const uint8_t *p, uint32_t at, uint32_t limit, bool v6,
                  uint8_t shape)
{
    place found = {.end = at, .limit = limit};
    uint8_t ours = v6 ? V6_OPTION : V4_OPTION;
    uint32_t body = v6 ? V6_OPTION_LEN - 2 : V4_OPTION_LEN;

    while (at < limit) {
        if (p[at] == 0 && !v6)
            break;
        if (p[at] == (v6 ? 0 : 1)) {
            at++;
            continue;
        }
        if (limit - at < 2 || (!v6 && p[at + 1] < 2) ||
            p[at + 1] + (v6 ? 2u : 0u) > limit - at) {
            found.bad = true;
            return found;
        }
        if (p[at] == ours && p[at + 1] == body && p[at + 2] == shape &&
            !found.body)
            found.body = at + 2;
        bool pad = v6 && p[at] == 1;
        at += p[at + 1] + (v6 ? 2u : 0u);
        if (!pad)
            found.end = at;
    }
    return found;
}

static place find_v4(const uint8_t *p, size_t len, uint8_t shape)
{
    uint32_t header = len >= V4_HEADER ? (p[0] & 15) * 4u : 0;

    if (header < V4_HEADER || header > len || get16(p + 2) < header ||
        get16(p + 2) > len)
        return (place){.bad = true};
    return walk(p, V4_HEADER, header, false, shape);
}

static place find_v6(const uint8_t *p, size_t len, uint8_t shape)
{
    if (len < V6_HEADER || get16(p + 4) + (size_t)V6_HEADER > len)
        return (place){.bad = true};
    if (p[6] != HOP_BY_HOP)
        return (place){.end = V6_HEADER, .limit = V6_HEADER};
    if (get16(p + 4) < 8 || (p[V6_HEADER + 1] + 1u) * 8 > get16(p + 4))
        return (place){.bad = true};
    return walk(p, V6_HEADER + 2, V6_HEADER + (p[V6_HEADER + 1] + 1u) * 8, true,
                shape);
}

static place find(const uint8_t *p, size_t len, uint8_t shape)
{
    switch (len ? p[0] >> 4 : 0) {
    case 4:
        return find_v4(p, len, shape);
    case 6:
        return find_v6(p, len, shape);
    default:
        return (place){.bad = true};
    }
}

/* A capture may lack the end of the packet, so lengths are held to what the
 * headers need. */
const uint8_t *pk_mark_find(const pk_mark_shape *shape, const uint8_t *packet,
                            size_t len)
{
    uint8_t copy[V6_HEADER + 2048];
    size_t some = len < sizeof copy ? len : sizeof copy;

    if (some < V4_HEADER)
        return NULL;
    memcpy(copy, packet, some);
    if (copy[0] >> 4 == 4 && get16(copy + 2) > some)
        set16(copy + 2, (uint32_t)some);
    if (copy[0] >> 4 == 6 && some >= V6_HEADER &&
        get16(copy + 4) > some - V6_HEADER)
        set16(copy + 4, (uint32_t)some - V6_HEADER);
    place at = find(copy, some, shape_byte(shape));
    return at.bad || !at.body ? NULL : packet + at.body + FILTER;
}

size_t pk_mark_key(const uint8_t *p, size_t len, const char *router,
                   uint8_t out[PK_MARK_KEY])
{
    size_t n = 0, name = strlen(router);

    if (len >= V4_HEADER && p[0] >> 4 == 4) {
        memcpy(out, p + 12, 8);
        memcpy(out + 8, p + 4, 2);
        out[10] = p[9];
        n = 11;
    } else if (len >= V6_HEADER + 8 && p[0] >> 4 == 6) {
        size_t at = V6_HEADER;
        memcpy(out, p + 8, 32);
        memcpy(out + 32, p + 1, 3);
        out[32] &= 15; /* without the traffic class */
        if (p[6] == HOP_BY_HOP)
            at += (p[V6_HEADER + 1] + (size_t)1) * 8;
        size_t rest = at < len ? len - at : 0;
        memset(out + 35, 0, 8);
        memcpy(out + 35, p + (rest ? at : 0), rest < 8 ? rest : 8);
        n = 43;
    }
    if (!n || name > PK_MARK_KEY - n)
        return 0;
    for (size_t i = 0; i < name; i++)
        out[n + i] = (uint8_t)router[i];
    return n + name;
}

/* --- adding the option ---------------------------------------------------- */

static void write_checksum(uint8_t *p)
{
    uint32_t sum = 0;

    set16(p + 10, 0);
    for (uint32_t i = 0; i < (p[0] & 15u) * 4; i += 2)
        sum += get16(p + i);
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    set16(p + 10, ~sum & 0xFFFF);
}

static void write_option(uint8_t *at, uint8_t number, uint8_t len,
                         uint8_t shape)
{
    memset(at, 0, 2 + BODY);
    at[0] = number;
    at[1] = len;
    at[2] = shape;
}

/* Replaces the bytes from..to by len others. */
static void resize(uint8_t *p, uint32_t *total, uint32_t from, uint32_t to,
                   uint32_t len)
{
    memmove(p + from + len, p + to, *total - to);
    *total = *total - (to - from) + len;
}

/* Adds an option behind the others of the header; padding fills it. */
static void add_v4(uint8_t *p, uint32_t *len, place *at, uint8_t shape)
{
    uint32_t end = (at->end + V4_OPTION_LEN + 3) & ~3u;

    resize(p, len, at->end, at->limit, end - at->end);
    memset(p + at->end, 0, end - at->end);
    write_option(p + at->end, V4_OPTION, V4_OPTION_LEN, shape);
    p[0] = (uint8_t)(4 << 4 | end / 4);
    set16(p + 2, *len);
    at->body = at->end + 2;
}

/* Adds an option to the hop-by-hop header, which must be the first, or adds the
 * header. */
static void add_v6(uint8_t *p, uint32_t *len, place *at, uint8_t shape)
{
    bool fresh = at->limit == V6_HEADER;
    uint32_t begin = at->limit, pad = fresh ? 2 : 4;

    resize(p, len, begin, begin, V6_ADDED);
    if (fresh) {
        p[begin] = p[6];
        p[begin + 1] = V6_ADDED / 8 - 1;
        p[6] = HOP_BY_HOP;
        begin += 2;
    } else {
        p[V6_HEADER + 1] = (uint8_t)(p[V6_HEADER + 1] + V6_ADDED / 8);
    }
    write_option(p + begin, V6_OPTION, V6_OPTION_LEN - 2, shape);
    memset(p + begin + V6_OPTION_LEN, 0, pad);
    p[begin + V6_OPTION_LEN] = 1;
    p[begin + V6_OPTION_LEN + 1] = (uint8_t)(pad - 2);
    set16(p + 4, *len - V6_HEADER);
    at->body = begin + 2;
}

/* Adds the option. Returns false, and counts why, if the packet cannot take
 * it. */
static bool add_option(pk_marker *m, uint8_t *p, uint32_t *len, place *at)
{
    bool v4 = p[0] >> 4 == 4;
    uint32_t after =
        *len +
        (v4 ? ((at->end + V4_OPTION_LEN + 3) & ~3u) - at->limit : V6_ADDED);
    bool whole = !v4 || (p[6] & V4_DF);

    if (v4 ? at->end + V4_OPTION_LEN > V4_HEADER + V4_OPTIONS
           : p[V6_HEADER + 1] + V6_ADDED / 8 > UINT8_MAX &&
                 at->limit > V6_HEADER) {
        m->counts.no_space++;
        return false;
    }
    if (after > MAX_LENGTH || (whole && after > m->config.mtu)) {
        m->counts.too_large++;
        return false;
    }
    (v4 ? add_v4 : add_v6)(p, len, at, shape_byte(&m->config.shape));
    m->counts.added++;
    return true;
}

/* --- marking -------------------------------------------------------------- */

/* Adds the router to the filter; returns true if that looks like a loop. */
static bool add_router(pk_marker *m, uint8_t *p, uint32_t len, uint8_t *body)
{
    uint8_t key[PK_MARK_KEY];
    size_t n = pk_mark_key(p, len, m->config.router, key);
    bool changed = umbel_packet_add(m->filter, body + FILTER, key, n);

    m->counts.marked++;
    m->counts.suspicious += !changed;
    if (!m->config.suspicions)
        return false;
    body[SUSPICIONS] = changed ? 0
                       : body[SUSPICIONS] < UINT8_MAX
                           ? (uint8_t)(body[SUSPICIONS] + 1)
                           : UINT8_MAX;
    return body[SUSPICIONS] >= m->config.suspicions;
}

pk_verdict pk_mark(pk_marker *m, uint8_t *packet, uint32_t *len)
{
    place at = find(packet, *len, shape_byte(&m->config.shape));
    pk_verdict refused = m->config.drop ? PK_DROP : PK_PASS;

    m->counts.packets++;
    if (at.bad) {
        m->counts.malformed++;
        return refused;
    }
    /* Bytes behind the packet are a frame's padding. */
    uint32_t total =
        packet[0] >> 4 == 4 ? get16(packet + 2) : V6_HEADER + get16(packet + 4);
    if (!at.body && !add_option(m, packet, &total, &at))
        return refused;
    *len = total;
    if (add_router(m, packet, total, packet + at.body)) {
        m->counts.loops++;
        return PK_DROP;
    }
    if (packet[0] >> 4 == 4)
        write_checksum(packet);
    return PK_CHANGED;
}

umbel_status pk_marker_open(const pk_marker_config *config, pk_marker **out,
                            umbel_error *err)
{
    umbel_packet_params params = {.size = sizeof params,
                                  .bits = PK_MARK_BITS,
                                  .reset = config->shape.reset,
                                  .set = config->shape.set,
                                  .secret = config->shape.secret};
    pk_marker *m = calloc(1, sizeof *m);

    if (!m)
        return um_no_memory(err, sizeof *m);
    umbel_status status = umbel_packet_open(&params, &m->filter, err);
    if (status) {
        free(m);
        return status;
    }
    m->config = *config;
    m->config.shape.secret = NULL; /* the filter has it */
    *out = m;
    return UMBEL_OK;
}

void pk_marker_close(pk_marker *m)
{
    if (!m)
        return;
    umbel_packet_close(m->filter);
    free(m);
}

pk_marker_counts pk_marker_count(const pk_marker *m)
{
    return m->counts;
}
