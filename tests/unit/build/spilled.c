/*
 * spilled.c - filters built within a memory limit have the same bytes as
 * without; what does not fit is refused.
 */
#include "support/lists.h"

#include "base/spill.h"
#include "filter/handle.h"

#include <umbel/counting.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { KEYS = 300000, MANY = 700000, CROWD = 1500000 };

static const char *in_temp(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

static um_build_job job_of(const char *kind, const char *const *members)
{
    um_build_job job = {.kind = kind,
                        .params = UMBEL_PARAMS_INIT,
                        .members = test_source(members),
                        .temp_dir = in_temp()};

    job.members.threads = 1;
    return job;
}

/* Builds without a limit, and with one so low that the cells are in a file. */
static void expect_same(um_build_job *job, uint64_t memory)
{
    um_build_result usual = test_build_lists(job);

    job->max_memory = memory;
    um_build_result spilled = test_build_lists(job);
    assert_false(um_is_spooled(usual.filter));
    assert_true(um_is_spooled(spilled.filter));
    assert_int_equal(spilled.keys, usual.keys);
    test_assert_same_file(spilled.filter, usual.filter);
    assert_true(umbel_predict(spilled.filter) >
                0.999999 * umbel_predict(usual.filter));
    assert_true(umbel_predict(spilled.filter) <
                1.000001 * umbel_predict(usual.filter));
    umbel_close(usual.filter);
    umbel_close(spilled.filter);
    job->max_memory = 0;
}

/* --- ribbon -----------------------------------------------------------------
 */

static void a_ribbon_is_the_same(void **state)
{
    static const unsigned threads[] = {1, 3};
    const char *path = test_list("keys", 0, MANY);
    um_build_job job = job_of("ribbon", &path);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        job.members.threads = threads[i];
        expect_same(&job, 50000000 + 2000000 * threads[i]);
    }
}

static void a_wide_ribbon_and_one_of_given_bits_are_the_same(void **state)
{
    const char *path = test_list("keys", 0, MANY);
    um_build_job job = job_of("ribbon", &path);
    umbel_setting wide = {"wide", 1};

    (void)state;
    job.params.cells = 8 * MANY;
    expect_same(&job, 55000000);
    job.params.settings = &wide;
    job.params.nsettings = 1;
    expect_same(&job, 60000000);
}

/* Many lines contain few keys, so the build takes several tries. */
static void repeated_keys_are_one(void **state)
{
    const char *path = test_list("keys", 0, 1000);
    const char *twice[2000];
    um_build_job job = job_of("ribbon", twice);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(twice); i++)
        twice[i] = path;
    job.members.npaths = TEST_COUNT(twice);
    expect_same(&job, 60000000);
}

static void another_hash_has_digests_of_two_words(void **state)
{
    const char *path = test_list("keys", 0, MANY);
    um_build_job job = job_of("ribbon", &path);

    (void)state;
    job.params.hash = "xxh3-128";
    expect_same(&job, 55000000);
}

static const char *write_map(const char *two)
{
    char *text = malloc((size_t)16 * MANY + 100), *at = text;

    assert_non_null(text);
    for (unsigned i = 0; i < MANY; i++)
        at += sprintf(at, "%u\t%u\n", i, i % 500);
    strcpy(at, two);
    const char *path = test_text_list("map", text);
    free(text);
    return path;
}

static void a_map_is_the_same(void **state)
{
    const char *path = write_map("");
    umbel_setting bits = {"value_bits", 9};
    um_build_job job = job_of("ribbon", &path);

    (void)state;
    job.params.settings = &bits;
    job.params.nsettings = 1;
    expect_same(&job, 60000000);
}

static void expect_refused(const um_build_job *job, umbel_status status,
                           const char *word)
{
    um_build_result untouched = {.keys = 77};

    assert_refused(um_build(job, &untouched, &test_refusal), status, word);
    assert_null(untouched.filter);
}

static void values_of_a_map_are_checked(void **state)
{
    const char *path = write_map("7\t8\n");
    umbel_setting bits = {"value_bits", 9};
    um_build_job job = job_of("ribbon", &path);

    (void)state;
    job.params.settings = &bits;
    job.params.nsettings = 1;
    job.max_memory = 60000000;
    expect_refused(&job, UMBEL_E_KEY, "\"7\" has two different values");
    bits.value = 8;
    expect_refused(&job, UMBEL_E_KEY, "\"256\" has the value 256");
}

/* --- kinds that keys are added to -------------------------------------------
 */

static void bits_are_the_same(void **state)
{
    static const char *const addressings[] = {"blocked512", "blocked256"};
    const char *path = test_list("keys", 0, MANY);
    um_build_job job = job_of("bloom", &path);

    (void)state;
    job.params.cells = (uint64_t)512 * 150001;
    job.params.hashes = 2;
    for (size_t i = 0; i < TEST_COUNT(addressings); i++) {
        job.params.addressing = addressings[i];
        expect_same(&job, 30000000);
    }
}

/*
 * Fills blocks so far that the order of their keys decides which are new, and
 * how high refined counts get.
 */
static void crowded_blocks_get_their_keys_in_order(void **state)
{
    const char *path = test_list("keys", 0, CROWD);
    umbel_setting settings[] = {{"cell_bits", 32}, {"update", 0}};
    um_build_job job = job_of("counting", &path);

    (void)state;
    job.params.cells = (uint64_t)128 * 110001;
    job.params.hashes = 2;
    job.params.settings = settings;
    job.params.nsettings = TEST_COUNT(settings);
    for (uint64_t update = 0; update < 2; update++) {
        settings[1].value = update;
        expect_same(&job, 68000000);
    }
}

static void amounts_are_added(void **state)
{
    const char *path = write_map("");
    um_build_job job = job_of("counting", &path);

    (void)state;
    job.members.format.amount_field = 2;
    job.params.cells = (uint64_t)128 * 1000001;
    job.params.hashes = 8;
    expect_same(&job, 68000000);
}

/* --- from a pipe ------------------------------------------------------------
 */

/* Builds from a pipe, so that the number of keys is unknown, within a limit. */
static um_build_result build_piped(um_build_job *job, const char *path,
                                   uint64_t memory)
{
    const char *pipe = test_pipe(path);
    um_build_job piped = *job;

    piped.members.paths = &pipe;
    piped.max_memory = memory;
    return test_build_lists(&piped);
}

/*
 * Checks that the cells equal those of a build from a file. Keys in one block
 * may be added in another order at the end of a heap, so the number of new keys
 * may differ slightly.
 */
static void a_pipe_is_counted_first(void **state)
{
    static const struct {
        const char *kind;
        double fpr;
        uint64_t low, high;
    } cases[] = {{"bloom", 1e-9, 30000000, 70000000},
                 {"counting", 1e-3, 68000000, 200000000}};
    const char *path = test_list("keys", 0, CROWD);
    umbel_setting cells = {"cell_bits", 32};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        um_build_job job = job_of(cases[i].kind, &path);
        job.params.fpr = cases[i].fpr;
        job.params.settings = &cells;
        job.params.nsettings = umbel_is_counting(cases[i].kind);
        um_build_result file = test_build_lists(&job);
        um_build_result low = build_piped(&job, path, cases[i].low);
        um_build_result high = build_piped(&job, path, cases[i].high);
        assert_true(um_is_spooled(low.filter));
        assert_false(um_is_spooled(high.filter));
        assert_int_equal(low.keys, CROWD);
        assert_int_equal(low.distinct, file.distinct);
        test_assert_same_payload(low.filter, file.filter);
        test_assert_same_file(low.filter, high.filter);
        umbel_close(file.filter);
        umbel_close(low.filter);
        umbel_close(high.filter);
    }
}

/*
 * Checks that the order is kept for kinds where it matters: the files are
 * equal.
 */
static void a_pipe_keeps_its_order_where_cells_are_far_apart(void **state)
{
    static const char *const kinds[] = {"aging", "tally", "generalized"};
    const char *path = test_list("keys", 0, KEYS);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(kinds); i++) {
        um_build_job job = job_of(kinds[i], &path);
        um_build_result file = test_build_lists(&job);
        um_build_result piped = build_piped(&job, path, 100000000);
        test_assert_same_file(piped.filter, file.filter);
        umbel_close(file.filter);
        umbel_close(piped.filter);
    }
}

static void a_pipe_without_keys_is_refused(void **state)
{
    const char *pipe = test_pipe(test_text_list("none", "\n\n"));
    um_build_job job = job_of("bloom", &pipe);

    (void)state;
    job.max_memory = 50000000;
    expect_refused(&job, UMBEL_E_RANGE, "--capacity");
}

/* --- refusals ---------------------------------------------------------------
 */

static void what_does_not_fit_is_refused(void **state)
{
    const char *path = test_list("keys", 0, KEYS);
    um_build_job job = job_of("ribbon", &path);

    (void)state;
    job.max_memory = 27000000;
    expect_refused(&job, UMBEL_E_LIMIT, "give --max-memory");
    job.kind = "bloom";
    job.params.addressing = "classic";
    job.params.cells = 1000000000;
    expect_refused(&job, UMBEL_E_LIMIT, "cells far apart");
    job.params.addressing = NULL;
    job.coded = true;
    expect_refused(&job, UMBEL_E_LIMIT, "its code");
    job.coded = false;
    job.kind = "scalable";
    job.params.cells = 0;
    expect_refused(&job, UMBEL_E_UNSUPPORTED, "kind scalable");
    job.kind = "bloom";
    job.never = test_source(&path);
    expect_refused(&job, UMBEL_E_UNSUPPORTED, "--never");
}

static void a_directory_that_is_missing_or_full_is_refused(void **state)
{
    const char *path = test_list("keys", 0, MANY);
    um_build_job job = job_of("ribbon", &path);
    struct rlimit old, low = {1 << 20, 1 << 20};

    (void)state;
    job.max_memory = 55000000;
    job.temp_dir = "/nowhere";
    expect_refused(&job, UMBEL_E_IO, "/nowhere");
    job.temp_dir = in_temp();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    expect_refused(&job, UMBEL_E_IO, "temporary files in");
    job.kind = "bloom";
    job.params.cells = (uint64_t)512 * 1000001;
    expect_refused(&job, UMBEL_E_IO, "temporary files in");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

/* --- heaps ------------------------------------------------------------------
 */

static void heaps_keep_their_records_in_order(void **state)
{
    enum { N = 100000, WORDS = 2 };
    static uint64_t records[UM_SPILL_CHUNK / sizeof(uint64_t)];
    um_spill s;
    size_t n, sum = 0;

    (void)state;
    assert_ok(um_spill_open(&s, in_temp(), WORDS, 0, &test_refusal));
    for (uint64_t i = 0; i < N; i++) {
        uint64_t record[WORDS] = {i * UINT64_C(0x9E3779B97F4A7C15), i};
        assert_ok(um_spill_add(&s, um_spill_heap_of(record[0]), record,
                               &test_refusal));
    }
    assert_ok(um_spill_end(&s, &test_refusal));
    assert_int_equal(s.n, N);
    for (unsigned heap = 0; heap < UM_SPILL_HEAPS; heap++) {
        um_spill_walk w = um_spill_begin(&s, heap);
        uint64_t last = 0;
        do {
            assert_ok(um_spill_read(&w, records, &n, &test_refusal));
            for (size_t i = 0; i < n; i++) {
                const uint64_t *at = records + WORDS * i;
                assert_int_equal(at[0], at[1] * UINT64_C(0x9E3779B97F4A7C15));
                assert_int_equal(um_spill_heap_of(at[0]), heap);
                assert_true(!last || at[1] > last);
                last = at[1];
            }
            sum += n;
        } while (n);
    }
    assert_int_equal(sum, N);
    um_spill_close(&s);
    um_spill_close(&s);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, test_lists_make, test_lists_remove)

TEST_GROUP(spilled)
{
    const struct CMUnitTest tests[] = {
        TEST(a_ribbon_is_the_same),
        TEST(a_wide_ribbon_and_one_of_given_bits_are_the_same),
        TEST(repeated_keys_are_one),
        TEST(another_hash_has_digests_of_two_words),
        TEST(a_map_is_the_same),
        TEST(values_of_a_map_are_checked),
        TEST(bits_are_the_same),
        TEST(crowded_blocks_get_their_keys_in_order),
        TEST(amounts_are_added),
        TEST(a_pipe_is_counted_first),
        TEST(a_pipe_keeps_its_order_where_cells_are_far_apart),
        TEST(a_pipe_without_keys_is_refused),
        TEST(what_does_not_fit_is_refused),
        TEST(a_directory_that_is_missing_or_full_is_refused),
        TEST(heaps_keep_their_records_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
