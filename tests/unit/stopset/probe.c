/* probe.c - probes as bytes, and which answers are accepted. */
#include "support/test.h"

#include "base/rng.h"
#include "stopset/tracer/probe.h"
#include "stopset/tracer/prober.h"

#include <stdlib.h>
#include <string.h>

enum { IP4 = 20, IP6 = 40, ICMP = 8, PACKET = 1024 };
enum { QUOTE = IP4 + ICMP + IP4 }; /* offset of our message in an error */

static const ss_stamp stamp = {
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 7};

static ss_addr address(const char *text)
{
    ss_addr a;

    assert_true(ss_addr_parse(text, strlen(text), &a));
    return a;
}

static uint16_t sum_of(const uint8_t *at, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i++)
        sum += i % 2 ? at[i] : (uint32_t)at[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return (uint16_t)sum;
}

static size_t write_ip4(uint8_t *out, const char *from, const char *to,
                        size_t len)
{
    uint8_t bytes[16];

    memset(out, 0, IP4);
    out[0] = 0x45;
    out[2] = (uint8_t)((IP4 + len) >> 8);
    out[3] = (uint8_t)(IP4 + len);
    out[8] = 61;
    out[9] = 1;
    ss_addr_to_bytes(address(from), bytes);
    memcpy(out + 12, bytes + 12, 4);
    ss_addr_to_bytes(address(to), bytes);
    memcpy(out + 16, bytes + 12, 4);
    return IP4;
}

static size_t write_ip6(uint8_t *out, const char *to)
{
    memset(out, 0, IP6);
    out[0] = 0x60;
    out[6] = 58;
    ss_addr_to_bytes(address(to), out + 24);
    return IP6;
}

/*
 * Writes a time-exceeded message from a router about p, quoting that much of
 * it.
 */
static size_t expired4(const ss_probe *p, size_t quoted, uint8_t out[PACKET])
{
    uint8_t probe[SS_PROBE_MAX];
    size_t len = ss_write_echo(&stamp, p, "abuse@example.org", probe);

    if (quoted > len)
        quoted = len;
    size_t at =
        write_ip4(out, "198.51.100.9", "192.0.2.1", ICMP + IP4 + quoted);
    memset(out + at, 0, ICMP);
    out[at] = 11;
    at += ICMP;
    at += write_ip4(out + at, "192.0.2.1", "203.0.113.5", len);
    memcpy(out + at, probe, quoted);
    return at + quoted;
}

static void an_echo_request_has_one_checksum_for_all_ttls(void **state)
{
    uint8_t first[SS_PROBE_MAX], out[SS_PROBE_MAX];
    static const char *const targets[] = {"203.0.113.5", "2001:db8::5"};

    (void)state;
    for (size_t v = 0; v < 2; v++)
        for (unsigned ttl = 1; ttl < 256; ttl++) {
            ss_probe p = {address(targets[v]), (uint8_t)ttl,
                          (uint8_t)(ttl % 3)};
            const char *contact = ttl % 2 ? "odd" : "even";
            size_t len = ss_write_echo(&stamp, &p, contact, out);
            assert_int_equal(sum_of(out, len), 0xFFFF);
            if (ttl == 1)
                memcpy(first, out, sizeof first);
            assert_memory_equal(out, first, 6); /* type, checksum, identifier */
            assert_memory_equal(out + len - strlen(contact), contact,
                                strlen(contact));
        }
}

static void a_router_names_the_probe_it_dropped(void **state)
{
    uint8_t packet[PACKET];
    ss_answer a;

    (void)state;
    for (unsigned ttl = 1; ttl < 256; ttl += 7)
        for (size_t quoted = ICMP; quoted < 64; quoted += 8) {
            ss_probe p = {address("203.0.113.5"), (uint8_t)ttl, 1};
            size_t len = expired4(&p, quoted, packet);
            assert_true(ss_read_icmp4(&stamp, packet, len, &a));
            assert_int_equal(a.outcome, SS_EXPIRED);
            assert_int_equal(a.probe.ttl, ttl);
            assert_int_equal(a.probe.attempt, 1);
            assert_true(ss_addr_equal(a.probe.to, p.to));
            assert_true(ss_addr_equal(a.from, address("198.51.100.9")));
            assert_int_equal(a.reply_ttl, 61);
        }
}

static void the_destination_sends_the_probe_back(void **state)
{
    uint8_t packet[PACKET];
    ss_probe p = {address("203.0.113.5"), 9, 0};
    ss_probe p6 = {address("2001:db8::5"), 9, 0};
    ss_answer a;

    (void)state;
    size_t len = write_ip4(packet, "203.0.113.5", "192.0.2.1", 0);
    len += ss_write_echo(&stamp, &p, NULL, packet + len);
    packet[IP4] = 0; /* echo reply */
    assert_true(ss_read_icmp4(&stamp, packet, len, &a));
    assert_int_equal(a.outcome, SS_REACHED);
    assert_int_equal(a.probe.ttl, 9);

    len = ss_write_echo(&stamp, &p6, NULL, packet);
    packet[0] = 129;
    assert_true(ss_read_icmp6(&stamp, p6.to, packet, len, &a));
    assert_int_equal(a.outcome, SS_REACHED);
    assert_int_equal(a.reply_len, IP6 + len);
    assert_int_equal(ss_probe_packet(true, false, len), IP6 + len);
    /* A reply from another address matches no probe of ours. */
    assert_false(
        ss_read_icmp6(&stamp, address("2001:db8::6"), packet, len, &a));
}

static void ipv6_routers_quote_the_seal_or_are_not_believed(void **state)
{
    uint8_t packet[PACKET] = {3};
    ss_probe p = {address("2001:db8::5"), 5, 0};
    ss_addr router = address("2001:db8:1::1");
    ss_answer a;

    (void)state;
    size_t head = ICMP + write_ip6(packet + ICMP, "2001:db8::5");
    size_t len = head + ss_write_echo(&stamp, &p, NULL, packet + head);
    assert_true(ss_read_icmp6(&stamp, router, packet, len, &a));
    assert_int_equal(a.outcome, SS_EXPIRED);
    assert_int_equal(a.probe.ttl, 5);
    assert_false(ss_read_icmp6(&stamp, router, packet, head + ICMP, &a));
    packet[0] = 1; /* unreachable: no route */
    assert_true(ss_read_icmp6(&stamp, router, packet, len, &a));
    assert_int_equal(a.outcome, SS_UNREACHABLE);
}

static void a_udp_payload_comes_back_with_its_name(void **state)
{
    uint8_t payload[SS_PROBE_MAX];
    ss_probe p = {address("203.0.113.5"), 11, 1}, q;
    size_t len = ss_write_udp(&stamp, &p, "abuse@example.org", payload);

    (void)state;
    assert_true(ss_read_udp(&stamp, p.to, payload, len, &q));
    assert_int_equal(q.ttl, 11);
    assert_int_equal(q.attempt, 1);
    assert_false(ss_read_udp(&stamp, address("203.0.113.6"), payload, len, &q));
    for (size_t cut = 0; cut < 10; cut++)
        assert_false(ss_read_udp(&stamp, p.to, payload, cut, &q));
    payload[0]++; /* a changed TTL */
    assert_false(ss_read_udp(&stamp, p.to, payload, len, &q));
}

/*
 * A forger knows everything but the key. If little is quoted, it must guess
 * identifier and checksum, 32 bits: a million tries succeed with 0.02 %.
 */
static void forged_answers_are_ignored(void **state)
{
    uint8_t packet[PACKET];
    ss_probe p = {address("203.0.113.5"), 5, 0};
    ss_answer a;
    um_rng rng = {42};

    (void)state;
    for (int short_quote = 0; short_quote < 2; short_quote++) {
        size_t len = expired4(&p, short_quote ? ICMP : 64, packet);
        for (int i = 0; i < 1000000; i++) {
            uint64_t guess = um_random(&rng);
            memcpy(packet + QUOTE + 2, &guess, 4);
            if (!short_quote) /* and the seal */
                memcpy(packet + QUOTE + ICMP, &guess, sizeof guess);
            assert_false(ss_read_icmp4(&stamp, packet, len, &a));
        }
    }
}

static void a_flow_of_another_run_is_not_ours(void **state)
{
    uint8_t packet[PACKET];
    ss_probe p = {address("203.0.113.5"), 5, 0};
    size_t len = expired4(&p, 64, packet);
    ss_stamp other = stamp;
    ss_answer a;

    (void)state;
    other.flow++;
    assert_false(ss_read_icmp4(&other, packet, len, &a));
    other = stamp;
    other.key[15] ^= 1;
    assert_false(ss_read_icmp4(&other, packet, len, &a));
}

/* Tries every prefix of an answer, in memory of exactly that size. */
static void a_cut_packet_is_no_answer(void **state)
{
    uint8_t packet[PACKET];
    ss_probe p = {address("203.0.113.5"), 5, 0};
    size_t len = expired4(&p, 64, packet);
    ss_answer a;

    (void)state;
    for (size_t cut = 0; cut < QUOTE + ICMP; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, packet, cut);
        assert_false(ss_read_icmp4(&stamp, copy, cut, &a));
        assert_false(ss_read_icmp6(&stamp, address("::1"), copy, cut, &a));
        free(copy);
    }
    assert_true(ss_read_icmp4(&stamp, packet, len, &a));
}

/* What scamper measured is passed on; what it left out is unknown. */
static void an_answer_of_scamper_has_its_numbers(void **state)
{
    static const char full[] =
        "{\"type\":\"trace\",\"version\":\"0.1\", \"src\":\"10.0.0.1\", "
        "\"dst\":\"10.200.1.1\", \"hop_count\":3, \"firsthop\":3, "
        "\"probe_size\":44, \"hops\":[{\"addr\":\"10.0.0.14\", "
        "\"probe_ttl\":3, \"probe_id\":1, \"rtt\":0.013, \"reply_ttl\":62, "
        "\"reply_tos\":192, \"reply_ipid\":46962, \"reply_size\":72, "
        "\"icmp_type\":11, \"icmp_code\":0}]}";
    static const char bare[] =
        "{\"type\":\"trace\", \"dst\":\"10.200.1.1\", \"hops\":[{\"addr\":"
        "\"10.0.0.14\", \"probe_ttl\":3, \"icmp_type\":11}]}";
    ss_answer a;

    (void)state;
    assert_true(ss_scamper_answer((const uint8_t *)full, sizeof full - 1, &a));
    assert_int_equal(a.outcome, SS_EXPIRED);
    assert_int_equal(a.probe_size, 44);
    assert_int_equal(a.rtt, 13);
    assert_int_equal(a.reply_ttl, 62);
    assert_int_equal(a.reply_tos, 192);
    assert_int_equal(a.reply_id, 46962);
    assert_int_equal(a.reply_len, 72);
    assert_true(ss_scamper_answer((const uint8_t *)bare, sizeof bare - 1, &a));
    assert_int_equal(a.probe_size + a.rtt + a.reply_ttl + a.reply_len, 0);
}

TEST_GROUP(probe)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_echo_request_has_one_checksum_for_all_ttls),
        cmocka_unit_test(a_router_names_the_probe_it_dropped),
        cmocka_unit_test(the_destination_sends_the_probe_back),
        cmocka_unit_test(ipv6_routers_quote_the_seal_or_are_not_believed),
        cmocka_unit_test(a_udp_payload_comes_back_with_its_name),
        cmocka_unit_test(forged_answers_are_ignored),
        cmocka_unit_test(a_flow_of_another_run_is_not_ours),
        cmocka_unit_test(a_cut_packet_is_no_answer),
        cmocka_unit_test(an_answer_of_scamper_has_its_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
