/*
 * signatures.c - signatures of texts: exact, Pyzor's, shingles.
 *
 * The digests here were computed by Debian's pyzor 1.0.0.
 */
#include "mail/internal.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static umbel_slice slice(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

typedef struct hex {
    char text[2 * UM_SIGNATURE_LEN + 1];
} hex;

static hex print_hex(const uint8_t *digest)
{
    hex h;

    for (size_t i = 0; i < UM_SIGNATURE_LEN; i++)
        snprintf(h.text + 2 * i, 3, "%02x", digest[i]);
    return h;
}

static hex pyzor(const char *text)
{
    umbel_slice part = slice(text);
    uint8_t out[UM_SIGNATURE_LEN];

    um_pyzor_digest(&part, 1, out);
    return print_hex(out);
}

static hex exact(const char *text)
{
    umbel_slice part = slice(text);
    uint8_t out[UM_SIGNATURE_LEN];

    um_exact_digest(&part, 1, out);
    return print_hex(out);
}

#define TEN_LINES(end)                                                         \
    "line number 1 of this mail body" end                                      \
    "line number 2 of this mail body" end                                      \
    "line number 3 of this mail body" end                                      \
    "line number 4 of this mail body" end                                      \
    "line number 5 of this mail body" end                                      \
    "line number 6 of this mail body" end                                      \
    "line number 7 of this mail body" end                                      \
    "line number 8 of this mail body" end                                      \
    "line number 9 of this mail body" end                                      \
    "line number 10 of this mail body" end
#define TEN "4dabbe4676a92f4d8dfde5bc0a21497a0da2bc0a"

static void pyzor_digests_equal_those_of_the_client(void **state)
{
    (void)state;
    assert_string_equal(pyzor("hello there my friend of old\n").text,
                        "80a6148dce506d25ee3a87a3efec1914f784b070");
    assert_string_equal(pyzor(TEN_LINES("\n")).text, TEN);
    assert_string_equal(
        pyzor("mail bob@example.com or http://a.example/ for ten free items")
            .text,
        "f786b3e43134ad4241a3f91dd5f62f58060efd26");
}

static void every_end_of_line_that_python_knows_ends_a_line(void **state)
{
    (void)state;
    assert_string_equal(pyzor(TEN_LINES("\r\n")).text, TEN);
    assert_string_equal(pyzor(TEN_LINES("\x0b")).text, TEN);
    assert_string_equal(pyzor(TEN_LINES("\x1e")).text, TEN);
    assert_string_equal(pyzor(TEN_LINES("\xc2\x85")).text, TEN);
    assert_string_equal(pyzor(TEN_LINES("\xe2\x80\xa8")).text, TEN);
}

/* pyzor drops these before it computes the digest; the rest is "restofline". */
static void addresses_urls_and_long_words_do_not_count(void **state)
{
    static const char *const same[] = {
        "rest of line",
        "rest abcdefghij of line",
        "rest a@b of line",
        "rest @a@b of line",
        "rest a@@ of line",
        "rest x:y of line",
        "rest mailto:a of line",
        "rest of line abcdefghijklmnopqrst",
        "rest\xc2\xa0of\xe3\x80\x80line",
        "rest of line HTTP:x",
        "rest of line \xc4\xb0:x",
        "rest of line \xe2\x84\xaa:x",
    };
    static const char *const other[] = {
        "rest of line @a",         "rest of line a@",  "rest of line a:",
        "rest of line :a",         "rest of line 1:a", "rest of line abcdefghi",
        "rest of line \xc3\xa9:a",
    };

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(pyzor(same[i]).text, pyzor(same[0]).text);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_string_not_equal(pyzor(other[i]).text, pyzor(same[0]).text);
}

static void a_text_without_lines_has_the_empty_digest(void **state)
{
    static const char *const none[] = {"", "\n\n", "seven c", "a\nb\nc\nd\ne"};
    uint8_t out[UM_SIGNATURE_LEN];

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        umbel_slice part = slice(none[i]);
        assert_int_equal(um_pyzor_digest(&part, 1, out), 0);
        assert_string_equal(print_hex(out).text,
                            "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    }
    assert_int_equal(um_pyzor_digest(NULL, 0, out), 0);
}

static void a_part_ends_a_line(void **state)
{
    umbel_slice parts[] = {slice("first part"), slice(""),
                           slice("second part")};
    uint8_t out[UM_SIGNATURE_LEN];

    (void)state;
    assert_int_equal(um_pyzor_digest(parts, 3, out), 19);
    assert_string_equal(print_hex(out).text,
                        pyzor("first part\nsecond part").text);
}

static void exact_ignores_white_space_only(void **state)
{
    (void)state;
    assert_string_equal(exact("a b\n c\xc2\xa0").text, exact("abc").text);
    assert_string_equal(exact("abc").text, /* from FIPS 180 */
                        "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_string_not_equal(exact("abC").text, exact("abc").text);
}

/* --- shingles ------------------------------------------------------------- */

static const char *const syllables[] = {"ba", "ke", "li", "mo", "nu", "ra",
                                        "se", "ti", "vo", "zu", "pa", "de"};

/* Writes word i of letter n, always the same: two or three syllables. */
static void write_word(char *out, uint64_t n, unsigned i)
{
    uint64_t x = (n * 1000003 + i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x ^= x >> 29;
    snprintf(out, 16, "%s%s%s ", syllables[x % 12], syllables[x / 12 % 12],
             x / 144 % 2 ? syllables[x / 288 % 12] : "");
}

/*
 * Computes the shingles of a letter of 400 words; if changed, one word in
 * eighty is different.
 */
static size_t shingle_letter(uint64_t n, bool changed,
                             uint64_t out[UM_SHINGLES])
{
    char text[400 * 16] = "";
    size_t len = 0;

    for (unsigned i = 0; i < 400; i++) {
        write_word(text + len, changed && i % 80 == 40 ? n + 1000 : n, i);
        len += strlen(text + len);
    }
    umbel_slice part = {text, len};
    return um_shingle(&part, 1, out);
}

static unsigned count_shared(const uint64_t *a, const uint64_t *b)
{
    unsigned shared = 0;

    for (unsigned i = 0; i < UM_SHINGLES; i++)
        shared += a[i] == b[i];
    return shared;
}

/*
 * One word in eighty is different: the resemblance is (1 - 3/80) / (1 + 3/80) =
 * 0.928, and its fourth power 0.741 the expected fraction of 2,400 shingles.
 * Those of one letter are correlated, so sigma is computed for whole letters:
 * sqrt(8 * 0.741 * 0.259) each if they were independent; twice that is allowed.
 */
static void near_copies_share_shingles_as_broder_says(void **state)
{
    uint64_t a[UM_SHINGLES], b[UM_SHINGLES];
    unsigned shared = 0;

    (void)state;
    for (uint64_t n = 0; n < 300; n++) {
        assert_int_equal(shingle_letter(n, false, a), 400);
        shingle_letter(n, true, b);
        assert_true(count_shared(a, b) >= 2);
        shared += count_shared(a, b);
    }
    assert_true(shared > 2400 * 0.741 - 5 * 43 &&
                shared < 2400 * 0.741 + 5 * 43);
}

static void other_letters_share_none(void **state)
{
    uint64_t a[UM_SHINGLES], b[UM_SHINGLES];

    (void)state;
    for (uint64_t n = 0; n < 300; n++) {
        shingle_letter(n, false, a);
        shingle_letter(n + 300, false, b);
        assert_int_equal(count_shared(a, b), 0);
    }
}

static void expect_words(const char *text, size_t words)
{
    umbel_slice part = slice(text);
    uint64_t out[UM_SHINGLES];

    assert_int_equal(um_shingle(&part, 1, out), words);
}

static void words_are_runs_of_letters(void **state)
{
    (void)state;
    expect_words("", 0);
    expect_words("one, two; 3 fo4ur", 4);
    expect_words("\xc3\xa9t\xc3\xa9 \xe2\x80\x9cici\xe2\x80\x9d", 2);
    expect_words("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 3); /* Han */
    expect_words("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaa",
                 0);
}

static void shingles_ignore_case_digits_and_punctuation(void **state)
{
    umbel_slice a = slice("Dear friend, order 4711 is on its way"),
                b = slice("dear friend: order 4712 IS on its way!");
    uint64_t x[UM_SHINGLES], y[UM_SHINGLES];

    (void)state;
    um_shingle(&a, 1, x);
    um_shingle(&b, 1, y);
    assert_int_equal(count_shared(x, y), UM_SHINGLES);
}

TEST_GROUP(signatures)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pyzor_digests_equal_those_of_the_client),
        cmocka_unit_test(every_end_of_line_that_python_knows_ends_a_line),
        cmocka_unit_test(addresses_urls_and_long_words_do_not_count),
        cmocka_unit_test(a_text_without_lines_has_the_empty_digest),
        cmocka_unit_test(a_part_ends_a_line),
        cmocka_unit_test(exact_ignores_white_space_only),
        cmocka_unit_test(near_copies_share_shingles_as_broder_says),
        cmocka_unit_test(other_letters_share_none),
        cmocka_unit_test(words_are_runs_of_letters),
        cmocka_unit_test(shingles_ignore_case_digits_and_punctuation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
