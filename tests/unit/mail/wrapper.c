/*
 * wrapper.c - the original in a mail that SpamAssassin has wrapped. The
 * wrappers here are shaped like those of SpamAssassin 4.0;
 * tests/systems/junk-folder uses real ones.
 */
#include "support/test.h"

#include "mail/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARKS                                                                  \
    "X-Spam-Checker-Version: SpamAssassin 4.0.1 (2024-03-25) on mx\n"          \
    "X-Spam-Flag: YES\n"                                                       \
    "X-Spam-Status: Yes, score=7.6 required=5.0\n"
#define BOUNDARY "----------=_6A0B1C2D.0F1E2D3C"
#define REPORT                                                                 \
    "This is a multi-part message in MIME format.\n\n--" BOUNDARY              \
    "\nContent-Type: text/plain; charset=UTF-8\n"                              \
    "Content-Disposition: inline\n\nSpam detection software has found ...\n\n"
#define ORIGINAL                                                               \
    "From: Winner <win@spam.example.com>\nSubject: x\n\nDear friend\n"

static unsigned note; /* of the last call */

/* A wrapper: fields of its header, then of the part with the original, and what
 * that part contains. */
static const char *wrapper(const char *fields, const char *part,
                           const char *original)
{
    static char text[4096];

    snprintf(text, sizeof text,
             "Received: from localhost by mx with SpamAssassin (version "
             "4.0.1);\n\tTue, 17 Nov 2026 00:00:00 +0000\n%sMIME-Version: "
             "1.0\nContent-Type: multipart/mixed; boundary=\"" BOUNDARY
             "\"\n\n" REPORT "--" BOUNDARY "\n%s\n%s\n--" BOUNDARY "--\n\n",
             fields, part, original);
    return text;
}

#define PART(type)                                                             \
    "Content-Type: " type "; x-spam-type=original\n"                           \
    "Content-Description: original message before SpamAssassin\n"              \
    "Content-Disposition: attachment\n"

static umbel_slice unwrap(const char *text, um_buffer *decoded)
{
    return um_mail_unwrap((umbel_slice){text, strlen(text)}, decoded, &note);
}

static void assert_unwraps(const char *text, const char *original)
{
    um_buffer decoded = {0};
    umbel_slice got = unwrap(text, &decoded);

    assert_true(got.len >= strlen(original));
    assert_memory_equal(got.data, original, strlen(original));
    um_buffer_fini(&decoded);
}

static void assert_stays_with(const char *text, unsigned expected)
{
    um_buffer decoded = {0};

    assert_ptr_equal(unwrap(text, &decoded).data, text);
    assert_int_equal(note, expected);
    um_buffer_fini(&decoded);
}

static void assert_stays(const char *text)
{
    assert_stays_with(text, 0);
}

static void both_forms_of_report_safe_are_unwrapped(void **state)
{
    static char crlf[8192];
    size_t n = 0;

    (void)state;
    assert_unwraps(wrapper(MARKS, PART("message/rfc822"), ORIGINAL), ORIGINAL);
    assert_unwraps(wrapper(MARKS, PART("text/plain"), ORIGINAL), ORIGINAL);
    assert_unwraps(wrapper("X-SPAM-CHECKER-VERSION: SpamAssassin 3.4.6\n"
                           "X-Spam-Status: Yes\n",
                           PART("message/rfc822"), ORIGINAL),
                   ORIGINAL);
    for (const char *at = wrapper(MARKS, PART("message/rfc822"), ORIGINAL); *at;
         at++) {
        if (*at == '\n')
            crlf[n++] = '\r';
        crlf[n++] = *at;
    }
    assert_unwraps(crlf, "From: Winner <win@spam.example.com>\r\n");
}

static void an_original_that_a_relay_encoded_is_decoded(void **state)
{
    (void)state;
    assert_unwraps(
        wrapper(
            MARKS,
            PART("text/plain") "Content-Transfer-Encoding: Quoted-Printable\n",
            "Subject: caf=C3=A9\n\nDear fri=\nend\n"),
        "Subject: caf\xc3\xa9\n\nDear friend\n");
    assert_unwraps(
        wrapper(MARKS, PART("text/plain") "Content-Transfer-Encoding: base64\n",
                "U3ViamVjdDogeAoKRGVhciBmcmllbmQK"),
        "Subject: x\n\nDear friend\n");
}

static void a_mail_that_is_no_wrapper_stays_as_it_is(void **state)
{
    char boundary[512];

    (void)state;
    assert_stays(ORIGINAL);
    assert_stays("");
    assert_stays(wrapper(MARKS, "Content-Type: message/rfc822\n", ORIGINAL));
    assert_stays(MARKS "Content-Type: text/plain\n\nx\n");
    assert_stays(MARKS "Content-Type: multipart/mixed\n\nx\n");
    assert_stays(MARKS "Content-Type: multipart/mixed; boundary=\"\"\n\n--\n");
    assert_stays(MARKS "Content-Type: multipart/mixed; boundary=x\n\n--x\n");
    snprintf(boundary, sizeof boundary,
             MARKS "Content-Type: multipart/mixed; boundary=%0100d\n\n", 0);
    assert_stays(boundary);
}

/* SpamAssassin removes X-Spam-... fields of senders. So without its verdict the
 * wrapper is a sender's, and so is a second one inside the first. */
static void a_forged_wrapper_stays_as_it_is_and_is_noted(void **state)
{
    static char inner[2048];

    (void)state;
    static const char no[] = "X-Spam-Checker-Version: SpamAssassin 4.0.1\n"
                             "X-Spam-Status: No, score=1.0 required=5.0\n";
    static const char *const fields[] = {"", "X-Spam-Flag: YES\n", no};
    for (size_t i = 0; i < TEST_COUNT(fields); i++)
        assert_stays_with(wrapper(fields[i], PART("message/rfc822"), ORIGINAL),
                          UM_MAIL_UNMARKED);
    snprintf(inner, sizeof inner,
             MARKS "Content-Type: multipart/mixed; boundary=inner\n\n--inner\n"
                   "\nx\n--inner\n" PART("message/rfc822") "\n" ORIGINAL
                                                           "\n--inner--\n");
    assert_unwraps(wrapper(MARKS, PART("message/rfc822"), inner), inner);
}

/* A mail is cut at a limit, anywhere. */
static void a_wrapper_that_is_cut_is_read_as_far_as_it_goes(void **state)
{
    const char *whole = wrapper(MARKS, PART("message/rfc822"), ORIGINAL);
    size_t len = strlen(whole);

    (void)state;
    for (size_t n = 0; n <= len; n++) {
        um_buffer decoded = {0};
        char *copy = malloc(n ? n : 1);
        memcpy(copy, whole, n);
        umbel_slice got =
            um_mail_unwrap((umbel_slice){copy, n}, &decoded, &note);
        assert_true(got.len <= n);
        free(copy);
    }
}

TEST_GROUP(wrapper)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_of_report_safe_are_unwrapped),
        cmocka_unit_test(an_original_that_a_relay_encoded_is_decoded),
        cmocka_unit_test(a_mail_that_is_no_wrapper_stays_as_it_is),
        cmocka_unit_test(a_forged_wrapper_stays_as_it_is_and_is_noted),
        cmocka_unit_test(a_wrapper_that_is_cut_is_read_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
