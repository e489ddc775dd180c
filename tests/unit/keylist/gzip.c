/* gzip.c - key lists compressed with gzip. */
#include "support/key_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { MANY = 50000 };

static const um_key_format lines = {.field = 0};

/* Returns the compressed text. Free it. */
static uint8_t *compress_text(const char *text, size_t len, size_t *out_len)
{
    size_t cap = len + 1000;
    uint8_t *out = malloc(cap), *in = malloc(len + 1);
    z_stream z = {.next_in = in, .avail_in = (uInt)len};

    assert_non_null(out);
    assert_non_null(in);
    memcpy(in, text, len);
    assert_int_equal(
        deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
        Z_OK);
    z.next_out = out;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *out_len = cap - z.avail_out;
    deflateEnd(&z);
    free(in);
    return out;
}

/*
 * Reads the compressed text without its last `cut` bytes, followed by `behind`.
 */
static void expect(const char *text, size_t cut, const char *behind,
                   size_t behind_len, umbel_status status, const char *keys,
                   const char *reason)
{
    size_t len;
    uint8_t *bytes = compress_text(text, strlen(text), &len);
    test_input in;

    len -= cut;
    bytes = realloc(bytes, len + behind_len + 1);
    assert_non_null(bytes);
    memcpy(bytes + len, behind, behind_len);
    test_input_bytes(&lines, bytes, len + behind_len, &in);
    assert_string_equal(in.reason, reason);
    assert_int_equal(in.status, status);
    assert_string_equal(in.keys, keys);
    test_input_fini(&in);
    free(bytes);
}

static void compressed_lines_are_keys(void **state)
{
    (void)state;
    expect("one\ntwo\n", 0, "", 0, UMBEL_OK, "one|two|", "");
    expect("\xEF\xBB\xBFone\r\ntwo", 0, "", 0, UMBEL_OK, "one|two|", "");
    expect("", 0, "", 0, UMBEL_OK, "", "");
}

static void gzip_files_may_be_put_together(void **state)
{
    size_t len;
    uint8_t *more = compress_text("wo\nthree", 8, &len);

    (void)state;
    expect("one\nt", 0, (const char *)more, len, UMBEL_OK, "one|two|three|",
           "");
    free(more);
}

static void a_compressed_file_that_is_cut_short_is_refused(void **state)
{
    (void)state;
    for (size_t cut = 1; cut <= 8; cut++) { /* checksum and length */
        size_t len;
        uint8_t *bytes = compress_text("one\n", 4, &len);
        test_input in;
        test_input_bytes(&lines, bytes, len - cut, &in);
        assert_int_equal(in.status, UMBEL_E_FORMAT);
        assert_string_equal(in.reason, "the gzip data is cut short");
        test_input_fini(&in);
        free(bytes);
    }
    expect("", 20, "\x1F\x8B\x08", 3, UMBEL_E_FORMAT, "",
           "the gzip data is cut short");
}

static void damage_and_anything_behind_gzip_data_is_refused(void **state)
{
    static const char reason[] =
        "the gzip data is damaged, or something else follows it";

    (void)state;
    expect("one\n", 0, "two\n", 4, UMBEL_E_FORMAT, "one|", reason);
    expect("one\n", 0, "\0\0", 2, UMBEL_E_FORMAT, "one|", reason);
    expect("one\n", 8, "checksum", 8, UMBEL_E_FORMAT, "one|", reason);
    expect("", 20, "\x1F\x8B\x08\xFF..............", 18, UMBEL_E_FORMAT, "",
           reason);
}

static void what_only_begins_like_gzip_is_text(void **state)
{
    static const struct {
        const char *text, *keys;
    } cases[] = {{"\x1F", "\\x1f|"},
                 {"\x1F\x8B", "\\x1f\\x8b|"},
                 {"\x1F\x8B\n", "\\x1f\\x8b|"},
                 {"\x1F\nb\n", "\\x1f|b|"},
                 {"a\x1F\x8B\x08\n", "a\\x1f\\x8b\\x08|"}};
    test_input in;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        test_input_bytes(&lines, cases[i].text, strlen(cases[i].text), &in);
        assert_int_equal(in.status, UMBEL_OK);
        assert_string_equal(in.keys, cases[i].keys);
        test_input_fini(&in);
    }
}

/* Returns lines that compress badly, more than the buffers hold. */
static char *many_lines(void)
{
    char *text = malloc((size_t)MANY * 20 + 1), *at = text;

    assert_non_null(text);
    for (uint32_t i = 1; i <= MANY; i++)
        at += sprintf(at, "%08x%08x\n", i * 0x9E3779B1u, i * 0x85EBCA77u);
    return text;
}

static void compressed_files_of_any_length_equal_their_text(void **state)
{
    char *text = many_lines(), *dir = test_dir_make(),
         *path = test_path(dir, "keys.gz");
    um_key_source s = {.paths = (const char *const[]){path, path}, .npaths = 2};
    size_t len;
    uint8_t *bytes = compress_text(text, strlen(text), &len);
    test_input plain, packed;
    uint64_t n;

    (void)state;
    assert_true(len > (size_t)4 << 16);
    test_input_bytes(&lines, text, strlen(text), &plain);
    assert_int_equal(plain.n, MANY);
    test_write_file(path, bytes, len);
    for (s.threads = 1; s.threads <= 4; s.threads++) {
        test_input_read(&s, &packed);
        assert_int_equal(packed.n, 2 * MANY);
        assert_string_equal(packed.keys + strlen(plain.keys), plain.keys);
        assert_memory_equal(packed.keys, plain.keys, strlen(plain.keys));
        test_input_fini(&packed);
    }
    assert_ok(um_keys_count(&s, &n, &test_refusal));
    assert_int_equal(n, 2 * MANY);
    assert_true(um_keys_rereadable(&s));
    test_input_fini(&plain);
    free(bytes);
    free(text);
    free(path);
    test_dir_remove(dir);
}

static umbel_status stop_now(void *ctx, const um_key_batch *batch,
                             umbel_error *err)
{
    (void)batch;
    (void)err;
    *(bool *)ctx = true;
    return UMBEL_OK;
}

/* Checks that the rest of the data is neither read nor reported missing. */
static void reading_of_compressed_keys_can_be_stopped(void **state)
{
    char *text = many_lines();
    size_t len;
    uint8_t *bytes = compress_text(text, strlen(text), &len);

    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        test_drip d;
        bool stop = false;
        test_drip_open(&d, bytes, len, 1000);
        um_key_source s = test_drip_source(&d, &lines);
        s.threads = threads;
        s.stop = &stop;
        assert_ok(um_keys_each_batch(&s, stop_now, &stop, &test_refusal));
        assert_true(d.done < len);
        test_drip_close(&d);
    }
    free(bytes);
    free(text);
}

/* Reads a pipe that stalls in the middle of the data. */
static void stopping_is_not_taken_for_the_end_of_the_data(void **state)
{
    static const uint8_t begun[] = {/* "a\n", flushed */
                                    0x1F, 0x8B, 8, 0, 0,    0,    0,   0,   0,
                                    3,    0,    2, 0, 0xFD, 0xFF, 'a', '\n'};
    bool stop = false;
    int fds[2];
    char path[32];
    um_key_source s = {.paths = (const char *const[]){path},
                       .npaths = 1,
                       .threads = 3,
                       .stop = &stop};

    (void)state;
    assert_int_equal(pipe(fds), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
    assert_int_equal(write(fds[1], begun, sizeof begun), sizeof begun);
    assert_ok(um_keys_each_batch(&s, stop_now, &stop, &test_refusal));
    assert_true(stop);
    close(fds[0]);
    close(fds[1]);
}

TEST_GROUP(gzip)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_lines_are_keys),
        cmocka_unit_test(gzip_files_may_be_put_together),
        cmocka_unit_test(a_compressed_file_that_is_cut_short_is_refused),
        cmocka_unit_test(damage_and_anything_behind_gzip_data_is_refused),
        cmocka_unit_test(what_only_begins_like_gzip_is_text),
        cmocka_unit_test(compressed_files_of_any_length_equal_their_text),
        cmocka_unit_test(reading_of_compressed_keys_can_be_stopped),
        cmocka_unit_test(stopping_is_not_taken_for_the_end_of_the_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
