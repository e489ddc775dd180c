/*
 * decode.c - the headers of a packet: link layer, IP, extensions, fragments.
 *
 * A packet comes from anyone, and a capture may contain only its first bytes.
 * Every offset is compared with the captured length before it is read, and each
 * step of a chain (tags, labels, extensions) moves forward, so that a packet of
 * n bytes takes at most n steps.
 */
#include "base/error.h"
#include "base/rng.h"
#include "packets/capture/capture.h"

#include <umbel/experimental/flows.h>

#include <stdlib.h>
#include <string.h>

enum {
    ETHERNET_HEADER = 14,
    SLL_HEADER = 16,
    SLL2_HEADER = 20,
    IPV4_HEADER = 20,
    IPV6_HEADER = 40,
    PAYLOAD_DIGESTED = 8, /* bytes of payload among the invariant ones */

    TYPE_IPV4 = 0x0800,
    TYPE_IPV6 = 0x86DD,
    TYPE_VLAN = 0x8100,
    TYPE_QINQ = 0x88A8,
    TYPE_QINQ_OLD = 0x9100,
    TYPE_MPLS = 0x8847,
    TYPE_MPLS_MULTICAST = 0x8848,

    HOP_BY_HOP = 0, /* protocols that are extensions of IPv6 */
    TCP = 6,
    UDP = 17,
    ROUTING = 43,
    FRAGMENT = 44,
    AUTHENTICATION = 51,
    DESTINATION = 60,
    DCCP = 33,
    SCTP = 132,
    MOBILITY = 135,
    UDP_LITE = 136,
    HIP = 139,
    SHIM6 = 140
};

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

/* --- below IP -------------------------------------------------------------
 */

/* Returns the offset of the IP header behind MPLS labels; 0: none. */
static uint32_t pass_labels(const pk_packet *p, uint32_t at)
{
    bool last = false;

    for (; !last; at += 4) {
        if (p->captured - at < 4)
            return 0;
        last = p->data[at + 2] & 1;
    }
    return at;
}

/* Returns the offset of the IP header behind an Ethernet type at `at`; 0: it
 * is not IP. */
static uint32_t pass_types(const pk_packet *p, uint32_t at)
{
    for (;;) {
        if (p->captured < at || p->captured - at < 2)
            return 0;
        switch (get16(p->data + at)) {
        case TYPE_IPV4:
        case TYPE_IPV6:
            return at + 2;
        case TYPE_VLAN:
        case TYPE_QINQ:
        case TYPE_QINQ_OLD:
            at += 4;
            break;
        case TYPE_MPLS:
        case TYPE_MPLS_MULTICAST:
            return pass_labels(p, at + 2);
        default:
            return 0;
        }
    }
}

/* Finds the IP header; false: there is none. */
static bool find_ip(const pk_packet *p, uint32_t *at)
{
    switch (p->link) {
    case PK_ETHERNET:
        *at = pass_types(p, ETHERNET_HEADER - 2);
        break;
    case PK_SLL:
        *at = pass_types(p, SLL_HEADER - 2);
        break;
    case PK_SLL2: /* the type is its first field */
        *at = 0;
        if (p->captured < SLL2_HEADER)
            return false;
        if (get16(p->data) == TYPE_IPV4 || get16(p->data) == TYPE_IPV6)
            *at = SLL2_HEADER;
        break;
    case PK_NULL:
    case PK_LOOP:
        *at = 4; /* the version of IP says the same as the family */
        break;
    case PK_RAW:
    case PK_RAW_OLD:
    case PK_IPV4:
    case PK_IPV6:
        *at = 0;
        return true;
    default:
        return false;
    }
    return *at > 0;
}

/* --- IP -------------------------------------------------------------------
 */

static bool decode_ipv4(const pk_packet *p, pk_headers *h)
{
    const uint8_t *ip = p->data + h->ip;
    uint32_t left = p->captured - h->ip, header, total, field;

    if (left < IPV4_HEADER)
        return false;
    header = 4u * (ip[0] & 15);
    if (header < IPV4_HEADER)
        return false;
    total = get16(ip + 2);
    if (!total) /* left to the network card (TSO) */
        total = p->length > h->ip ? p->length - h->ip : header;
    if (total < header)
        return false;
    field = get16(ip + 6);
    h->ident = get16(ip + 4);
    h->more = field & 0x2000;
    h->fragment_offset = 8 * (field & 0x1FFF);
    h->fragment = h->more || h->fragment_offset;
    h->protocol = ip[9];
    h->src = ip + 12;
    h->dst = ip + 16;
    h->payload = header < left ? h->ip + header : p->captured;
    h->payload_length = total - header;
    return true;
}

static bool is_extension(uint8_t protocol)
{
    switch (protocol) {
    case HOP_BY_HOP:
    case ROUTING:
    case FRAGMENT:
    case AUTHENTICATION:
    case DESTINATION:
    case MOBILITY:
    case HIP:
    case SHIM6:
        return true;
    default:
        return false;
    }
}

static uint32_t extension_len(uint8_t protocol, const uint8_t *at)
{
    if (protocol == FRAGMENT)
        return 8;
    return protocol == AUTHENTICATION ? 4 * (at[1] + 2u) : 8 * (at[1] + 1u);
}

static bool decode_ipv6(const pk_packet *p, pk_headers *h)
{
    const uint8_t *ip = p->data + h->ip;
    uint32_t at = h->ip + IPV6_HEADER, len, all;

    if (p->captured < at)
        return false;
    h->src = ip + 8;
    h->dst = ip + 24;
    h->protocol = ip[6];
    all = get16(ip + 4);
    if (!all) /* a jumbogram, or left to the network card */
        all = p->length > at ? p->length - at : 0;
    while (is_extension(h->protocol) && h->fragment_offset == 0) {
        if (p->captured - at < 8)
            return false;
        len = extension_len(h->protocol, p->data + at);
        if (len > all)
            return false;
        if (h->protocol == FRAGMENT) {
            uint32_t field = get16(p->data + at + 2);
            h->fragment = true;
            h->more = field & 1;
            h->fragment_offset = field & 0xFFF8;
            h->ident = get32(p->data + at + 4);
        }
        h->protocol = p->data[at];
        all -= len;
        if (len > p->captured - at) {
            if (is_extension(h->protocol))
                return false;
            len = p->captured - at;
        }
        at += len;
    }
    h->payload = at;
    h->payload_length = all;
    return true;
}

static bool has_ports(uint8_t protocol)
{
    switch (protocol) {
    case TCP:
    case UDP:
    case DCCP:
    case SCTP:
    case UDP_LITE:
        return true;
    default:
        return false;
    }
}

bool pk_decode(const pk_packet *p, pk_headers *h)
{
    *h = (pk_headers){.version = 0};
    if (!find_ip(p, &h->ip) || h->ip >= p->captured)
        return false;
    h->version = p->data[h->ip] >> 4;
    if (h->version == 4 ? !decode_ipv4(p, h)
                        : h->version != 6 || !decode_ipv6(p, h))
        return false;
    h->first = h->fragment_offset == 0;
    if (h->first && has_ports(h->protocol) && h->payload_length >= 4 &&
        p->captured - h->payload >= 4) {
        h->ports = true;
        h->sport = get16(p->data + h->payload);
        h->dport = get16(p->data + h->payload + 2);
    }
    return true;
}

size_t pk_invariant(const pk_packet *p, const pk_headers *h,
                    uint8_t out[PK_INVARIANT])
{
    size_t n = 0, digested = h->payload_length;

    if (digested > PAYLOAD_DIGESTED)
        digested = PAYLOAD_DIGESTED;
    if (p->captured - h->payload < digested)
        return 0;
    memset(out, 0, PK_INVARIANT);
    if (h->version == 4) {
        uint32_t total = IPV4_HEADER + h->payload_length;
        out[0] = 4 << 4 | IPV4_HEADER / 4;
        out[2] = (uint8_t)(total >> 8);
        out[3] = (uint8_t)total;
        memcpy(out + 4, p->data + h->ip + 4, 4); /* ident, flags, offset */
        out[9] = h->protocol;
        memcpy(out + 12, h->src, 4);
        memcpy(out + 16, h->dst, 4);
        n = IPV4_HEADER;
    } else {
        out[0] = 6 << 4;
        out[4] = (uint8_t)(h->payload_length >> 8);
        out[5] = (uint8_t)h->payload_length;
        out[6] = h->protocol;
        memcpy(out + 8, h->src, 16);
        memcpy(out + 24, h->dst, 16);
        n = IPV6_HEADER;
    }
    if (h->version == 6 && h->fragment) {
        uint32_t field = h->fragment_offset | h->more;
        out[n + 2] = (uint8_t)(field >> 8);
        out[n + 3] = (uint8_t)field;
        for (int i = 0; i < 4; i++)
            out[n + 4 + (size_t)i] = (uint8_t)(h->ident >> (24 - 8 * i));
        n += 8;
    }
    memcpy(out + n, p->data + h->payload, digested);
    return n + digested;
}

/* --- fragments ------------------------------------------------------------
 */

enum {
    SETS = 256,
    WAYS = 4, /* the oldest of a set is replaced */
};
static const uint64_t fragment_life = UINT64_C(30000000000); /* ns */

/* The packet that fragments belong to. Only IPv4 has identifiers by protocol;
 * in IPv6 later fragments may name an extension where the first one names the
 * protocol. */
typedef struct fragment_key {
    uint8_t src[16], dst[16];
    uint32_t ident;
    uint8_t version, protocol;
    uint8_t zero[2]; /* no padding: keys are compared as bytes */
} fragment_key;

typedef struct known_first {
    fragment_key key; /* version 0: free */
    uint64_t time;
    uint16_t sport, dport;
    uint8_t protocol;
} known_first;

struct pk_fragments {
    known_first set[SETS][WAYS];
};

_Static_assert(sizeof(struct pk_fragments) <= UMBEL_FLOWS_FRAGMENTS,
               "umbel plan --flows counts on it");

umbel_status pk_fragments_open(pk_fragments **out, umbel_error *err)
{
    pk_fragments *f = calloc(1, sizeof *f);

    if (!f)
        return um_no_memory(err, sizeof *f);
    *out = f;
    return UMBEL_OK;
}

void pk_fragments_close(pk_fragments *f)
{
    free(f);
}

static known_first *set_of(pk_fragments *f, const fragment_key *key)
{
    uint64_t x = key->ident, word;

    for (size_t i = 0; i < sizeof key->src; i += sizeof word) {
        memcpy(&word, key->src + i, sizeof word);
        x = um_mix(x ^ word);
        memcpy(&word, key->dst + i, sizeof word);
        x = um_mix(x + word);
    }
    return f->set[um_scale(x, SETS)];
}

void pk_fragments_apply(pk_fragments *f, const pk_packet *p, pk_headers *h)
{
    fragment_key key;
    known_first *set, *use;

    if (!h->fragment || (h->first && !h->ports))
        return;
    memset(&key, 0, sizeof key);
    memcpy(key.src, h->src, pk_address_len(h));
    memcpy(key.dst, h->dst, pk_address_len(h));
    key.ident = h->ident;
    key.version = h->version;
    key.protocol = h->version == 4 ? h->protocol : 0;
    set = use = set_of(f, &key);
    for (size_t i = 0; i < WAYS; i++) {
        if (memcmp(&set[i].key, &key, sizeof key) == 0) {
            use = &set[i];
            break;
        }
        if (set[i].time < use->time)
            use = &set[i];
    }
    if (h->first) {
        *use = (known_first){.time = p->time,
                             .sport = h->sport,
                             .dport = h->dport,
                             .protocol = h->protocol};
        memcpy(&use->key, &key, sizeof key);
    } else if (memcmp(&use->key, &key, sizeof key) == 0 &&
               p->time <= use->time + fragment_life) {
        h->sport = use->sport;
        h->dport = use->dport;
        h->protocol = use->protocol;
        h->ports = true;
    }
}
