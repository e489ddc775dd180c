/*
 * probe.h - encodes probes, and decodes the answers to them.
 *
 * Nothing here sends or waits. A probe carries its own name (destination, TTL,
 * attempt), authenticated with the key of the run, so answers are matched
 * without a table and forged answers are detected.
 */
#ifndef UM_STOPSET_PROBE_H
#define UM_STOPSET_PROBE_H

#include "stopset/formats/trace.h"

enum {
    SS_PROBE_MAX = 512, /* bytes of a probe, without IP and UDP headers */
    SS_CONTACT_MAX = 256,
    SS_UDP_PORT = 33434 /* plus the flow: the port that traceroute uses */
};

/*
 * The key and flow of a run. The key is random: only those who saw a probe can
 * answer it. Routers that balance load by flow show one path for each flow.
 */
typedef struct ss_stamp {
    uint8_t key[16];
    uint16_t flow;
} ss_stamp;

typedef struct ss_probe {
    ss_addr to;
    uint8_t ttl, attempt;
} ss_probe;

typedef enum ss_outcome {
    SS_EXPIRED,     /* a router on the path: time exceeded */
    SS_REACHED,     /* the destination */
    SS_UNREACHABLE, /* a router or host reported that there is no route */
    SS_UNANSWERED   /* the prober has given up waiting */
} ss_outcome;

typedef struct ss_answer {
    ss_probe probe;
    ss_addr from;
    ss_addr at; /* our address; zero if unknown */
    ss_outcome outcome;
    uint8_t icmp_type, icmp_code; /* as received; for IPv6 those of ICMPv6 */
    uint8_t reply_ttl, reply_tos; /* 0 if unknown */
    uint16_t reply_id, reply_len; /* of the IP packet; 0 if unknown */
    uint16_t probe_size; /* of the probe's IP packet; 0 if it is not reported */
    uint32_t rtt; /* microseconds, as the prober measured it; 0 if it did not */
} ss_answer;

/*
 * Writes the ICMP echo request of a probe, or the payload of its UDP datagram,
 * and returns its length. The checksum of an echo request is the same for all
 * TTLs of a flow (Augustin et al. 2006, Paris traceroute). contact is appended,
 * for anyone who inspects the packet.
 */
size_t ss_write_echo(const ss_stamp *s, const ss_probe *p, const char *contact,
                     uint8_t out[SS_PROBE_MAX]);
size_t ss_write_udp(const ss_stamp *s, const ss_probe *p, const char *contact,
                    uint8_t out[SS_PROBE_MAX]);

/*
 * Parses an ICMP message: a packet with its IPv4 header, as from a raw socket,
 * or an ICMPv6 message from that address. Returns false if it does not answer
 * one of our probes.
 */
bool ss_read_icmp4(const ss_stamp *s, const uint8_t *packet, size_t len,
                   ss_answer *out);
bool ss_read_icmp6(const ss_stamp *s, ss_addr from, const uint8_t *message,
                   size_t len, ss_answer *out);

/*
 * Identifies the probe whose UDP payload an ICMP error quotes. Returns false if
 * it is not ours, or if the quote is too short.
 */
bool ss_read_udp(const ss_stamp *s, ss_addr to, const uint8_t *payload,
                 size_t len, ss_probe *out);

/* Returns the length of the IP packet of a probe whose message has that
 * length. */
uint16_t ss_probe_packet(bool v6, bool udp, size_t len);
/* Returns the length of the IP packet of an ICMP error that quotes that much of
 * a UDP probe's payload, with headers that have no options. */
uint16_t ss_error_packet(bool v6, size_t quoted);

/* Returns the meaning of an ICMP error of this type and code. */
ss_outcome ss_outcome_of(bool v6, uint8_t type, uint8_t code, bool from_target);

#endif
