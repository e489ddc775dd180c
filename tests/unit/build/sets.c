/* sets.c - non-static filters built from lists. */
#include "support/lists.h"

#include <stdlib.h>

enum { MEMBERS = 2000, LISTED = 4000 };

/* Returns a job with these members and defaults otherwise. */
static um_build_job job_of(const char *const *members)
{
    um_build_job job = {.params = UMBEL_PARAMS_INIT,
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

static void files_are_counted_to_size_the_filter(void **state)
{
    const char *path = test_list("keys", 0, MEMBERS);
    um_build_job job = job_of(&path);
    um_build_result made = test_build_lists(&job);
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    p.capacity = MEMBERS;
    umbel_filter *same = test_open(&p);
    test_add(same, 0, MEMBERS);
    assert_int_equal(made.keys, MEMBERS);
    assert_false(made.chosen || made.exact);
    test_assert_same_file(made.filter, same);
    umbel_close(same);
    umbel_close(made.filter);
}

/*
 * Checks that a given number of cells is used, with a number of hashes that
 * suits the keys.
 */
static void files_are_counted_where_the_size_is_given(void **state)
{
    const char *path = test_list("keys", 0, MEMBERS);
    um_build_job job = job_of(&path);
    umbel_params p = UMBEL_PARAMS_INIT;

    (void)state;
    job.params.cells = p.cells = 512 * 64;
    p.capacity = MEMBERS;
    um_build_result made = test_build_lists(&job);
    umbel_filter *same = test_open(&p);
    test_add(same, 0, MEMBERS);
    test_assert_same_file(made.filter, same);
    umbel_close(same);
    umbel_close(made.filter);
}

static void a_pipe_is_folded_to_size(void **state)
{
    const char *path = test_pipe(test_list("keys", 0, MEMBERS));
    um_build_job job = job_of(&path);

    (void)state;
    job.params.fpr = 0.01;
    um_build_result made = test_build_lists(&job);
    assert_int_equal(made.keys, MEMBERS);
    assert_int_equal(test_hits(made.filter, 0, MEMBERS), MEMBERS);
    assert_true(umbel_predict(made.filter) <= 0.01);
    assert_true(umbel_encoded_len(made.filter) < 10000);
    umbel_close(made.filter);
}

static void a_pipe_of_known_capacity_gives_the_filter_of_a_file(void **state)
{
    const char *file = test_list("keys", 0, MEMBERS);
    const char *pipe = test_pipe(file);
    um_build_job from_file = job_of(&file), from_pipe = job_of(&pipe);

    (void)state;
    from_file.params.capacity = from_pipe.params.capacity = 3 * MEMBERS;
    um_build_result a = test_build_lists(&from_file);
    um_build_result b = test_build_lists(&from_pipe);
    test_assert_same_file(a.filter, b.filter);
    umbel_close(a.filter);
    umbel_close(b.filter);
}

static void no_key_is_refused_unless_a_capacity_is_given(void **state)
{
    const char *file = test_text_list("none", "\n\r\n\n");
    const char *pipe = test_pipe(file);
    um_build_job from_file = job_of(&file), from_pipe = job_of(&pipe);

    (void)state;
    expect_refused(&from_file, UMBEL_E_RANGE, "--capacity");
    expect_refused(&from_pipe, UMBEL_E_RANGE, "--capacity");
    from_pipe.params.cells = 1000;
    expect_refused(&from_pipe, UMBEL_E_RANGE, "--capacity");
    from_file.params.capacity = 10;
    um_build_result made = test_build_lists(&from_file);
    assert_int_equal(made.keys, 0);
    assert_int_equal(umbel_added(made.filter), 0);
    umbel_close(made.filter);
}

static void a_limit_below_what_the_program_takes_is_refused(void **state)
{
    const char *file = test_list("keys", 0, 10);
    const char *pipe = test_pipe(file);
    um_build_job from_file = job_of(&file), from_pipe = job_of(&pipe);

    (void)state;
    from_file.max_memory = from_pipe.max_memory = 1 << 20;
    expect_refused(&from_file, UMBEL_E_LIMIT, "--max-memory");
    from_file.kind = "ribbon";
    expect_refused(&from_file, UMBEL_E_LIMIT, "--max-memory");
    expect_refused(&from_pipe, UMBEL_E_LIMIT, "--max-memory");
    from_pipe.params.capacity = 10;
    expect_refused(&from_pipe, UMBEL_E_LIMIT, "--max-memory");
    from_pipe.params.capacity = 0;
    from_pipe.params.cells = 1000;
    expect_refused(&from_pipe, UMBEL_E_LIMIT, "--max-memory");
}

static void keys_are_added_as_often_as_the_format_says(void **state)
{
    const char *keys = test_list("keys", 0, 10);
    const char *table = test_text_list("table", "a\t5\nb\t2\n");
    um_build_job thrice = job_of(&keys), amounts = job_of(&table);
    const umbel_slice a_and_b[] = {{"a", 1}, {"b", 1}};
    uint64_t counts[2];

    (void)state;
    thrice.kind = amounts.kind = "counting";
    thrice.members.format.times = 3;
    amounts.members.format.amount_field = 2;
    um_build_result made = test_build_lists(&thrice);
    assert_int_equal(made.keys, 10);
    assert_int_equal(test_count(made.filter, 9), 3);
    umbel_close(made.filter);
    made = test_build_lists(&amounts);
    assert_ok(umbel_count_many(made.filter, a_and_b, 2, counts, &test_refusal));
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[1], 2);
    umbel_close(made.filter);
}

static void what_cannot_be_read_or_made_is_refused(void **state)
{
    const char *file = test_list("keys", 0, 10), *missing = "missing/keys";
    um_build_job job = job_of(&file);

    (void)state;
    job.kind = "nothing";
    expect_refused(&job, UMBEL_E_UNKNOWN, "nothing");
    job.kind = NULL;
    job.members = test_source(&missing);
    expect_refused(&job, UMBEL_E_IO, "missing");
    job.params.capacity = 10;
    expect_refused(&job, UMBEL_E_IO, "missing");
}

/* --- keys that must not match -----------------------------------------------
 */

typedef struct lists {
    const char *members, *never;
} lists;

/* Returns a job with members and negatives, ten bits per member. */
static um_build_job never_job(lists *l)
{
    l->members = test_list("members", 0, MEMBERS);
    l->never = test_list("never", MEMBERS, LISTED);
    um_build_job job = job_of(&l->members);
    job.never = test_source(&l->never);
    job.params.addressing = "classic";
    job.params.cells = 10 * MEMBERS;
    job.params.hashes = 5;
    return job;
}

static void two_groups_keep_listed_keys_out(void **state)
{
    lists l;
    um_build_job job = never_job(&l);
    um_build_result made = test_build_lists(&job);

    (void)state;
    assert_true(made.chosen);
    assert_int_equal(made.keys, MEMBERS);
    assert_int_equal(made.choice.never, LISTED);
    assert_int_equal(made.choice.lost, 0);
    assert_true(made.choice.matched_before > 0);
    assert_int_equal(made.choice.matched, 0);
    assert_int_equal(test_hits(made.filter, 0, MEMBERS), MEMBERS);
    assert_int_equal(test_hits(made.filter, MEMBERS, LISTED), 0);
    umbel_close(made.filter);
}

static void settings_decide_on_the_number_of_groups(void **state)
{
    umbel_setting one = {"groups", 1};
    lists l;
    um_build_job job = never_job(&l);

    (void)state;
    job.params.settings = &one;
    job.params.nsettings = 1;
    um_build_result made = test_build_lists(&job);
    assert_true(made.choice.matched > 0);
    assert_int_equal(made.choice.matched, made.choice.matched_before);
    assert_int_equal(test_hits(made.filter, MEMBERS, LISTED),
                     made.choice.matched);
    umbel_close(made.filter);
}

static void weights_of_listed_keys_count(void **state)
{
    lists l;
    um_build_job job = never_job(&l);
    const char *weighed = test_text_list("weighed.tsv", "x\t2.5\ny\t4\n");

    (void)state;
    job.never = test_source(&weighed);
    job.never.format.weights = UM_WEIGHTS_TSV;
    um_build_result made = test_build_lists(&job);
    assert_int_equal(made.choice.never, 2);
    assert_near(made.choice.weight, 6.5, 0);
    umbel_close(made.filter);
}

static void listed_members_are_refused_by_name_or_allowed(void **state)
{
    lists l;
    um_build_job job = never_job(&l);
    const char *both = test_list("both", MEMBERS - 6, 12);
    char name[TEST_KEY_LEN + 1] = "";

    (void)state;
    test_key(MEMBERS - 6, name);
    job.never = test_source(&both);
    expect_refused(&job, UMBEL_E_KEY, "6 keys of --never are members");
    expect_refused(&job, UMBEL_E_KEY, name);
    job.allow_members = true;
    um_build_result made = test_build_lists(&job);
    assert_int_equal(made.choice.never_members, 6);
    assert_int_equal(made.choice.never, 6);
    umbel_close(made.filter);
}

static void a_choice_needs_a_size_and_a_kind_with_groups(void **state)
{
    lists l;
    um_build_job job = never_job(&l);
    const char *pipe = test_pipe(l.members);

    (void)state;
    job.kind = "aging";
    expect_refused(&job, UMBEL_E_UNKNOWN, "groups");
    job.kind = NULL;
    job.members = test_source(&pipe);
    job.params.cells = 0;
    expect_refused(&job, UMBEL_E_RANGE, "size");
    job.params.capacity = MEMBERS;
    um_build_result made = test_build_lists(&job);
    assert_int_equal(made.keys, MEMBERS);
    umbel_close(made.filter);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, test_lists_make, test_lists_remove)

TEST_GROUP(sets)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_counted_to_size_the_filter),
        TEST(files_are_counted_where_the_size_is_given),
        TEST(a_pipe_is_folded_to_size),
        TEST(a_pipe_of_known_capacity_gives_the_filter_of_a_file),
        TEST(no_key_is_refused_unless_a_capacity_is_given),
        TEST(a_limit_below_what_the_program_takes_is_refused),
        TEST(keys_are_added_as_often_as_the_format_says),
        TEST(what_cannot_be_read_or_made_is_refused),
        TEST(two_groups_keep_listed_keys_out),
        TEST(settings_decide_on_the_number_of_groups),
        TEST(weights_of_listed_keys_count),
        TEST(listed_members_are_refused_by_name_or_allowed),
        TEST(a_choice_needs_a_size_and_a_kind_with_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
