/*
 * static.c - static filters and maps, built from lists.
 */
#include "support/lists.h"

#include <stdio.h>

enum { MEMBERS = 1000, LISTED = 2000 };

static um_build_job job_of(const char *const *members)
{
    um_build_job job = {.kind = "ribbon",
                        .params = UMBEL_PARAMS_INIT,
                        .members = test_source(members)};

    return job;
}

static void expect_refused(const um_build_job *job, umbel_status status,
                           const char *word)
{
    um_build_result untouched = {.keys = 77};

    assert_refused(um_build(job, &untouched, &test_refusal), status, word);
    assert_null(untouched.filter);
    assert_int_equal(untouched.keys, 77);
}

static void a_set_is_that_of_its_keys(void **state)
{
    const char *path = test_list("keys", 0, MEMBERS);
    um_build_job job = job_of(&path);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *same = test_build("ribbon", &p, 0, MEMBERS);

    (void)state;
    for (unsigned threads = 0; threads < 4; threads++) {
        job.members.threads = threads;
        um_build_result made = test_build_lists(&job);
        assert_int_equal(made.keys, MEMBERS);
        assert_false(made.exact || made.chosen);
        test_assert_same_file(made.filter, same);
        umbel_close(made.filter);
    }
    umbel_close(same);
}

/*
 * Checks that the file stays within the limit and wastes less than a section's
 * unit.
 */
static void a_limit_in_bytes_is_kept(void **state)
{
    const char *path = test_list("keys", 0, MEMBERS);
    um_build_job job = job_of(&path);

    (void)state;
    for (job.max_bytes = 450; job.max_bytes < 700; job.max_bytes += 37) {
        um_build_result made = test_build_lists(&job);
        assert_true(umbel_encoded_len(made.filter) <= job.max_bytes);
        assert_int_equal(test_hits(made.filter, 0, MEMBERS), MEMBERS);
        umbel_close(made.filter);
    }
    job.max_bytes = 127;
    expect_refused(&job, UMBEL_E_RANGE, "127 bytes");
    job.max_bytes = 208; /* 64 for the head, 128 for bits */
    expect_refused(&job, UMBEL_E_RANGE, "1024 bits");
}

static void a_limit_below_what_the_program_takes_is_refused(void **state)
{
    const char *pipe = test_pipe(test_list("keys", 0, 100));
    um_build_job job = job_of(&pipe);

    (void)state;
    job.max_memory = 1000000;
    expect_refused(&job, UMBEL_E_LIMIT, "--max-memory");
}

/* --- maps -------------------------------------------------------------------
 */

static um_build_job map_of(const char *const *table, umbel_setting *bits)
{
    um_build_job job = job_of(table);

    bits->name = "value_bits";
    job.params.settings = bits;
    job.params.nsettings = 1;
    return job;
}

static void a_map_returns_the_second_field(void **state)
{
    const umbel_slice keys[] = {{"a", 1}, {"b", 1}};
    const char *table = test_text_list("table", "a\t1\nb\t2\na\t1\n");
    umbel_setting bits = {.value = 2};
    um_build_job job = map_of(&table, &bits);
    um_build_result made = test_build_lists(&job);
    uint64_t values[2];

    (void)state;
    assert_int_equal(made.keys, 3);
    assert_int_equal(umbel_value_bits(made.filter), 2);
    assert_ok(umbel_values_many(made.filter, keys, 2, values, &test_refusal));
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], 2);
    umbel_close(made.filter);
}

static void values_that_do_not_fit_are_refused_by_name(void **state)
{
    const char *table = test_text_list("table", "a\t1\nb\t2\n");
    umbel_setting bits = {.value = 1};
    um_build_job job = map_of(&table, &bits);
    const char *pipe = test_pipe(table);

    (void)state;
    expect_refused(&job, UMBEL_E_KEY, "\"b\" has the value 2");
    job.members = test_source(&pipe);
    expect_refused(&job, UMBEL_E_KEY, "key 2 of the input has the value 2");
}

static void two_values_of_a_key_are_refused_by_name(void **state)
{
    const char *table = test_text_list("table", "b\t0\na\t1\nc\t2\na\t3\n");
    umbel_setting bits = {.value = 2};
    um_build_job job = map_of(&table, &bits);
    const char *pipe = test_pipe(table);

    (void)state;
    expect_refused(&job, UMBEL_E_KEY,
                   "\"a\" has two different values, 1 and 3");
    job.members = test_source(&pipe);
    expect_refused(&job, UMBEL_E_KEY,
                   "key 2 of the input has two different values, 1 and 3");
}

static void the_value_is_not_the_key(void **state)
{
    const char *table = test_text_list("table", "a\t1\tx\n");
    const umbel_slice key = {"x", 1};
    umbel_setting bits = {.value = 2};
    um_build_job job = map_of(&table, &bits);
    uint64_t value;

    (void)state;
    job.members.format.field = UM_VALUE_FIELD;
    expect_refused(&job, UMBEL_E_RANGE, "--field 1");
    job.members.format.field = 3;
    um_build_result made = test_build_lists(&job);
    assert_ok(umbel_values_many(made.filter, &key, 1, &value, &test_refusal));
    assert_int_equal(value, 1);
    umbel_close(made.filter);
}

/* --- lists ------------------------------------------------------------------
 */

static void no_listed_key_matches(void **state)
{
    const char *members = test_list("members", 0, MEMBERS);
    const char *never = test_list("never", MEMBERS, LISTED);
    const char *universe = test_list("universe", 0, MEMBERS + 2 * LISTED);
    um_build_job job = job_of(&members);

    (void)state;
    job.never = test_source(&never);
    um_build_result made = test_build_lists(&job);
    assert_true(made.exact);
    assert_int_equal(made.keys, MEMBERS);
    assert_int_equal(made.exclusion.listed, LISTED);
    assert_int_equal(made.exclusion.matched, 0);
    assert_int_equal(test_hits(made.filter, 0, MEMBERS), MEMBERS);
    assert_int_equal(test_hits(made.filter, MEMBERS, LISTED), 0);
    umbel_close(made.filter);
    job.universe = test_source(&universe);
    made = test_build_lists(&job);
    assert_int_equal(made.exclusion.listed, 2 * LISTED);
    assert_int_equal(test_hits(made.filter, 0, MEMBERS + 2 * LISTED), MEMBERS);
    umbel_close(made.filter);
}

static void a_size_that_does_not_suffice_leaves_keys(void **state)
{
    const char *members = test_list("members", 0, MEMBERS);
    const char *never = test_list("never", MEMBERS, LISTED);
    um_build_job job = job_of(&members);

    (void)state;
    job.never = test_source(&never);
    job.max_bytes = 480;
    um_build_result made = test_build_lists(&job);
    assert_true(umbel_encoded_len(made.filter) <= 480);
    assert_true(made.exclusion.matched > 0);
    assert_int_equal(test_hits(made.filter, MEMBERS, LISTED),
                     made.exclusion.matched);
    assert_near(made.exclusion.weight_left, (double)made.exclusion.matched, 0);
    umbel_close(made.filter);
}

static void listed_members_are_refused_once_each_or_allowed(void **state)
{
    const char *members = test_text_list("members", "5\n6\n7\n8\n");
    const char *never = test_text_list("never", "5\n7\n5\nother\n7\n");
    um_build_job job = job_of(&members);

    (void)state;
    job.never = test_source(&never);
    expect_refused(&job, UMBEL_E_KEY,
                   "2 keys of --never are members, which always match: 5, 7;");
    job.allow_members = true;
    um_build_result made = test_build_lists(&job);
    assert_int_equal(made.exclusion.listed, 1);
    assert_int_equal(made.exclusion.lost, 0);
    umbel_close(made.filter);
}

static void a_universe_has_all_members(void **state)
{
    const char *members = test_text_list("members", "1\n2\n3\n4\n5\n6\n");
    const char *universe = test_text_list("universe", "1\n7\n");
    const char *pipe = test_pipe(members);
    um_build_job job = job_of(&members);

    (void)state;
    job.universe = test_source(&universe);
    expect_refused(&job, UMBEL_E_KEY, "the universe lacks 5 of the members");
    expect_refused(&job, UMBEL_E_KEY, ", ...:");
    job.members = test_source(&pipe);
    expect_refused(&job, UMBEL_E_KEY, " of the input");
}

static void lists_are_read_twice(void **state)
{
    const char *members = test_list("members", 0, MEMBERS);
    const char *pipe = test_pipe(test_list("never", MEMBERS, 10));
    const char *missing = "missing/list";
    um_build_job job = job_of(&members);

    (void)state;
    job.never = test_source(&pipe);
    expect_refused(&job, UMBEL_E_RANGE, "--never is read twice");
    job.never = test_source(&missing);
    expect_refused(&job, UMBEL_E_IO, "missing");
    job.never = (um_key_source){0};
    job.universe = test_source(&pipe);
    expect_refused(&job, UMBEL_E_RANGE, "--universe is read twice");
}

static void a_map_has_no_lists(void **state)
{
    const char *table = test_text_list("table", "a\t1\n");
    const char *never = test_text_list("never", "b\n");
    umbel_setting bits = {.value = 2};
    um_build_job job = map_of(&table, &bits);

    (void)state;
    job.never = test_source(&never);
    expect_refused(&job, UMBEL_E_UNSUPPORTED, "maps");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, test_lists_make, test_lists_remove)

TEST_GROUP(static)
{
    const struct CMUnitTest tests[] = {
        TEST(a_set_is_that_of_its_keys),
        TEST(a_limit_in_bytes_is_kept),
        TEST(a_limit_below_what_the_program_takes_is_refused),
        TEST(a_map_returns_the_second_field),
        TEST(values_that_do_not_fit_are_refused_by_name),
        TEST(two_values_of_a_key_are_refused_by_name),
        TEST(the_value_is_not_the_key),
        TEST(no_listed_key_matches),
        TEST(a_size_that_does_not_suffice_leaves_keys),
        TEST(listed_members_are_refused_once_each_or_allowed),
        TEST(a_universe_has_all_members),
        TEST(lists_are_read_twice),
        TEST(a_map_has_no_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
