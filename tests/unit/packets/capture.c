/*
 * capture.c - captures in files: both formats, both byte orders, clocks, cuts,
 * lengths that lie.
 */
#include "packets/capture/capture.h"
#include "base/buffer.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- files, written in either byte order ----------------------------------
 */

typedef struct file {
    um_buffer bytes;
    bool big;
} file;

static void append(file *f, uint64_t x, size_t len)
{
    uint8_t byte;

    for (size_t i = 0; i < len; i++) {
        byte = (uint8_t)(x >> 8 * (f->big ? len - 1 - i : i));
        um_buffer_append(&f->bytes, &byte, 1);
    }
}

static void begin_pcap(file *f, bool big, uint32_t magic, uint32_t link)
{
    *f = (file){.big = big};
    append(f, magic, 4);
    append(f, 2, 2);
    append(f, 4, 2);
    append(f, 0, 8);
    append(f, 65535, 4);
    append(f, link, 4);
}

static void write_record(file *f, uint32_t s, uint32_t part, uint32_t captured,
                         uint32_t length)
{
    append(f, s, 4);
    append(f, part, 4);
    append(f, captured, 4);
    append(f, length, 4);
    for (uint32_t i = 0; i < captured && i < 100000; i++)
        append(f, i, 1);
}

static void write_block(file *f, uint32_t type, file *body)
{
    size_t padded = (body->bytes.len + 3) & ~(size_t)3;

    append(f, type, 4);
    append(f, padded + 12, 4);
    um_buffer_append(&f->bytes, body->bytes.data, body->bytes.len);
    append(f, 0, padded - body->bytes.len);
    append(f, padded + 12, 4);
    um_buffer_fini(&body->bytes);
}

static void begin_section(file *f)
{
    file b = {.big = f->big};

    append(&b, 0x1A2B3C4D, 4);
    append(&b, 1, 4);
    append(&b, UINT64_MAX, 8);
    write_block(f, 0x0A0D0D0A, &b);
}

/* resolution: of if_tsresol; 0: the option is absent. */
static void write_interface(file *f, uint16_t link, uint32_t snap,
                            unsigned resolution, uint64_t offset)
{
    file b = {.big = f->big};

    append(&b, link, 2);
    append(&b, 0, 2);
    append(&b, snap, 4);
    append(&b, 2, 2); /* a name of 3 bytes, padded */
    append(&b, 3, 2);
    append(&b, 0, 4);
    if (resolution) {
        append(&b, 9, 2);
        append(&b, 1, 2);
        append(&b, resolution, 1);
        append(&b, 0, 3);
    }
    if (offset) {
        append(&b, 14, 2);
        append(&b, 8, 2);
        append(&b, offset, 8);
    }
    append(&b, 0, 4);
    write_block(f, 1, &b);
}

static void write_packet(file *f, uint32_t interface, uint64_t ticks,
                         uint32_t captured, uint32_t length)
{
    file b = {.big = f->big};

    append(&b, interface, 4);
    append(&b, ticks >> 32, 4);
    append(&b, ticks & UINT32_MAX, 4);
    append(&b, captured, 4);
    append(&b, length, 4);
    for (uint32_t i = 0; i < captured; i++)
        append(&b, i, 1);
    write_block(f, 6, &b);
}

static void write_statistics(file *f, uint32_t interface, uint64_t drops)
{
    file b = {.big = f->big};

    append(&b, interface, 4);
    append(&b, 0, 8);
    append(&b, 5, 2);
    append(&b, 8, 2);
    append(&b, drops, 8);
    write_block(f, 5, &b);
}

/* --- reading --------------------------------------------------------------
 */

enum { MAX_READ = 16 };

typedef struct seen {
    pk_packet packet[MAX_READ];
    size_t n;
    pk_counts counts;
} seen;

static umbel_status read_source(pk_source *s, seen *out)
{
    pk_event what = PK_PACKET;
    pk_packet p;

    for (;;) {
        umbel_status status = pk_next(s, &p, &what, &test_refusal);
        if (status)
            return status;
        if (what == PK_END)
            break;
        for (uint32_t i = 0; i < p.captured && i < 100000; i++)
            assert_int_equal(p.data[i], (uint8_t)i);
        assert_true(out->n < MAX_READ);
        out->packet[out->n++] = p;
    }
    out->counts = pk_source_counts(s);
    assert_int_equal(out->counts.packets, out->n);
    return UMBEL_OK;
}

/* Reads the first len bytes, in memory of exactly that size. */
static umbel_status read_bytes(const file *f, size_t len, seen *out)
{
    uint8_t *copy = malloc(len + 1);
    pk_source *s = NULL;

    *out = (seen){.n = 0};
    memcpy(copy + 1, f->bytes.data, len);
    umbel_status status = pk_open_bytes(copy + 1, len, &s, &test_refusal);
    if (!status)
        status = read_source(s, out);
    pk_close(s);
    free(copy);
    return status;
}

static umbel_status read_all(const file *f, seen *out)
{
    return read_bytes(f, f->bytes.len, out);
}

static void reads_pcap_of_both_orders_and_clocks(void **state)
{
    static const uint32_t magic[] = {0xA1B2C3D4, 0xA1B23C4D};
    seen s;
    file f;

    (void)state;
    for (int i = 0; i < 4; i++) {
        begin_pcap(&f, i & 1, magic[i / 2], PK_ETHERNET);
        write_record(&f, 1700000000, 123456, 60, 1500);
        write_record(&f, 4294967295, 999999, 0, 0);
        assert_ok(read_all(&f, &s));
        assert_int_equal(s.n, 2);
        assert_int_equal(s.packet[0].time, UINT64_C(1700000000000000000) +
                                               (i / 2 ? 123456 : 123456000));
        assert_int_equal(s.packet[1].time / 1000000000, 4294967295);
        assert_int_equal(s.packet[0].captured, 60);
        assert_int_equal(s.packet[0].length, 1500);
        assert_int_equal(s.packet[0].link, PK_ETHERNET);
        assert_false(s.counts.cut);
        um_buffer_fini(&f.bytes);
    }
}

/* Wherever a file is cut, the packets before are read; it is no error. */
static void a_file_that_was_cut_is_read_up_to_there(void **state)
{
    size_t ends[2][4] = {{0}}, n, header[2] = {24, 0};
    seen s;
    file f;

    (void)state;
    for (int ng = 0; ng < 2; ng++) {
        begin_pcap(&f, false, 0xA1B2C3D4, PK_RAW);
        if (ng) {
            um_buffer_clear(&f.bytes, SIZE_MAX);
            begin_section(&f);
            write_interface(&f, PK_RAW, 0, 0, 0);
        }
        for (n = 0; n < 3; n++) {
            if (ng)
                write_packet(&f, 0, n, 20, 20);
            else
                write_record(&f, 1, 0, 20, 20);
            ends[ng][n] = f.bytes.len;
        }
        for (size_t len = ng ? 12 : header[0]; len <= f.bytes.len; len++) {
            size_t whole = 0;
            assert_ok(read_bytes(&f, len, &s));
            while (whole < 3 && ends[ng][whole] <= len + (ng ? 4 : 0))
                whole++;
            assert_int_equal(s.n, whole);
            if (whole && len == ends[ng][whole - 1])
                assert_false(s.counts.cut);
            if (len + 1 == f.bytes.len)
                assert_true(s.counts.cut);
        }
        um_buffer_fini(&f.bytes);
    }
}

static void lengths_that_lie_are_refused_with_their_offset(void **state)
{
    seen s;
    file f;

    (void)state;
    begin_pcap(&f, false, 0xA1B2C3D4, PK_ETHERNET);
    write_record(&f, 1, 0, 4, 4);
    write_record(&f, 1, 0, PK_MAX_CAPTURED + 1, 60);
    assert_refused(read_all(&f, &s), UMBEL_E_FORMAT,
                   "byte 44: a packet of length 1048577");
    um_buffer_fini(&f.bytes);

    begin_pcap(&f, false, 0xA1B2C3D4, PK_ETHERNET);
    write_record(&f, 1, 0, 60, 4); /* less on the wire than captured */
    assert_ok(read_all(&f, &s));
    assert_int_equal(s.packet[0].length, 60);
    um_buffer_fini(&f.bytes);

    for (uint32_t lie = 0; lie < 70; lie++) { /* lengths of a block */
        f = (file){.big = true};
        begin_section(&f);
        write_interface(&f, PK_ETHERNET, 0, 0, 0);
        size_t at = f.bytes.len;
        write_packet(&f, 0, 1, 20, 20);
        f.bytes.data[at + 7] = (uint8_t)lie;
        if (lie == 52)
            assert_ok(read_all(&f, &s));
        else if (lie < 52) /* behind the packet: seen as the end of the file */
            assert_refused(read_all(&f, &s), UMBEL_E_FORMAT, "damaged");
        um_buffer_fini(&f.bytes);
    }
}

static void other_files_are_refused_by_what_they_are(void **state)
{
    file f = {.big = false};
    seen s;

    (void)state;
    append(&f, 0x8B1F, 4);
    assert_refused(read_all(&f, &s), UMBEL_E_FORMAT, "gunzip -c");
    assert_refused(read_bytes(&f, 3, &s), UMBEL_E_FORMAT, "less than 4");
    f.bytes.data[0] = 'x';
    assert_refused(read_all(&f, &s), UMBEL_E_FORMAT, "expected pcap or pcapng");
    um_buffer_fini(&f.bytes);
    begin_pcap(&f, true, 0xA1B2C3D4, PK_ETHERNET);
    assert_refused(read_bytes(&f, 23, &s), UMBEL_E_FORMAT, "its header");
    um_buffer_fini(&f.bytes);
    begin_pcap(&f, true, 0xA1B2C3D4, 105);
    assert_ok(read_all(&f, &s)); /* nobody needs to decode anything */
    write_record(&f, 1, 0, 4, 4);
    assert_refused(read_all(&f, &s), UMBEL_E_UNSUPPORTED, "link type 105");
    um_buffer_fini(&f.bytes);
}

static void interfaces_have_their_own_link_and_clock(void **state)
{
    static const struct {
        unsigned resolution;
        uint64_t ticks, time;
    } clocks[] = {{0, 1700000000000001, UINT64_C(1700000000000001000)},
                  {6, 5, 5000},
                  {9, 1700000000000000001, UINT64_C(1700000000000000001)},
                  {3, 7, 7000000},
                  {12, 5000, 5},
                  {127, UINT64_MAX, 0},
                  {0x80 | 10, 1024, 1000000000},
                  {0x80 | 32, UINT64_C(3) << 31, 1500000000}};
    seen s;
    file f;

    (void)state;
    for (int big = 0; big < 2; big++)
        for (size_t i = 0; i < TEST_COUNT(clocks); i++) {
            f = (file){.big = big};
            begin_section(&f);
            write_interface(&f, PK_ETHERNET, 0, 0, 0);
            write_interface(&f, PK_RAW, 0, clocks[i].resolution, i ? 2 : 0);
            write_packet(&f, 1, clocks[i].ticks, 5, 60);
            write_packet(&f, 0, 1, 0, 0);
            assert_ok(read_all(&f, &s));
            assert_int_equal(s.n, 2);
            if (clocks[i].resolution != 127) /* coarser than its digits */
                assert_int_equal(s.packet[0].time,
                                 clocks[i].time + (i ? 2000000000u : 0));
            assert_int_equal(s.packet[0].link, PK_RAW);
            assert_int_equal(s.packet[0].interface, 1);
            assert_int_equal(s.packet[0].length, 60);
            assert_int_equal(s.packet[1].link, PK_ETHERNET);
            assert_int_equal(s.packet[1].time, 1000);
            um_buffer_fini(&f.bytes);
        }
}

static void sections_simple_packets_and_unknown_blocks_are_read(void **state)
{
    file f = {.big = true}, b = {.big = true};
    seen s;

    (void)state;
    begin_section(&f);
    write_interface(&f, PK_ETHERNET, 4, 0, 0);
    write_packet(&f, 0, 9, 3, 3);
    append(&b, 100, 4); /* a simple packet, of which 4 bytes were captured */
    append(&b, 0x00010203, 4);
    write_block(&f, 3, &b);
    b = (file){.big = true};
    for (int i = 0; i < 300000; i++)
        append(&b, 0, 1);
    write_block(&f, 0xBAD, &b);
    f.big =
        false; /* a section in another byte order, with its own interfaces */
    begin_section(&f);
    write_interface(&f, PK_RAW, 0, 0, 0);
    write_packet(&f, 0, 9, 8, 8);
    assert_ok(read_all(&f, &s));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.packet[1].captured, 4);
    assert_int_equal(s.packet[1].length, 100);
    assert_int_equal(s.packet[1].time, s.packet[0].time);
    assert_int_equal(s.packet[2].interface, 1);
    assert_int_equal(s.packet[2].link, PK_RAW);
    write_packet(&f, 1, 9, 8, 8);
    assert_refused(read_all(&f, &s), UMBEL_E_FORMAT, "a packet of interface 1");
    um_buffer_fini(&f.bytes);
}

static void drops_that_a_file_states_are_counted_once(void **state)
{
    file f = {.big = false};
    seen s;

    (void)state;
    begin_section(&f);
    write_interface(&f, PK_ETHERNET, 0, 0, 0);
    write_interface(&f, PK_ETHERNET, 0, 0, 0);
    write_statistics(&f, 0, 5);
    write_statistics(&f, 1, 100);
    write_statistics(&f, 0, 7); /* a later report of the same interface */
    write_statistics(&f, 2, 9);
    assert_ok(read_all(&f, &s));
    assert_int_equal(s.counts.drops, 107);
    um_buffer_fini(&f.bytes);
}

/* Options of every length, also such that run past the block. */
static void options_of_any_length_are_passed(void **state)
{
    seen s;

    (void)state;
    for (uint32_t len = 0; len < 70; len++)
        for (uint32_t stated = 0; stated < 80; stated += 3) {
            file f = {.big = false}, b = {.big = false};
            begin_section(&f);
            append(&b, PK_ETHERNET, 4);
            append(&b, 0, 4);
            append(&b, stated % 2 ? 9 : 14, 2);
            append(&b, stated, 2);
            for (uint32_t i = 0; i < len; i++)
                append(&b, 6, 1);
            write_block(&f, 1, &b);
            write_packet(&f, 0, 1, 4, 4);
            assert_ok(read_all(&f, &s));
            assert_int_equal(s.n, 1);
            um_buffer_fini(&f.bytes);
        }
}

/* A stream is read in other pieces than a file, with the same packets. */
static void a_pipe_gives_the_packets_of_the_file(void **state)
{
    int ends[2];
    char path[40];
    file f = {.big = false}, b = {.big = false};
    pk_source *source;
    seen s = {.n = 0};

    (void)state;
    begin_section(&f);
    write_interface(&f, PK_ETHERNET, 0, 0, 0);
    write_packet(&f, 0, 9, 1000, 1000);
    for (int i = 0; i < 40000; i++)
        append(&b, 0, 1);
    write_block(&f, 0xBAD, &b);
    write_packet(&f, 0, 10, 7, 7);
    write_packet(&f, 0, 11, 1401, 1401);
    assert_int_equal(pipe(ends), 0);
    assert_true(f.bytes.len < 65536); /* which a pipe takes */
    assert_int_equal(write(ends[1], f.bytes.data, f.bytes.len), f.bytes.len);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_ok(pk_open_file(path, &source, &test_refusal));
    assert_ok(read_source(source, &s));
    assert_int_equal(s.n, 3);
    assert_int_equal(s.packet[2].captured, 1401);
    assert_false(s.counts.cut);
    pk_close(source);
    close(ends[0]);
    um_buffer_fini(&f.bytes);
    assert_refused(pk_open_file("/nonexistent", &source, &test_refusal),
                   UMBEL_E_IO, "cannot open");
}

TEST_GROUP(capture)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_pcap_of_both_orders_and_clocks),
        cmocka_unit_test(a_file_that_was_cut_is_read_up_to_there),
        cmocka_unit_test(lengths_that_lie_are_refused_with_their_offset),
        cmocka_unit_test(other_files_are_refused_by_what_they_are),
        cmocka_unit_test(interfaces_have_their_own_link_and_clock),
        cmocka_unit_test(sections_simple_packets_and_unknown_blocks_are_read),
        cmocka_unit_test(drops_that_a_file_states_are_counted_once),
        cmocka_unit_test(options_of_any_length_are_passed),
        cmocka_unit_test(a_pipe_gives_the_packets_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
