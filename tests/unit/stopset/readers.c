/*
 * readers.c - traces in warts and JSON: what is read, skipped and counted, and
 * refused, with its position.
 */
#include "keylist/json.h"
#include "stopset/formats/input.h"
#include "stopset/formats/output.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/* --- received traces -------------------------------------------------------
 */

enum { MAX_TRACES = 8 };

typedef struct seen {
    ss_trace trace[MAX_TRACES];
    ss_hop hop[MAX_TRACES][16];
    size_t n;
    ss_input_counts counts;
} seen;

static umbel_status retain_trace(void *ctx, const ss_trace *t, umbel_error *err)
{
    seen *s = ctx;

    (void)err;
    assert_true(s->n < MAX_TRACES && t->nhops <= 16);
    s->trace[s->n] = *t;
    memcpy(s->hop[s->n], t->hop, t->nhops * sizeof *t->hop);
    s->trace[s->n].hop = s->hop[s->n];
    s->n++;
    return UMBEL_OK;
}

/* Feeds bytes in pieces of that length. */
static umbel_status feed(const void *bytes, size_t len, size_t piece, seen *s)
{
    ss_sink sink = {.ctx = s, .trace = retain_trace};
    const uint8_t *at = bytes;
    umbel_status status = UMBEL_OK;

    *s = (seen){0};
    ss_feed *f = ss_feed_open(&sink, &s->counts);
    assert_non_null(f);
    for (size_t i = 0; status == UMBEL_OK && i < len; i += piece)
        status = ss_feed_push(f, at + i, len - i < piece ? len - i : piece,
                              &test_refusal);
    if (status == UMBEL_OK)
        status = ss_feed_end(f, &test_refusal);
    ss_feed_close(f);
    return status;
}

static umbel_status feed_text(const char *text, seen *s)
{
    return feed(text, strlen(text), 1 << 20, s);
}

static void assert_address(ss_addr a, const char *text)
{
    char got[SS_ADDR_TEXT];

    ss_addr_format(a, got);
    assert_string_equal(got, text);
}

static void assert_hop(const seen *s, size_t trace, size_t i, uint8_t ttl,
                       const char *address)
{
    assert_true(i < s->trace[trace].nhops);
    assert_int_equal(s->hop[trace][i].ttl, ttl);
    assert_address(s->hop[trace][i].addr, address);
}

/* --- addresses -------------------------------------------------------------
 */

static void addresses_are_written_as_they_are_parsed(void **state)
{
    static const char *const texts[] = {
        "0.0.0.0",     "192.0.2.1", "255.255.255.255",
        "2001:db8::1", "::1",       "fe80::1:2"};
    static const char *const none[] = {
        "",         "1.2.3",   "1.2.3.4.5", "256.1.1.1",  "1..2.3",
        "1.2.3.4 ", "1.2.3.x", "2001:::1",  "1.2.3.0001", "example"};
    ss_addr a;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        assert_true(ss_addr_parse(texts[i], strlen(texts[i]), &a));
        assert_address(a, texts[i]);
    }
    for (size_t i = 0; i < TEST_COUNT(none); i++)
        assert_false(ss_addr_parse(none[i], strlen(none[i]), &a));
    assert_true(ss_addr_parse("::ffff:192.0.2.1", 16, &a));
    assert_address(a, "192.0.2.1");
}

static void prefixes_keep_the_first_bits(void **state)
{
    ss_prefix_len len = {24, 48};
    ss_addr a;

    (void)state;
    assert_true(ss_addr_parse("203.0.113.77", 12, &a));
    assert_address(ss_addr_mask(a, len), "203.0.113.0");
    assert_address(ss_addr_mask(a, (ss_prefix_len){32, 48}), "203.0.113.77");
    assert_address(ss_addr_mask(a, (ss_prefix_len){1, 48}), "128.0.0.0");
    assert_true(ss_addr_parse("2001:db8:1:2::3", 15, &a));
    assert_address(ss_addr_mask(a, len), "2001:db8:1::");
    assert_address(ss_addr_mask(a, (ss_prefix_len){24, 128}),
                   "2001:db8:1:2::3");
    assert_address(ss_addr_mask(a, (ss_prefix_len){24, 64}), "2001:db8:1:2::");
}

/* --- warts -----------------------------------------------------------------
 */

/*
 * A trace written by scamper: to 10.200.1.1, with hops 1 and 2; the second
 * refers to an address by number.
 */
static const uint8_t warts_trace[] = {
    0x12, 0x05, 0x00, 0x06, 0x00, 0x00, 0x00, 0x3f, /* head: 63 bytes */
    0xb0, 0xc0, 0x84, 0x30, 0x00, 0x18, /* fields 5 6, 14, 17, 26 27 */
    0x6a, 0xf9, 0xfe, 0xb0, 0x00, 0x07, 0x4f, 0x73, /* start */
    0x08,                                           /* GSS */
    0xc8, 0x01,                                     /* dport */
    0x05,                                           /* wait */
    0x04, 0x01, 0x0a, 0x00, 0x00, 0x41,             /* source */
    0x04, 0x01, 0x0a, 0xc8, 0x01, 0x01,             /* destination */
    0x00, 0x02,                                     /* two hops */
    0xe2, 0x80, 0x08, 0x00, 0x0d,                   /* fields 2 6 7 18 */
    0x01, 0x00, 0x00, 0x00, 0x28, 0x0b, 0x00,       /* */
    0x04, 0x01, 0x0a, 0x00, 0x00, 0x42,             /* address number 2 */
    0x82, 0x80, 0x08, 0x00, 0x06,                   /* fields 2 18 */
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02,             /* ttl 2, number 2 */
    0x00, 0x00,                                     /* no attributes */
};

static void a_warts_trace_has_its_hops_and_references(void **state)
{
    seen s;

    (void)state;
    assert_ok(feed(warts_trace, sizeof warts_trace, 1 << 16, &s));
    assert_int_equal(s.n, 1);
    assert_address(s.trace[0].src, "10.0.0.65");
    assert_address(s.trace[0].dst, "10.200.1.1");
    assert_int_equal(s.trace[0].start, 0x6af9feb0);
    assert_int_equal(s.trace[0].stop, SS_STOP_GSS);
    assert_int_equal(s.trace[0].nhops, 2);
    assert_hop(&s, 0, 0, 1, "10.0.0.66");
    assert_hop(&s, 0, 1, 2, "10.0.0.66");
    assert_int_equal(s.hop[0][0].rtt, 40);
    assert_int_equal(s.hop[0][0].icmp_type, 11);
    assert_int_equal(ss_trace_reached(&s.trace[0]), 0);
}

static void pieces_of_any_size_give_the_same(void **state)
{
    uint8_t twice[2 * sizeof warts_trace];
    seen s;

    (void)state;
    memcpy(twice, warts_trace, sizeof warts_trace);
    memcpy(twice + sizeof warts_trace, warts_trace, sizeof warts_trace);
    for (size_t piece = 1; piece <= sizeof twice; piece++) {
        assert_ok(feed(twice, sizeof twice, piece, &s));
        assert_int_equal(s.counts.traces, 2);
        assert_hop(&s, 1, 1, 2, "10.0.0.66");
    }
}

/* Changes one byte, and expects a refusal whose text contains word. */
static void refuse_changed(size_t at, uint8_t byte, const char *word)
{
    uint8_t copy[sizeof warts_trace];
    seen s;

    memcpy(copy, warts_trace, sizeof copy);
    copy[at] = byte;
    assert_refused(feed(copy, sizeof copy, sizeof copy, &s), UMBEL_E_FORMAT,
                   word);
}

static void warts_that_lie_are_refused_with_the_offset(void **state)
{
    (void)state;
    refuse_changed(68, 0x03, "byte 69: a reference to an address");
    refuse_changed(39, 0x05, "past the end"); /* five hops */
    refuse_changed(13, 0xff, "byte 14: a record runs past");
    refuse_changed(13, 0x17, "longer than it says");
    refuse_changed(26, 0xff, "past the end"); /* a source of 255 bytes */
    refuse_changed(1, 0x06, "neither warts");
    refuse_changed(4, 0xff, "a trace of 4278190143 bytes");
    refuse_changed(7, 0x40, "byte 0: the file ends in the middle");
    refuse_changed(7, 0x3d, "byte 69: no warts object");
}

static void every_truncation_is_refused(void **state)
{
    seen s;

    (void)state;
    for (size_t len = 1; len < sizeof warts_trace; len++)
        assert_int_equal(feed(warts_trace, len, len, &s), UMBEL_E_FORMAT);
}

static void unknown_objects_are_passed_over_without_memory(void **state)
{
    enum { LEN = 3 << 20 };
    uint8_t *bytes = calloc(1, 8 + LEN + sizeof warts_trace);
    static const uint8_t head[] = {0x12, 0x05, 0x00, 0x63,
                                   0x00, 0x30, 0x00, 0x00};
    seen s;

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + 8 + LEN, warts_trace, sizeof warts_trace);
    assert_ok(feed(bytes, 8 + LEN + sizeof warts_trace, 1 << 16, &s));
    assert_int_equal(s.counts.others, 1);
    assert_int_equal(s.counts.traces, 1);
    /* 2^32 - 1 bytes that never come */
    memset(bytes + 4, 0xff, 4);
    assert_refused(feed(bytes, 8 + LEN, 1 << 16, &s), UMBEL_E_FORMAT,
                   "ends in the middle");
    free(bytes);
}

static void a_trace_with_60000_hops_is_counted_and_left_out(void **state)
{
    enum { HOPS = 60000, LEN = 1 + 2 + HOPS + 2 };
    uint8_t *bytes = calloc(1, 8 + LEN + sizeof warts_trace);
    static const uint8_t head[] = {0x12, 0x05, 0x00, 0x06};
    seen s;

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, head, sizeof head);
    bytes[5] = (uint8_t)(LEN >> 16);
    bytes[6] = (uint8_t)(LEN >> 8);
    bytes[7] = (uint8_t)LEN;
    bytes[9] = HOPS >> 8;
    bytes[10] = HOPS & 255;
    memcpy(bytes + 8 + LEN, warts_trace, sizeof warts_trace);
    assert_ok(feed(bytes, 8 + LEN + sizeof warts_trace, 1 << 16, &s));
    assert_int_equal(s.counts.too_long, 1);
    assert_int_equal(s.counts.traces, 1);
    free(bytes);
}

/* --- JSON ------------------------------------------------------------------
 */

#define HOP(ttl, addr) "{\"addr\":\"" addr "\", \"probe_ttl\":" #ttl "}"
#define TRACE(hops)                                                            \
    "{\"type\":\"trace\",\"version\":\"0.1\", \"src\":\"192.0.2.1\", "         \
    "\"dst\":\"203.0.113.7\", \"stop_reason\":\"COMPLETED\", "                 \
    "\"start\":{\"sec\":1794768519, \"usec\":1}, \"hop_count\":4, "            \
    "\"firsthop\":1, \"hops\":[" hops "]}"
#define ATLAS(results)                                                         \
    "{\"dst_addr\":\"203.0.113.7\",\"from\":\"198.51.100.9\",\"prb_id\":6019," \
    "\"result\":[" results "],\"src_addr\":\"10.0.0.1\","                      \
    "\"timestamp\":1574867159,\"type\":\"traceroute\"}"

static void scamper_json_is_read(void **state)
{
    seen s;

    (void)state;
    assert_ok(feed("                          \n{}", 29, 1, &s));
    assert_int_equal(s.counts.others, 1);
    assert_ok(feed("\n \n", 3, 1, &s)); /* no content */
    assert_ok(feed("", 0, 1, &s));
    assert_ok(feed_text("{\"type\":\"cycle-start\", \"id\":0}\n" TRACE(
                            HOP(1, "192.0.2.254") "," HOP(4, "203.0.113.7")),
                        &s));
    assert_int_equal(s.counts.others, 1);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.trace[0].stop, SS_STOP_COMPLETED);
    assert_int_equal(s.trace[0].start, 1794768519);
    assert_int_equal(s.trace[0].last, 4);
    assert_int_equal(ss_trace_reached(&s.trace[0]), 4);
    assert_hop(&s, 0, 0, 1, "192.0.2.254");
    assert_address(s.trace[0].monitor, "192.0.2.1");
}

static void atlas_json_is_read_in_lines_and_arrays(void **state)
{
#define REPLIES                                                                \
    "{\"hop\":1,\"result\":[{\"x\":\"*\"}]},"                                  \
    "{\"hop\":2,\"result\":[{\"from\":\"198.51.100.1\",\"rtt\":1.3955,"        \
    "\"size\":28,\"ttl\":254},{\"from\":\"198.51.100.2\",\"late\":2,"          \
    "\"size\":28},{\"from\":\"198.51.100.3\",\"icmpext\":{\"obj\":[{\"a\":"    \
    "\"]}\"}]},\"rtt\":2}]}"
    static const char *const texts[] = {
        ATLAS(REPLIES) "\n" ATLAS(REPLIES) "\n",
        "[" ATLAS(REPLIES) "," ATLAS(REPLIES) "]",
        " [ \n" ATLAS(REPLIES) " , " ATLAS(REPLIES) "\n]\n"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(texts); i++)
        for (size_t piece = 1; piece < 40; piece++) {
            seen s;
            char monitor[SS_ADDR_TEXT];
            assert_ok(feed(texts[i], strlen(texts[i]), piece, &s));
            assert_int_equal(s.n, 2);
            assert_int_equal(s.trace[1].nhops, 2); /* one was late */
            assert_hop(&s, 1, 0, 2, "198.51.100.1");
            assert_hop(&s, 1, 1, 2, "198.51.100.3");
            assert_int_equal(s.hop[1][0].rtt, 1396);
            assert_int_equal(s.hop[1][1].rtt, 2000);
            ss_monitor_format(s.trace[1].monitor, monitor);
            assert_string_equal(monitor, "probe-6019");
            assert_address(s.trace[1].src, "10.0.0.1");
        }
}

static void names_and_addresses_may_be_escaped(void **state)
{
    seen s;

    (void)state;
    assert_ok(feed_text("{\"t\\u0079pe\":\"tr\\u0061ce\",\"dst\":"
                        "\"203\\u002e0.113.7\",\"hops\":[{\"probe_ttl\":3,"
                        "\"addr\":\"2001:db8::1\",\"x\":\"\\\\\"}]}",
                        &s));
    assert_int_equal(s.n, 1);
    assert_address(s.trace[0].dst, "203.0.113.7");
    assert_hop(&s, 0, 0, 3, "2001:db8::1");
}

static void what_is_no_trace_is_counted(void **state)
{
    seen s;

    (void)state;
    assert_ok(feed_text("{} {\"type\":\"ping\",\"result\":[1,{\"a\":[]}]}"
                        "{\"type\":\"trace\",\"dst\":\"nowhere\"}"
                        "{\"type\":\"trace\",\"dst\":7,\"hops\":[7,null]}",
                        &s));
    assert_int_equal(s.n, 0);
    assert_int_equal(s.counts.others, 2);
    assert_int_equal(s.counts.bad, 2);
}

static void too_many_replies_leave_a_trace_out(void **state)
{
    static const char hop[] = HOP(1, "192.0.2.254") ",";
    size_t len = (SS_MAX_REPLIES + 1) * (sizeof hop - 1);
    char *text = malloc(len + 512);
    seen s;

    (void)state;
    assert_non_null(text);
    strcpy(text, "{\"type\":\"trace\",\"dst\":\"203.0.113.7\",\"hops\":[");
    for (size_t i = 0; i <= SS_MAX_REPLIES; i++)
        strcat(text + i * (sizeof hop - 1), hop);
    strcat(text, HOP(2, "192.0.2.9") "]}");
    assert_ok(feed_text(text, &s));
    assert_int_equal(s.counts.too_long, 1);
    free(text);
}

static void broken_json_is_refused_with_the_offset(void **state)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"{\"type\" \"trace\"}", "byte 8: a colon"},
        {"{\"a\":1 \"b\":2}", "byte 7: a comma"},
        {"{\"a\":}", "byte 5: a value"},
        {"{a:1}", "byte 1: a name"},
        {"{\"a\":1", "byte 0: the file ends"},
        {"{\"a\":\"", "byte 0: the file ends"},
        {"[{}", "the file ends"},
        {"[{} {}]", "byte 4: a JSON object"},
        {"{}]", "byte 2: a JSON object"},
        {"{} x", "byte 3: a JSON object"},
        {"[[]]", "byte 1: a JSON object"},
        {"hello", "neither warts"},
    };
    seen s;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++)
        assert_refused(feed_text(rows[i].text, &s), UMBEL_E_FORMAT,
                       rows[i].word);
}

static void json_a_million_deep_is_refused(void **state)
{
    enum { DEPTH = 1000000 };
    char *text = malloc(DEPTH + 16);
    seen s;

    (void)state;
    assert_non_null(text);
    strcpy(text, "{\"a\":");
    memset(text + 5, '[', DEPTH);
    text[DEPTH + 5] = '\0';
    assert_refused(feed_text(text, &s), UMBEL_E_FORMAT, "too deep");
    memcpy(text + 1, "\"hops\":[", 8);
    for (size_t i = 9; i + 5 < DEPTH; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    assert_refused(feed(text, DEPTH, 1 << 16, &s), UMBEL_E_FORMAT, "too deep");
    free(text);
}

static void an_object_without_end_is_refused_in_bounded_memory(void **state)
{
    enum { LEN = SS_MAX_ITEM + (1 << 20) };
    char *text = malloc(LEN);
    seen s;

    (void)state;
    assert_non_null(text);
    memset(text, 'a', LEN);
    memcpy(text, "{\"a\":\"", 6);
    assert_refused(feed(text, LEN, 1 << 16, &s), UMBEL_E_FORMAT,
                   "without an end");
    free(text);
}

/* --- traces along several paths --------------------------------------------
 */

#define LINK(ttl, addr)                                                        \
    "{\"addr\":\"" addr "\", \"probes\":[{\"tx\":{\"sec\":1, \"usec\":2}, "    \
    "\"replyc\":1, \"ttl\":" #ttl ", \"attempt\":0, \"flowid\":1, "            \
    "\"replies\":[{\"rx\":{\"sec\":1, \"usec\":9}, \"ttl\":63, "               \
    "\"rtt\":0.007, "                                                          \
    "\"ipid\":5, \"icmp_type\":11, \"icmp_code\":0}]}]}"
#define NODE(addr, links) "{\"addr\":\"" addr "\", \"links\":[" links "]}"
#define PATHS(nodes)                                                           \
    "{\"type\":\"tracelb\", \"src\":\"192.0.2.1\", \"dst\":\"203.0.113.7\", "  \
    "\"start\":{\"sec\":7, \"usec\":8}, \"probe_size\":44, \"firsthop\":1, "   \
    "\"nodes\":[" nodes "]}"

/* Checks that the hops of trace 0 at a TTL are these, with an asterisk for
 * those aside: "10.0.0.3 10.0.0.4*". */
static void assert_hops(const seen *s, uint8_t ttl, const char *expected)
{
    char text[256] = "", address[SS_ADDR_TEXT];

    for (size_t i = 0; i < s->trace[0].nhops; i++) {
        const ss_hop *h = &s->hop[0][i];
        if (h->ttl != ttl)
            continue;
        ss_addr_format(h->addr, address);
        if (*text)
            strcat(text, " ");
        strcat(strcat(text, address), h->aside ? "*" : "");
    }
    assert_string_equal(text, expected);
}

static void a_tracelb_is_a_path_with_nodes_aside(void **state)
{
    seen s;

    (void)state;
    /* 1 -> 2 -> 3 or 4 -> 5 or 6 -> destination, each its own way; 7 is on a
     * longer path. */
    assert_ok(feed_text(
        PATHS(NODE("10.0.0.1", "[" LINK(2, "10.0.0.2") "]") "," NODE("10.0.0.2", "[" LINK(3, "10.0.0.3") "," LINK(3, "10.0.0.4") "]") "," NODE(
            "10.0.0.3",
            "[" LINK(4, "10.0.0.5") "," LINK(
                4,
                "10.0.0.7") "]") "," NODE("10.0.0.4",
                                          "[" LINK(
                                              4,
                                              "10.0.0.6") "]") "," NODE("10.0."
                                                                        "0.5",
                                                                        "[" LINK(
                                                                            5,
                                                                            "20"
                                                                            "3."
                                                                            "0."
                                                                            "11"
                                                                            "3."
                                                                            "7") "]") "," NODE("10.0.0.6",
                                                                                               "[" LINK(
                                                                                                   5,
                                                                                                   "203.0.113.7") "]") "," NODE("10.0.0.7",
                                                                                                                                "[" LINK(
                                                                                                                                    5,
                                                                                                                                    "10.0.0.8") "]") "," NODE("10.0.0.8",
                                                                                                                                                              "[" LINK(
                                                                                                                                                                  6,
                                                                                                                                                                  "203.0.113.7") "]")),
        &s));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.trace[0].stop, SS_STOP_COMPLETED);
    assert_int_equal(s.trace[0].start_us, 8);
    assert_int_equal(s.trace[0].probe_size, 44);
    assert_int_equal(ss_trace_reached(&s.trace[0]), 5);
    assert_hops(&s, 1, "10.0.0.1");
    assert_hops(&s, 2, "10.0.0.2");
    assert_hops(&s, 3, "10.0.0.3* 10.0.0.4");
    assert_hops(&s, 4, "10.0.0.5* 10.0.0.6"); /* without 10.0.0.7 */
    assert_int_equal(s.hop[0][1].rtt, 7);
    assert_int_equal(s.hop[0][1].reply_ttl, 63);
}

static void a_tracelb_may_be_silent_or_unfinished(void **state)
{
    static const char silent[] =
        PATHS(NODE("10.0.0.1", "[{\"addr\":\"*\"}],[" LINK(3, "10.0.0.3") "]"));
    seen s;

    (void)state;
    for (size_t piece = 1; piece < 40; piece++) {
        assert_ok(feed(silent, sizeof silent - 1, piece, &s));
        assert_int_equal(s.trace[0].stop, SS_STOP_NONE);
        assert_hops(&s, 1, "10.0.0.1");
        assert_hops(&s, 2, "");
        assert_hops(&s, 3, "10.0.0.3");
        assert_int_equal(s.trace[0].last, 3);
    }
    /* Hops of another type have no node before them. */
    assert_ok(feed_text("{\"type\":\"tracelb\",\"dst\":\"203.0.113.7\","
                        "\"hops\":[" HOP(2, "10.0.0.9") "]}",
                        &s));
    assert_hops(&s, 2, "10.0.0.9");
    assert_ok(
        feed_text("{\"Metadata\":{\"UUID\":\"x\"},\"CycleStart\":{\"type\":"
                  "\"cycle-start\"},\"Tracelb\":" PATHS(
                      NODE("10.0.0.1", "[" LINK(2, "10.0.0.2") "]")) "}",
                  &s));
    assert_hops(&s, 2, "10.0.0.2");
    assert_ok(feed_text(PATHS(""), &s));
    assert_int_equal(s.trace[0].nhops, 0);
}

/* A tracelb to 10.200.1.1 with nodes 10.0.0.2 and 10.0.0.6, and a link between
 * them with a probe that has a reply. */
static const uint8_t warts_paths[] = {
    0x12, 0x05, 0x00, 0x08, 0x00, 0x00, 0x00, 0x62,
    /* fields 5 8 10 16 17 21 22 */
    0x90, 0x85, 0xc6, 0x01, 0x00, 0x1b,             /* */
    0x6a, 0xf9, 0xfe, 0xb0, 0x00, 0x07, 0x4f, 0x73, /* start */
    0x00, 0x2c, 0x01,                               /* probe size, first hop */
    0x00, 0x02, 0x00, 0x01,                         /* nodes, links */
    0x04, 0x01, 0x0a, 0x00, 0x00, 0x01,             /* source */
    0x04, 0x01, 0x0a, 0xc8, 0x01, 0x01,             /* destination */
    0x10, 0x00, 0x06, 0x04, 0x01, 0x0a, 0x00, 0x00, 0x02, /* node 0 */
    0x10, 0x00, 0x06, 0x04, 0x01, 0x0a, 0x00, 0x00, 0x06, /* node 1 */
    0x07, 0x00, 0x05, 0x00, 0x00, 0x00, 0x01, 0x01,       /* link */
    0x01, 0x00, 0x02, 0x00, 0x01,                         /* one probe */
    0x15, 0x00, 0x0b, 0x6a, 0xf9, 0xfe, 0xb1, 0x00, 0x00, 0x00, 0x05, 0x02,
    0x00, 0x01, /* at TTL 2, one reply */
    0x95, 0x08, 0x00, 0x10, 0x6a, 0xf9, 0xfe, 0xb1, 0x00, 0x00, 0x00, 0x1b,
    0x3f, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03};

static void a_tracelb_of_warts_has_its_nodes(void **state)
{
    seen s;

    (void)state;
    for (size_t piece = 1; piece <= sizeof warts_paths; piece += 7) {
        assert_ok(feed(warts_paths, sizeof warts_paths, piece, &s));
        assert_int_equal(s.n, 1);
        assert_address(s.trace[0].src, "10.0.0.1");
        assert_address(s.trace[0].dst, "10.200.1.1");
        assert_int_equal(s.trace[0].start_us, 0x74f73);
        assert_int_equal(s.trace[0].probe_size, 44);
        assert_hops(&s, 1, "10.0.0.2");
        assert_hops(&s, 2, "10.0.0.6");
        assert_int_equal(s.hop[0][1].rtt, 22);
        assert_int_equal(s.hop[0][1].icmp_type, 11);
        assert_int_equal(s.hop[0][1].reply_ttl, 63);
    }
    for (size_t len = 1; len < sizeof warts_paths; len++)
        assert_int_equal(feed(warts_paths, len, len, &s), UMBEL_E_FORMAT);
    uint8_t copy[sizeof warts_paths];
    memcpy(copy, warts_paths, sizeof copy);
    copy[63] = 2; /* the link's first node */
    assert_refused(feed(copy, sizeof copy, sizeof copy, &s), UMBEL_E_FORMAT,
                   "a link from a node");
}

/* --- written and read ------------------------------------------------------
 */

/* Writes a trace in a format, and reads it again. */
static void write_and_read(const ss_output_format *format,
                           const ss_run_facts *run, const ss_trace *t, seen *s)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    if (format->begin)
        format->begin(out, run);
    format->trace(out, run, t, 3);
    if (format->end)
        format->end(out, run, run->start + 1);
    fclose(out);
    assert_ok(feed(text, len, len, s));
    assert_int_equal(s->n, 1);
    free(text);
}

/* What is known about a trace is in the file; what is not known stays so. */
static void a_written_trace_has_what_is_known(void **state)
{
    static const ss_output_format *const formats[] = {&ss_output_json,
                                                      &ss_output_warts};
    ss_run_facts run = {.attempts = 2,
                        .wait = 2,
                        .policy = {1, 32, 5, true},
                        .probe_size = {38, 58},
                        .start = 1794768519};
    ss_hop hops[] = {{.addr = ss_addr_v4(0x0A000001),
                      .rtt = 1234,
                      .ttl = 1,
                      .attempt = 1,
                      .icmp_type = 11,
                      .reply_ttl = 64,
                      .reply_tos = 192,
                      .reply_size = 66,
                      .reply_id = 4711},
                     {.addr = ss_addr_v4(0x0A000002), .ttl = 2}};
    ss_trace t = {.src = ss_addr_v4(0xC0000201),
                  .dst = ss_addr_v4(0xCB007107),
                  .start = 1794768519,
                  .start_us = 999999,
                  .first = 1,
                  .last = 2,
                  .hop = hops,
                  .nhops = 2};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(formats); i++) {
        seen s;
        write_and_read(formats[i], &run, &t, &s);
        assert_int_equal(s.trace[0].start, t.start);
        assert_int_equal(s.trace[0].start_us, t.start_us);
        assert_int_equal(s.trace[0].probe_size, 38);
        assert_int_equal(s.trace[0].nhops, 2);
        for (size_t h = 0; h < 2; h++) {
            const ss_hop *got = &s.hop[0][h];
            assert_true(ss_addr_equal(got->addr, hops[h].addr));
            assert_int_equal(got->rtt, hops[h].rtt);
            assert_int_equal(got->attempt, hops[h].attempt);
            assert_int_equal(got->icmp_type, hops[h].icmp_type);
            assert_int_equal(got->reply_ttl, hops[h].reply_ttl);
            assert_int_equal(got->reply_tos, hops[h].reply_tos);
            assert_int_equal(got->reply_size, hops[h].reply_size);
            assert_int_equal(got->reply_id, hops[h].reply_id);
        }
        ss_trace own = t; /* of a prober that reports the size */
        own.probe_size = 44;
        write_and_read(formats[i], &run, &own, &s);
        assert_int_equal(s.trace[0].probe_size, 44);
    }
}

TEST_GROUP(readers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_written_as_they_are_parsed),
        cmocka_unit_test(prefixes_keep_the_first_bits),
        cmocka_unit_test(a_warts_trace_has_its_hops_and_references),
        cmocka_unit_test(pieces_of_any_size_give_the_same),
        cmocka_unit_test(warts_that_lie_are_refused_with_the_offset),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(unknown_objects_are_passed_over_without_memory),
        cmocka_unit_test(a_trace_with_60000_hops_is_counted_and_left_out),
        cmocka_unit_test(scamper_json_is_read),
        cmocka_unit_test(atlas_json_is_read_in_lines_and_arrays),
        cmocka_unit_test(names_and_addresses_may_be_escaped),
        cmocka_unit_test(what_is_no_trace_is_counted),
        cmocka_unit_test(too_many_replies_leave_a_trace_out),
        cmocka_unit_test(broken_json_is_refused_with_the_offset),
        cmocka_unit_test(json_a_million_deep_is_refused),
        cmocka_unit_test(an_object_without_end_is_refused_in_bounded_memory),
        cmocka_unit_test(a_tracelb_is_a_path_with_nodes_aside),
        cmocka_unit_test(a_tracelb_may_be_silent_or_unfinished),
        cmocka_unit_test(a_tracelb_of_warts_has_its_nodes),
        cmocka_unit_test(a_written_trace_has_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
