/* decoder.c - filters in parts: written by offset, read in pieces. */
#include "support/test.h"

#include "base/rng.h"
#include "filter/head.h"

#include <umbel/file.h>

#include <stdlib.h>
#include <string.h>

enum { KEYS = 500, CONSTANT = 16 << 10 };

static umbel_filter *some_filter(bool coded)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.capacity = 2 * KEYS;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, KEYS);
    umbel_set_coded(f, coded);
    return f;
}

/* Feeds pieces of random sizes up to `most`. */
static umbel_status feed_pieces(umbel_decoder *d, const uint8_t *bytes,
                                size_t len, size_t most, um_rng *rng)
{
    for (size_t at = 0, some; at < len; at += some) {
        some = 1 + (size_t)um_random_below(rng, most);
        some = some < len - at ? some : len - at;
        umbel_status status =
            umbel_decoder_feed(d, bytes + at, some, &test_refusal);
        if (status != UMBEL_OK)
            return status;
    }
    return UMBEL_OK;
}

static void every_part_is_that_of_the_whole(void **state)
{
    umbel_filter *f = some_filter(false);
    size_t len;
    uint8_t *bytes = test_encode(f, &len), *part = malloc(len);
    um_rng rng = {1};

    (void)state;
    assert_int_equal(umbel_raw_len(f), len);
    for (int i = 0; i < 200; i++) {
        size_t from = (size_t)um_random_below(&rng, len + 1);
        size_t n = (size_t)um_random_below(&rng, len - from + 1);
        assert_ok(umbel_encode_part(f, from, part, n, &test_refusal));
        assert_memory_equal(part, bytes + from, n);
    }
    umbel_set_coded(f, true); /* its parts stay raw */
    assert_ok(umbel_encode_part(f, 0, part, len, &test_refusal));
    assert_memory_equal(part, bytes, len);
    free(part);
    free(bytes);
    umbel_close(f);
}

static void a_part_beyond_the_end_is_refused(void **state)
{
    umbel_filter *f = some_filter(false);
    uint64_t len = umbel_raw_len(f);
    uint8_t out[2] = {7, 7};

    (void)state;
    assert_ok(umbel_encode_part(f, len, out, 0, &test_refusal));
    assert_refused(umbel_encode_part(f, len, out, 1, &test_refusal),
                   UMBEL_E_RANGE, "not within");
    assert_refused(umbel_encode_part(f, len - 1, out, 2, &test_refusal),
                   UMBEL_E_RANGE, "not within");
    assert_refused(umbel_encode_part(f, UINT64_MAX, out, 2, &test_refusal),
                   UMBEL_E_RANGE, "not within");
    assert_int_equal(out[0], 7);
    umbel_close(f);
}

static void pieces_of_any_size_make_the_filter(void **state)
{
    um_rng rng = {2};

    (void)state;
    for (int i = 0; i < 60; i++) {
        umbel_filter *f = some_filter(i % 2), *back = NULL;
        umbel_source source = UMBEL_SOURCE_INIT;
        umbel_decoder *d = NULL;
        size_t len;
        uint8_t *bytes = test_encode(f, &len);

        source.verify = true;
        assert_ok(umbel_decoder_open(&source, i % 3 ? len : UMBEL_TO_END, &d,
                                     &test_refusal));
        assert_ok(feed_pieces(d, bytes, len, (size_t)1 << i % 13, &rng));
        assert_ok(umbel_decoder_finish(d, &back, &test_refusal));
        test_assert_same_file(f, back);
        assert_refused(umbel_decoder_finish(d, &back, &test_refusal),
                       UMBEL_E_RANGE, "another");
        umbel_decoder_close(d);
        free(bytes);
        umbel_close(f);
        umbel_close(back);
    }
}

static void a_decoder_takes_the_filters_memory_and_little_more(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    test_memory memory = {.fail_at = 0};
    umbel_alloc alloc = test_alloc(&memory);
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_decoder *d = NULL;
    umbel_filter *back = NULL;
    um_rng rng = {3};
    size_t len;

    (void)state;
    p.capacity = 100000;
    umbel_filter *f = test_open(&p);
    uint8_t *bytes = test_encode(f, &len);
    source.alloc = &alloc;
    assert_ok(umbel_decoder_open(&source, len, &d, &test_refusal));
    assert_ok(feed_pieces(d, bytes, UM_HEAD_START, 3, &rng));
    assert_true(memory.live_bytes < CONSTANT);
    assert_ok(
        feed_pieces(d, bytes + UM_HEAD_START, len - UM_HEAD_START, 5000, &rng));
    assert_true(memory.live_bytes < len + CONSTANT);
    assert_ok(umbel_decoder_finish(d, &back, &test_refusal));
    assert_true(memory.live_bytes < len + CONSTANT);
    umbel_decoder_close(d);
    umbel_close(back);
    assert_int_equal(memory.live_bytes, 0);
    free(bytes);
    umbel_close(f);
}

/*
 * Feeds all bytes. Returns the status of the first call that failed, and in
 * *taken the number of bytes accepted before.
 */
static umbel_status fed(const uint8_t *bytes, size_t len, uint64_t total,
                        uint64_t memory_limit, size_t *taken)
{
    test_memory memory = {.fail_at = 0};
    umbel_alloc alloc = test_alloc(&memory);
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_decoder *d = NULL;
    umbel_filter *f = NULL;
    umbel_status status = UMBEL_OK;

    source.alloc = &alloc;
    source.verify = true;
    source.memory_limit = memory_limit;
    assert_ok(umbel_decoder_open(&source, total, &d, &test_refusal));
    for (*taken = 0; *taken < len && !status; *taken += !status)
        status = umbel_decoder_feed(d, bytes + *taken, 1, &test_refusal);
    if (!status)
        status = umbel_decoder_finish(d, &f, &test_refusal);
    if (status) {
        umbel_error again;
        assert_int_equal(umbel_decoder_feed(d, bytes, 1, &again), status);
        assert_int_equal(umbel_decoder_finish(d, &f, &again), status);
        assert_string_equal(again.text, test_refusal.text);
        assert_null(f);
    }
    umbel_decoder_close(d);
    umbel_close(f);
    assert_int_equal(memory.live_bytes, 0);
    return status;
}

static void what_the_head_decides_is_refused_with_the_head(void **state)
{
    umbel_filter *f = some_filter(false);
    size_t len, taken;
    uint8_t *bytes = test_encode(f, &len);
    size_t head = test_head_len(bytes);

    (void)state;
    assert_refused(fed(bytes, len, len + 1, 0, &taken), UMBEL_E_FORMAT,
                   "appended");
    assert_int_equal(taken, head - 1);
    assert_refused(fed(bytes, len, len - 1, 0, &taken), UMBEL_E_FORMAT,
                   "cut short");
    assert_int_equal(taken, head - 1);
    assert_refused_as(fed(bytes, len, len, 64, &taken), UMBEL_E_LIMIT,
                      UMBEL_D_MEMORY_LIMIT, "limit is 64");
    assert_int_equal(taken, head - 1);
    bytes[head - 1] ^= 1;
    assert_refused(fed(bytes, len, len, 0, &taken), UMBEL_E_CHECKSUM, "head");
    bytes[1] ^= 1;
    assert_refused(fed(bytes, len, len, 0, &taken), UMBEL_E_FORMAT,
                   "does not begin");
    assert_int_equal(taken, UM_HEAD_START - 1);
    free(bytes);
    umbel_close(f);
}

/* A stream may claim any length: by default at most 256 MiB are allocated. */
static void a_claim_of_terabytes_is_refused_before_memory_is_taken(void **state)
{
    umbel_filter *f = some_filter(false);
    um_shape shape = *um_shape_of(f);
    size_t len, taken;

    (void)state;
    shape.cells = (uint64_t)1 << 43;
    uint8_t *bytes = test_forge(f, &shape, &len);
    assert_refused_as(fed(bytes, len, UMBEL_TO_END, 0, &taken), UMBEL_E_LIMIT,
                      UMBEL_D_MEMORY_LIMIT, "limit");
    free(bytes);
    umbel_close(f);
}

static void what_is_missing_changed_or_appended_is_refused(void **state)
{
    umbel_filter *f = some_filter(false);
    size_t len, taken;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    for (size_t n = 0; n < len; n += n < 80 ? 1 : 97)
        assert_refused(fed(bytes, n, UMBEL_TO_END, 0, &taken), UMBEL_E_FORMAT,
                       n ? "cut short" : "empty");
    assert_refused(fed(bytes, 10, 10, 0, &taken), UMBEL_E_FORMAT, "cut short");
    assert_refused(fed(bytes, 11, 10, 0, &taken), UMBEL_E_FORMAT, "appended");
    bytes = realloc(bytes, len + 1);
    bytes[len] = 0;
    assert_refused(fed(bytes, len + 1, UMBEL_TO_END, 0, &taken), UMBEL_E_FORMAT,
                   "appended");
    assert_int_equal(taken, len);
    bytes[len - 1] ^= 1;
    assert_refused(fed(bytes, len, len, 0, &taken), UMBEL_E_CHECKSUM,
                   "payload");
    assert_int_equal(taken, len);
    free(bytes);
    umbel_close(f);
}

TEST_GROUP(decoder)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_that_of_the_whole),
        cmocka_unit_test(a_part_beyond_the_end_is_refused),
        cmocka_unit_test(pieces_of_any_size_make_the_filter),
        cmocka_unit_test(a_decoder_takes_the_filters_memory_and_little_more),
        cmocka_unit_test(what_the_head_decides_is_refused_with_the_head),
        cmocka_unit_test(
            a_claim_of_terabytes_is_refused_before_memory_is_taken),
        cmocka_unit_test(what_is_missing_changed_or_appended_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
