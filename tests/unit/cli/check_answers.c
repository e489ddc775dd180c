/*
 * check_answers.c - what 'umbel check' prints for keys, one by one and in
 * batches, and what it allocates.
 */
#include "support/test.h"

#include "cli/commands/internal.h"
#include "cli/framework/program.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 5000 };

/* Wrapped functions, whose calls are counted (see tests/CMakeLists.txt). */
void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *old, size_t len);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void *__wrap_realloc(void *old, size_t len);

static size_t allocations;
static size_t until_failure; /* calls of calloc; 0: none fails */

void *__wrap_malloc(size_t len)
{
    allocations++;
    return __real_malloc(len);
}

void *__wrap_calloc(size_t n, size_t len)
{
    allocations++;
    if (until_failure && --until_failure == 0)
        return NULL;
    return __real_calloc(n, len);
}

void *__wrap_realloc(void *old, size_t len)
{
    allocations++;
    return __real_realloc(old, len);
}

/* Printed output. */
typedef struct printed {
    char *text;
    size_t len;
} printed;

static umbel_filter *open_counting(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.capacity = KEYS;
    p.fpr = 0.05;
    assert_ok(umbel_create("counting", &p, &f, &test_refusal));
    test_add(f, 0, KEYS / 2);
    test_add(f, 0, 100);
    return f;
}

static void begin(um_check_ctx *c, printed *p)
{
    assert_ok(um_query_init(&c->query, &test_refusal));
    assert_non_null(c->out = open_memstream(&p->text, &p->len));
    c->end = '\n';
}

static umbel_slice *all_keys(char **keys)
{
    *keys = test_keys(0, KEYS);
    return test_slices(*keys, KEYS);
}

static void print_one_by_one(um_check_ctx c, printed *p, uint64_t *selected)
{
    char *keys;
    umbel_slice *slices = all_keys(&keys);

    begin(&c, p);
    for (size_t i = 0; i < KEYS; i++)
        assert_ok(um_check_one(&c, &slices[i], &slices[i], &test_refusal));
    fclose(c.out);
    *selected = c.selected;
    free(slices);
    free(keys);
}

/* Batches of different sizes share one result. */
static void print_batches(um_check_ctx c, printed *p, uint64_t *selected)
{
    char *keys;
    umbel_slice *slices = all_keys(&keys);

    begin(&c, p);
    um_key_job job = um_check_job(&c);
    void *result = calloc(1, job.result_len);
    assert_non_null(result);
    for (size_t i = 0, n = 1; i < KEYS; i += n, n = 3 * n + 1) {
        um_key_batch b = {.n = KEYS - i < n ? KEYS - i : n,
                          .keys = slices + i,
                          .lines = slices + i,
                          .texts = slices + i};
        assert_ok(job.work(&c, &b, result, &test_refusal));
        assert_ok(job.use(&c, &b, result, &test_refusal));
    }
    job.fini(result);
    free(result);
    fclose(c.out);
    *selected = c.selected;
    free(slices);
    free(keys);
}

/* Prints both ways and compares. Returns the number of lines. */
static size_t compare(const um_check_ctx *c)
{
    printed a, b;
    uint64_t one, many;
    size_t lines = 0;

    print_one_by_one(*c, &a, &one);
    print_batches(*c, &b, &many);
    assert_int_equal(one, many);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.text, b.text, a.len);
    for (size_t i = 0; i < a.len; i++)
        lines += a.text[i] == '\n';
    free(a.text);
    free(b.text);
    return lines;
}

static void batches_print_what_single_keys_print(void **state)
{
    umbel_filter *f = open_counting();
    um_check_ctx plain = {.query = {.filter = f}}, c = plain;
    size_t hits = test_hits(f, 0, KEYS);

    (void)state;
    assert_int_equal(compare(&c), hits);
    c.invert = true;
    assert_int_equal(compare(&c), KEYS - hits);
    c = plain;
    c.query.values = true;
    assert_int_equal(compare(&c), hits);
    c.print_all = true;
    assert_int_equal(compare(&c), KEYS);
    c.json = true;
    assert_int_equal(compare(&c), KEYS);
    c = plain;
    c.count = true;
    assert_int_equal(compare(&c), 0);
    c = plain;
    c.quiet = true;
    assert_int_equal(compare(&c), 0);
    umbel_close(f);
}

/* Prints more JSON than a worker formats ahead. */
static void long_json_is_printed_whole(void **state)
{
    enum { LEN = 1 << 20 };
    umbel_filter *f = open_counting();
    um_check_ctx c = {.query = {.filter = f}, .json = true, .print_all = true};
    char *text = malloc(LEN);
    printed p;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', LEN);
    umbel_slice keys[2] = {{text, LEN}, {"1", 1}};
    um_key_batch b = {.n = 2, .keys = keys, .lines = keys, .texts = keys};
    begin(&c, &p);
    um_key_job job = um_check_job(&c);
    void *result = calloc(1, job.result_len);
    assert_non_null(result);
    assert_ok(job.work(&c, &b, result, &test_refusal));
    assert_ok(job.use(&c, &b, result, &test_refusal));
    job.fini(result);
    free(result);
    fclose(c.out);
    assert_true(p.len > LEN);
    assert_non_null(strstr(p.text, "\n{\"key\": \"1\", \"match\": "));
    free(p.text);
    free(text);
    umbel_close(f);
}

static void one_key_allocates_nothing(void **state)
{
    umbel_filter *f = open_counting();
    um_check_ctx c = {.query = {.filter = f, .values = true}, .end = '\n'};
    umbel_slice key = {"0000000001", 10};

    (void)state;
    assert_ok(um_query_init(&c.query, &test_refusal));
    c.print_all = true;
    assert_non_null(c.out = fopen("/dev/null", "w"));
    setvbuf(c.out, NULL, _IONBF, 0);
    allocations = 0;
    umbel_status status = um_check_one(&c, &key, &key, &test_refusal);
    size_t calls = allocations;
    assert_ok(status);
    assert_int_equal(calls, 0);
    fclose(c.out);
    umbel_close(f);
}

static void a_quiet_check_is_decided_by_the_first_match(void **state)
{
    umbel_filter *f = open_counting();
    um_check_ctx c = {.query = {.filter = f}, .quiet = true};
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};

    (void)state;
    assert_ok(um_query_init(&c.query, &test_refusal));
    c.out = stdout;
    test_key(0, key);
    assert_false(c.decided);
    assert_ok(um_check_one(&c, &slice, &slice, &test_refusal));
    assert_true(c.decided);
    umbel_close(f);
}

/* Checks a member of a directory of 'umbel sync', with each call of calloc
 * failing once: the answer is "yes" or trouble, never "no". */
static void a_member_is_never_absent_for_lack_of_memory(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "sync");
    char *list = test_path(dir, "list");
    char quiet[] = "-q", init[] = "--init", name[] = "--name=a", n[] = "-n100";
    char *sync[] = {quiet, init, path, name, n, NULL}, key[] = "hello";
    char *add[] = {quiet, path, list, NULL},
         *check[] = {quiet, path, key, NULL};
    bool failed = true;

    (void)state;
    test_write_file(list, "hello\n", 6);
    assert_int_equal(um_run_command(&um_cmd_sync, sync), UM_EXIT_FINE);
    assert_int_equal(um_run_command(&um_cmd_add, add), UM_EXIT_FINE);
    for (size_t i = 1; failed; i++) {
        until_failure = i;
        int code = um_run_command(&um_cmd_check, check);
        failed = until_failure == 0;
        until_failure = 0;
        assert_true(code == UM_EXIT_FINE ||
                    (failed && code == UM_EXIT_TROUBLE));
    }
    free(list);
    test_dir_remove(path);
    test_dir_remove(dir);
}

TEST_GROUP(check_answers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_print_what_single_keys_print),
        cmocka_unit_test(long_json_is_printed_whole),
        cmocka_unit_test(one_key_allocates_nothing),
        cmocka_unit_test(a_quiet_check_is_decided_by_the_first_match),
        cmocka_unit_test(a_member_is_never_absent_for_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
