/*
 * bytes.c - the bounded reader and writer.
 */
#include "support/test.h"

#include "base/bytes.h"

static const uint8_t wire[] = {
    0x04, 0x03, 0x02, 0x01,                         /* u32 */
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* u64 */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xF8, 0x3F, /* f64: 1.5 */
};

static void reads_little_endian_fields_in_turn(void **state)
{
    um_reader r = {wire, wire + sizeof wire, false};

    (void)state;
    assert_int_equal(um_get_u32(&r), 0x01020304);
    assert_int_equal(um_get_u64(&r), UINT64_C(0x0102030405060708));
    assert_true(um_get_f64(&r) == 1.5);
    assert_false(r.bad);
    assert_ptr_equal(r.at, r.end);
}

static void writes_what_it_reads(void **state)
{
    uint8_t out[sizeof wire];
    um_writer w = {out, out + sizeof out, false};

    (void)state;
    um_write_u32(&w, 0x01020304);
    um_write_u64(&w, UINT64_C(0x0102030405060708));
    um_write_f64(&w, 1.5);
    assert_false(w.bad);
    assert_memory_equal(out, wire, sizeof wire);
}

static void a_read_past_the_end_gives_zeros_and_is_remembered(void **state)
{
    uint8_t bytes[4] = {1, 2, 3, 4}, out[5] = {9, 9, 9, 9, 9};

    (void)state;
    for (size_t len = 0; len < 4; len++) {
        um_reader r = {wire, wire + len, false};
        assert_int_equal(um_get_u32(&r), 0);
        assert_true(r.bad);
    }
    um_reader r = {bytes, bytes + sizeof bytes, false};
    um_get_bytes(&r, out, sizeof out);
    assert_memory_equal(out, "\0\0\0\0\0", sizeof out);
    assert_int_equal(um_get_u32(&r), 0x04030201);
    assert_true(r.bad); /* a later valid read does not clear it */
}

static void a_write_that_does_not_fit_writes_nothing(void **state)
{
    uint8_t out[8] = {0};
    um_writer w = {out, out + 3, false};

    (void)state;
    um_write_u32(&w, 0xFFFFFFFF);
    assert_true(w.bad);
    um_write_bytes(&w, "ab", 2);
    assert_true(w.bad);
    assert_memory_equal(out, "ab\0\0\0\0\0\0", sizeof out);
}

TEST_GROUP(bytes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_little_endian_fields_in_turn),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(a_read_past_the_end_gives_zeros_and_is_remembered),
        cmocka_unit_test(a_write_that_does_not_fit_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
