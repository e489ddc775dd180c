/*
 * api.c - promises of the public headers besides the verbs: versions,
 * descriptions, lengths, one rule for key lists.
 */
#include "support/test.h"

#include <umbel/admit.h>
#include <umbel/describe.h>
#include <umbel/file.h>
#include <umbel/publish.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEYS = 1000 };

static umbel_filter *filled(const char *kind)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = KEYS;
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    for (uint64_t i = 0; i < KEYS; i++)
        assert_ok(umbel_add(f, &i, sizeof i, NULL, &test_refusal));
    return f;
}

/* UM_VERSION is CMake's PROJECT_VERSION. */
static void headers_library_and_project_have_one_version(void **state)
{
    char text[32];

    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", UMBEL_VERSION_MAJOR,
             UMBEL_VERSION_MINOR, UMBEL_VERSION_PATCH);
    assert_string_equal(text, umbel_version());
    assert_string_equal(text, UM_VERSION);
    assert_true(UMBEL_VERSION > UMBEL_VERSION_NUMBER(0, 0, 999));
    assert_true(UMBEL_VERSION_NUMBER(1, 0, 0) >
                UMBEL_VERSION_NUMBER(0, 999, 999));
}

static void one_field_is_found_by_its_name(void **state)
{
    umbel_filter *f = filled("bloom");
    umbel_field field;

    (void)state;
    assert_ok(umbel_info_get(f, "kind", &field, &test_refusal));
    assert_int_equal(field.type, UMBEL_FIELD_TEXT);
    assert_string_equal(field.value.text, "bloom");
    assert_ok(umbel_info_get(f, "added", &field, &test_refusal));
    assert_true(field.value.count == umbel_added(f));
    assert_ok(umbel_info_get(f, "fill", &field, &test_refusal));
    assert_int_equal(field.type, UMBEL_FIELD_REAL);
    assert_true(field.value.real > 0.3 && field.value.real < 0.6);
    umbel_close(f);
}

static void an_unknown_field_is_refused_with_the_names(void **state)
{
    umbel_filter *f = filled("counting");
    umbel_field field = {.name = "untouched"};

    (void)state;
    assert_refused(umbel_info_get(f, "fil", &field, &test_refusal),
                   UMBEL_E_UNKNOWN, "no field \"fil\"; names are kind, ");
    assert_refused(umbel_info_get(f, "", &field, &test_refusal),
                   UMBEL_E_UNKNOWN, ", ...");
    assert_string_equal(field.name, "untouched");
    umbel_close(f);
}

static const umbel_field *find(const umbel_info *info, const char *name)
{
    for (size_t i = 0; i < info->n; i++)
        if (strcmp(info->field[i].name, name) == 0)
            return &info->field[i];
    return NULL;
}

/*
 * Checks that every field of the shape is in the full description, with its
 * value.
 */
static void the_shape_is_part_of_the_description(void **state)
{
    const char *kind;

    (void)state;
    for (size_t k = 0; umbel_kind_at(k, &kind, NULL); k++) {
        if (umbel_is_static(kind))
            continue;
        umbel_filter *f = filled(kind);
        umbel_info shape, all;
        umbel_describe_shape(f, &shape);
        umbel_describe(f, &all);
        assert_true(shape.n >= 10 && shape.n < all.n);
        assert_null(find(&shape, "payload_checksum"));
        for (size_t i = 0; i < shape.n; i++) {
            const umbel_field *a = &shape.field[i], *b = find(&all, a->name);
            assert_non_null(b);
            assert_int_equal(a->type, b->type);
            assert_memory_equal(&a->value, &b->value, sizeof a->value);
        }
        umbel_close(f);
    }
}

/* Reads two filters and a word from a socket that stays open. */
static void filters_are_read_from_a_stream_that_goes_on(void **state)
{
    umbel_filter *f = filled("bloom"), *back = NULL;
    uint64_t len = umbel_encoded_len(f);
    char word[5] = "";
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int coded = 0; coded < 2; coded++) {
        umbel_set_coded(f, coded);
        len = umbel_encoded_len(f);
        assert_ok(umbel_write(f, ends[1], &test_refusal));
        assert_int_equal(write(ends[1], "next", 4), 4);
        assert_ok(umbel_read(ends[0], len, NULL, &back, &test_refusal));
        assert_int_equal(read(ends[0], word, 4), 4);
        assert_string_equal(word, "next");
        test_assert_same_file(f, back);
        umbel_close(back);
    }
    close(ends[0]);
    close(ends[1]);
    umbel_close(f);
}

static void admission_reads_a_stream_that_goes_on(void **state)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_filter *f = filled("bloom"), *back = NULL;
    umbel_ruling r;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_ok(umbel_write(f, ends[1], &test_refusal));
    assert_ok(umbel_admit_read(ends[0], umbel_encoded_len(f), NULL, &wants,
                               &back, &r, &test_refusal));
    assert_true(r.admitted);
    test_assert_same_file(f, back);
    umbel_close(back);
    back = NULL;
    wants.max_bytes = 100; /* refused unread: nothing was sent */
    assert_ok(
        umbel_admit_read(ends[0], 101, NULL, &wants, &back, &r, &test_refusal));
    assert_false(r.admitted);
    assert_int_equal(r.reason[0].code, UMBEL_REFUSED_BYTES);
    assert_null(back);
    close(ends[0]);
    close(ends[1]);
    umbel_close(f);
}

/* Tries wrong lengths; none may wait for more bytes than the length. */
static void a_wrong_length_is_refused(void **state)
{
    umbel_filter *f = filled("bloom"), *back = NULL;
    uint64_t len = umbel_encoded_len(f);
    uint64_t wrong[] = {0, 1, 10, 63, 255, 256, len - 1, len + 1, 1 << 20};
    int ends[2];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        assert_ok(umbel_write(f, ends[1], &test_refusal));
        assert_refused(
            umbel_read(ends[0], wrong[i], NULL, &back, &test_refusal),
            UMBEL_E_FORMAT, "");
        assert_null(back);
        close(ends[0]);
        close(ends[1]);
    }
    umbel_close(f);
}

/* Reads from a peer that closes early. */
static void a_stream_that_ends_early_is_refused(void **state)
{
    umbel_filter *f = filled("bloom"), *back = NULL;
    size_t len = umbel_encoded_len(f), have;
    uint8_t *bytes = malloc(len);
    int ends[2];

    (void)state;
    assert_non_null(bytes);
    assert_ok(umbel_encode(f, bytes, len, &have, &test_refusal));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[1], bytes, len - 1), len - 1);
    close(ends[1]);
    assert_refused(umbel_read(ends[0], len, NULL, &back, &test_refusal),
                   UMBEL_E_FORMAT, "");
    close(ends[0]);
    free(bytes);
    umbel_close(f);
}

/* Reads from the middle of a regular file. */
static void a_filter_is_read_from_the_middle_of_a_file(void **state)
{
    umbel_filter *f = filled("bloom"), *back = NULL;
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    int fd = fileno(file);
    assert_int_equal(write(fd, "before", 6), 6);
    assert_ok(umbel_write(f, fd, &test_refusal));
    assert_int_equal(write(fd, "behind", 6), 6);
    assert_int_equal(lseek(fd, 6, SEEK_SET), 6);
    assert_ok(umbel_read(fd, umbel_encoded_len(f), NULL, &back, &test_refusal));
    test_assert_same_file(f, back);
    umbel_close(back);
    back = NULL;
    assert_int_equal(lseek(fd, 6, SEEK_SET), 6);
    assert_refused(umbel_read(fd, UMBEL_TO_END, NULL, &back, &test_refusal),
                   UMBEL_E_FORMAT, "");
    fclose(file);
    umbel_close(f);
}

static void a_list_that_was_not_initialized_is_refused(void **state)
{
    umbel_key_list unset = {0}, none = UMBEL_KEY_LIST(NULL, 0);
    umbel_filter *f = filled("bloom"), *out = NULL;
    umbel_retouch_result retouched;
    umbel_choose_result chosen;
    umbel_removed_reports taken;
    size_t n;

    (void)state;
    assert_refused(
        umbel_retouch(f, &unset, &none, NULL, &retouched, NULL, &test_refusal),
        UMBEL_E_RANGE, "UMBEL_KEY_LIST");
    assert_refused(umbel_choose(f, &none, &unset, NULL, &chosen, &test_refusal),
                   UMBEL_E_RANGE, "UMBEL_KEY_LIST");
    assert_refused(
        umbel_find_conflicts(f, &none, &unset, NULL, &n, &test_refusal),
        UMBEL_E_RANGE, "UMBEL_KEY_LIST");
    assert_refused(
        umbel_remove_reported(f, &unset, &none, NULL, &taken, &test_refusal),
        UMBEL_E_RANGE, "UMBEL_KEY_LIST");
    assert_refused(
        umbel_build("ribbon", NULL, &unset, NULL, &out, &test_refusal),
        UMBEL_E_RANGE, "UMBEL_KEY_LIST");
    assert_null(out);
    umbel_close(f);
}

/* Checks that with a limit of zero no member is lost. */
static void no_member_is_lost_when_none_may_be(void **state)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_filter *f = filled("bloom");
    umbel_digest *d = malloc(20 * KEYS * sizeof *d);
    umbel_key_list members = UMBEL_KEY_LIST(d, KEYS);
    umbel_key_list never = UMBEL_KEY_LIST(d + KEYS, 19 * KEYS);
    umbel_retouch_result r;

    (void)state;
    assert_non_null(d);
    for (uint64_t i = 0; i < 20 * KEYS; i++)
        assert_ok(umbel_digest_fixed(f, &i, sizeof i, 1, &d[i], &test_refusal));
    assert_true(p.max_fn > 0);
    p.max_fn = 0;
    assert_ok(umbel_retouch(f, &members, &never, &p, &r, NULL, &test_refusal));
    assert_int_equal(r.lost, 0);
    free(d);
    umbel_close(f);
}

TEST_GROUP(api)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_library_and_project_have_one_version),
        cmocka_unit_test(one_field_is_found_by_its_name),
        cmocka_unit_test(an_unknown_field_is_refused_with_the_names),
        cmocka_unit_test(the_shape_is_part_of_the_description),
        cmocka_unit_test(filters_are_read_from_a_stream_that_goes_on),
        cmocka_unit_test(admission_reads_a_stream_that_goes_on),
        cmocka_unit_test(a_wrong_length_is_refused),
        cmocka_unit_test(a_stream_that_ends_early_is_refused),
        cmocka_unit_test(a_filter_is_read_from_the_middle_of_a_file),
        cmocka_unit_test(a_list_that_was_not_initialized_is_refused),
        cmocka_unit_test(no_member_is_lost_when_none_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
