/*
 * dccifd.c - envelopes of dccifd clients, and the bytes of replies. Envelopes
 * were captured from SpamAssassin 4.0.1 and rspamd 3.4.
 */
#include "clearinghouse/protocols/dccifd/internal.h"
#include "support/test.h"

#include <string.h>

static um_dccifd_envelope taken(const char *text, size_t *mail)
{
    um_dccifd_envelope e = {0};

    *mail = um_dccifd_parse(&e, (const uint8_t *)text, strlen(text));
    return e;
}

static const char spamassassin[] =
    "cksums grey-off \n198.51.100.9\rmail.spam.example\nmail.spam.example\n\n"
    "unknown\n\nReceived: from x\n";
static const char rspamd[] =
    "header\n192.0.2.7\nmx.example.net\ns@example.com\na@example.org\n"
    "b@example.org\n\nFrom: x\n";

static void captured_envelopes_are_understood(void **state)
{
    size_t at;
    um_dccifd_envelope e = taken(spamassassin, &at);

    (void)state;
    assert_int_equal(e.state, UM_DCCIFD_DONE);
    assert_int_equal(e.words, UM_DCCIFD_CKSUMS | UM_DCCIFD_GREY_OFF);
    assert_string_equal(e.client, "198.51.100.9");
    assert_string_equal(e.sender, "");
    assert_int_equal(e.recipients, 1);
    assert_string_equal(spamassassin + at, "Received: from x\n");

    e = taken(rspamd, &at);
    assert_int_equal(e.state, UM_DCCIFD_DONE);
    assert_int_equal(e.words, UM_DCCIFD_HEADER);
    assert_string_equal(e.sender, "s@example.com");
    assert_int_equal(e.recipients, 2);
    assert_string_equal(rspamd + at, "From: x\n");
}

static void every_word_is_known_and_others_are_ignored(void **state)
{
    size_t at;
    um_dccifd_envelope e =
        taken("query spam header cksums body log milter grey-off no-grey "
              "no-reject\n",
              &at);

    (void)state;
    assert_int_equal(e.words, (1 << 10) - 1);
    e = taken("  headers\tx HEADER cksums  \n", &at);
    assert_int_equal(e.words, UM_DCCIFD_CKSUMS);
    assert_int_equal(e.state, UM_DCCIFD_MORE);
}

static void an_envelope_without_recipients_is_a_query(void **state)
{
    size_t at;
    um_dccifd_envelope e = taken("header\n\n\n\n\nmail", &at);

    (void)state;
    assert_int_equal(e.state, UM_DCCIFD_DONE);
    assert_true(um_dccifd_is_query(&e));
    e = taken("header\n\n\n\nr\n\nmail", &at);
    assert_false(um_dccifd_is_query(&e));
}

static void an_envelope_is_the_same_in_any_pieces(void **state)
{
    size_t at, whole = strlen(rspamd);
    um_dccifd_envelope once = taken(rspamd, &at);

    (void)state;
    for (size_t cut = 0; cut <= whole; cut++) {
        um_dccifd_envelope e = {0};
        size_t first = um_dccifd_parse(&e, (const uint8_t *)rspamd, cut);
        first +=
            um_dccifd_parse(&e, (const uint8_t *)rspamd + first, whole - first);
        assert_int_equal(first, at);
        assert_memory_equal(&e, &once, sizeof e);
    }
}

static void envelopes_have_limits(void **state)
{
    char text[4 * UM_DCCIFD_LINE + 2 * UM_DCCIFD_RECIPIENTS];
    size_t at, len = 0;

    (void)state;
    memset(text, 'x', UM_DCCIFD_LINE);
    text[UM_DCCIFD_LINE - 1] = '\0';
    assert_int_equal(taken(text, &at).state, UM_DCCIFD_MORE);
    text[UM_DCCIFD_LINE - 1] = '\n';
    text[UM_DCCIFD_LINE] = '\0';
    assert_int_equal(taken(text, &at).state, UM_DCCIFD_MORE);
    memcpy(text + UM_DCCIFD_LINE - 1, "x\n", 3);
    assert_int_equal(taken(text, &at).state, UM_DCCIFD_TOO_LONG);

    memcpy(text, "\n\n\n\n", len = 4);
    for (int i = 0; i < UM_DCCIFD_RECIPIENTS; i++, len += 2)
        memcpy(text + len, "r\n", 3);
    assert_int_equal(taken(text, &at).state, UM_DCCIFD_MORE);
    memcpy(text + len, "r\n", 3);
    assert_int_equal(taken(text, &at).state, UM_DCCIFD_TOO_LONG);

    um_dccifd_envelope e = {0};
    um_dccifd_parse(&e, (const uint8_t *)"header\0\n", 8);
    assert_int_equal(e.state, UM_DCCIFD_NO_TEXT);
}

/* A truncated address would be someone else's, so it is ignored. */
static void values_that_are_too_long_are_none(void **state)
{
    char text[1024];
    size_t at, len = 0;

    (void)state;
    memcpy(text, "\n", len = 1);
    memset(text + len, '1', UM_DCCIFD_CLIENT);
    len += UM_DCCIFD_CLIENT;
    memcpy(text + len, "\n\n", 2);
    len += 2;
    memset(text + len, 's', UM_DCCIFD_SENDER - 1);
    len += UM_DCCIFD_SENDER - 1;
    memcpy(text + len, "\n", 2);
    um_dccifd_envelope e = taken(text, &at);
    assert_string_equal(e.client, "");
    assert_int_equal(strlen(e.sender), UM_DCCIFD_SENDER - 1);
}

/* --- replies -------------------------------------------------------------- */

static const um_dccifd_reply found = {
    .many = 20,
    .reported = 1,
    .sum = {{true,
             20,
             {0x39, 0xea, 0x73, 0xd8, 0x89, 0x35, 0xa2, 0x2f, 1, 0x4a, 0x87,
              0x93, 0xd1, 0x5e, 0x13, 0x9d}},
            {true, 7, {0}},
            {false, 99, {0}}}};

static void expect_reply(const um_dccifd_reply *r, unsigned words,
                         unsigned recipients, const char *want)
{
    um_dccifd_envelope e = {.words = words, .recipients = recipients};
    char out[UM_DCCIFD_REPLY + 1];

    out[um_dccifd_print(r, &e, "host.example", out)] = '\0';
    assert_string_equal(out, want);
}

static void replies_have_the_bytes_that_clients_parse(void **state)
{
    um_dccifd_reply none = {.many = 20}, welcome = {.welcome = true},
                    failed = {.failed = true};

    (void)state;
    expect_reply(&found, 0, 3, "A\nAAA\n");
    expect_reply(&found, UM_DCCIFD_HEADER, 2,
                 "A\nAA\nX-DCC-umbel-Metrics: host.example 1; bulk Body=many "
                 "Fuz1=7\n");
    expect_reply(
        &found, UM_DCCIFD_CKSUMS, 1,
        "A\nA\nX-DCC-umbel-Metrics: host.example 1; bulk Body=many Fuz1=7\n"
        "                                reported: 1               checksum  "
        "server\n"
        "   Body: 39ea73d8 8935a22f 014a8793 d15e139d many\n"
        "   Fuz1: 00000000 00000000 00000000 00000000 7\n");
    expect_reply(&none, UM_DCCIFD_HEADER, 1,
                 "A\nA\nX-DCC-umbel-Metrics: host.example 1; \n");
    expect_reply(&welcome, UM_DCCIFD_HEADER, 1,
                 "A\nA\nX-DCC-umbel-Metrics: host.example 1; whitelist\n");
    expect_reply(&failed, UM_DCCIFD_HEADER, 2, "T\nTT\n");
}

/* --- mails that several programs of a host send ----------------------------
 */

enum {
    MILTER = UM_DCCIFD_HEADER | UM_DCCIFD_CKSUMS,
    PLUGIN = UM_DCCIFD_CKSUMS
};

static um_same_mail *open_same(void)
{
    um_same_mail *s = NULL;

    assert_ok(um_same_mail_open(&s, &test_refusal));
    return s;
}

/* Asks about a mail, as a program on a host; stored: it was then counted. */
static uint64_t ask_once(um_same_mail *s, const char *host, unsigned words,
                         uint64_t digest, uint64_t now, bool stored)
{
    um_dccifd_job job = {.envelope = {.words = words}};
    um_entry e = {.list = 2, .amount = 1, .digest = {digest, ~digest}};

    assert_ok(um_address_parse(host, &job.client, &test_refusal));
    uint64_t amount = um_same_mail_amount(s, &job, &e, now);
    if (stored)
        um_same_mail_record(s, &job, &e, now);
    return amount;
}

static uint64_t ask(um_same_mail *s, const char *host, unsigned words,
                    uint64_t digest, uint64_t now)
{
    return ask_once(s, host, words, digest, now, true);
}

static void n_copies_through_two_programs_count_n_times(void **state)
{
    um_same_mail *s = open_same();
    const char *local = "127.0.0.1:1", *far = "192.0.2.1:1",
               *beside = "192.0.2.2:1";

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(ask(s, local, MILTER, 1, 1000 + i), 1);
        assert_int_equal(ask(s, i % 2 ? local : "/run/x", PLUGIN, 1, 1000 + i),
                         0);
    }
    /* One is behind the other. */
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(ask(s, far, PLUGIN, 2, 2000), 1);
    for (uint64_t i = 0; i < 21; i++)
        assert_int_equal(ask(s, far, MILTER, 2, 3000), i == 20);
    /* Another host, another mail, another list. */
    assert_int_equal(ask(s, beside, MILTER, 2, 3000), 1);
    assert_int_equal(ask(s, far, MILTER, 3, 3000), 1);
    um_same_mail_close(s);
}

static void
a_mail_that_was_not_stored_counts_with_the_next_program(void **state)
{
    um_same_mail *s = open_same();
    const char *host = "127.0.0.1:1";

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask_once(s, host, MILTER, 1, 1000, false), 1);
    assert_int_equal(ask(s, host, PLUGIN, 1, 1000), 1);
    assert_int_equal(ask(s, host, MILTER, 1, 1000), 0);
    um_same_mail_close(s);
}

static void after_a_minute_a_mail_counts_again(void **state)
{
    um_same_mail *s = open_same();
    const char *host = "127.0.0.1:1";

    (void)state;
    assert_int_equal(ask(s, host, MILTER, 1, 100000), 1);
    assert_int_equal(ask(s, host, PLUGIN, 1, 159999), 0);
    assert_int_equal(ask(s, host, PLUGIN, 1, 219999), 1);
    um_same_mail_close(s);
}

/* Programs beyond the third, and mails that a flood has replaced, count twice
 * rather than not at all. */
static void what_does_not_fit_is_counted(void **state)
{
    um_same_mail *s = open_same();
    const char *host = "127.0.0.1:1";

    (void)state;
    for (unsigned words = 1; words <= 3; words++)
        assert_int_equal(ask(s, host, words, 1, 1000), words == 1);
    assert_int_equal(ask(s, host, 4, 1, 1000), 1);
    for (uint64_t i = 0; i < 1000000; i++)
        assert_int_equal(ask(s, host, MILTER, 10 + i, 2000), 1);
    um_same_mail_close(s);
}

TEST_GROUP(dccifd)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_envelopes_are_understood),
        cmocka_unit_test(every_word_is_known_and_others_are_ignored),
        cmocka_unit_test(an_envelope_without_recipients_is_a_query),
        cmocka_unit_test(an_envelope_is_the_same_in_any_pieces),
        cmocka_unit_test(envelopes_have_limits),
        cmocka_unit_test(values_that_are_too_long_are_none),
        cmocka_unit_test(replies_have_the_bytes_that_clients_parse),
        cmocka_unit_test(n_copies_through_two_programs_count_n_times),
        cmocka_unit_test(
            a_mail_that_was_not_stored_counts_with_the_next_program),
        cmocka_unit_test(after_a_minute_a_mail_counts_again),
        cmocka_unit_test(what_does_not_fit_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
