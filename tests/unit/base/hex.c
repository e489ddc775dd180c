/*
 * hex.c - bytes as hexadecimal digits, and digests as text.
 */
#include "support/test.h"

#include "base/hex.h"

#include <stdlib.h>
#include <string.h>

/*
 * Tries each byte at each position of texts that are decoded sixteen and eight
 * digits at a time.
 */
static void every_byte_is_a_digit_or_is_not(void **state)
{
    static const char digits[] = "0123456789abcdefABCDEF";

    (void)state;
    for (size_t len = 2; len <= 36; len += 2)
        for (size_t at = 0; at < len; at++)
            for (unsigned c = 0; c < 256; c++) {
                uint8_t text[36], out[18],
                    is = c != 0 && strchr(digits, (int)c);
                memset(text, 'c', sizeof text);
                text[at] = (uint8_t)c;
                assert_int_equal(um_hex_decode(text, len, out), is);
                assert_false(um_hex_decode(text, len - 1, out));
                if (!is)
                    continue;
                char pair[3] = {(char)text[at & ~1u], (char)text[at | 1]};
                assert_int_equal(out[at / 2], strtoul(pair, NULL, 16));
            }
}

static void hexadecimal_text_is_decoded_by_itself(void **state)
{
    static const char around[] = "/0 9:@A FG`a fg";
    uint8_t out[2] = {7, 7};

    (void)state;
    assert_true(um_hex_decode("", 0, out));
    assert_int_equal(out[0], 7);
    assert_true(um_hex_decode("c0De", 4, out));
    assert_int_equal(out[0], 0xC0);
    assert_int_equal(out[1], 0xDE);
    assert_false(um_hex_decode("c0D", 3, out));
    for (const char *c = around; *c; c++) {
        char pair[2] = {'0', *c};
        bool digit = strchr("0123456789abcdefABCDEF", *c) != NULL;
        assert_int_equal(um_hex_decode(pair, 2, out), digit);
    }
}

static void bytes_become_digits_in_lower_case(void **state)
{
    char text[7];

    (void)state;
    assert_int_equal(um_hex_write("\x00\xAB\x7f", 3, text), 6);
    assert_string_equal(text, "00ab7f");
    assert_int_equal(um_hex_write("", 0, text), 0);
    assert_string_equal(text, "");
}

static void strict_texts_are_lower_case_and_may_end_early(void **state)
{
    uint8_t out[2];

    (void)state;
    assert_true(um_hex_read("c0de", out, 2));
    assert_int_equal(out[0], 0xC0);
    assert_int_equal(out[1], 0xDE);
    assert_true(um_hex_read("c0de and more", out, 2));
    assert_false(um_hex_read("c0De", out, 2));
    assert_false(um_hex_read("c0d", out, 2));
    assert_false(um_hex_read("", out, 1));
}

static void numbers_of_sixteen_digits_are_read(void **state)
{
    uint64_t number = 7;

    (void)state;
    assert_false(um_hex_number("0123456789abcdeg", &number));
    assert_int_equal(number, 7);
    assert_true(um_hex_number("0123456789abCDEF", &number));
    assert_int_equal(number, UINT64_C(0x0123456789abcdef));
}

static void digests_are_read_back_and_nothing_else(void **state)
{
    uint8_t digest[UM_DIGEST_LEN], again[UM_DIGEST_LEN];
    char text[UM_DIGEST_HEX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof digest; i++)
        digest[i] = (uint8_t)(i * 37);
    um_digest_text(digest, text);
    assert_true(um_digest_read(text, again));
    assert_memory_equal(again, digest, sizeof digest);
    strcat(text, "0");
    assert_false(um_digest_read(text, again));
    text[UM_DIGEST_HEX - 2] = '\0';
    assert_false(um_digest_read(text, again));
}

TEST_GROUP(hex)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_a_digit_or_is_not),
        cmocka_unit_test(hexadecimal_text_is_decoded_by_itself),
        cmocka_unit_test(bytes_become_digits_in_lower_case),
        cmocka_unit_test(strict_texts_are_lower_case_and_may_end_early),
        cmocka_unit_test(numbers_of_sixteen_digits_are_read),
        cmocka_unit_test(digests_are_read_back_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
