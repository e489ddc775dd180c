/* fetch.c - libcurl as a fetcher of files; tests/systems tests real servers. */
#include "support/test.h"

#include <umbel/fetch.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bytes received, and when to refuse more. */
typedef struct taken {
    uint8_t bytes[1000000];
    uint64_t first, end;
    size_t calls, refuse_at;
} taken;

static umbel_status consume(void *ctx, uint64_t at, umbel_slice bytes,
                            umbel_error *err)
{
    taken *t = ctx;

    if (++t->calls == 1)
        t->first = at;
    else
        assert_int_equal(at, t->end);
    if (t->calls == t->refuse_at) {
        *err = (umbel_error){.status = UMBEL_E_LIMIT, .text = "enough"};
        return UMBEL_E_LIMIT;
    }
    memcpy(t->bytes + at, bytes.data, bytes.len);
    t->end = at + bytes.len;
    return UMBEL_OK;
}

static umbel_status fetch(const char *url, uint64_t from, taken *t,
                          umbel_response *out)
{
    umbel_fetcher f = umbel_fetch_curl(NULL);
    umbel_request r = {.url = url,
                       .from = from,
                       .max = sizeof t->bytes,
                       .take = consume,
                       .ctx = t};

    return f.get(f.ctx, &r, out, &test_refusal);
}

static void files_are_fetched_whole_and_from_a_byte_on(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "file"), url[512];
    taken *t = calloc(1, sizeof *t);
    umbel_response out;
    static uint8_t bytes[700000];

    (void)state;
    assert_non_null(t);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i >> 8);
    test_write_file(path, bytes, sizeof bytes);
    snprintf(url, sizeof url, "file://%s", path);
    assert_ok(fetch(url, 0, t, &out));
    assert_int_equal(out.bytes, sizeof bytes);
    assert_memory_equal(t->bytes, bytes, sizeof bytes);
    *t = (taken){.calls = 0};
    assert_ok(fetch(url, 500000, t, &out));
    assert_int_equal(t->first, 500000);
    assert_int_equal(t->end, sizeof bytes);
    assert_memory_equal(t->bytes + 500000, bytes + 500000, 200000);
    assert_false(out.bad_range || out.missing || out.unchanged);
    /* The receiver may stop the transfer. */
    *t = (taken){.refuse_at = 2};
    assert_refused(fetch(url, 0, t, &out), UMBEL_E_LIMIT, "enough");
    assert_int_equal(t->calls, 2);
    free(t);
    free(path);
    test_dir_remove(dir);
}

static void a_file_that_is_not_there_is_missing(void **state)
{
    umbel_response out;
    taken t = {.calls = 0};

    (void)state;
    assert_refused(fetch("file:///nowhere/words", 0, &t, &out), UMBEL_E_IO,
                   "does not exist");
    assert_true(out.missing);
    assert_int_equal(t.calls, 0);
}

static void other_addresses_are_refused(void **state)
{
    static const char *const wrong[] = {
        "words", "/srv/words", "", "ftp://a/b", "data:,words", "http:/a/b"};
    umbel_response out;
    taken t = {.calls = 0};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++)
        assert_refused(fetch(wrong[i], 0, &t, &out), UMBEL_E_RANGE,
                       "only addresses");
    assert_refused(fetch("file://lists/words", 0, &t, &out), UMBEL_E_RANGE,
                   "absolute path");
}

static void parameters_have_a_size(void **state)
{
    umbel_fetch_params params = {.ca = "ca.pem"};
    umbel_fetcher f = umbel_fetch_curl(&params);
    umbel_request r = {.url = "file:///words"};
    umbel_response out;

    (void)state;
    assert_refused(f.get(f.ctx, &r, &out, &test_refusal), UMBEL_E_RANGE,
                   "UMBEL_FETCH_INIT");
}

/* Each limit would become tiny if it overflowed. */
static void limits_may_be_huge(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "file"), url[512];
    umbel_fetch_params params = UMBEL_FETCH_INIT;
    umbel_fetcher f = umbel_fetch_curl(&params);
    static const uint8_t bytes[400000];
    umbel_response out;
    taken *t = calloc(1, sizeof *t);

    (void)state;
    assert_non_null(t);
    test_write_file(path, bytes, sizeof bytes);
    snprintf(url, sizeof url, "file://%s", path);
    params.timeout = UINT64_MAX / 1000 + 1;
    params.min_rate = UINT64_MAX;
    umbel_request r = {.url = url,
                       .max = (UINT64_MAX - (1 << 18)) / 9 * 8 + 64,
                       .take = consume,
                       .ctx = t};
    assert_ok(f.get(f.ctx, &r, &out, &test_refusal));
    assert_int_equal(out.bytes, sizeof bytes);
    free(t);
    free(path);
    test_dir_remove(dir);
}

static void a_password_is_not_shown(void **state)
{
    umbel_response out;
    taken t = {.calls = 0};

    (void)state;
    assert_true(fetch("http://me:secret@127.0.0.1:1/words", 0, &t, &out) ==
                UMBEL_E_IO);
    assert_non_null(strstr(test_refusal.text, "127.0.0.1:1/words"));
    assert_null(strstr(test_refusal.text, "secret"));
    assert_false(out.missing);
}

TEST_GROUP(fetch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_fetched_whole_and_from_a_byte_on),
        cmocka_unit_test(a_file_that_is_not_there_is_missing),
        cmocka_unit_test(other_addresses_are_refused),
        cmocka_unit_test(parameters_have_a_size),
        cmocka_unit_test(limits_may_be_huge),
        cmocka_unit_test(a_password_is_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
