/*
 * decode.c - headers of packets: every layer, fragments, invariant bytes, and
 * packets that were captured short.
 */
#include "packets/capture/capture.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/* A packet, written as hexadecimal digits with blanks. */
typedef struct made {
    uint8_t bytes[512];
    pk_packet packet;
} made;

static const pk_packet *make(made *m, uint32_t link, const char *hex)
{
    size_t n = 0;
    char two[3] = {0};

    for (; *hex; hex += hex[0] == ' ' ? 1 : 2) {
        if (*hex == ' ')
            continue;
        assert_true(n < sizeof m->bytes);
        memcpy(two, hex, 2);
        m->bytes[n++] = (uint8_t)strtoul(two, NULL, 16);
    }
    m->packet = (pk_packet){.data = m->bytes,
                            .captured = (uint32_t)n,
                            .length = (uint32_t)n,
                            .link = link};
    return &m->packet;
}

#define MACS "112233445566 aabbccddeeff "
#define UDP4                                                                   \
    "45000020 12340000 40110000 c0000201 c6336402 "                            \
    "1f900035 000c0000 61626364 "
#define V6_ADDRESSES                                                           \
    "20010db8000000000000000000000001 20010db8000000000000000000000002 "

static void every_link_layer_leads_to_the_same_flow(void **state)
{
    static const struct {
        uint32_t link;
        const char *hex;
    } rows[] = {
        {PK_ETHERNET, MACS "0800 " UDP4},
        {PK_ETHERNET, MACS "8100 0064 0800 " UDP4},
        {PK_ETHERNET, MACS "88a8 0001 8100 0064 0800 " UDP4},
        {PK_ETHERNET, MACS "9100 0001 8100 0064 8100 0001 0800 " UDP4},
        {PK_ETHERNET, MACS "8847 00001040 00002140 " UDP4},
        {PK_ETHERNET, MACS "8848 00001040 00002040 00003140 " UDP4},
        {PK_SLL, "0000 0001 0006 112233445566 0000 0800 " UDP4},
        {PK_SLL2, "0800 0000 00000001 0001 00 06 1122334455660000 " UDP4},
        {PK_RAW, UDP4},
        {PK_RAW_OLD, UDP4},
        {PK_IPV4, UDP4},
        {PK_NULL, "02000000 " UDP4},
        {PK_LOOP, "00000002 " UDP4},
    };
    pk_headers h;
    made m;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        make(&m, rows[i].link, rows[i].hex);
        assert_true(pk_decode(&m.packet, &h));
        assert_int_equal(h.version, 4);
        assert_int_equal(h.protocol, 17);
        assert_true(h.ports && h.first && !h.fragment);
        assert_int_equal(h.sport, 8080);
        assert_int_equal(h.dport, 53);
        assert_int_equal(h.payload_length, 12);
        assert_memory_equal(h.src, "\xc0\x00\x02\x01", 4);
        assert_memory_equal(h.dst, "\xc6\x33\x64\x02", 4);
        assert_int_equal(h.ip, m.packet.captured - 32);
    }
}

static void what_is_not_ip_is_not_decoded(void **state)
{
    static const char *const rows[] = {
        MACS "0806 00010800",          /* ARP */
        MACS "0800 55000020 12340000", /* version 5 */
        MACS "0800 43000020 12340000 40110000 c0000201 c6336402", /* IHL 3 */
        MACS "0800 45000013 12340000 40110000 c0000201 c6336402", /* length */
        MACS "86dd 60000000 0008 3c 40 " V6_ADDRESSES "06ff000000000000",
        "",
        "11"};
    pk_headers h;
    made m;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++)
        assert_false(pk_decode(make(&m, PK_ETHERNET, rows[i]), &h));
}

static void extensions_of_ipv6_are_passed(void **state)
{
    /* Hop-by-hop (16 bytes), routing, AH (12 bytes), destination, TCP. */
    static const char packet[] =
        "60012345 0040 00 40 " V6_ADDRESSES "2b01000000000000 0000000000000000 "
        "3300000000000000 3c01000000000000 00000000 "
        "0600000000000000 01bb8235 00000000 00000000 50020000 00000000";
    pk_headers h;
    made m;

    (void)state;
    assert_true(pk_decode(make(&m, PK_RAW, packet), &h));
    assert_int_equal(h.version, 6);
    assert_int_equal(h.protocol, 6);
    assert_true(h.ports);
    assert_int_equal(h.sport, 443);
    assert_int_equal(h.dport, 0x8235);
    assert_int_equal(h.payload, 40 + 16 + 8 + 12 + 8);
    assert_int_equal(h.payload_length, 0x40 - 44);
    assert_memory_equal(h.dst + 8, "\0\0\0\0\0\0\0\2", 8);
}

static void later_fragments_get_the_ports_of_the_first(void **state)
{
    static const char *const rows[][2] = {
        {"4500001c 12342000 40110000 c0000201 c6336402 1f90003500200000",
         "4500001c 12340001 40110000 c0000201 c6336402 6161616161616161"},
        /* The first fragment has a destination option behind its header. */
        {"60000000 0018 2c 40 " V6_ADDRESSES "3c000001 00001234 "
         "1100000000000000 1f90003500200000",
         "60000000 0010 2c 40 " V6_ADDRESSES "3c000010 00001234 "
         "6161616161616161"}};
    pk_fragments *f;
    pk_headers h;
    made m;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_ok(pk_fragments_open(&f, &test_refusal));
        make(&m, PK_RAW, rows[i][1]);
        assert_true(pk_decode(&m.packet, &h)); /* before its first: unknown */
        assert_true(h.fragment && !h.first && !h.ports);
        pk_fragments_apply(f, &m.packet, &h);
        assert_false(h.ports);
        make(&m, PK_RAW, rows[i][0]);
        m.packet.time = 1000;
        assert_true(pk_decode(&m.packet, &h));
        assert_true(h.fragment && h.first && h.more && h.ports);
        assert_int_equal(h.protocol, 17);
        pk_fragments_apply(f, &m.packet, &h);
        make(&m, PK_RAW, rows[i][1]);
        m.packet.time = UINT64_C(30000001000);
        assert_true(pk_decode(&m.packet, &h));
        pk_fragments_apply(f, &m.packet, &h);
        assert_false(!h.ports);
        assert_int_equal(h.sport, 8080);
        assert_int_equal(h.dport, 53);
        assert_int_equal(h.protocol, 17);
        m.packet.time++; /* too late: the number may be used again */
        assert_true(pk_decode(&m.packet, &h));
        pk_fragments_apply(f, &m.packet, &h);
        assert_false(h.ports);
        m.bytes[m.packet.captured - 17]++; /* another packet's identifier */
        pk_fragments_close(f);
    }
}

/* A flood of fragments replaces old entries and nothing else. */
static void a_flood_of_fragments_uses_no_more_memory(void **state)
{
    static const char first[] =
        "4500001c 12342000 40110000 c0000201 c6336402 1f90003500200000";
    pk_fragments *f;
    pk_headers h;
    made m;

    (void)state;
    assert_ok(pk_fragments_open(&f, &test_refusal));
    make(&m, PK_RAW, first);
    for (uint32_t i = 0; i < 65536; i++) {
        m.bytes[4] = (uint8_t)(i >> 8);
        m.bytes[5] = (uint8_t)i;
        m.packet.time = i;
        assert_true(pk_decode(&m.packet, &h));
        pk_fragments_apply(f, &m.packet, &h);
    }
    m.bytes[7] = 1;
    m.bytes[6] = 0;
    assert_true(pk_decode(&m.packet, &h));
    pk_fragments_apply(f, &m.packet, &h); /* of the packet that came last */
    assert_true(h.ports);
    pk_fragments_close(f);
}

/* Captured at any length: what is found is inside, and equals the whole. */
static void packets_captured_short_are_never_read_past_their_end(void **state)
{
    static const char *const rows[] = {
        MACS "88a8 0001 8100 0064 0800 " UDP4,
        MACS "8847 00001040 00002140 " UDP4,
        MACS "86dd 60012345 0040 00 40 " V6_ADDRESSES
             "2b01000000000000 0000000000000000 "
             "3300000000000000 3c01000000000000 00000000 "
             "0600000000000000 01bb8235 00000000 00000000 50020000 00000000",
        MACS "86dd 60000000 0018 2c 40 " V6_ADDRESSES "3c000001 00001234 "
             "1100000000000000 1f90003500200000"};
    uint8_t whole_bytes[PK_INVARIANT], bytes[PK_INVARIANT];
    pk_headers whole, h;
    made m;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        make(&m, PK_ETHERNET, rows[i]);
        assert_true(pk_decode(&m.packet, &whole));
        size_t n = pk_invariant(&m.packet, &whole, whole_bytes);
        assert_true(n > 0);
        for (uint32_t len = 0; len < m.packet.captured; len++) {
            uint8_t *copy = malloc(len + 1);
            pk_packet p = m.packet;
            memcpy(copy + 1, m.bytes, len);
            p.data = copy + 1;
            p.captured = len;
            if (pk_decode(&p, &h)) {
                assert_int_equal(h.version, whole.version);
                assert_int_equal(h.protocol, whole.protocol);
                assert_true(h.payload <= len);
                assert_true(!h.ports || h.sport == whole.sport);
                size_t short_n = pk_invariant(&p, &h, bytes);
                assert_true(short_n == 0 || short_n == n);
                if (short_n)
                    assert_memory_equal(bytes, whole_bytes, n);
            }
            free(copy);
        }
    }
}

/* What routers change, and options that they add, changes no invariant byte. */
static void routers_do_not_change_invariant_bytes(void **state)
{
    static const char *const rows[][2] = {
        {UDP4, "46200024 12340000 3f11beef c0000201 c6336402 94040000 "
               "1f900035 000c0000 61626364"},
        {"60000000 0008 11 40 " V6_ADDRESSES "1f90003500080000",
         "6fffffff 0010 00 01 " V6_ADDRESSES
         "1104c00000000000 1f90003500080000"}};
    uint8_t a[PK_INVARIANT], b[PK_INVARIANT];
    pk_headers h;
    made m;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        make(&m, PK_RAW, rows[i][0]);
        assert_true(pk_decode(&m.packet, &h));
        size_t n = pk_invariant(&m.packet, &h, a);
        assert_int_equal(n, i ? 48 : 28);
        make(&m, PK_RAW, rows[i][1]);
        if (i) /* an extension of 8 bytes states 0 */
            m.bytes[41] = 0;
        assert_true(pk_decode(&m.packet, &h));
        assert_int_equal(pk_invariant(&m.packet, &h, b), n);
        assert_memory_equal(a, b, n);
        m.bytes[m.packet.captured - 5]++;
        assert_int_equal(pk_invariant(&m.packet, &h, b), n);
        assert_memory_not_equal(a, b, n);
    }
}

TEST_GROUP(decode)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_link_layer_leads_to_the_same_flow),
        cmocka_unit_test(what_is_not_ip_is_not_decoded),
        cmocka_unit_test(extensions_of_ipv6_are_passed),
        cmocka_unit_test(later_fragments_get_the_ports_of_the_first),
        cmocka_unit_test(a_flood_of_fragments_uses_no_more_memory),
        cmocka_unit_test(packets_captured_short_are_never_read_past_their_end),
        cmocka_unit_test(routers_do_not_change_invariant_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
