/*
 * replies.c - arbitrary packets from the network, and arbitrary scamper output.
 *
 * A packet is rejected, or parsed as the answer to a possible probe of ours: it
 * then has a destination, and the tracer accepts it. The first byte of the
 * input selects an IPv4 packet, an ICMPv6 message, a UDP payload, or bytes of
 * scamper's socket. In every second packet the identifier and the seal, which a
 * fuzzer cannot guess, are corrected.
 */
#include "fuzz.h"

#include "stopset/tracer/prober.h"
#include "stopset/tracer/tracer.h"

#include <string.h>

enum { ROOM = 2048, ECHO = 8, IP4 = 20, IP6 = 40, SEALED = 26 };

static const ss_stamp stamp = {{7}, 1};
static const ss_addr here = {UINT64_C(0x20010DB800000000), 1};

static bool next_target(void *ctx, ss_addr *dst)
{
    int *left = ctx;

    *dst = ss_addr_v4(UINT32_C(0xCB007100) + (uint32_t)*left);
    return (*left)-- > 0;
}

static void parse_trace(void *ctx, const ss_trace *t, unsigned probes)
{
    (void)ctx;
    UM_WANT(t->nhops <= probes);
}

/* Passes the answer to a tracer with a trace in progress. */
static void hand_to_tracer(const ss_answer *a)
{
    int targets = 2;
    ss_tracer_config c = {.policy = {3, 8, 5, true},
                          .attempts = 2,
                          .window = 4,
                          .wait = 100,
                          .rate = 1e6,
                          .ctx = &targets,
                          .next = next_target,
                          .finished = parse_trace};
    ss_tracer *t;
    ss_probe p;
    umbel_error err;

    UM_WANT(ss_tracer_open(&c, &t, &err) == UMBEL_OK);
    for (uint64_t now = 1000; now < 4000; now += 10) {
        ss_answer mine = *a;
        while (ss_tracer_send(t, now, &p)) {
            mine.probe.to = p.to;
            ss_tracer_answer(t, now, a);
            ss_tracer_answer(t, now, &mine);
        }
    }
    ss_tracer_halt(t);
    UM_WANT(ss_tracer_due(t) == UINT64_MAX);
    ss_tracer_close(t);
}

/* Overwrites the message at `at` with a probe of ours, if there is space. */
static void create_ours(uint8_t *packet, size_t len, size_t at, ss_addr to)
{
    uint8_t echo[SS_PROBE_MAX], type;

    if (len < at + SEALED)
        return;
    ss_probe p = {to, packet[at + 7], packet[at + 6]};
    type = packet[at];
    ss_write_echo(&stamp, &p, NULL, echo);
    memcpy(packet + at, echo, SEALED - 8);
    packet[at] = type;
}

static void read_packet(uint8_t *packet, size_t len, bool v6, bool ours)
{
    ss_answer a;
    size_t inner = v6 ? ECHO + IP6 : IP4 + ECHO + IP4;
    bool known;

    if (ours && len >= inner) {
        size_t to = v6 ? ECHO + 24 : IP4 + ECHO + 16;
        create_ours(packet, len, inner,
                    ss_addr_from_bytes(packet + to, v6 ? 16 : 4));
    }
    known = v6 ? ss_read_icmp6(&stamp, here, packet, len, &a)
               : ss_read_icmp4(&stamp, packet, len, &a);
    if (known) {
        UM_WANT(v6 || ss_addr_is_v4(a.probe.to));
        UM_WANT(a.outcome != SS_UNANSWERED);
        hand_to_tracer(&a);
    }
}

static void read_scamper(const uint8_t *bytes, size_t len)
{
    size_t used, data_len;
    const uint8_t *data;
    ss_answer a;

    for (;;) {
        ss_scamper_event e =
            ss_scamper_parse(bytes, len, &used, &data, &data_len);
        UM_WANT(used <= len);
        if (e == SS_SCAMPER_PART || e == SS_SCAMPER_BAD)
            return;
        UM_WANT(used > 0);
        if (e == SS_SCAMPER_DATA) {
            UM_WANT(data >= bytes && data + data_len == bytes + used);
            if (ss_scamper_answer(data, data_len, &a))
                hand_to_tracer(&a);
        }
        bytes += used;
        len -= used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t packet[ROOM];
    ss_probe p;

    if (size == 0 || size > ROOM)
        return 0;
    memcpy(packet, data + 1, size - 1);
    switch (data[0] % 6) {
    case 0:
        read_scamper(data + 1, size - 1);
        break;
    case 1:
        ss_read_udp(&stamp, here, packet, size - 1, &p);
        break;
    default:
        read_packet(packet, size - 1, data[0] & 1, data[0] % 6 > 3);
    }
    return 0;
}
