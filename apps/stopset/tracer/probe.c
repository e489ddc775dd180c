/*
 * probe.c - encodes probes, and decodes the answers to them.
 *
 * An ICMP error quotes the beginning of the probe: always the first 8 bytes
 * after the IP header, and more from most routers.
 *
 *   echo   type code checksum id sequence | seal (8) balance (2) contact
 *   UDP    ports length checksum          | ttl attempt seal contact
 *
 * Identifier and checksum of an echo request are keyed hashes of destination
 * and flow: 32 bits that a forger must guess if only 8 bytes are quoted. The
 * seal also covers TTL and attempt; if it is quoted, it adds 64 bits. The
 * balance compensates for sequence and seal, so that the checksum, which load
 * balancers hash, is the same for all TTLs.
 */
#include "stopset/tracer/probe.h"

#include <sodium.h>
#include <string.h>

enum {
    ECHO_HEAD = 8,
    SEAL = 8,
    UDP_HEAD = 8,
    IP4_HEAD = 20,
    IP6_HEAD = 40,
    UDP_NAME = 2 /* TTL and attempt */
};

enum {
    ICMP4_REPLY = 0,
    ICMP4_UNREACHABLE = 3,
    ICMP4_ECHO = 8,
    ICMP4_EXPIRED = 11
};
enum {
    ICMP6_UNREACHABLE = 1,
    ICMP6_EXPIRED = 3,
    ICMP6_ECHO = 128,
    ICMP6_REPLY = 129
};
enum { PORT4_UNREACHABLE = 3, PORT6_UNREACHABLE = 4 };
enum { PROTOCOL_ICMP = 1, PROTOCOL_ICMP6 = 58 };

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Computes the ones' complement sum of RFC 1071; an odd byte counts as the high
 * half. */
static uint16_t sum16(const uint8_t *at, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i + 1 < len; i += 2)
        sum += get16(at + i);
    if (len % 2)
        sum += (uint32_t)at[len - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return (uint16_t)sum;
}

/* Computes a keyed hash of the whole name of a probe, or of its flow alone. */
static void seal(const ss_stamp *s, const ss_probe *p, bool whole,
                 uint8_t out[SEAL])
{
    uint8_t name[21];

    memcpy(name, &p->to, sizeof p->to);
    put16(name + 16, s->flow);
    name[18] = whole;
    name[19] = whole ? p->ttl : 0;
    name[20] = whole ? p->attempt : 0;
    _Static_assert(crypto_shorthash_BYTES == SEAL, "one seal, one hash");
    crypto_shorthash(out, name, sizeof name, s->key);
}

static size_t write_contact(uint8_t *at, const char *contact)
{
    size_t len = 0;

    for (; contact && contact[len] && len < SS_CONTACT_MAX; len++)
        at[len] = (uint8_t)contact[len];
    return len;
}

/* --- ICMP echo ----------------------------------------------------------- */

/* Returns the sum that the message shall have: any but 0, which no sum has. */
static uint16_t wanted_sum(const uint8_t flow_seal[SEAL])
{
    uint16_t sum = get16(flow_seal + 2);

    return sum ? sum : 1;
}

size_t ss_write_echo(const ss_stamp *s, const ss_probe *p, const char *contact,
                     uint8_t out[SS_PROBE_MAX])
{
    uint8_t flow_seal[SEAL];
    size_t len = ECHO_HEAD + SEAL + 2;

    seal(s, p, false, flow_seal);
    memset(out, 0, len);
    out[0] = ss_addr_is_v4(p->to) ? ICMP4_ECHO : ICMP6_ECHO;
    put16(out + 4, get16(flow_seal));
    put16(out + 6, (unsigned)p->attempt << 8 | p->ttl);
    seal(s, p, true, out + ECHO_HEAD);
    len += write_contact(out + len, contact);

    /* sum + balance = wanted, in ones' complement. */
    uint32_t balance =
        (uint32_t)wanted_sum(flow_seal) + (uint16_t)~sum16(out, len);
    put16(out + ECHO_HEAD + SEAL, (balance & 0xFFFF) + (balance >> 16));
    put16(out + 2, (uint16_t)~sum16(out, len));
    return len;
}

/*
 * Identifies the probe whose echo request, or whose reply, is at m. The
 * checksum is used only if nothing else proves the origin: ICMPv6 includes
 * addresses in it, and some middleboxes change it.
 */
static bool name_echo(const ss_stamp *s, ss_addr to, const uint8_t *m,
                      size_t len, ss_probe *out)
{
    uint8_t expected[SEAL];
    ss_probe p = {to, m[7], m[6]};

    seal(s, &p, false, expected);
    if (get16(m + 4) != get16(expected))
        return false;
    if (len < ECHO_HEAD + SEAL) {
        if (!ss_addr_is_v4(to) ||
            (get16(m + 2) ^ wanted_sum(expected)) != 0xFFFF)
            return false;
    } else {
        seal(s, &p, true, expected);
        if (memcmp(m + ECHO_HEAD, expected, SEAL) != 0)
            return false;
    }
    *out = p;
    return true;
}

/* --- UDP ----------------------------------------------------------------- */

size_t ss_write_udp(const ss_stamp *s, const ss_probe *p, const char *contact,
                    uint8_t out[SS_PROBE_MAX])
{
    out[0] = p->ttl;
    out[1] = p->attempt;
    seal(s, p, true, out + UDP_NAME);
    return UDP_NAME + SEAL + write_contact(out + UDP_NAME + SEAL, contact);
}

bool ss_read_udp(const ss_stamp *s, ss_addr to, const uint8_t *payload,
                 size_t len, ss_probe *out)
{
    uint8_t expected[SEAL];

    if (len < UDP_NAME + SEAL)
        return false;
    ss_probe p = {to, payload[0], payload[1]};
    seal(s, &p, true, expected);
    if (memcmp(payload + UDP_NAME, expected, SEAL) != 0)
        return false;
    *out = p;
    return true;
}

uint16_t ss_probe_packet(bool v6, bool udp, size_t len)
{
    size_t head = v6 ? IP6_HEAD : IP4_HEAD;

    return (uint16_t)(head + (udp ? (size_t)UDP_HEAD : 0) + len);
}

uint16_t ss_error_packet(bool v6, size_t quoted)
{
    size_t head = v6 ? IP6_HEAD : IP4_HEAD;

    return (uint16_t)(head + ECHO_HEAD + ss_probe_packet(v6, true, quoted));
}

/* --- what the network sends back ----------------------------------------- */

ss_outcome ss_outcome_of(bool v6, uint8_t type, uint8_t code, bool from_target)
{
    if (type == (v6 ? ICMP6_EXPIRED : ICMP4_EXPIRED))
        return SS_EXPIRED;
    if (from_target && code == (v6 ? PORT6_UNREACHABLE : PORT4_UNREACHABLE))
        return SS_REACHED;
    return SS_UNREACHABLE;
}

/* Identifies the probe that an ICMP error quotes. */
static bool read_quote4(const ss_stamp *s, const uint8_t *q, size_t len,
                        ss_probe *out)
{
    if (len < IP4_HEAD || q[0] >> 4 != 4 || q[9] != PROTOCOL_ICMP)
        return false;
    size_t head = (size_t)(q[0] & 15) * 4;
    if (head < IP4_HEAD || len < head + ECHO_HEAD || q[head] != ICMP4_ECHO)
        return false;
    return name_echo(s, ss_addr_from_bytes(q + 16, 4), q + head, len - head,
                     out);
}

static bool read_quote6(const ss_stamp *s, const uint8_t *q, size_t len,
                        ss_probe *out)
{
    if (len < IP6_HEAD + ECHO_HEAD || q[0] >> 4 != 6 ||
        q[6] != PROTOCOL_ICMP6 || q[IP6_HEAD] != ICMP6_ECHO)
        return false;
    return name_echo(s, ss_addr_from_bytes(q + 24, 16), q + IP6_HEAD,
                     len - IP6_HEAD, out);
}

/* Parses an ICMP message of at least ECHO_HEAD bytes from out->from. */
static bool read_message(const ss_stamp *s, const uint8_t *m, size_t len,
                         ss_answer *out)
{
    bool v6 = !ss_addr_is_v4(out->from), mine;

    out->icmp_type = m[0];
    out->icmp_code = m[1];
    if (m[0] == (v6 ? ICMP6_REPLY : ICMP4_REPLY)) {
        out->outcome = SS_REACHED;
        return len >= ECHO_HEAD + SEAL &&
               name_echo(s, out->from, m, len, &out->probe);
    }
    if (m[0] != (v6 ? ICMP6_EXPIRED : ICMP4_EXPIRED) &&
        m[0] != (v6 ? ICMP6_UNREACHABLE : ICMP4_UNREACHABLE))
        return false;
    mine = v6 ? read_quote6(s, m + ECHO_HEAD, len - ECHO_HEAD, &out->probe)
              : read_quote4(s, m + ECHO_HEAD, len - ECHO_HEAD, &out->probe);
    if (mine)
        out->outcome = ss_outcome_of(v6, m[0], m[1],
                                     ss_addr_equal(out->from, out->probe.to));
    return mine;
}

bool ss_read_icmp4(const ss_stamp *s, const uint8_t *packet, size_t len,
                   ss_answer *out)
{
    size_t head = len ? (size_t)(packet[0] & 15) * 4 : 0;

    if (head < IP4_HEAD || len < head + ECHO_HEAD || packet[0] >> 4 != 4 ||
        packet[9] != PROTOCOL_ICMP)
        return false;
    *out = (ss_answer){.from = ss_addr_from_bytes(packet + 12, 4),
                       .at = ss_addr_from_bytes(packet + 16, 4),
                       .reply_tos = packet[1],
                       .reply_len = get16(packet + 2),
                       .reply_id = get16(packet + 4),
                       .reply_ttl = packet[8]};
    return read_message(s, packet + head, len - head, out);
}

bool ss_read_icmp6(const ss_stamp *s, ss_addr from, const uint8_t *message,
                   size_t len, ss_answer *out)
{
    if (len < ECHO_HEAD || ss_addr_is_v4(from))
        return false;
    *out = (ss_answer){.from = from, .reply_len = (uint16_t)(IP6_HEAD + len)};
    return read_message(s, message, len, out);
}
