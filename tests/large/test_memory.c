/*
 * test_memory.c - the command uses the memory of its filter plus at most 64 MB,
 * however long the input and its lines are, and few bytes per member to publish
 * with --never.
 */
#define _DEFAULT_SOURCE /* wait4 */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEGABYTE = 1000000, ALLOWED = 64 * MEGABYTE };

/*
 * Disables huge pages: if the kernel gave two megabytes for the first byte of
 * each stack, sixteen stacks would take half of the allowance.
 */
static void have_small_pages(void)
{
#ifdef PR_SET_THP_DISABLE
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
#endif
}

/*
 * Runs umbel WORDS in dir, discarding its output. Returns its peak resident
 * size in bytes.
 */
static size_t peak(const char *dir, const char *words)
{
    char command[4096];
    struct rusage used;
    int status;

    snprintf(command, sizeof command, "cd '%s' && exec '%s' %s >/dev/null", dir,
             UM_COMMAND, words);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        have_small_pages();
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(wait4(child, &status, 0, &used), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return (size_t)used.ru_maxrss * 1024;
}

static size_t file_len(const char *dir, const char *name)
{
    char *path = test_path(dir, name);
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    free(path);
    return (size_t)st.st_size;
}

static FILE *create(const char *dir, const char *name)
{
    char *path = test_path(dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    free(path);
    return f;
}

/* Writes a file larger than the allowance, in lines of 8 bytes. */
static void write_short(const char *dir)
{
    FILE *f = create(dir, "keys");

    for (unsigned i = 0; i < 10 * MEGABYTE; i++)
        fprintf(f, "%07x\n", i);
    assert_int_equal(fclose(f), 0);
}

/* Writes lines of a megabyte each, of bytes that JSON escapes with six. */
static void write_long(const char *dir)
{
    enum { LINES = 12 };
    static char line[MEGABYTE];
    FILE *f = create(dir, "keys");

    memset(line, 1, sizeof line);
    for (unsigned i = 0; i < LINES; i++) {
        fwrite(line, 1, sizeof line, f);
        fprintf(f, "%u\n", i);
    }
    assert_int_equal(fclose(f), 0);
}

static void check_all(void (*write_keys)(const char *dir), const char *output)
{
    static const int threads[] = {1, 4, 16};
    char *dir = test_dir_make(), words[200];

    write_keys(dir);
    for (size_t i = 0; i < TEST_COUNT(threads); i++) {
        snprintf(words, sizeof words, "build keys -o f.umb --threads %d",
                 threads[i]);
        size_t built = peak(dir, words), filter = file_len(dir, "f.umb");
        snprintf(words, sizeof words, "check f.umb -f keys --threads %d %s",
                 threads[i], output);
        size_t checked = peak(dir, words);
        print_message("%d threads: filter %zu, build %zu, check %zu\n",
                      threads[i], filter, built, checked);
        assert_true(built <= filter + ALLOWED);
        assert_true(checked <= filter + ALLOWED);
    }
    test_dir_remove(dir);
}

static void many_lines_take_little_memory(void **state)
{
    (void)state;
    check_all(write_short, "");
}

static void long_lines_take_little_memory(void **state)
{
    (void)state;
    check_all(write_long, "--json");
}

static void assert_same_bytes(const char *dir, const char *a, const char *b)
{
    char command[1000];

    snprintf(command, sizeof command, "cd '%s' && cmp -s %s %s", dir, a, b);
    assert_int_equal(system(command), 0);
}

/* --- lists that must never match --- */

static void write_numbers(const char *dir, const char *name, unsigned from,
                          unsigned n)
{
    FILE *f = create(dir, name);

    for (unsigned i = from; i < from + n; i++)
        fprintf(f, "%064x\n", i);
    assert_int_equal(fclose(f), 0);
}

/*
 * Returns the peak memory of publishing n members with n / 25 unwanted keys
 * from a filter with that many groups.
 */
static size_t peak_of_publishing(unsigned n, unsigned groups)
{
    char *dir = test_dir_make(), words[200];

    write_numbers(dir, "members", 0, n);
    write_numbers(dir, "never", n, n / 25);
    snprintf(words, sizeof words, "build members --hex --groups %u -o f.umb",
             groups);
    peak(dir, words);
    size_t most =
        peak(dir, "publish . f.umb --hex --members members --never never");
    test_dir_remove(dir);
    return most;
}

/*
 * Checks the memory per member, from two lengths so that the program itself
 * does not count.
 */
static void members_are_not_kept_when_others_must_not_match(void **state)
{
    enum { FEW = 100000, MANY = 500000 };

    (void)state;
    for (unsigned groups = 1; groups <= 2; groups++) {
        size_t few = peak_of_publishing(FEW, groups);
        size_t many = peak_of_publishing(MANY, groups);
        double each = ((double)many - (double)few) / (MANY - FEW);
        print_message("%u groups: %.1f bytes a member\n", groups, each);
        assert_true(each <= 24);
    }
}

/* --- a limit --- */

/*
 * Builds keys as words say, with and without a limit in MB: the limit must
 * hold, and the files must be equal.
 */
static void expect_within(const char *dir, const char *words, unsigned limit)
{
    char command[300];

    snprintf(command, sizeof command, "build keys -q %s -o all.umb", words);
    size_t all = peak(dir, command);
    snprintf(command, sizeof command,
             "build keys -q %s --max-memory %uMB -o f.umb", words, limit);
    size_t most = peak(dir, command);
    print_message("%s: %zu, limited to %u MB %zu\n", words, all, limit, most);
    assert_true(all > (size_t)limit * MEGABYTE);
    assert_true(most <= (size_t)limit * MEGABYTE);
    assert_same_bytes(dir, "all.umb", "f.umb");
}

static void a_limit_of_memory_holds(void **state)
{
    char *dir = test_dir_make();

    (void)state;
    write_short(dir);
    expect_within(dir, "--kind ribbon --threads 2", 70);
    expect_within(dir, "--kind ribbon --threads 1", 60);
    expect_within(dir, "--kind ribbon --param wide=1 --threads 2", 80);
    expect_within(dir, "--bits 8e8 --threads 2", 40);
    expect_within(dir, "--bits 8e8 --addressing blocked256 --threads 4", 45);
    expect_within(dir, "--kind counting --threads 2", 72);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_lines_take_little_memory),
        cmocka_unit_test(long_lines_take_little_memory),
        cmocka_unit_test(a_limit_of_memory_holds),
        cmocka_unit_test(members_are_not_kept_when_others_must_not_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
