/* welcome.c - rules of the welcome file, and forgotten digests. */
#include "clearinghouse/lists/welcome.h"
#include "clearinghouse/lists/internal.h"
#include "clearinghouse/runtime/digest_text.h"
#include "support/test.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHA "39ea73d88935a22f014a8793d15e139d0a0b0c0d"
#define SHINGLE "3:00c4f01a9be2d517"

static umbel_slice slice(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

static um_welcome *welcome(const char *text)
{
    um_welcome *w = NULL;

    assert_ok(
        um_welcome_parse(slice(text), "w", NULL, NULL, &w, &test_refusal));
    return w;
}

/* --- matching -------------------------------------------------------------
 */

static const char rules[] = "# our own\n"
                            "sender News@Example.org # monthly\n"
                            "sender @shop.example\n"
                            "sender @.uni.example\r\n"
                            "\n"
                            "from bank.example\n"
                            "  from .city.example\n"
                            "list-id <dev.lists.example>\n"
                            "client 192.0.2.0/24\n"
                            "client 2001:db8::/32\n"
                            "client 198.51.100.7\n"
                            "digest " SHA "\n"
                            "digest " SHINGLE "\n";

/* Returns the line of the rule that matches a mail; 0 if none. */
static size_t line_for(const um_welcome *w, const um_welcome_mail *m)
{
    um_welcome_rule which = {.line = 0};
    bool matches = um_welcome_match(w, m, &which);

    assert_true(matches == (which.line > 0));
    return which.line;
}

static void a_rule_matches_what_it_says_and_no_more(void **state)
{
    static const struct {
        const char *sender, *from, *list_id, *client, *digest;
        size_t line;
    } mails[] = {
        {"news@example.org", .line = 2},
        {"<NEWS@EXAMPLE.ORG>", .line = 2},
        {"xnews@example.org", .line = 0},
        {"anybody@shop.example", .line = 3},
        {"anybody@a.shop.example", .line = 0},
        {"a@uni.example", .line = 4},
        {"a@b.c.uni.example", .line = 4},
        {"a@xuni.example", .line = 0},
        {"", .line = 0},
        {"@", .line = 0},
        {.from = "bank.example", .line = 6},
        {.from = "a.bank.example", .line = 0},
        {.from = "city.example", .line = 7},
        {.from = "A.B.City.Example", .line = 7},
        {.from = "example", .line = 0},
        {.list_id = "dev.lists.example", .line = 8},
        {.list_id = "lists.example", .line = 0},
        {.client = "192.0.2.255", .line = 9},
        {.client = "::ffff:192.0.2.1", .line = 9},
        {.client = "192.0.3.1", .line = 0},
        {.client = "2001:db8:1::1", .line = 10},
        {.client = "2001:db9::1", .line = 0},
        {.client = "198.51.100.7", .line = 11},
        {.client = "198.51.100.8", .line = 0},
        {.client = "no address", .line = 0},
        {.digest = SHA, .line = 12},
        {.digest = SHINGLE, .line = 13},
        {.digest = "da39a3ee5e6b4b0d3255bfef95601890afd80709", .line = 0},
    };
    um_welcome *w = welcome(rules);

    (void)state;
    assert_int_equal(um_welcome_rules(w), 11);
    for (size_t i = 0; i < TEST_COUNT(mails); i++) {
#define FIELD(name) slice(mails[i].name ? mails[i].name : "")
        umbel_slice digests[] = {slice("other"), FIELD(digest)};
        um_welcome_mail m = {.sender = FIELD(sender),
                             .from_domain = FIELD(from),
                             .list_id = FIELD(list_id),
                             .client = FIELD(client),
                             .digest = digests,
                             .ndigests = 2};
#undef FIELD
        if (line_for(w, &m) != mails[i].line)
            fail_msg("mail %zu: line %zu, not %zu", i, line_for(w, &m),
                     mails[i].line);
    }
    um_welcome_close(w);
}

static void without_rules_no_mail_is_welcome(void **state)
{
    um_welcome_mail m = {.sender = slice("a@b.example")};
    um_welcome *w = welcome("# nothing\n");

    (void)state;
    assert_false(um_welcome_match(NULL, &m, NULL));
    assert_false(um_welcome_match(w, &m, NULL));
    um_welcome_close(w);
}

static void values_longer_than_any_rule_match_none(void **state)
{
    static const uint8_t end[] = {'.', 'e', 'x', 'a', 'm', 'p', 'l', 'e'};
    char text[2 * UM_WELCOME_VALUE];
    um_welcome *w = welcome("from .example\n");

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - sizeof end, end, sizeof end);
    assert_false(um_welcome_match(
        w, &(um_welcome_mail){.from_domain = {text, sizeof text}}, NULL));
    assert_true(um_welcome_match(
        w, &(um_welcome_mail){.from_domain = {text + 400, sizeof text - 400}},
        NULL));
    um_welcome_close(w);
}

/* Checks that each of 100,000 rules is found, and nothing else. */
static void a_hundred_thousand_rules_are_distinguished(void **state)
{
    enum { N = 100000 };
    char *text = NULL, value[40];
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    for (unsigned i = 0; i < N; i++)
        if (i % 2)
            fprintf(out, "client 10.%u.%u.0/24\n", i >> 8 & 255, i & 255);
        else
            fprintf(out, "sender u%u@d%u.example\n", i, i % 1000);
    fclose(out);
    um_welcome *w = welcome(text);
    for (unsigned i = 0; i < N; i += 250) {
        snprintf(value, sizeof value, "u%u@d%u.example", i, i % 1000);
        um_welcome_mail m = {.sender = slice(value)};
        assert_int_equal(line_for(w, &m), i + 1);
        snprintf(value, sizeof value, "u%u@d%u.example", i + 1, i % 1000);
        m.sender = slice(value);
        assert_int_equal(line_for(w, &m), 0);
    }
    um_welcome_close(w);
    free(text);
}

/* --- refusals -------------------------------------------------------------
 */

static void a_refusal_names_file_line_and_what_to_write(void **state)
{
    static const struct {
        const char *text, *word;
    } files[] = {
        {"sender a@b.example\nsend a@b.example\n", "w:2: a rule begins with"},
        {"sender\n", "w:1: sender has no value; allowed: news@"},
        {"sender # a@b.example\n", "has no value"},
        {"sender alice\n", "\"alice\" is no sender"},
        {"sender <>\n", "is no sender"},
        {"sender a@.b.example\n", "is no sender"},
        {"sender @a@b.example\n", "is no sender"},
        {"sender *@b.example\n", "write \"sender @b.example\""},
        {"sender *@*.b.example\n", "write \"sender @.b.example\""},
        {"from *.b.example\n", "write \"from .b.example\""},
        {"from *\n", "a star is no pattern here; allowed: example.org"},
        {"client 192.0.2.*\n", "allowed: 192.0.2.0/24"},
        {"from a@b.example\n", "is no domain"},
        {"from a..example\n", "is no domain"},
        {"from a.example b.example\n", "one rule a line: \"b.example\""},
        {"list-id a@b\n", "between < and >"},
        {"client 192.0.2.1/24\n", "write 192.0.2.0/24"},
        {"client ::1/64\n", "write ::/64"},
        {"client 192.0.2.0/33\n", "is not a network"},
        {"client 2001:db8::/129\n", "is not a network"},
        {"client mail.example\n", "is not a network"},
        {"digest 123\n", "is no digest"},
        {"digest 3:00c4f01a9be2d51\n", "is no digest"},
        {"from a\x01.example\n", "byte 7 is a control character (0x1)"},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(files); i++) {
        um_welcome *w = NULL;
        umbel_status status = um_welcome_parse(slice(files[i].text), "w", NULL,
                                               NULL, &w, &test_refusal);
        if (status == UMBEL_OK || w)
            fail_msg("taken: %s", files[i].text);
        if (!strstr(test_refusal.text, files[i].word))
            fail_msg("\"%s\" is not in \"%s\"", files[i].word,
                     test_refusal.text);
    }
}

static void lines_that_are_long_or_have_nul_bytes_are_refused(void **state)
{
    static const char nul[] = "from a.example\nfrom b\0.example\n";
    static const uint8_t from[] = {'f', 'r', 'o', 'm', ' '};
    char line[UM_WELCOME_LINE + 2];
    um_welcome *w = NULL;

    (void)state;
    assert_refused(um_welcome_parse((umbel_slice){nul, sizeof nul - 1}, "w",
                                    NULL, NULL, &w, &test_refusal),
                   UMBEL_E_FORMAT, "w:2: byte 7 is a control character");
    memset(line, 'x', sizeof line);
    assert_refused(um_welcome_parse((umbel_slice){line, sizeof line}, "w", NULL,
                                    NULL, &w, &test_refusal),
                   UMBEL_E_LIMIT, "at most 1024 bytes, not 1026");
    memcpy(line, from, sizeof from);
    assert_refused(um_welcome_parse((umbel_slice){line, 400}, "w", NULL, NULL,
                                    &w, &test_refusal),
                   UMBEL_E_LIMIT, "a value has at most 327 bytes, not 395");
    line[0] = '#';
    assert_ok(um_welcome_parse((umbel_slice){line, UM_WELCOME_LINE}, "w", NULL,
                               NULL, &w, &test_refusal));
    um_welcome_close(w);
}

typedef struct warnings {
    char text[4096];
    size_t n;
} warnings;

static void collect_warning(void *ctx, const char *file, size_t line,
                            const char *what)
{
    warnings *w = ctx;
    size_t len = strlen(w->text);

    snprintf(w->text + len, sizeof w->text - len, "%s:%zu: %s\n", file, line,
             what);
    w->n++;
}

static void doubtful_rules_are_warned_of(void **state)
{
    static const char text[] = "client 0.0.0.0/0\n"
                               "client ::/0\n"
                               "client 10.0.0.0/7\n"
                               "client 10.0.0.0/8\n"
                               "from .com\n"
                               "from com\n"
                               "sender @.com\n"
                               "from COM\n"
                               "client 0.0.0.0/0\n";
    warnings all = {.n = 0};
    um_welcome *w = NULL;

    (void)state;
    assert_ok(um_welcome_parse(slice(text), "w", collect_warning, &all, &w,
                               &test_refusal));
    assert_string_equal(all.text,
                        "w:1: welcomes every client\n"
                        "w:2: welcomes every client\n"
                        "w:3: welcomes a large part of the Internet\n"
                        "w:5: welcomes everything below a top-level domain\n"
                        "w:7: welcomes everything below a top-level domain\n"
                        "w:8: repeats line 6\n"
                        "w:9: repeats line 1\n");
    assert_int_equal(um_welcome_rules(w), 7);
    um_welcome_close(w);
}

static void warnings_are_bounded(void **state)
{
    enum { N = 100 };
    char text[N * 7 + 1] = "";
    warnings all = {.n = 0};
    um_welcome *w = NULL;

    (void)state;
    for (size_t i = 0; i < N; i++)
        memcpy(text + 7 * i, "from a\n", 8);
    assert_ok(um_welcome_parse(slice(text), "w", collect_warning, &all, &w,
                               &test_refusal));
    assert_int_equal(all.n, UM_WELCOME_WARNINGS + 1);
    assert_non_null(strstr(all.text, "w:0: 79 more rules like these"));
    um_welcome_close(w);
}

/* --- digests --------------------------------------------------------------
 */

static void digests_are_printed_as_they_are_read(void **state)
{
    uint8_t bytes[UM_DIGEST_BYTES];
    char text[UM_DIGEST_TEXT], again[UM_DIGEST_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 13);
    assert_int_equal(um_signature_print(bytes, text).len, 40);
    assert_ok(um_signature_read(slice(text), again, &test_refusal));
    assert_string_equal(text, again);
    um_shingle_print(7, 0xABCDEF, text);
    assert_string_equal(text, "7:0000000000abcdef");
    assert_ok(
        um_signature_read(slice("7:0000000000ABCDEF"), again, &test_refusal));
    assert_string_equal(text, again);
    assert_refused(
        um_signature_read(slice("7:0000000000ABCDE"), again, &test_refusal),
        UMBEL_E_RANGE, "is no digest");
    assert_refused(
        um_signature_read(slice("x:0000000000ABCDEF"), again, &test_refusal),
        UMBEL_E_RANGE, "is no digest");
}

/* --- forgetting -----------------------------------------------------------
 */

enum { T0 = 1000000, DAY = 86400, EPOCHS = 3 };

static um_clock test_clock;
static um_exception_set logged;

/* Returns lists with only a store. */
static um_lists lists_in(const char *dir, uint64_t now)
{
    um_lists l = {.clock = &test_clock, .logged = &logged};
    um_list_config lists[UM_MAX_LISTS];
    um_store_config c = {
        .dir = dir, .durability = UM_DURABILITY_NONE, .lists = lists};

    for (; um_list_name(c.nlists); c.nlists++)
        lists[c.nlists] = (um_list_config){.name = um_list_name(c.nlists),
                                           .kind = "table",
                                           .capacity = 1000,
                                           .error = 1e-6,
                                           .epoch_seconds = DAY,
                                           .epochs = EPOCHS};
    test_clock.now = now;
    assert_ok(um_store_open(&c, now, &l.store, &test_refusal));
    um_forget_open(&l);
    return l;
}

static void close_lists(um_lists *l)
{
    um_store_close(l->store);
}

static umbel_digest count_text(um_lists *l, const char *text, unsigned list)
{
    um_entry e = {.list = list, .amount = 5};
    umbel_slice key = slice(text);
    uint64_t ticket;

    um_store_digest(l->store, &key, 1, &e.digest);
    assert_ok(
        um_store_add(l->store, &e, 1, test_clock.now, &ticket, &test_refusal));
    return e.digest;
}

static void advance(um_lists *l, uint64_t now)
{
    test_clock.now = now;
    um_store_flush(l->store, NULL);
    um_store_tick(l->store, now);
    um_forget_tick(l);
}

static uint64_t shown_count(const um_lists *l, unsigned list,
                            const umbel_digest *d)
{
    uint64_t count;

    um_lists_count(l, list, d, 1, &count);
    return count;
}

static void
a_forgotten_digest_has_no_count_until_its_epochs_are_gone(void **state)
{
    char *dir = test_dir_make();
    um_lists l = lists_in(dir, T0);
    umbel_digest d = count_text(&l, SHA, 0);
    uint64_t ticket;
    size_t lists;

    (void)state;
    advance(&l, T0 + DAY); /* the count's epoch has ended */
    assert_int_equal(shown_count(&l, 0, &d), 5);
    assert_ok(um_forget(&l, SHA, &lists, &ticket, &test_refusal));
    assert_int_equal(lists, 1);
    assert_true(um_forgotten(&l, 0, &d));
    assert_false(um_forgotten(&l, 1, &d)); /* it had no count */
    assert_int_equal(shown_count(&l, 0, &d), 0);
    advance(&l, T0 + 2 * DAY);
    assert_true(um_forgotten(&l, 0, &d));
    advance(&l, T0 + 3 * DAY);
    assert_false(um_forgotten(&l, 0, &d));
    assert_int_equal(l.exceptions, 0);
    assert_int_equal(shown_count(&l, 0, &d), 0);
    close_lists(&l);
    test_dir_remove(dir);
}

static void an_exception_survives_and_can_be_undone(void **state)
{
    char *dir = test_dir_make();
    um_lists l = lists_in(dir, T0);
    umbel_digest d = count_text(&l, SHA, 0);
    um_exception e;
    uint64_t ticket;
    um_forget_walk at = {0, 0};
    size_t lists;

    (void)state;
    assert_ok(um_forget(&l, SHA, &lists, &ticket, &test_refusal));
    close_lists(&l);
    l = lists_in(dir, T0 + 1);
    assert_int_equal(l.exceptions, 1);
    assert_true(um_forget_next(&l, &at, &e));
    assert_int_equal(e.made, T0);
    assert_memory_equal(e.text.data, SHA, 40);
    assert_false(um_forget_next(&l, &at, &e));
    assert_ok(um_forget(&l, SHA, &lists, &ticket, &test_refusal)); /* again */
    assert_int_equal(l.exceptions, 1);
    assert_ok(um_forget_undo(&l, SHA, &lists, &ticket, &test_refusal));
    assert_int_equal(l.exceptions, 0);
    assert_int_equal(shown_count(&l, 0, &d), 5);
    assert_refused(um_forget_undo(&l, SHA, &lists, &ticket, &test_refusal),
                   UMBEL_E_UNKNOWN, "is not forgotten");
    assert_refused(um_forget(&l, SHINGLE, &lists, &ticket, &test_refusal),
                   UMBEL_E_UNKNOWN, "no list has a count of " SHINGLE);
    close_lists(&l);
    test_dir_remove(dir);
}

static void exceptions_are_bounded(void **state)
{
    char *dir = test_dir_make();
    um_lists l = lists_in(dir, T0);
    uint64_t ticket;
    size_t lists;

    (void)state;
    count_text(&l, SHA, 0);
    l.exceptions = UM_FORGET_MAX;
    assert_refused(um_forget(&l, SHA, &lists, &ticket, &test_refusal),
                   UMBEL_E_LIMIT, "50000 digests are forgotten already");
    close_lists(&l);
    test_dir_remove(dir);
}

/* Opens a machine without peers, with its own log. */
static umbel_sync *machine_with_log(void)
{
    uint8_t key[UMBEL_ORIGIN_SECRET_LEN], public[UMBEL_ORIGIN_LEN];
    umbel_sync_params p = UMBEL_SYNC_INIT;
    umbel_sync *s;

    assert_int_equal(crypto_sign_keypair(public, key), 0);
    p.sign_key = key;
    p.incarnation = p.session = 1;
    assert_ok(umbel_sync_open(&p, &s, &test_refusal));
    return s;
}

/*
 * Writes a log entry that retracts SHA in the first list. Returns its length.
 */
static size_t write_entry(uint8_t body[128])
{
    const char *list = um_list_name(0);
    size_t len = strlen(list);

    memset(body, 0, 128);
    body[16] = 7; /* length of the digest */
    body[32] = (uint8_t)len;
    memcpy(body + 33, list, len);
    memcpy(body + 33 + len, SHA, strlen(SHA));
    return 33 + len + strlen(SHA);
}

static void entries_that_are_no_exceptions_are_left_out(void **state)
{
    um_lists l = {.machine = machine_with_log(), .logged = &logged};
    umbel_digest d = {.lo = 7}, other = {.lo = 8};
    uint8_t body[128];
    size_t len = write_entry(body), at;
    um_exception e;
    uint64_t seq;

    (void)state;
    for (size_t n = 0; n <= len; n++) { /* the last one is complete */
        assert_true(um_logged_none(&l));
        assert_ok(umbel_sync_log_append(l.machine, UM_LOG_FORGET,
                                        (umbel_slice){body, n}, &seq,
                                        &test_refusal));
    }
    at = 0;
    assert_true(um_logged_next(&l, 0, &d, &at, &e));
    assert_int_equal(e.seq, len + 1);
    assert_false(um_logged_next(&l, 0, &d, &at, &e));
    at = 0;
    assert_false(um_logged_next(&l, 0, &other, &at, &e));
    at = 0;
    assert_false(um_logged_next(&l, 1, &d, &at, &e));
    free(logged.item);
    umbel_sync_close(l.machine);
}

TEST_GROUP(welcome)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_matches_what_it_says_and_no_more),
        cmocka_unit_test(without_rules_no_mail_is_welcome),
        cmocka_unit_test(values_longer_than_any_rule_match_none),
        cmocka_unit_test(a_hundred_thousand_rules_are_distinguished),
        cmocka_unit_test(a_refusal_names_file_line_and_what_to_write),
        cmocka_unit_test(lines_that_are_long_or_have_nul_bytes_are_refused),
        cmocka_unit_test(doubtful_rules_are_warned_of),
        cmocka_unit_test(warnings_are_bounded),
        cmocka_unit_test(digests_are_printed_as_they_are_read),
        cmocka_unit_test(
            a_forgotten_digest_has_no_count_until_its_epochs_are_gone),
        cmocka_unit_test(an_exception_survives_and_can_be_undone),
        cmocka_unit_test(exceptions_are_bounded),
        cmocka_unit_test(entries_that_are_no_exceptions_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
