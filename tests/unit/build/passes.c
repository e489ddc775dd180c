/*
 * passes.c - a list that changes between the passes of a build is refused.
 */
#include "support/lists.h"

#include <stdio.h>
#include <string.h>

/* Replaces a list when a pass begins. */
typedef struct swap {
    const char *path, *pass, *text;
} swap;

static void swap_list(void *ctx, const char *pass, uint64_t done,
                      uint64_t total)
{
    const swap *s = ctx;

    (void)total;
    if (s->text && done == 0 && pass && strcmp(pass, s->pass) == 0)
        test_write_file(s->path, s->text, strlen(s->text));
}

static um_build_job job_of(const char *kind, swap *s, uint64_t memory)
{
    um_build_job job = {.kind = kind,
                        .params = UMBEL_PARAMS_INIT,
                        .members = test_source(&s->path),
                        .max_memory = memory,
                        .temp_dir = "/tmp"};

    job.members.progress = swap_list;
    job.members.progress_ctx = s;
    return job;
}

static void a_list_that_changes_is_refused(void **state)
{
    static const char *const kinds[] = {"bloom", "counting"};
    static const char *const texts[] = {"a\nb\nc\nd\n", "a\nb\n",
                                        "a\nb\nc\na\n"};
    static const uint64_t memory[] = {0, 80000000};
    const char *path = test_text_list("keys", "");

    (void)state;
    for (size_t i = 0; i < 2 * 3 * 2; i++) {
        swap s = {path, "adding keys", texts[i % 3]};
        test_write_file(path, "a\nb\nc\n", 6);
        um_build_job job = job_of(kinds[i / 3 % 2], &s, memory[i / 6]);
        um_build_result out = {.filter = NULL};
        assert_refused(um_build(&job, &out, &test_refusal), UMBEL_E_IO,
                       "changed while it was read: 3 keys");
        assert_null(out.filter);
    }
}

/* With a capacity the list is read once. */
static void a_list_that_is_read_once_may_grow(void **state)
{
    swap s = {test_text_list("keys", "a\nb\nc\n"), "adding keys",
              "a\nb\nc\nd\n"};
    um_build_job job = job_of("bloom", &s, 0);
    um_build_result out = {.filter = NULL};

    (void)state;
    job.params.capacity = 3;
    assert_ok(um_build(&job, &out, &test_refusal));
    assert_int_equal(out.keys, 4);
    umbel_close(out.filter);
}

/* Lines whose end or beginning is special are counted as they are added. */
static void both_passes_count_the_same_keys(void **state)
{
    static const char *const texts[] = {"a",
                                        "a\r\n\r\n\nb\r",
                                        ("\xEF\xBB\xBF"
                                         "a\n\r\n"),
                                        "\r\na\n\r\n",
                                        "\xEF\xBB\xBF\nb\n",
                                        "a\n\r"};
    const char *path = test_text_list("keys", "");

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(texts); i++)
        for (int folded = 0; folded < 2; folded++) {
            swap s = {.path = path};
            test_write_file(path, texts[i], strlen(texts[i]));
            um_build_job job = job_of("bloom", &s, 0);
            um_build_result out = {.filter = NULL};
            job.members.format.fold_case = folded;
            assert_ok(um_build(&job, &out, &test_refusal));
            umbel_close(out.filter);
        }
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, test_lists_make, test_lists_remove)

TEST_GROUP(passes)
{
    const struct CMUnitTest tests[] = {
        TEST(a_list_that_changes_is_refused),
        TEST(a_list_that_is_read_once_may_grow),
        TEST(both_passes_count_the_same_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
