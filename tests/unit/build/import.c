/* import.c - filters of other programs, plain and compressed. */
#include "support/test.h"

#include "base/error.h"
#include "build/build.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A filter, and the bytes of its foreign file, plain and compressed. */
typedef struct foreign {
    umbel_filter *f;
    uint8_t *plain, *packed;
    size_t plain_len, packed_len;
} foreign;

/* Compresses bytes. Level 0 stores them: the result is as long as the input. */
static uint8_t *compress_bytes(const uint8_t *bytes, size_t len, int level,
                               size_t *out_len)
{
    size_t cap = len + len / 1000 + 1000;
    uint8_t *out = malloc(cap), *in = malloc(len + 1);
    z_stream z = {.next_in = in, .avail_in = (uInt)len};

    assert_non_null(out);
    assert_non_null(in);
    memcpy(in, bytes, len);
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 8,
                                  Z_DEFAULT_STRATEGY),
                     Z_OK);
    z.next_out = out;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *out_len = cap - z.avail_out;
    deflateEnd(&z);
    free(in);
    return out;
}

static void foreign_init(foreign *x)
{
    char *dir = test_dir_make(), *path = test_path(dir, "f.bloom");
    umbel_params p = UMBEL_PARAMS_INIT;

    *x = (foreign){.f = NULL};
    p.addressing = "dcso";
    p.capacity = 1000;
    x->f = test_open(&p);
    test_add(x->f, 0, 1000);
    assert_ok(umbel_export(x->f, "dcso", path, &test_refusal));
    x->plain = test_read_file(path, &x->plain_len);
    x->packed = compress_bytes(x->plain, x->plain_len, 6, &x->packed_len);
    free(path);
    test_dir_remove(dir);
}

static void foreign_fini(foreign *x)
{
    umbel_close(x->f);
    free(x->plain);
    free(x->packed);
}

/*
 * Imports a copy of exactly len bytes, so that sanitizers detect reads past its
 * end.
 */
static umbel_status import(const uint8_t *bytes, size_t len, uint64_t limit,
                           umbel_filter **out)
{
    uint8_t *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    umbel_status status =
        um_import("dcso", copy, len, limit, out, &test_refusal);
    free(copy);
    return status;
}

static void check_same(const foreign *x, const uint8_t *bytes, size_t len,
                       uint64_t limit)
{
    umbel_filter *f;

    assert_ok(import(bytes, len, limit, &f));
    test_assert_same_payload(f, x->f);
    umbel_close(f);
}

static void plain_and_compressed_files_give_the_same_filter(void **state)
{
    foreign x;

    (void)state;
    foreign_init(&x);
    check_same(&x, x.plain, x.plain_len, 0);
    check_same(&x, x.packed, x.packed_len, 0);
    check_same(&x, x.packed, x.packed_len, x.plain_len);
    foreign_fini(&x);
}

static void a_file_may_be_compressed_in_parts(void **state)
{
    size_t half, rest;
    foreign x;

    (void)state;
    foreign_init(&x);
    uint8_t *first = compress_bytes(x.plain, 100, 6, &half);
    uint8_t *second =
        compress_bytes(x.plain + 100, x.plain_len - 100, 6, &rest);
    uint8_t *both = malloc(half + rest);
    assert_non_null(both);
    memcpy(both, first, half);
    memcpy(both + half, second, rest);
    check_same(&x, both, half + rest, 0);
    free(both);
    free(second);
    free(first);
    foreign_fini(&x);
}

static void every_shorter_compressed_file_is_refused(void **state)
{
    umbel_filter *f = NULL;
    foreign x;

    (void)state;
    foreign_init(&x);
    for (size_t len = 2; len < x.packed_len; len += 1 + len / 16)
        assert_refused(import(x.packed, len, 0, &f), UMBEL_E_FORMAT,
                       "cut short");
    x.packed[x.packed_len / 2] ^= 0x10;
    assert_refused(import(x.packed, x.packed_len, 0, &f), UMBEL_E_FORMAT,
                   "gzip");
    assert_null(f);
    foreign_fini(&x);
}

static void memory_is_limited(void **state)
{
    umbel_filter *f = NULL;
    foreign x;

    (void)state;
    foreign_init(&x);
    assert_refused_as(import(x.packed, x.packed_len, 1000, &f), UMBEL_E_LIMIT,
                      UMBEL_D_COMPRESSED, "decompressed");
    assert_refused(import(x.plain, x.plain_len, 1000, &f), UMBEL_E_LIMIT,
                   "limit");
    foreign_fini(&x);
}

/*
 * Imports a compressed file whose head claims little but which expands far
 * beyond.
 */
static void a_file_that_expands_beyond_its_own_length_is_refused(void **state)
{
    enum { MORE = 40 << 20 };
    umbel_filter *f = NULL;
    foreign x;
    size_t len;

    (void)state;
    foreign_init(&x);
    uint8_t *large = calloc(1, x.plain_len + MORE);
    assert_non_null(large);
    memcpy(large, x.plain, x.plain_len);
    uint8_t *packed = compress_bytes(large, x.plain_len + MORE, 1, &len);
    assert_refused(import(packed, len, 0, &f), UMBEL_E_LIMIT, "follow");
    free(packed);
    free(large);
    foreign_fini(&x);
}

static void what_is_no_filter_is_found_out_early(void **state)
{
    enum { LEN = 8 << 20 };
    uint8_t *zeros = calloc(1, LEN);
    umbel_filter *f = NULL;
    size_t len;

    (void)state;
    assert_non_null(zeros);
    uint8_t *packed = compress_bytes(zeros, LEN, 1, &len);
    assert_refused(import(packed, len, 0, &f), UMBEL_E_FORMAT, "DCSO");
    free(packed);
    free(zeros);
}

/* The first step decompresses a mebibyte; larger files take more steps. */
static void large_files_grow_up_to_their_limit(void **state)
{
    enum { DATA_LEN = 3 << 20, LESS = 2 << 20 };
    umbel_filter *f = NULL;
    foreign x;
    size_t len;

    (void)state;
    foreign_init(&x);
    uint8_t *large = calloc(1, x.plain_len + DATA_LEN);
    assert_non_null(large);
    memcpy(large, x.plain, x.plain_len);
    uint8_t *packed = compress_bytes(large, x.plain_len + DATA_LEN, 1, &len);
    assert_refused_as(import(packed, len, x.plain_len + LESS, &f),
                      UMBEL_E_LIMIT, UMBEL_D_COMPRESSED, "come out of it");
    assert_ok(import(packed, len, UINT64_MAX, &f));
    assert_true(umbel_data(f).len >= DATA_LEN);
    umbel_close(f);
    free(packed);
    free(large);
    foreign_fini(&x);
}

/* Imports files shorter than a magic number, and with half of one. */
static void the_shortest_files_are_no_filters(void **state)
{
    static const uint8_t half[] = {0x1F, 0x8C, 0};
    umbel_filter *none = NULL;

    (void)state;
    for (size_t len = 0; len <= sizeof half; len++)
        assert_int_equal(import(half, len, 0, &none), UMBEL_E_FORMAT);
    assert_null(none);
}

TEST_GROUP(import)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_compressed_files_give_the_same_filter),
        cmocka_unit_test(a_file_may_be_compressed_in_parts),
        cmocka_unit_test(every_shorter_compressed_file_is_refused),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(a_file_that_expands_beyond_its_own_length_is_refused),
        cmocka_unit_test(what_is_no_filter_is_found_out_early),
        cmocka_unit_test(large_files_grow_up_to_their_limit),
        cmocka_unit_test(the_shortest_files_are_no_filters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
