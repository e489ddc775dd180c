/*
 * razor.c - requests of Razor2 clients, signatures, MACs, and the bytes of
 * replies. Requests were captured from razor-agents 2.85.
 */
#include "clearinghouse/protocols/razor/internal.h"
#include "support/test.h"

#include <string.h>

#define SIGNATURE "_Ad1lvYoyP64EW1eghYbcyuz870A"

static umbel_slice text_of(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

static um_razor_request found(const char *text)
{
    return um_razor_find((const uint8_t *)text, strlen(text));
}

static void assert_slice(umbel_slice s, const char *text)
{
    assert_int_equal(s.len, strlen(text));
    assert_memory_equal(s.data, text, s.len);
}

/* --- codes ---------------------------------------------------------------- */

static void a_signature_is_a_sha1(void **state)
{
    static const uint8_t abc[UM_DIGEST_BYTES] = {
        0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
        0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d};
    char text[UM_RAZOR_TEXT + 1];
    uint8_t back[UM_DIGEST_BYTES];

    (void)state;
    um_razor_encode(abc, text);
    assert_string_equal(text, "WZnHxi4GGGXVx0ro4aA0Y5OwsZsA");
    assert_true(um_razor_decode(text_of(text), back));
    assert_memory_equal(back, abc, sizeof abc);
}

static void every_other_text_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "A",
                                      "WZnHxi4GGGXVx0ro4aA0Y5OwsZs",
                                      "WZnHxi4GGGXVx0ro4aA0Y5OwsZsAA",
                                      "WZnHxi4GGGXVx0ro4aA0Y5OwsZsB",
                                      "WZnHxi4GGGXVx0ro4aA0Y5OwsZtA",
                                      "WZnHxi4GGGXVx0ro4aA0Y5Ows+sA",
                                      "WZnHxi4GGGXVx0ro4aA0Y5Ows sA"};
    uint8_t out[UM_DIGEST_BYTES];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_false(um_razor_decode(text_of(bad[i]), out));
}

static void a_mac_is_that_of_razor_agents(void **state)
{
    char out[UM_RAZOR_TEXT + 1];

    (void)state;
    um_razor_mac(text_of("secret1"), text_of("8a2f69918902bdfd"), out);
    assert_string_equal(out, "cNOsdg8iXvIyIpq2T9h35_OTCqIA");
}

/* --- requests ------------------------------------------------------------- */

static void a_captured_line_is_understood(void **state)
{
    um_razor_request r = found("a=ai&cn=razor-agents&cv=2.84&"
                               "user=alice%40example.org\r\nrest");
    um_razor_walk w = um_razor_begin(&r);
    um_razor_query q;
    char user[64];
    size_t len;

    (void)state;
    assert_int_equal(r.form, UM_RAZOR_LINE);
    assert_int_equal(r.len, 55);
    assert_true(um_razor_next(&w, &q));
    assert_false(q.malformed);
    assert_true(um_razor_is(q.value[UM_RAZOR_A], "ai"));
    assert_true(um_razor_unescape(q.value[UM_RAZOR_USER], user, 64, &len));
    assert_slice((umbel_slice){user, len}, "alice@example.org");
    assert_null(q.value[UM_RAZOR_S].data);
    assert_false(um_razor_next(&w, &q));
}

static void a_captured_batch_is_understood(void **state)
{
    static const char text[] = "-a=c&e=4&ep4=7542-10&s=" SIGNATURE
                               "\r\na=c&e=8&s=A1X0JdhQdGkA\r\n.\r\n";
    um_razor_request r = found(text);
    um_razor_walk w = um_razor_begin(&r);
    um_razor_query q;

    (void)state;
    assert_int_equal(r.form, UM_RAZOR_BATCHED);
    assert_int_equal(r.len, strlen(text));
    assert_true(um_razor_next(&w, &q));
    assert_slice(q.value[UM_RAZOR_EP4], "7542-10");
    assert_slice(q.value[UM_RAZOR_S], SIGNATURE);
    assert_true(um_razor_next(&w, &q));
    assert_slice(q.value[UM_RAZOR_E], "8");
    assert_null(q.value[UM_RAZOR_EP4].data);
    assert_false(um_razor_next(&w, &q));
}

static void a_template_has_values_in_its_lines(void **state)
{
    um_razor_request r = found("-a=c&e=?&s=?\r\n4,x\r\n8\r\n4,y,z\r\n.\r\n");
    um_razor_walk w = um_razor_begin(&r);
    um_razor_query q;

    (void)state;
    assert_true(um_razor_next(&w, &q));
    assert_false(q.malformed);
    assert_true(um_razor_is(q.value[UM_RAZOR_A], "c"));
    assert_slice(q.value[UM_RAZOR_E], "4");
    assert_slice(q.value[UM_RAZOR_S], "x");
    assert_true(um_razor_next(&w, &q) && q.malformed);
    assert_true(um_razor_next(&w, &q) && q.malformed);
    assert_false(um_razor_next(&w, &q));
}

static void what_is_not_whole_waits(void **state)
{
    static const char *const part[] = {
        "",         "a=c",       "a=c\r",       "-",
        "-a=c\r\n", "-a=c\r\n.", "-a=c\r\n.\r", "-a=c\r\nx.\r\n..\r\n.x\r\n"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(part); i++) {
        um_razor_request r = found(part[i]);
        assert_int_equal(r.form, UM_RAZOR_MORE);
        assert_int_equal(r.len, 0);
    }
}

static void a_later_key_wins(void **state)
{
    um_razor_request r = found("sn=C&a=l&a=cg&s=\n");
    um_razor_query q = um_razor_begin(&r).first;

    (void)state;
    assert_slice(q.value[UM_RAZOR_A], "cg");
    assert_non_null(q.value[UM_RAZOR_S].data);
    assert_int_equal(q.value[UM_RAZOR_S].len, 0);
}

static void broken_lines_are_malformed(void **state)
{
    static const char *const bad[] = {"\n",       "a\n",        "=c\n",
                                      "a=c&\n&x", "a=%\n",      "a=%4\n",
                                      "a=%4g\n",  "a=c&&b=d\n", "x=1&y=%%30\n"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        um_razor_request r = found(bad[i]);
        assert_int_equal(um_razor_begin(&r).first.malformed, i != 3);
    }
}

static void escapes_go_both_ways(void **state)
{
    char out[64], back[64];
    size_t len = um_razor_escape(text_of("a b&c=%_.~\xff"), out), n;

    (void)state;
    assert_string_equal(out, "a%20b%26c%3D%25_.~%FF");
    assert_true(um_razor_unescape((umbel_slice){out, len}, back, 64, &n));
    assert_slice((umbel_slice){back, n}, "a b&c=%_.~\xff");
    assert_false(um_razor_unescape((umbel_slice){out, len}, back, 10, &n));
}

/* --- mails ---------------------------------------------------------------- */

static size_t skip_in_pieces(const char *text, size_t piece, bool *over)
{
    unsigned matched = UM_RAZOR_MAIL_BEGIN;
    size_t at = 0, len = strlen(text);

    for (*over = false; at < len && !*over;) {
        size_t some = len - at < piece ? len - at : piece;
        at += um_razor_skip_mail((const uint8_t *)text + at, some, &matched,
                                 over);
    }
    return at;
}

static void a_mail_ends_with_a_dot_between_crlf(void **state)
{
    static const char mail[] =
        "Subject: x\n\n.\nx\r\n.y\r\n..\r\n.\r\r\n\r\n.\r\nnext";
    bool over;

    (void)state;
    for (size_t piece = 1; piece < sizeof mail; piece++) {
        assert_int_equal(skip_in_pieces(mail, piece, &over),
                         strlen(mail) - strlen("next"));
        assert_true(over);
    }
    assert_int_equal(skip_in_pieces(".\r\nx", 9, &over), 3);
    assert_true(over);
    skip_in_pieces("\r\n.\r", 9, &over);
    assert_false(over);
    um_razor_request r = found("-a=r&message=*\r\nSubject: x\n");
    assert_int_equal(r.form, UM_RAZOR_MAIL);
    assert_int_equal(r.len, 16);
}

/* --- replies -------------------------------------------------------------- */

static void answers_are_those_that_clients_read(void **state)
{
    static const struct {
        um_razor_answer a;
        const char *text;
    } rows[] = {{{UM_RAZOR_OK, true, 100}, "p=1&cf=100&ct=0\r\n"},
                {{UM_RAZOR_OK, true, 7}, "p=1&cf=7&ct=0\r\n"},
                {{UM_RAZOR_OK, true, 0}, "p=0\r\n"},
                {{UM_RAZOR_NO_ENGINE, true, 0}, "p=0\r\n"},
                {{UM_RAZOR_NO_ENGINE, false, 0}, "err=404\r\n"},
                {{UM_RAZOR_OK, false, 0}, "res=1\r\n"},
                {{UM_RAZOR_WRONG_PASSWORD, false, 0}, "res=0\r\n"},
                {{UM_RAZOR_NAME_TAKEN, false, 0}, "err=210\r\n"},
                {{UM_RAZOR_UNKNOWN_USER, false, 0}, "err=213\r\n"},
                {{UM_RAZOR_WANTS_MAIL, false, 0}, "err=230\r\n"},
                {{UM_RAZOR_MALFORMED, true, 0}, "err=400\r\n"}};
    char out[UM_RAZOR_REPLY];
    size_t longest = 0;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        size_t len = um_razor_print(&rows[i].a, out);
        assert_slice((umbel_slice){out, len}, rows[i].text);
        longest = len > longest ? len : longest;
    }
    assert_true(1 + UM_RAZOR_BATCH * longest + 3 <= UM_RAZOR_REPLY);
}

static void places_fit_a_reply(void **state)
{
    const char *place[64];
    um_razor_state s = {.address = place};
    char out[UM_RAZOR_REPLY];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(place); i++)
        place[i] = "name.of.a.server.example.org:2703";
    s.naddresses = 1;
    assert_slice((umbel_slice){out, um_razor_print_addresses(&s, "csl", out)},
                 "csl=name.of.a.server.example.org:2703\r\n");
    s.naddresses = TEST_COUNT(place);
    size_t len = um_razor_print_addresses(&s, "nsl", out);
    assert_true(len > UM_RAZOR_REPLY - 64 && len <= UM_RAZOR_REPLY);
    assert_memory_equal(out, "-nsl=name", 9);
    assert_memory_equal(out + len - 7, "03\r\n.\r\n", 7);
}

static void names_are_printable(void **state)
{
    static const char longest[] = "0123456789012345678901234567890123456789"
                                  "0123456789012345678901234";

    (void)state;
    assert_true(um_razor_is_name(text_of("a@b.example")));
    assert_true(um_razor_is_name(text_of(longest + 1)));
    assert_false(um_razor_is_name(text_of(longest)));
    assert_false(um_razor_is_name(text_of("")));
    assert_false(um_razor_is_name(text_of("a b")));
    assert_false(um_razor_is_name(text_of("a\x7f")));
    assert_false(um_razor_is_name((umbel_slice){"a\0b", 3}));
}

TEST_GROUP(razor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signature_is_a_sha1),
        cmocka_unit_test(every_other_text_is_refused),
        cmocka_unit_test(a_mac_is_that_of_razor_agents),
        cmocka_unit_test(a_captured_line_is_understood),
        cmocka_unit_test(a_captured_batch_is_understood),
        cmocka_unit_test(a_template_has_values_in_its_lines),
        cmocka_unit_test(what_is_not_whole_waits),
        cmocka_unit_test(a_later_key_wins),
        cmocka_unit_test(broken_lines_are_malformed),
        cmocka_unit_test(escapes_go_both_ways),
        cmocka_unit_test(a_mail_ends_with_a_dot_between_crlf),
        cmocka_unit_test(answers_are_those_that_clients_read),
        cmocka_unit_test(places_fit_a_reply),
        cmocka_unit_test(names_are_printable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
