/*
 * fuzzy.c - datagrams of rspamd's fuzzy storage. The first request was captured
 * from rspamd 3.4, with its extensions.
 */
#include "clearinghouse/protocols/fuzzy/internal.h"
#include "support/test.h"

#include <string.h>

enum { CAPTURED = UM_FUZZY_WHOLE + 16 };

static size_t request(uint8_t out[CAPTURED], uint8_t command, uint8_t shingles,
                      uint32_t value)
{
    static const char extensions[] = "d\tyahoo.com4\x7f\0\0\x01";

    memset(out, 0, CAPTURED);
    out[0] = 4;
    out[1] = command;
    out[2] = shingles;
    out[3] = 11;
    for (int i = 0; i < 4; i++)
        out[4 + i] = (uint8_t)(value >> 8 * i);
    memcpy(out + 8, "\x44\x33\x22\x11", 4);
    for (size_t i = 12; i < UM_FUZZY_WHOLE; i++)
        out[i] = (uint8_t)i;
    size_t len = shingles ? UM_FUZZY_WHOLE : UM_FUZZY_PLAIN;
    memcpy(out + len, extensions, 16);
    return len + 16;
}

static void a_request_has_its_fields_and_extensions_are_skipped(void **state)
{
    (void)state;
    uint8_t bytes[CAPTURED];
    um_fuzzy_request r;
    size_t len = request(bytes, UM_FUZZY_WRITE, 32, 10);

    for (size_t more = 0; more <= 16; more++) {
        assert_int_equal(um_fuzzy_parse(bytes, len - more, &r), UM_FUZZY_OK);
        assert_int_equal(r.op, UM_FUZZY_WRITE);
        assert_int_equal(r.flag, 11);
        assert_int_equal(r.value, 10);
        assert_int_equal(r.tag, 0x11223344);
        assert_ptr_equal(r.digest, bytes + 12);
        assert_true(r.has_shingles);
        assert_int_equal(r.shingle[0], 0x535251504f4e4d4c);
        assert_int_equal(r.shingle[31] & 0xff, (UM_FUZZY_WHOLE - 8) & 0xff);
    }
    assert_int_equal(um_fuzzy_parse(bytes, UM_FUZZY_WHOLE - 1, &r),
                     UM_FUZZY_SHORT);
    len = request(bytes, UM_FUZZY_CHECK, 0, 0);
    assert_int_equal(um_fuzzy_parse(bytes, len, &r), UM_FUZZY_OK);
    assert_false(r.has_shingles);
}

static void refusals_have_their_reason(void **state)
{
    (void)state;
    uint8_t bytes[CAPTURED];
    um_fuzzy_request r;

    for (size_t len = 0; len < UM_FUZZY_PLAIN; len++) {
        request(bytes, UM_FUZZY_CHECK, 0, 0);
        assert_int_equal(um_fuzzy_parse(bytes, len, &r), UM_FUZZY_SHORT);
    }
    for (unsigned n = 0; n < 256; n++) {
        size_t len = request(bytes, UM_FUZZY_CHECK, 32, 0);
        bytes[2] = (uint8_t)n;
        assert_int_equal(um_fuzzy_parse(bytes, len, &r),
                         n == 0 || n == 32 ? UM_FUZZY_OK : UM_FUZZY_COUNT);
        bytes[2] = 0;
        bytes[0] = (uint8_t)n;
        assert_int_equal(um_fuzzy_parse(bytes, len, &r),
                         (n & 15) == 4 ? UM_FUZZY_OK : UM_FUZZY_VERSION);
        bytes[0] = 4;
        bytes[1] = (uint8_t)n;
        assert_int_equal(um_fuzzy_parse(bytes, len, &r),
                         n < 5 ? UM_FUZZY_OK : UM_FUZZY_COMMAND);
    }
    size_t len = request(bytes, UM_FUZZY_CHECK, 0, 0);
    memcpy(bytes, "rsfe", 4);
    assert_int_equal(um_fuzzy_parse(bytes, len, &r), UM_FUZZY_ENCRYPTED);
}

static uint32_t swapped(uint32_t x)
{
    return x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;
}

/*
 * Tries all usual values of fuzzy_add, in our byte order and in the other one.
 */
static void another_byte_order_is_noticed(void **state)
{
    (void)state;
    uint8_t bytes[CAPTURED];
    um_fuzzy_request r;

    for (int32_t value = -40000; value <= 40000; value++) {
        size_t len = request(bytes, UM_FUZZY_WRITE, 32, (uint32_t)value);
        uint32_t low = (uint32_t)value & 0xff;
        assert_int_equal(um_fuzzy_parse(bytes, len, &r), UM_FUZZY_OK);
        len = request(bytes, UM_FUZZY_WRITE, 32, swapped((uint32_t)value));
        /* Swapped, these are plausible values, too. */
        if (value && !(value < 0 && (low == 0 || low == 0xff)))
            assert_int_equal(um_fuzzy_parse(bytes, len, &r),
                             UM_FUZZY_BYTE_ORDER);
    }
}

static void a_reply_has_its_bytes(void **state)
{
    (void)state;
    uint8_t digest[UM_NEAR_NAME], out[UM_FUZZY_REPLY], zeros[12] = {0};

    memset(digest, 0xd1, sizeof digest);
    um_fuzzy_print(&(um_fuzzy_reply){.value = -2,
                                     .flag = 11,
                                     .tag = 0x11223344,
                                     .probability = 0.96875F,
                                     .digest = digest,
                                     .time = 1794924014},
                   out);
    assert_memory_equal(
        out, "\xfe\xff\xff\xff\x0b\0\0\0\x44\x33\x22\x11\0\0\x78\x3f", 16);
    assert_memory_equal(out + 16, digest, sizeof digest);
    assert_memory_equal(out + 80, "\xee\x5d\xfc\x6a", 4);
    assert_memory_equal(out + 84, zeros, sizeof zeros);
}

TEST_GROUP(fuzzy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_its_fields_and_extensions_are_skipped),
        cmocka_unit_test(refusals_have_their_reason),
        cmocka_unit_test(another_byte_order_is_noticed),
        cmocka_unit_test(a_reply_has_its_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
