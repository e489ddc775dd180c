/*
 * foreign.c - reading files of other programs. tests/systems checks that the
 * other programs agree.
 */
#include "support/test.h"

#include <umbel/describe.h>
#include <umbel/file.h>
#include <umbel/foreign.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The head of the file that Debian's bloom 0.2.4 writes for foo, bar, baz in a
 * filter for 1000 keys at 1e-6.
 */
static const uint8_t published[48] = {
    1,    0,    0,    0,    0,    0,    0,    0,    0xE8, 3, 0, 0, 0, 0, 0, 0,
    0x8D, 0xED, 0xB5, 0xA0, 0xF7, 0xC6, 0xB0, 0x3E, 0x14, 0, 0, 0, 0, 0, 0, 0,
    0x53, 0x70, 0,    0,    0,    0,    0,    0,    3,    0, 0, 0, 0, 0, 0, 0};

static umbel_filter *three_words(void)
{
    static const char *const words[] = {"foo", "bar", "baz"};
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = "dcso";
    p.key_form = UMBEL_KEYS_UNRECORDED;
    p.capacity = 1000;
    p.fpr = 1e-6;
    umbel_filter *f = test_open(&p);
    for (size_t i = 0; i < TEST_COUNT(words); i++)
        assert_ok(umbel_add(f, words[i], 3, NULL, &test_refusal));
    return f;
}

/* Returns f as a foreign file. Free it. */
static uint8_t *exported(const umbel_filter *f, size_t *len)
{
    char *dir = test_dir_make(), *path = test_path(dir, "f.bloom");
    uint64_t said;

    assert_ok(umbel_export(f, "dcso", path, &test_refusal));
    uint8_t *bytes = test_read_file(path, len);
    assert_ok(umbel_export_len(f, "dcso", &said, &test_refusal));
    assert_int_equal(said, *len);
    free(path);
    test_dir_remove(dir);
    return bytes;
}

static umbel_status import(const uint8_t *bytes, size_t len, umbel_filter **f)
{
    /* Exact length, so that sanitizers detect reads past its end. */
    uint8_t *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    umbel_status status =
        umbel_import("dcso", copy, len, NULL, f, &test_refusal);
    free(copy);
    return status;
}

static void a_dcso_file_begins_as_the_published_one(void **state)
{
    size_t len;
    umbel_filter *f = three_words();
    uint8_t *bytes = exported(f, &len);

    (void)state;
    assert_int_equal(len, 48 + 450 * 8);
    assert_memory_equal(bytes, published, sizeof published);
    free(bytes);
    umbel_close(f);
}

static void what_is_written_comes_back_with_its_data(void **state)
{
    static const char note[] = "from the laboratory";
    umbel_filter *f = three_words(), *back;
    size_t len, again;

    (void)state;
    assert_ok(umbel_set_data(f, note, sizeof note, &test_refusal));
    uint8_t *bytes = exported(f, &len);
    assert_int_equal(len, 48 + 450 * 8 + sizeof note);
    assert_ok(import(bytes, len, &back));
    assert_int_equal(umbel_key_form_of(back), UMBEL_KEYS_UNRECORDED);
    test_assert_same_file(f, back);
    uint8_t *second = exported(back, &again);
    assert_int_equal(len, again);
    assert_memory_equal(bytes, second, len);
    free(second);
    free(bytes);
    umbel_close(back);
    umbel_close(f);
}

static void every_shorter_file_is_refused(void **state)
{
    umbel_filter *f = three_words(), *none = NULL;
    size_t len;
    uint8_t *bytes = exported(f, &len);

    (void)state;
    for (size_t cut = 0; cut < len; cut += cut < 60 ? 1 : 97)
        assert_int_equal(import(bytes, cut, &none), UMBEL_E_FORMAT);
    assert_null(none);
    free(bytes);
    umbel_close(f);
}

static void heads_that_cannot_be_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint64_t value;
    } bad[] = {{0, 2},
               {8, UINT64_MAX},          /* keys */
               {16, 0},                  /* error 0 */
               {16, 0x3FF0000000000000}, /* error 1 */
               {16, 0x7FF8000000000000}, /* NaN */
               {24, 0},                  /* hashes */
               {24, 65},
               {24, UINT64_MAX},
               {32, 0}, /* bits */
               {32, 1},
               {32, 28801},
               {32, UINT64_C(1) << 48},
               {32, UINT64_MAX}};
    umbel_filter *f = three_words(), *none = NULL;
    size_t len;
    uint8_t *bytes = exported(f, &len);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        uint8_t was[8];
        memcpy(was, bytes + bad[i].at, 8);
        for (size_t j = 0; j < 8; j++)
            bytes[bad[i].at + j] = (uint8_t)(bad[i].value >> 8 * j);
        assert_int_equal(import(bytes, len, &none), UMBEL_E_FORMAT);
        memcpy(bytes + bad[i].at, was, 8);
    }
    bytes[48 + 450 * 8 - 1] |= 0x80; /* bit 28799 of 28755 */
    assert_refused(import(bytes, len, &none), UMBEL_E_FORMAT, "behind");
    assert_null(none);
    free(bytes);
    umbel_close(f);
}

static void what_the_format_cannot_say_is_not_written(void **state)
{
    umbel_setting groups = {"groups", 2};
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.capacity = 1000;
    umbel_filter *f = test_open(&p);
    assert_refused(umbel_export(f, "dcso", "never", &test_refusal),
                   UMBEL_E_UNSUPPORTED, "--addressing dcso");
    assert_refused(umbel_export(f, "other", "never", &test_refusal),
                   UMBEL_E_UNKNOWN, "dcso");
    umbel_close(f);
    f = NULL;
    assert_ok(umbel_create("counting", &p, &f, &test_refusal));
    assert_refused(umbel_export(f, "dcso", "never", &test_refusal),
                   UMBEL_E_UNSUPPORTED, "this is counting");
    umbel_close(f);
    p.addressing = "dcso";
    p.settings = &groups;
    p.nsettings = 1;
    assert_refused(umbel_create(NULL, &p, &f, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "groups");
}

/* Bits fill their words, and no data follows. */
static void whole_words_without_data_come_back(void **state)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *back = NULL;
    size_t len;

    (void)state;
    p.addressing = "dcso";
    p.key_form = UMBEL_KEYS_UNRECORDED;
    p.cells = 64 * 40;
    p.capacity = 100;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, 100);
    uint8_t *bytes = exported(f, &len);
    assert_int_equal(len, 48 + 40 * 8);
    source.memory_limit = len;
    assert_ok(umbel_import("dcso", bytes, len, &source, &back, &test_refusal));
    test_assert_same_file(f, back);
    umbel_close(back);
    back = NULL;
    source.memory_limit = len - 1;
    assert_refused(
        umbel_import("dcso", bytes, len, &source, &back, &test_refusal),
        UMBEL_E_LIMIT, "the limit is");
    free(bytes);
    umbel_close(f);
}

static void a_limit_holds_for_foreign_files(void **state)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f = three_words(), *none = NULL;
    size_t len;
    uint8_t *bytes = exported(f, &len);

    (void)state;
    source.memory_limit = 1000;
    assert_refused_as(
        umbel_import("dcso", bytes, len, &source, &none, &test_refusal),
        UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT, "1000");
    assert_null(none);
    free(bytes);
    umbel_close(f);
}

static void the_beginning_tells_the_least_length(void **state)
{
    umbel_filter *f = three_words();
    size_t len;
    uint8_t *bytes = exported(f, &len);
    uint64_t least = 0;

    (void)state;
    assert_ok(umbel_import_len("dcso", bytes, sizeof published, &least,
                               &test_refusal));
    assert_int_equal(least, len);
    least = 7;
    assert_refused(umbel_import_len("dcso", bytes, sizeof published - 1, &least,
                                    &test_refusal),
                   UMBEL_E_FORMAT, "begin");
    assert_refused(umbel_import_len("none", bytes, len, &least, &test_refusal),
                   UMBEL_E_UNKNOWN, "dcso");
    assert_int_equal(least, 7);
    free(bytes);
    umbel_close(f);
}

static void the_size_is_the_one_that_the_others_choose(void **state)
{
    /* n, p, m, k as computed by bloom 0.2.4. */
    static const struct {
        uint64_t n;
        double p;
        uint64_t m;
        uint32_t k;
    } row[] = {{1000, 1e-6, 28755, 20},
               {20000, 0.01, 191701, 7},
               {100000, 0.001, 1437758, 10},
               {1, 0.5, 1, 1}};
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.addressing = "dcso";
    for (size_t i = 0; i < TEST_COUNT(row); i++) {
        umbel_filter *f = NULL;
        p.capacity = row[i].n;
        p.fpr = row[i].p;
        if (row[i].m < 2) { /* too small for a filter */
            assert_refused(umbel_create(NULL, &p, &f, &test_refusal),
                           UMBEL_E_RANGE, "at least two");
            continue;
        }
        f = test_open(&p);
        assert_int_equal(umbel_cells(f), row[i].m);
        assert_int_equal(umbel_hashes(f), row[i].k);
        umbel_close(f);
    }
    p.fpr = 1e-30;
    assert_refused(
        umbel_create(NULL, &p, &(umbel_filter *){NULL}, &test_refusal),
        UMBEL_E_RANGE, "allow more error");
}

static void every_format_has_a_name_and_a_summary(void **state)
{
    const char *name = NULL, *summary = NULL;
    size_t n = 0;

    (void)state;
    for (; umbel_foreign_at(n, &name, &summary); n++) {
        assert_true(strlen(name) > 0);
        assert_true(strlen(summary) > 0);
    }
    assert_true(n > 0);
}

static void an_unknown_format_is_refused_by_every_verb(void **state)
{
    umbel_filter *f = three_words(), *none = NULL;
    umbel_source unset = {0};
    uint64_t len = 7;

    (void)state;
    assert_refused(umbel_import("none", published, sizeof published, NULL,
                                &none, &test_refusal),
                   UMBEL_E_UNKNOWN,
                   "\"none\"; there are dcso, redisbloom, guava and squid");
    assert_refused(umbel_import("dcso", published, sizeof published, &unset,
                                &none, &test_refusal),
                   UMBEL_E_RANGE, "source.size");
    assert_refused(umbel_export(f, "none", "/nowhere/x", &test_refusal),
                   UMBEL_E_UNKNOWN, "none");
    assert_refused(umbel_export_len(f, "none", &len, &test_refusal),
                   UMBEL_E_UNKNOWN, "none");
    assert_refused(umbel_export_to(f, "none", -1, &test_refusal),
                   UMBEL_E_UNKNOWN, "none");
    assert_null(none);
    assert_int_equal(len, 7);
    umbel_close(f);
}

static void a_descriptor_gets_what_a_file_gets(void **state)
{
    umbel_filter *f = three_words();
    char *dir = test_dir_make(), *path = test_path(dir, "f.bloom");
    size_t want_len, len;
    uint8_t *want = exported(f, &want_len);

    (void)state;
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_ok(umbel_export_to(f, "dcso", fd, &test_refusal));
    close(fd);
    uint8_t *got = test_read_file(path, &len);
    assert_int_equal(len, want_len);
    assert_memory_equal(got, want, len);
    free(got);
    free(want);
    free(path);
    test_dir_remove(dir);
    umbel_close(f);
}

TEST_GROUP(foreign)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dcso_file_begins_as_the_published_one),
        cmocka_unit_test(what_is_written_comes_back_with_its_data),
        cmocka_unit_test(every_shorter_file_is_refused),
        cmocka_unit_test(heads_that_cannot_be_are_refused),
        cmocka_unit_test(what_the_format_cannot_say_is_not_written),
        cmocka_unit_test(whole_words_without_data_come_back),
        cmocka_unit_test(a_limit_holds_for_foreign_files),
        cmocka_unit_test(the_beginning_tells_the_least_length),
        cmocka_unit_test(the_size_is_the_one_that_the_others_choose),
        cmocka_unit_test(every_format_has_a_name_and_a_summary),
        cmocka_unit_test(an_unknown_format_is_refused_by_every_verb),
        cmocka_unit_test(a_descriptor_gets_what_a_file_gets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
