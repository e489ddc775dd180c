/*
 * mark.c - routers in the option of a packet, and the way back.
 */
#include "packets/mark/mark.h"
#include "base/rng.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPACE = 2048 };

static const pk_mark_shape four = {.reset = 4, .set = 4};
static const pk_mark_shape plain = {.reset = 0, .set = 8};

static pk_marker *marker(const pk_mark_shape *shape, const char *router,
                         unsigned suspicions)
{
    pk_marker_config c = {.shape = *shape,
                          .router = router,
                          .suspicions = suspicions,
                          .mtu = 1500};
    pk_marker *m;
    umbel_error err;

    assert_int_equal(pk_marker_open(&c, &m, &err), UMBEL_OK);
    return m;
}

static pk_verdict mark_by(const char *router, uint8_t *p, uint32_t *len)
{
    pk_marker *m = marker(&four, router, 0);
    pk_verdict verdict = pk_mark(m, p, len);

    pk_marker_close(m);
    return verdict;
}

/* A UDP packet of IPv4 with n bytes of options and `payload` bytes. */
static uint32_t write_v4(uint8_t *p, const uint8_t *options, uint32_t n,
                         uint32_t payload)
{
    uint32_t len = 20 + n + payload;

    memset(p, 0xAB, SPACE);
    memset(p, 0, 20);
    p[0] = (uint8_t)(0x40 | (20 + n) / 4);
    p[2] = (uint8_t)(len >> 8);
    p[3] = (uint8_t)len;
    p[8] = 64;
    p[9] = 17;
    memcpy(p + 12, "\xc0\x00\x02\x01\xc6\x33\x64\x02", 8);
    if (n)
        memcpy(p + 20, options, n);
    return len;
}

/* A packet of IPv6 with a hop-by-hop header of n bytes. */
static uint32_t write_v6(uint8_t *p, const uint8_t *header, uint32_t n,
                         uint32_t payload)
{
    memset(p, 0xAB, SPACE);
    memset(p, 0, 40);
    p[0] = 0x60;
    p[4] = (uint8_t)((n + payload) >> 8);
    p[5] = (uint8_t)(n + payload);
    p[6] = n ? 0 : 17;
    p[7] = 64;
    if (n)
        memcpy(p + 40, header, n);
    return 40 + n + payload;
}

static uint32_t checksum(const uint8_t *p)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < (p[0] & 15u) * 4; i += 2)
        sum += (uint32_t)p[i] << 8 | p[i + 1];
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return sum;
}

static void an_ipv4_packet_gets_one_option(void **state)
{
    uint8_t p[SPACE], payload[100];
    uint32_t len = write_v4(p, NULL, 0, 100);

    (void)state;
    memcpy(payload, p + 20, 100);
    assert_int_equal(mark_by("a", p, &len), PK_CHANGED);
    assert_int_equal(len, 156);
    assert_int_equal(p[0], 0x4E);
    assert_int_equal(p[2] << 8 | p[3], 156);
    assert_int_equal(p[20], 158);
    assert_int_equal(p[21], 36);
    assert_int_equal(p[22], 0x44);
    assert_int_equal(checksum(p), 0xFFFF);
    assert_memory_equal(p + 56, payload, 100);
    assert_int_equal(mark_by("b", p, &len), PK_CHANGED);
    assert_int_equal(len, 156);
    assert_int_equal(checksum(p), 0xFFFF);
    assert_ptr_equal(pk_mark_find(&four, p, len), p + 24);
    assert_null(pk_mark_find(&plain, p, len));
}

static void the_option_follows_others_of_four_bytes(void **state)
{
    static const uint8_t alert[] = {148, 4, 0, 0},
                         two[] = {148, 4, 0, 0, 148, 4, 0, 0};
    uint8_t p[SPACE];
    uint32_t len = write_v4(p, alert, sizeof alert, 20);

    (void)state;
    assert_int_equal(mark_by("a", p, &len), PK_CHANGED);
    assert_int_equal(len, 20 + 40 + 20);
    assert_memory_equal(p + 20, alert, 4);
    assert_int_equal(p[24], 158);
    len = write_v4(p, two, sizeof two, 20);
    assert_int_equal(mark_by("a", p, &len), PK_PASS);
    assert_int_equal(len, 48);
}

static void an_ipv6_packet_gets_a_hop_by_hop_header(void **state)
{
    static const uint8_t alert[] = {17, 0, 5, 2, 0, 0, 1, 0};
    uint8_t p[SPACE];
    uint32_t len = write_v6(p, NULL, 0, 100);

    (void)state;
    assert_int_equal(mark_by("a", p, &len), PK_CHANGED);
    assert_int_equal(len, 180);
    assert_int_equal(p[4] << 8 | p[5], 140);
    assert_int_equal(p[6], 0);
    assert_int_equal(p[40], 17);
    assert_int_equal(p[41], 4);
    assert_int_equal(p[42], 0x3E);
    assert_int_equal(p[43], 34);
    assert_int_equal(p[78], 1); /* two bytes of padding */
    assert_int_equal(p[79], 0);
    assert_int_equal(mark_by("b", p, &len), PK_CHANGED);
    assert_int_equal(len, 180);

    len = write_v6(p, alert, sizeof alert, 100); /* an option joins others */
    assert_int_equal(mark_by("a", p, &len), PK_CHANGED);
    assert_int_equal(len, 188);
    assert_int_equal(p[40], 17);
    assert_int_equal(p[41], 5);
    assert_memory_equal(p + 42, alert + 2, 6);
    assert_ptr_equal(pk_mark_find(&four, p, len), p + 52);
}

static void what_cannot_be_marked_is_counted_and_passed(void **state)
{
    pk_marker *m = marker(&four, "a", 0);
    uint8_t p[SPACE], before[SPACE];
    uint32_t len = write_v4(p, NULL, 0, 1470);
    uint8_t full[40];

    (void)state;
    p[6] = 0x40; /* must not be fragmented */
    assert_int_equal(pk_mark(m, p, &len), PK_PASS);
    p[6] = 0;
    assert_int_equal(pk_mark(m, p, &len), PK_CHANGED);
    len = write_v6(p, NULL, 0, 1430);
    assert_int_equal(pk_mark(m, p, &len), PK_PASS);
    memset(full, 1, sizeof full);
    full[36] = 7;
    full[37] = 4;
    len = write_v4(p, full, sizeof full, 8);
    assert_int_equal(pk_mark(m, p, &len), PK_PASS);
    full[37] = 1; /* a length below 2 */
    len = write_v4(p, full, sizeof full, 8);
    memcpy(before, p, sizeof before);
    assert_int_equal(pk_mark(m, p, &len), PK_PASS);
    assert_memory_equal(p, before, sizeof before);
    len = 10;
    assert_int_equal(pk_mark(m, p, &len), PK_PASS);
    pk_marker_counts c = pk_marker_count(m);
    assert_int_equal(c.packets, 6);
    assert_int_equal(c.marked, 1);
    assert_int_equal(c.too_large, 2);
    assert_int_equal(c.no_space, 1);
    assert_int_equal(c.malformed, 2);
    pk_marker_close(m);
}

/* The filter of a plain shape is never changed by the second visit. */
static void a_packet_that_comes_again_is_dropped(void **state)
{
    pk_marker *m[3] = {marker(&plain, "a", 2), marker(&plain, "b", 2),
                       marker(&plain, "c", 2)};
    uint8_t p[SPACE];
    uint32_t len = write_v4(p, NULL, 0, 100);

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pk_mark(m[i], p, &len), PK_CHANGED);
    assert_int_equal(pk_mark(m[0], p, &len), PK_CHANGED);
    assert_int_equal(p[23], 1);
    assert_int_equal(pk_mark(m[1], p, &len), PK_DROP);
    for (int i = 0; i < 3; i++)
        pk_marker_close(m[i]);
}

static void a_router_has_other_cells_in_another_packet(void **state)
{
    uint8_t a[SPACE], b[SPACE];
    uint32_t len_a = write_v4(a, NULL, 0, 10), len_b = write_v4(b, NULL, 0, 10);

    (void)state;
    b[5] = 1; /* another identification */
    mark_by("a", a, &len_a);
    mark_by("a", b, &len_b);
    assert_memory_not_equal(a + 24, b + 24, PK_MARK_BYTES);
}

/* --- topologies ----------------------------------------------------------- */

static umbel_status parse(const char *text, pk_topology *t)
{
    umbel_error err;

    return pk_topology_parse((umbel_slice){text, strlen(text)}, t, &err);
}

static void a_topology_is_links_and_the_place_of_the_victim(void **state)
{
    pk_topology t;

    (void)state;
    assert_int_equal(
        parse("# a triangle\na b\nb c # back\nc a\n\nvictim c\n", &t),
        UMBEL_OK);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.nvictims, 1);
    assert_string_equal(t.name[t.victims[0]], "c");
    for (uint32_t i = 0; i < t.n; i++)
        assert_int_equal(t.first[i + 1] - t.first[i], 2);
    assert_int_equal(pk_topology_find(&t, "b"), 1);
    assert_int_equal(pk_topology_find(&t, "d"), 3);
    pk_topology_fini(&t);
}

static void other_lines_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "a b\n",
        "a\nvictim a\n",
        "a b c\nvictim a\n",
        "victim\n",
        "a \x01\nvictim a\n",
        ("a 0123456789012345678901234567890123456789012345678901234567890123\n"
         "victim a\n")};
    pk_topology t;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse(bad[i], &t), UMBEL_E_FORMAT);
}

/* --- the way back --------------------------------------------------------- */

/* A chain of 12 routers, of which each has two more neighbours. */
static void parse_net(pk_topology *t)
{
    char text[4096];
    size_t n = 0;

    for (int i = 0; i < 12; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "r%d r%d\nr%d s%d\nr%d t%d\n", i, i + 1, i, i, i,
                              i);
    snprintf(text + n, sizeof text - n, "victim r0\n");
    assert_int_equal(parse(text, t), UMBEL_OK);
}

static void fill(uint8_t *bits, int preset, um_rng *rng)
{
    for (int i = 0; i < PK_MARK_BYTES; i++)
        bits[i] = preset == 0   ? 0
                  : preset == 1 ? 0xFF
                                : (uint8_t)um_random(rng);
}

/* Sends a packet from r11 to the victim, with bits that the attacker chose. */
static uint32_t send_packet(uint8_t *p, int preset, um_rng *rng, int i)
{
    uint8_t option[36] = {158, 36, 0x44, 0};
    char name[16];

    fill(option + 4, preset, rng);
    uint32_t len = write_v4(p, option, sizeof option, 50);
    p[4] = (uint8_t)(i >> 8);
    p[5] = (uint8_t)i;
    for (int r = 11; r >= 0; r--) {
        snprintf(name, sizeof name, "r%d", r);
        assert_int_equal(mark_by(name, p, &len), PK_CHANGED);
    }
    return len;
}

static bool is_candidate(const pk_topology *t, const pk_trace *trace,
                         const char *name)
{
    for (uint32_t i = 0; i < trace->ncandidates; i++)
        if (strcmp(t->name[trace->candidates[i]], name) == 0)
            return true;
    return false;
}

static void the_source_is_found_whatever_the_attacker_sends(void **state)
{
    pk_tracer_config c = {.shape = four, .wildcards = true, .limit = 100000};
    um_rng rng = {.state = 1};
    int exact = 0;
    pk_topology t;
    pk_tracer *tracer;
    pk_trace trace;
    umbel_error err;
    uint8_t p[SPACE];

    (void)state;
    parse_net(&t);
    assert_int_equal(pk_tracer_open(&t, &c, &tracer, &err), UMBEL_OK);
    for (int i = 0; i < 60; i++) {
        uint32_t len = send_packet(p, i % 3, &rng, i);
        assert_true(pk_trace_packet(tracer, p, len, &trace));
        assert_true(is_candidate(&t, &trace, "r11"));
        assert_false(trace.cut);
        exact +=
            trace.npath == 12 && strcmp(t.name[trace.path[11]], "r11") == 0;
    }
    assert_true(exact >= 50);
    pk_tracer_close(tracer);
    pk_topology_fini(&t);
}

static void a_search_ends_at_its_limit(void **state)
{
    pk_tracer_config c = {.shape = four, .wildcards = true, .limit = 5};
    um_rng rng = {.state = 1};
    pk_topology t;
    pk_tracer *tracer;
    pk_trace trace;
    umbel_error err;
    uint8_t p[SPACE];

    (void)state;
    parse_net(&t);
    assert_int_equal(pk_tracer_open(&t, &c, &tracer, &err), UMBEL_OK);
    uint32_t len = send_packet(p, 0, &rng, 0);
    assert_true(pk_trace_packet(tracer, p, len, &trace));
    assert_true(trace.cut);
    len = write_v4(p, NULL, 0, 50);
    assert_false(pk_trace_packet(tracer, p, len, &trace));
    pk_tracer_close(tracer);
    pk_topology_fini(&t);
}

TEST_GROUP(mark)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ipv4_packet_gets_one_option),
        cmocka_unit_test(the_option_follows_others_of_four_bytes),
        cmocka_unit_test(an_ipv6_packet_gets_a_hop_by_hop_header),
        cmocka_unit_test(what_cannot_be_marked_is_counted_and_passed),
        cmocka_unit_test(a_packet_that_comes_again_is_dropped),
        cmocka_unit_test(a_router_has_other_cells_in_another_packet),
        cmocka_unit_test(a_topology_is_links_and_the_place_of_the_victim),
        cmocka_unit_test(other_lines_are_refused),
        cmocka_unit_test(the_source_is_found_whatever_the_attacker_sends),
        cmocka_unit_test(a_search_ends_at_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
