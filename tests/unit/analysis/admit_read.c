/* admit_read.c - admission while reading, and out of memory. */
#include "support/rulings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- bytes ------------------------------------------------------------------
 */

static umbel_ruling ruled_bytes(const void *bytes, size_t len,
                                const umbel_admission *wants,
                                umbel_filter **out)
{
    umbel_ruling r;

    assert_ok(
        umbel_admit_bytes(bytes, len, NULL, wants, out, &r, &test_refusal));
    return r;
}

static void bytes_become_a_filter_only_when_admitted(void **state)
{
    umbel_filter *f = test_plain("blocked512"), *got = NULL;
    umbel_admission w = test_no_demand;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    assert_true(ruled_bytes(bytes, len, NULL, &got).admitted);
    test_assert_same_file(f, got);
    umbel_close(got);
    got = NULL;
    w.hash = "sip";
    assert_false(ruled_bytes(bytes, len, &w, &got).admitted);
    assert_null(got);
    assert_true(ruled_bytes(bytes, len, NULL, NULL).admitted);
    free(bytes);
    umbel_close(f);
}

static void bytes_that_are_no_filter_are_refused(void **state)
{
    umbel_filter *f = test_plain("blocked512"), *got = NULL;
    umbel_admission w = test_no_demand;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    for (size_t cut = 0; cut < len; cut += 1 + cut / 3) {
        umbel_ruling r = ruled_bytes(bytes, cut, NULL, &got);
        assert_int_equal(r.n, 1);
        assert_int_equal(r.reason[0].code, UMBEL_REFUSED_ENCODING);
    }
    w.max_bytes = len - 1;
    umbel_ruling r = ruled_bytes(bytes, len, &w, &got);
    assert_int_equal(r.reason[0].code, UMBEL_REFUSED_BYTES);
    bytes[len - 1] ^= 1;
    r = ruled_bytes(bytes, len, NULL, &got);
    assert_non_null(strstr(r.reason[0].text, "checksum"));
    assert_null(got);
    free(bytes);
    umbel_close(f);
}

static void a_given_secret_must_be_the_right_one(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *got = NULL;
    umbel_ruling r;
    size_t len;

    (void)state;
    p.hash = "sip";
    p.secret = test_secret;
    umbel_filter *f = test_made("bloom", &p, TEST_RULED_KEYS, TEST_RULED_KEYS);
    uint8_t *bytes = test_encode(f, &len);
    source.secret = test_other_secret;
    assert_ok(
        umbel_admit_bytes(bytes, len, &source, NULL, &got, &r, &test_refusal));
    assert_int_equal(r.reason[0].code, UMBEL_REFUSED_SECRET);
    source.secret = test_secret;
    assert_ok(
        umbel_admit_bytes(bytes, len, &source, NULL, &got, &r, &test_refusal));
    assert_true(test_has(got, 0));
    umbel_close(got);
    umbel_close(f);
    free(bytes);
}

static void files_that_are_too_large_are_not_read(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "f.umb");
    umbel_filter *f = test_plain("blocked512"), *got = NULL;
    umbel_admission w = test_no_demand;
    umbel_ruling r;

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    w.max_bytes = umbel_encoded_len(f) - 1;
    assert_ok(
        umbel_admit_read(fd, UMBEL_TO_END, NULL, &w, &got, &r, &test_refusal));
    assert_int_equal(r.reason[0].code, UMBEL_REFUSED_BYTES);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    w.max_bytes++;
    assert_ok(
        umbel_admit_read(fd, UMBEL_TO_END, NULL, &w, &got, &r, &test_refusal));
    assert_true(r.admitted);
    assert_int_equal(r.bytes, w.max_bytes);
    test_assert_same_file(f, got);
    close(fd);
    assert_refused(
        umbel_admit_read(-1, UMBEL_TO_END, NULL, &w, &got, &r, &test_refusal),
        UMBEL_E_IO, "read");
    umbel_close(got);
    umbel_close(f);
    free(path);
    test_dir_remove(dir);
}

/*
 * Reads a head that claims more than the limit from a pipe, whose length is
 * unknown.
 */
static void pipes_are_refused_by_their_head(void **state)
{
    umbel_filter *f = test_plain("blocked512"), *got = NULL;
    umbel_admission w = test_no_demand;
    umbel_ruling r;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, len), (ssize_t)len);
    close(ends[1]);
    w.max_bytes = 1000;
    assert_ok(umbel_admit_read(ends[0], UMBEL_TO_END, NULL, &w, &got, &r,
                               &test_refusal));
    assert_int_equal(r.n, 1);
    assert_int_equal(r.reason[0].code, UMBEL_REFUSED_BYTES);
    close(ends[0]);
    free(bytes);
    umbel_close(f);
}

/* --- memory -----------------------------------------------------------------
 */

typedef struct budget {
    size_t calls, allowed, live;
} budget;

static void *get(void *ctx, size_t align, size_t len)
{
    budget *b = ctx;
    void *p = NULL;

    if (b->calls++ >= b->allowed || posix_memalign(&p, align, len))
        return NULL;
    b->live++;
    return p;
}

static void put(void *ctx, void *memory, size_t len)
{
    (void)len;
    ((budget *)ctx)->live--;
    free(memory);
}

/* Fails the nth allocation, for every n; the ruling must stay unchanged. */
static void without_memory_nothing_is_ruled(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    budget b = {0};
    umbel_alloc alloc = {&b, get, put};
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_admission w = test_no_demand;
    umbel_filter *f = test_made("counting", &p, TEST_RULED_KEYS,
                                TEST_RULED_KEYS),
                 *got = NULL;
    umbel_status status = UMBEL_E_NOMEM;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    source.alloc = &alloc;
    w.claimed = TEST_RULED_KEYS * 9 / 10; /* needs the tail bounds */
    umbel_ruling r = {.n = 77};
    for (; status == UMBEL_E_NOMEM; b.allowed++) {
        assert_int_equal(r.n, 77);
        b.calls = 0;
        status =
            umbel_admit_bytes(bytes, len, &source, &w, &got, &r, &test_refusal);
        assert_int_equal(b.live, 0);
    }
    assert_ok(status);
    assert_true(b.allowed > 2); /* the filter, its cells, its ruling */
    assert_true(test_refused_for(&r, UMBEL_REFUSED_TOO_FULL));
    free(bytes);
    umbel_close(f);
}

/* A caller's mistake is an error, not a ruling. */
static void parameters_without_their_size_are_refused(void **state)
{
    umbel_source source = {0};
    umbel_admission w = {0};
    umbel_ruling r = {.n = 77};

    (void)state;
    assert_refused(
        umbel_admit_bytes("x", 1, &source, NULL, NULL, &r, &test_refusal),
        UMBEL_E_RANGE, "source.size");
    assert_refused(umbel_admit_bytes("x", 1, NULL, &w, NULL, &r, &test_refusal),
                   UMBEL_E_RANGE, "size");
    assert_int_equal(
        umbel_admit_read(-1, UMBEL_TO_END, NULL, NULL, NULL, &r, NULL),
        UMBEL_E_IO);
    assert_int_equal(r.n, 77);
}

static void bytes_of_a_later_version_are_refused(void **state)
{
    umbel_filter *f = test_plain("blocked512");
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    bytes[8] = 99; /* the version */
    umbel_ruling r = ruled_bytes(bytes, len, NULL, NULL);
    assert_int_equal(r.reason[0].code, UMBEL_REFUSED_ENCODING);
    assert_non_null(strstr(r.reason[0].text, "version"));
    free(bytes);
    umbel_close(f);
}

/* Reads a file from a position after its end. */
static void a_position_behind_the_end_leaves_nothing_to_admit(void **state)
{
    umbel_filter *f = test_plain("blocked512");
    char *dir = test_dir_make(), *path = test_path(dir, "f.umb");
    umbel_ruling r;

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(lseek(fd, 1 << 20, SEEK_SET) > 0);
    assert_ok(umbel_admit_read(fd, UMBEL_TO_END, NULL, NULL, NULL, &r,
                               &test_refusal));
    assert_int_equal(r.reason[0].code, UMBEL_REFUSED_ENCODING);
    close(fd);
    free(path);
    test_dir_remove(dir);
    umbel_close(f);
}

TEST_GROUP(admit_read)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_become_a_filter_only_when_admitted),
        cmocka_unit_test(bytes_that_are_no_filter_are_refused),
        cmocka_unit_test(a_given_secret_must_be_the_right_one),
        cmocka_unit_test(files_that_are_too_large_are_not_read),
        cmocka_unit_test(pipes_are_refused_by_their_head),
        cmocka_unit_test(without_memory_nothing_is_ruled),
        cmocka_unit_test(parameters_without_their_size_are_refused),
        cmocka_unit_test(bytes_of_a_later_version_are_refused),
        cmocka_unit_test(a_position_behind_the_end_leaves_nothing_to_admit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
