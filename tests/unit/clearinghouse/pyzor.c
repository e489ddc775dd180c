/*
 * pyzor.c - requests of Pyzor clients: parsing, signatures, the order of
 * checks, the bytes of replies. Requests and replies were captured from the
 * real client and server.
 */
#include "clearinghouse/protocols/pyzor/internal.h"
#include "clearinghouse/runtime/digest_text.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "876ca44abd3578d0b22b2c83cb0a4a81ff458f78"
#define ALICE_KEY "35ffa0e6ab2f2f6b3fdbf3ba9d9a3ba24bd21ea8"

static const char ping[] =
    "Op: ping\nThread: 32099\nPV: 2.1\nUser: anonymous\nTime: 1794768498\n"
    "Sig: 9739f1b8bcc90a4dda50b8b41a32461479136bc1\n\n";
static const char whitelist[] =
    "Op: whitelist\nOp-Digest: " DIGEST "\nOp-Spec: 20,3,60,3\nThread: 44861\n"
    "PV: 2.1\nUser: alice\nTime: 1794768499\n"
    "Sig: 0ba33f12af40325c2b1a9d8a534b120e39ce77de\n\n";
enum { NOW = 1794768499 };

static umbel_slice slice(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

static um_pyzor_request parsed(const char *text)
{
    um_pyzor_request r;

    um_pyzor_parse(text, strlen(text), &r);
    return r;
}

#define assert_slice(s, text)                                                  \
    do {                                                                       \
        umbel_slice got_ = (s);                                                \
        assert_int_equal(got_.len, strlen(text));                              \
        assert_memory_equal(got_.data, text, got_.len);                        \
    } while (0)

/* --- parsing --------------------------------------------------------------
 */

static void a_captured_request_has_its_fields(void **state)
{
    (void)state;
    um_pyzor_request r = parsed(whitelist);
    assert_slice(r.op, "whitelist");
    assert_slice(r.digest, DIGEST);
    assert_int_equal(r.ndigests, 1);
    assert_slice(r.thread, "44861");
    assert_slice(r.pv, "2.1");
    assert_slice(r.user, "alice");
    assert_slice(r.time, "1794768499");
    assert_slice(r.sig, "0ba33f12af40325c2b1a9d8a534b120e39ce77de");
}

static void
names_have_any_case_and_order_and_the_first_value_counts(void **state)
{
    (void)state;
    um_pyzor_request r = parsed("pv:2.1\nOP: check\nop: ping\ntHREAD: \t7\r\n");
    assert_slice(r.op, "check");
    assert_slice(r.pv, "2.1");
    assert_slice(r.thread, "7");
    assert_null(r.user.data);
}

static void one_blank_line_is_skipped_and_two_end_the_request(void **state)
{
    (void)state;
    um_pyzor_request r = parsed("Op: check\n\nSig: a\n\nUser: b\n\n\nPV: 2\n");
    assert_slice(r.sig, "a");
    assert_slice(r.user, "b");
    assert_null(r.pv.data);
    assert_null(parsed("\nOp: check\n").op.data);
    assert_null(parsed("no field\nOp: check\n").op.data);
}

static void every_digest_is_found_in_its_order(void **state)
{
    (void)state;
    um_pyzor_request r =
        parsed("Op-Digest: a\nOp: report\nop-digest: b\nOp-Digest: a\n");
    um_pyzor_walk w = um_pyzor_begin(r.text);
    umbel_slice d;

    assert_int_equal(r.ndigests, 3);
    assert_slice(r.digest, "a");
    for (const char *want = "aba"; *want; want++) {
        assert_true(um_pyzor_next_digest(&w, &d));
        assert_int_equal(*(const char *)d.data, *want);
    }
    assert_false(um_pyzor_next_digest(&w, &d));
}

static void a_line_that_begins_with_a_blank_continues_the_value(void **state)
{
    (void)state;
    um_pyzor_request r = parsed("Op: che\n ck\nPV: 2.1\n");
    assert_slice(r.op, "che\n ck");
    assert_slice(r.pv, "2.1");
}

static void a_request_may_be_cut_at_every_byte(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof whitelist; len++) {
        char *copy = malloc(len + 1); /* exact length, for sanitizers */
        um_pyzor_request r;
        memcpy(copy, whitelist, len);
        char *exact = realloc(copy, len ? len : 1);
        um_pyzor_parse(exact, len, &r);
        assert_true(r.ndigests <= 1);
        free(exact);
    }
}

/* --- signatures -----------------------------------------------------------
 */

static void signatures_are_those_of_the_real_client(void **state)
{
    char key[UM_SHA1_HEX + 1], sig[UM_SHA1_HEX + 1];

    (void)state;
    um_pyzor_hash_key(slice("alice"), slice(ALICE_KEY), key);
    um_pyzor_sign(slice(whitelist), 1794768499, key, sig);
    assert_string_equal(sig, "0ba33f12af40325c2b1a9d8a534b120e39ce77de");
    um_pyzor_hash_key(slice("anonymous"), slice(""), key);
    um_pyzor_sign(slice(ping), 1794768498, key, sig);
    assert_string_equal(sig, "9739f1b8bcc90a4dda50b8b41a32461479136bc1");
}

static void the_longest_request_can_be_signed(void **state)
{
    char text[UM_PYZOR_MAX], key[UM_SHA1_HEX + 1] = "", sig[UM_SHA1_HEX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "a:\n"[i % 3]; /* grows most when it is printed again */
    um_pyzor_sign((umbel_slice){text, sizeof text}, 1, key, sig);
    assert_int_equal(strlen(sig), UM_SHA1_HEX);
}

static void times_are_digits(void **state)
{
    uint64_t t = 0;

    (void)state;
    assert_true(um_pyzor_time(slice("1794768499"), &t));
    assert_int_equal(t, 1794768499);
    const char *bad[] = {
        "", "-1", "1.5", " 1", "1 ", "0x1", "1234567890123456789"};
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_false(um_pyzor_time(slice(bad[i]), &t));
}

/* --- accounts -------------------------------------------------------------
 */

static um_pyzor_accounts accounts(const char *passwd, const char *access)
{
    um_pyzor_accounts a;
    umbel_slice none = {NULL, 0};

    assert_ok(um_pyzor_accounts_read(&a, passwd ? slice(passwd) : none,
                                     access ? slice(access) : none, NULL,
                                     &test_refusal));
    return a;
}

/* Asserts the operations that an account may use, by their letters. */
static void assert_granted(const um_pyzor_accounts *a, const char *name,
                           const char *want)
{
    static const char letters[] = "pPcirw";
    char got[UM_PYZOR_OPS + 1] = "";
    const um_pyzor_account *found = um_pyzor_account_find(a, slice(name));

    assert_non_null(found);
    for (unsigned i = 0, n = 0; i < UM_PYZOR_OPS; i++)
        if (found->granted >> i & 1)
            got[n++] = letters[i];
    assert_string_equal(got, want);
}

static void without_files_anonymous_may_do_all_but_whitelist(void **state)
{
    (void)state;
    um_pyzor_accounts a = accounts(NULL, NULL);
    assert_granted(&a, "anonymous", "pPcir");
    um_pyzor_accounts_fini(&a);
    a = accounts("alice : 1234\n", NULL);
    assert_granted(&a, "alice", "");
    um_pyzor_accounts_fini(&a);
}

static void the_last_rule_that_matches_wins(void **state)
{
    (void)state;
    um_pyzor_accounts a =
        accounts("# comment\nalice: 12\n\nbob :34\nCarol: 56\n",
                 "all : all : allow\n"
                 "check ping : anonymous : allow\n"
                 "# ping : anonymous : deny\n"
                 "REPORT  whitelist : Bob carol : Deny\n");
    assert_granted(&a, "anonymous", "pc");
    assert_granted(&a, "alice", "pPcirw");
    assert_granted(&a, "bob", "pPci");
    /* Lines are read in lower case, so no line can name her. */
    assert_granted(&a, "Carol", "pPcirw");
    um_pyzor_accounts_fini(&a);
}

typedef struct warnings {
    char text[512];
} warnings;

static void collect_warning(void *ctx, const char *file, size_t line,
                            const char *what)
{
    warnings *w = ctx;
    size_t len = strlen(w->text);

    (void)what;
    snprintf(w->text + len, sizeof w->text - len, "%s:%zu ", file, line);
}

static void collect_words(void *ctx, const char *file, size_t line,
                          const char *what)
{
    warnings *w = ctx;
    size_t len = strlen(w->text);

    snprintf(w->text + len, sizeof w->text - len, "%s:%zu: %.20s\n", file, line,
             what);
}

static void unknown_names_in_rules_are_reported(void **state)
{
    warnings w = {""};
    um_line_warning warning = {collect_words, &w, "passwd", "access"};
    um_pyzor_accounts a;

    (void)state;
    assert_ok(um_pyzor_accounts_read(
        &a, slice("alice : 1\nBob : 2"),
        slice("check raport : alice : allow\n\ninfo : bob alice : allow\n"
              "all : all anonymous : allow\nping : anonymous : deny\n"),
        &warning, &test_refusal));
    assert_string_equal(w.text, "access:1: no operation \"raport\n"
                                "access:3: no user \"bob\" in the\n"
                                "access:4: no user \"all\" in the\n");
    assert_granted(&a, "alice", "ci");
    um_pyzor_accounts_fini(&a);
}

static void lines_that_are_no_rules_are_ignored_and_reported(void **state)
{
    warnings w = {""};
    um_line_warning warning = {collect_warning, &w, "passwd", "access"};
    um_pyzor_accounts a;

    (void)state;
    assert_ok(um_pyzor_accounts_read(
        &a, slice("alice\nbob : 1 : 2\ncarol : 3"),
        slice("check : all : allow\nping : carol\npong : carol : perhaps\n"),
        &warning, &test_refusal));
    assert_string_equal(w.text, "passwd:1 passwd:2 access:2 access:3 ");
    assert_int_equal(a.n, 2);
    assert_granted(&a, "carol", "c");
    um_pyzor_accounts_fini(&a);
}

/* --- checks ---------------------------------------------------------------
 */

static um_pyzor_outcome judged(const um_pyzor_accounts *a, const char *text,
                               uint64_t now)
{
    um_pyzor_request r = parsed(text);
    um_pyzor_decision j;

    return um_pyzor_decide(&r, a, now, &j);
}

static void checks_come_in_the_order_of_pyzord(void **state)
{
    (void)state;
    um_pyzor_accounts a =
        accounts("alice : " ALICE_KEY "\n", "whitelist frob : alice : allow\n"
                                            "check frob : anonymous : allow\n");
    assert_int_equal(judged(&a, whitelist, NOW), UM_PYZOR_OK);
    assert_int_equal(judged(&a, whitelist, NOW + 300), UM_PYZOR_OK);
    assert_int_equal(judged(&a, whitelist, NOW - 301), UM_PYZOR_BAD_TIME);
    assert_int_equal(judged(&a, whitelist, NOW + 301), UM_PYZOR_BAD_TIME);
    assert_int_equal(judged(&a, "User: alice\nSig: a\n", NOW),
                     UM_PYZOR_BAD_TIME);
    assert_int_equal(judged(&a, "User: bob\n", NOW), UM_PYZOR_UNKNOWN_USER);
    assert_int_equal(judged(&a, "User: alice\nTime: 1794768499\n", NOW),
                     UM_PYZOR_BAD_SIGNATURE);
    assert_int_equal(judged(&a, "", NOW), UM_PYZOR_BAD_VERSION);
    assert_int_equal(judged(&a, "Op: check\nPV: x\n", NOW),
                     UM_PYZOR_BAD_VERSION);
    assert_int_equal(judged(&a, "Op: check\nPV: inf\n", NOW),
                     UM_PYZOR_BAD_VERSION);
    assert_int_equal(judged(&a, "Op: none\nPV: 3.0\n", NOW),
                     UM_PYZOR_OTHER_VERSION);
    assert_int_equal(judged(&a, "Op: none\nPV: 2.9\n", NOW),
                     UM_PYZOR_FORBIDDEN);
    assert_int_equal(judged(&a, "PV: 2.1\n", NOW), UM_PYZOR_FORBIDDEN);
    assert_int_equal(judged(&a, "Op: ping\nPV: 2.1\n", NOW),
                     UM_PYZOR_FORBIDDEN);
    assert_int_equal(judged(&a, "Op: frob\nPV: 2.1\n", NOW),
                     UM_PYZOR_NOT_IMPLEMENTED);
    assert_int_equal(judged(&a, "Op: check\nPV: 2.1\n", NOW), UM_PYZOR_OK);
    um_pyzor_accounts_fini(&a);
}

static void signatures_of_anonymous_are_not_looked_at(void **state)
{
    (void)state;
    um_pyzor_accounts a = accounts(NULL, NULL);
    assert_int_equal(judged(&a, ping, 0), UM_PYZOR_OK);
    assert_int_equal(judged(&a, "Op: ping\nPV: 2.1\nUser: \nSig: x\n", 0),
                     UM_PYZOR_OK);
    um_pyzor_accounts_fini(&a);
}

static void a_changed_byte_breaks_a_signature(void **state)
{
    (void)state;
    um_pyzor_accounts a =
        accounts("alice : " ALICE_KEY "\n", "all : all : allow\n");
    char text[sizeof whitelist];
    memcpy(text, whitelist, sizeof text);
    *strstr(text, "876c") = '9';
    assert_int_equal(judged(&a, text, NOW), UM_PYZOR_BAD_SIGNATURE);
    um_pyzor_accounts_fini(&a);
}

static void the_digest_of_an_empty_text_is_known(void **state)
{
    (void)state;
    assert_true(um_digest_is_empty_text(
        slice("da39a3ee5e6b4b0d3255bfef95601890afd80709")));
    assert_false(um_digest_is_empty_text(slice(DIGEST)));
}

/* --- replies --------------------------------------------------------------
 */

static void assert_printed(const um_pyzor_reply *r, const char *want)
{
    char out[UM_PYZOR_REPLY_MAX];

    assert_slice(((umbel_slice){out, um_pyzor_print(r, out)}), want);
}

static void replies_are_those_of_pyzord(void **state)
{
    um_pyzor_reply r = {.code = 200, .diag = "OK", .thread = slice("32099")};

    (void)state;
    assert_printed(&r, "Code: 200\nDiag: OK\nPV: 2.1\nThread: 32099\n\n");
    r.body = UM_PYZOR_COUNTS;
    r.count = 1;
    assert_printed(&r, "Code: 200\nDiag: OK\nPV: 2.1\nThread: 32099\n"
                       "Count: 1\nWL-Count: 0\n\n");
    r.body = UM_PYZOR_TIMES_AND_COUNTS;
    r.wl_count = 1;
    r.thread = slice("26842");
    r.times = (um_pyzor_times){1794768498, 1794768498, 1794768499, 1794768499};
    assert_printed(&r, "Code: 200\nDiag: OK\nPV: 2.1\nThread: 26842\n"
                       "Entered: 1794768498\nUpdated: 1794768498\n"
                       "WL-Entered: 1794768499\nWL-Updated: 1794768499\n"
                       "Count: 1\nWL-Count: 1\n\n");
}

static void the_longest_reply_has_room(void **state)
{
    char thread[UM_PYZOR_THREAD_MAX + 1];
    um_pyzor_reply r = {
        .body = UM_PYZOR_TIMES_AND_COUNTS,
        .count = UINT64_MAX,
        .wl_count = UINT64_MAX,
        .times = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    char out[UM_PYZOR_REPLY_MAX];

    (void)state;
    memset(thread, '1', sizeof thread);
    r.thread = (umbel_slice){thread, UM_PYZOR_THREAD_MAX};
    for (size_t i = 0; i < UM_PYZOR_OUTCOMES; i++) {
        r.code = um_pyzor_verdicts[i].code;
        r.diag = um_pyzor_verdicts[i].diag;
        assert_true(um_pyzor_print(&r, out) < sizeof out);
    }
}

static void a_strange_thread_is_not_sent_back(void **state)
{
    um_pyzor_reply r = {.code = 200, .diag = "OK"};
    const char *want = "Code: 200\nDiag: OK\nPV: 2.1\nThread: \n\n";

    (void)state;
    assert_printed(&r, want);
    r.thread = slice("1\nCount: 9");
    assert_printed(&r, want);
    r.thread = slice("123456789012345678901234567890123");
    assert_printed(&r, want);
}

TEST_GROUP(pyzor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_request_has_its_fields),
        cmocka_unit_test(
            names_have_any_case_and_order_and_the_first_value_counts),
        cmocka_unit_test(one_blank_line_is_skipped_and_two_end_the_request),
        cmocka_unit_test(every_digest_is_found_in_its_order),
        cmocka_unit_test(a_line_that_begins_with_a_blank_continues_the_value),
        cmocka_unit_test(a_request_may_be_cut_at_every_byte),
        cmocka_unit_test(signatures_are_those_of_the_real_client),
        cmocka_unit_test(the_longest_request_can_be_signed),
        cmocka_unit_test(times_are_digits),
        cmocka_unit_test(without_files_anonymous_may_do_all_but_whitelist),
        cmocka_unit_test(the_last_rule_that_matches_wins),
        cmocka_unit_test(lines_that_are_no_rules_are_ignored_and_reported),
        cmocka_unit_test(unknown_names_in_rules_are_reported),
        cmocka_unit_test(checks_come_in_the_order_of_pyzord),
        cmocka_unit_test(signatures_of_anonymous_are_not_looked_at),
        cmocka_unit_test(a_changed_byte_breaks_a_signature),
        cmocka_unit_test(the_digest_of_an_empty_text_is_known),
        cmocka_unit_test(replies_are_those_of_pyzord),
        cmocka_unit_test(the_longest_reply_has_room),
        cmocka_unit_test(a_strange_thread_is_not_sent_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
