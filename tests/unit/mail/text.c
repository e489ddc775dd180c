/*
 * text.c - the text of mails: encodings, charsets, HTML, damage, and mails made
 * to be expensive. tests/systems/mail-text compares with the real client.
 */
#include "support/test.h"

#include "base/error.h"
#include "mail/internal.h"
#include "mail/mail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static um_mail_reader *reader;

static int open_reader(void **state)
{
    (void)state;
    return um_mail_reader_open(&reader, NULL) != UMBEL_OK;
}

static int close_reader(void **state)
{
    (void)state;
    um_mail_reader_close(reader);
    return 0;
}

static um_mail read_mail(const char *text, size_t len)
{
    um_mail m;

    assert_ok(um_mail_read(reader, (const uint8_t *)text, len, NULL, &m,
                           &test_refusal));
    return m;
}

/* Asserts that the leaf parts of a mail are these texts. */
static void assert_leaves(const char *mail, size_t n, const char *const *texts)
{
    um_mail m = read_mail(mail, strlen(mail));

    assert_int_equal(m.nleaves, n);
    for (size_t i = 0; i < n; i++) {
        if (m.leaves[i].len != strlen(texts[i]) ||
            memcmp(m.leaves[i].data, texts[i], strlen(texts[i])) != 0)
            fail_msg("\"%.*s\" is not \"%s\"", (int)m.leaves[i].len,
                     (const char *)m.leaves[i].data, texts[i]);
    }
}

static void assert_text(const char *mail, const char *text)
{
    assert_leaves(mail, 1, &text);
}

/* --- encodings and charsets ------------------------------------------------
 */

static void transfer_encodings_are_decoded(void **state)
{
    (void)state;
    assert_text("Content-Transfer-Encoding: base64\n\naGVs\nbG8=\n", "hello");
    assert_text("Content-Transfer-Encoding: BASE64\n\naGVsbG8\n", "hello");
    assert_text("Content-Transfer-Encoding: base64\n\naG!Vs*bG8=ignored\n",
                "hello");
    assert_text("Content-Transfer-Encoding: base64\n\naGVsb\n", "aGVsb");
    assert_text("Content-Transfer-Encoding: quoted-printable\n\na=3Db=\nc=\r\n"
                "d=zz==e=",
                "a=bcd=zz=e");
    assert_text("Content-Transfer-Encoding: x-uuencode\n\nbegin 644 x\n"
                "%:&5L;&\\ \n`\nend\n",
                "hello");
    assert_text("Content-Transfer-Encoding: uuencode\n\nbegin x\nnothing\n",
                "begin x\nnothing\n");
    assert_text("Content-Transfer-Encoding: none such\n\n=41\n", "=41\n");
}

static void charsets_become_utf_8(void **state)
{
    static const char *const rows[][3] = {
        {"utf-8", "gr\xc3\xbc\xff\xc3\xdf", "gr\xc3\xbc"},
        {"UTF8", "\xf0\x9f\x98\x80\xf0\x9f\x98", "\xf0\x9f\x98\x80"},
        {"\"iso-8859-1\"", "gr\xfc\xdf", "gr\xc3\xbc\xc3\x9f"},
        {"windows-1252", "\x80\x81x", "\xe2\x82\xacx"},
        {"koi8-r", "\xd0\xd2", "\xd0\xbf\xd1\x80"},
        {"shift_jis", "\x93\xfa\x96\x7b", "\xe6\x97\xa5\xe6\x9c\xac"},
        {"iso-2022-jp", "\033$BF|K\\\033(B", "\xe6\x97\xa5\xe6\x9c\xac"},
        {"gb2312", "\xd6\xd0\xce\xc4", "\xe4\xb8\xad\xe6\x96\x87"},
        {"us-ascii", "a\xe4z", "az"},
        {"x-none", "a\xe4z", "az"},
    };
    char mail[200];

    (void)state;
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        snprintf(mail, sizeof mail,
                 "Content-Type: text/plain; charset=%s\n\n%s", rows[i][0],
                 rows[i][1]);
        assert_text(mail, rows[i][2]);
    }
}

static void an_unknown_charset_is_noted(void **state)
{
    static const char known[] = "Content-Type: text/plain; charset=u8\n\nx",
                      unknown[] = "Content-Type: text/plain; charset=u9\n\nx";

    (void)state;
    assert_int_equal(read_mail(known, strlen(known)).notes, 0);
    assert_int_equal(read_mail(unknown, strlen(unknown)).notes,
                     UM_MAIL_CHARSET);
    assert_non_null(um_mail_note_text(0));
    assert_null(um_mail_note_text(UM_MAIL_NOTES));
}

/* --- HTML ------------------------------------------------------------------
 */

static void html_becomes_its_text(void **state)
{
    static const char *const rows[][2] = {
        {"<p>Hello &amp; welcome <b>dear</b> friend</p>",
         "Hello & welcome dear friend"},
        {"a<script>x < y && '<p>'</script>b<STYLE>p{}</style >c", "a b c"},
        {"<script src=a/>no</script>b", "b"},
        {"<script/>a", "a"},
        {"a<!-- b > c -- >d", "a d"},
        {"a<!doctype x><?php y?><![if mso]>b<![endif]><![CDATA[x]]>c", "a b c"},
        {"1 < 2 > 3", "1 < 2 > 3"},
        {"a<br/>b<br />c<img alt='>' x=\"<>\">d", "a b c d"},
        {"a<b c='d>e", "a"},
        {"a<a b==\"c>d", "a d"},
        {"a</b c>d</>e</ x>f", "a d e f"},
        {"&lt;b&gt; &#8364;&#x20AC; &#128; &notit; &copy &nosuch; & ",
         "<b> "
         "\xe2\x82\xac\xe2\x82\xac \xe2\x82\xac \xc2\xacit; \xc2\xa9 &nosuch; "
         "&"},
        {"&#0;&#xd800;&#1114112;&#1;&#x110000000000000000000; ",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"&nbsp; a &nbsp;<i>&nbsp;</i>b", "a b"},
        {"a<b>kept</b>cut &am", "a kept"},
        {"a<", "a"},
        {"a<script>b", "a"},
        {"a<!--b", "a"},
        {"a<![none]>b", "a"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        um_buffer out = {0};

        assert_true(um_html_to_text(&out, (const uint8_t *)rows[i][0],
                                    strlen(rows[i][0])));
        if (out.len != strlen(rows[i][1]) ||
            memcmp(out.len ? (char *)out.data : "", rows[i][1], out.len) != 0)
            fail_msg("%s: \"%.*s\" is not \"%s\"", rows[i][0], (int)out.len,
                     (char *)out.data, rows[i][1]);
        um_buffer_fini(&out);
    }
}

/* --- parts -----------------------------------------------------------------
 */

static void parts_are_found_in_order(void **state)
{
    static const char mail[] =
        "Content-Type: multipart/mixed; boundary=\"x\"\n\nignored\n--x\n\none\n"
        "--x\nContent-Type: multipart/alternative; boundary=y\n\n--y\n"
        "Content-Type: text/html\n\n<b>two</b>\n--y--\n--x\n"
        "Content-Type: message/rfc822\n\nSubject: s\n\nthree\n--x\n"
        "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\naGVs\n"
        "--x\nContent-Type: message/other\n\nA: b\n\nfour\n--x\n"
        "Content-Type: message/delivery-status\n\nStatus: "
        "5.0.0\n--x--\nignored";
    um_mail m;

    (void)state;
    assert_leaves(mail, 5,
                  (const char *[]){"one", "two", "three", "aGVs", "four"});
    m = read_mail(mail, strlen(mail));
    assert_int_equal(m.ntexts, 4);
}

static void damaged_mails_are_read_as_python_reads_them(void **state)
{
    (void)state;
    assert_text("hello there\nfriend: x\n\nbody",
                "hello there\nfriend: x\n\nbody");
    assert_text("Subject: x\nhello there\n\nbody", "hello there\n\nbody");
    assert_text("Content-Type: multipart/mixed\n\none\ntwo\n", "one\ntwo\n");
    assert_text("Content-Type: multipart/mixed; boundary=x\n\none\n", "one\n");
    assert_text("Content-Type: nonsense; charset=utf-8\n\n\xc3\xbc",
                "\xc3\xbc");
    assert_text("Content-Type: image/png\n\na\xff", "a\xef\xbf\xbd");
    assert_text("Content-Type: multipart/mixed; boundary=x\n\n--x\n\none",
                "one");
}

static void names_are_found_in_the_header(void **state)
{
    static const char mail[] =
        "Received: from a (a [IPv6:2001:DB8::1]) by b\n"
        "Received: from c (c [192.0.2.1]) by d\n"
        "From: \"x@no.example\" <y@Mail.EXAMPLE>, z@other.example\n"
        "List-ID: <List.Example>\n\nx";
    static const char hostile[] = "From: a@b.example\"\033[2J\n"
                                  "List-Id: <a b>\nReceived: from [x\ny]\n\nx";
    um_mail m;

    (void)state;
    m = read_mail(mail, strlen(mail));
    assert_string_equal(m.from_domain, "mail.example");
    assert_string_equal(m.list_id, "list.example");
    assert_string_equal(m.received, "2001:db8::1");
    m = read_mail(hostile, strlen(hostile));
    assert_null(strchr(m.from_domain, '\033'));
    assert_string_equal(m.list_id, "");
    assert_string_equal(m.received, "");
}

/* A client can send anything in HELO, even an address in brackets. */
static void the_client_is_the_one_that_the_server_saw(void **state)
{
    static const struct {
        const char *received, *client;
    } rows[] = {
        {"from [198.51.100.7] (unknown [192.0.2.9])\n\tby mx ([10.0.0.1])",
         "192.0.2.9"},
        {"from x ([192.0.2.9] helo=[198.51.100.7]) by mx", "192.0.2.9"},
        {"from [192.0.2.9] (helo=[198.51.100.7] ident=[x]) by mx", "192.0.2.9"},
        {"from unknown (HELO [198.51.100.7]) (192.0.2.9)\n  by mx", ""},
        {"from [192.0.2.9] by mx", "192.0.2.9"},
        {"by mx ([10.0.0.1])", ""},
        {"[", ""}};

    (void)state;
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        char mail[200];
        int len = snprintf(mail, sizeof mail, "Received: %s; x\n\nx",
                           rows[i].received);
        um_mail m = read_mail(mail, (size_t)len);

        if (strcmp(m.received, rows[i].client) != 0)
            fail_msg("%s: %s", rows[i].received, m.received);
    }
}

static void a_sample_is_one_line_cut_at_a_character(void **state)
{
    um_mail_facts facts;
    char mail[2 * UM_MAIL_SAMPLE + 100] =
        "Content-Type: text/plain; charset=utf-8\n\na\033\n b\t\t";
    um_mail m;

    (void)state;
    while (strlen(mail) < sizeof mail - 3)
        strcat(mail, "\xc3\xa4");
    m = read_mail(mail, strlen(mail));
    um_mail_describe(&m, &facts);
    assert_memory_equal(facts.sample, "a b \xc3\xa4", 6);
    assert_int_equal(strlen(facts.sample), UM_MAIL_SAMPLE - 2);
    assert_int_equal(facts.parts, 1);
    assert_int_equal(facts.text_bytes, m.texts[0].len);
}

/* --- expensive mails -------------------------------------------------------
 */

/* Reads a mail of a head and a repeated piece. */
static um_mail read_bomb(const char *head, const char *piece, size_t len,
                         size_t times)
{
    size_t start = strlen(head);
    char *mail = malloc(start + len * times + 1);
    um_mail m;

    assert_non_null(mail);
    memcpy(mail, head, start);
    for (size_t i = 0; i < times; i++)
        memcpy(mail + start + i * len, piece, len);
    m = read_mail(mail, start + len * times);
    free(mail); /* leaves point into it: only numbers are used */
    return m;
}

static void bombs_are_bounded(void **state)
{
    static const struct {
        const char *head, *piece;
        size_t times;
        unsigned notes;
    } rows[] = {
        {"Content-Type: multipart/mixed; boundary=x\n\n", "--x\n\n\n", 300000,
         UM_MAIL_CUT | UM_MAIL_PARTS},
        {"", "Content-Type: multipart/mixed; boundary=x\n\n--x\n", 10000,
         UM_MAIL_DEPTH},
        {"", "Content-Type: message/rfc822\n\n", 30000, UM_MAIL_DEPTH},
        {"", "Content-Type: message/other\n\n", 30000, 0},
        {"", "a:\n", 400000, UM_MAIL_CUT},
        {"Content-Type: text/plain", "; a=b", 100000, UM_MAIL_CUT},
        {"From: ", "a@b, ", 100000, UM_MAIL_CUT},
        {"X: ", "xxxxxxxxxx", 200000, UM_MAIL_CUT},
        {"Content-Type: text/html\n\n", "<div>", 100000, 0},
        {"Content-Type: text/html\n\n", "<a b='x\" ", 100000, 0},
        {"Content-Type: text/html\n\n", "<!-- ", 100000, 0},
        {"Content-Type: text/html\n\n", "&a", 100000, 0},
        {"Content-Type: text/plain; charset=none\n\n", "x", 10,
         UM_MAIL_CHARSET},
        {"Content-Transfer-Encoding: uue\n\nbegin 644 x\n", "M\n", 100000, 0},
        /* get_boundary of GMime 3.2.13 does not return for this */
        {"Content-Type: multipart/mixed; boundary=\n\n--\n\nx\n----\n", "x", 1,
         0},
    };

    (void)state;
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        um_mail m = read_bomb(rows[i].head, rows[i].piece,
                              strlen(rows[i].piece), rows[i].times);

        if ((m.notes & rows[i].notes) != rows[i].notes)
            fail_msg("row %zu: notes %u", i, m.notes);
        assert_in_range(m.nleaves, 0, 1000);
    }
    read_bomb("", "\0", 1, 100000);
    read_bomb("Content-Type: text/html\n\n<a", "\0b>", 3, 100000);
    read_bomb("", "", 0, 0);
}

static void limits_hold(void **state)
{
    static const char mail[] =
        "Content-Type: multipart/mixed; boundary=x\n\n--x\n\none\n--x\n\ntwo\n"
        "--x\n\nthree\n--x--\n";
    um_mail_limits parts = {.parts = 2}, depth = {.depth = 1},
                   bytes = {.bytes = 50};
    um_mail m;

    (void)state;
    assert_ok(um_mail_read(reader, (const uint8_t *)mail, strlen(mail), &parts,
                           &m, NULL));
    assert_int_equal(m.nleaves, 2);
    assert_int_equal(m.notes, UM_MAIL_PARTS);
    assert_ok(um_mail_read(reader, (const uint8_t *)mail, strlen(mail), &bytes,
                           &m, NULL));
    assert_int_equal(m.notes & UM_MAIL_CUT, UM_MAIL_CUT);
    assert_ok(um_mail_read(reader, (const uint8_t *)mail, strlen(mail), &depth,
                           &m, NULL));
    assert_int_equal(m.nleaves, 3);
}

TEST_GROUP(text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfer_encodings_are_decoded),
        cmocka_unit_test(charsets_become_utf_8),
        cmocka_unit_test(an_unknown_charset_is_noted),
        cmocka_unit_test(html_becomes_its_text),
        cmocka_unit_test(parts_are_found_in_order),
        cmocka_unit_test(damaged_mails_are_read_as_python_reads_them),
        cmocka_unit_test(names_are_found_in_the_header),
        cmocka_unit_test(the_client_is_the_one_that_the_server_saw),
        cmocka_unit_test(a_sample_is_one_line_cut_at_a_character),
        cmocka_unit_test(bombs_are_bounded),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, open_reader, close_reader);
}
