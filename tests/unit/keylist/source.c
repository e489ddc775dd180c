/*
 * source.c - files, pipes, threads, stopping, failures.
 */
#include "support/key_input.h"

#include "base/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 4 };

/* Files in a directory, and the source that reads them. */
typedef struct files {
    char *dir;
    char *paths[MAX_FILES];
    um_key_source source;
} files;

static void files_init(files *f)
{
    *f = (files){.dir = test_dir_make()};
    f->source.threads = 1;
    f->source.paths = (const char *const *)f->paths;
}

static const char *add_path(files *f, const char *name)
{
    char *path = test_path(f->dir, name);

    assert_true(f->source.npaths < MAX_FILES);
    f->paths[f->source.npaths++] = path;
    return path;
}

static void add_file(files *f, const char *name, const char *text)
{
    test_write_file(add_path(f, name), text, strlen(text));
}

static void files_fini(files *f)
{
    for (size_t i = 0; i < f->source.npaths; i++)
        free(f->paths[i]);
    test_dir_remove(f->dir);
}

static void expect_keys(const um_key_source *s, const char *want)
{
    test_input in;

    test_input_read(s, &in);
    assert_string_equal(in.reason, "");
    assert_string_equal(in.keys, want);
    test_input_fini(&in);
}

static void expect_refused(const um_key_source *s, umbel_status status,
                           const char *keys, const char *reason)
{
    test_input in;

    test_input_read(s, &in);
    assert_string_equal(in.reason, reason);
    assert_int_equal(in.status, status);
    assert_string_equal(in.keys, keys);
    test_input_fini(&in);
}

/* --- files -----------------------------------------------------------------
 */

static void files_are_read_one_after_the_other(void **state)
{
    files f;

    (void)state;
    files_init(&f);
    add_file(&f, "first", "a\nb"); /* the end of a file ends a line */
    add_file(&f, "empty", "");
    add_file(&f, "last", "c\nd\n");
    for (f.source.threads = 0; f.source.threads <= 4; f.source.threads++)
        expect_keys(&f.source, "a|b|c|d|");
    files_fini(&f);
}

static void a_missing_file_is_refused_after_the_keys_before_it(void **state)
{
    files f;

    (void)state;
    files_init(&f);
    add_file(&f, "first", "a\n");
    add_path(&f, "missing");
    for (f.source.threads = 1; f.source.threads <= 4; f.source.threads++)
        expect_refused(&f.source, UMBEL_E_IO, "a|",
                       "No such file or directory; expected a file of keys, "
                       "one per line");
    files_fini(&f);
}

static void a_directory_is_refused(void **state)
{
    files f;

    (void)state;
    files_init(&f);
    add_path(&f, "dir");
    assert_int_equal(mkdir(f.paths[0], 0777), 0);
    expect_refused(
        &f.source, UMBEL_E_IO, "",
        "Is a directory; --list-format hibp reads a directory of range files");
    files_fini(&f);
}

static void a_path_through_a_file_is_refused_without_a_hint(void **state)
{
    files f;

    (void)state;
    files_init(&f);
    add_file(&f, "file", "a\n");
    add_path(&f, "file/keys");
    expect_refused(&f.source, UMBEL_E_IO, "a|", "Not a directory");
    files_fini(&f);
}

static void a_long_path_leaves_room_for_the_reason(void **state)
{
    char path[3000];
    umbel_error err;
    um_key_source s = {.paths = (const char *const[]){path}, .npaths = 1};

    (void)state;
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(um_keys_each_batch(&s, NULL, NULL, &err), UMBEL_E_IO);
    assert_non_null(strstr(err.text, "File name too long"));
    assert_int_equal(um_keys_each_batch(&s, NULL, NULL, NULL), UMBEL_E_IO);
}

static void files_that_are_no_lists_are_refused(void **state)
{
    static const struct {
        const char *bytes, *word;
        size_t len;
    } cases[] = {{"\x89UMB\r\n\x1A\n", "this is a filter", 8},
                 {"\x89UMD\r\n\x1A\n", "this is a difference", 8},
                 {"PK\3\4", "unzip", 4},
                 {"PAR1\x15", "duckdb", 5},
                 {"SQLite format 3", "sqlite3", 16},
                 {"\xFF\xFE", "iconv", 2},
                 {"\xFE\xFF", "iconv", 2},
                 {"\xFD"
                  "7zXZ\0",
                  "xzcat", 6},
                 {"\1\0\0\0\0\0\0\0", "DCSO", 8}};
    files f;

    (void)state;
    files_init(&f);
    add_path(&f, "file");
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        test_input in;
        test_write_file(f.paths[0], cases[i].bytes, cases[i].len);
        test_input_read(&f.source, &in);
        assert_int_equal(in.status, UMBEL_E_FORMAT);
        assert_non_null(strstr(in.reason, cases[i].word));
        test_input_fini(&in);
        /* one byte less is an ordinary key */
        test_write_file(f.paths[0], cases[i].bytes, cases[i].len - 1);
        test_input_read(&f.source, &in);
        assert_int_equal(in.status, UMBEL_OK);
        test_input_fini(&in);
    }
    files_fini(&f);
}

/* --- standard input --------------------------------------------------------
 */

/* Runs read with a file that contains text as standard input. */
static void with_stdin(const char *text, void (*read)(void))
{
    files f;
    int old = dup(STDIN_FILENO);

    assert_true(old >= 0);
    files_init(&f);
    add_file(&f, "stdin", text);
    int fd = open(f.paths[0], O_RDONLY);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
    read();
    assert_int_equal(dup2(old, STDIN_FILENO), STDIN_FILENO);
    close(old);
    files_fini(&f);
}

static void read_without_paths(void)
{
    um_key_source s = {.threads = 1};

    expect_keys(&s, "a|b|");
    expect_keys(&s, ""); /* stays open, at its end */
}

static void read_dash(void)
{
    um_key_source s = {
        .paths = (const char *const[]){"-"}, .npaths = 1, .threads = 2};

    expect_keys(&s, "a|b|");
}

static void standard_input_is_a_dash_or_no_path(void **state)
{
    (void)state;
    with_stdin("a\nb\n", read_without_paths);
    with_stdin("a\nb", read_dash);
}

static void name_stdin(void)
{
    um_key_source s = {.threads = 1, .format.hex = true};
    uint64_t n;
    umbel_error err;

    assert_int_equal(um_keys_count(&s, &n, &err), UMBEL_E_KEY);
    assert_string_equal(
        err.text,
        "standard input, line 2: an odd number of hexadecimal digits");
    assert_int_equal(n, 1);
}

static void messages_name_standard_input(void **state)
{
    (void)state;
    with_stdin("61\n6\n", name_stdin);
}

/* --- rereadable ------------------------------------------------------------
 */

static void only_regular_files_can_be_read_twice(void **state)
{
    files f;
    test_drip d;

    (void)state;
    files_init(&f);
    assert_false(um_keys_rereadable(&f.source)); /* standard input */
    add_file(&f, "file", "a\n");
    assert_true(um_keys_rereadable(&f.source));
    add_path(&f, "missing"); /* reading it fails the first time */
    assert_true(um_keys_rereadable(&f.source));
    f.paths[f.source.npaths++] = strdup("-");
    assert_false(um_keys_rereadable(&f.source));
    files_fini(&f);
    test_drip_open(&d, "a\n", 2, 1);
    um_key_source pipe_source = test_drip_source(&d, &f.source.format);
    assert_false(um_keys_rereadable(&pipe_source));
    test_drip_close(&d);
}

/* --- progress --------------------------------------------------------------
 */

typedef struct progress {
    uint64_t calls, done, total;
    bool ended;
} progress;

static void note_progress(void *ctx, const char *pass, uint64_t done,
                          uint64_t total)
{
    progress *p = ctx;
    bool ended = !pass;

    assert_false(p->ended);
    assert_true(done >= p->done);
    assert_true(p->calls > 0 || done == 0);
    *p = (progress){p->calls + 1, done, total, ended};
}

static void progress_counts_the_bytes_of_all_files(void **state)
{
    files f;
    progress p = {0};

    (void)state;
    files_init(&f);
    add_file(&f, "first", "a\nb\n");
    add_file(&f, "last", "c\n");
    f.source.progress = note_progress;
    f.source.progress_ctx = &p;
    expect_keys(&f.source, "a|b|c|");
    assert_int_equal(p.done, 6);
    assert_int_equal(p.total, 6);
    assert_true(p.ended);
    add_path(&f, "missing"); /* the total is complete or absent */
    p = (progress){0};
    expect_refused(&f.source, UMBEL_E_IO, "a|b|c|",
                   "No such file or directory; expected a file of keys, one "
                   "per line");
    assert_int_equal(p.total, 0);
    assert_true(p.ended);
    files_fini(&f);
}

/* --- threads ---------------------------------------------------------------
 */

enum { MANY = 60000, LINE = 12 }; /* a dozen pieces */

/* Returns many lines, each its own number. */
static char *many_lines(void)
{
    char *text = malloc(MANY * LINE + 1);

    assert_non_null(text);
    for (int i = 0; i < MANY; i++)
        snprintf(text + (size_t)i * LINE, LINE + 1, "%011d\n", i);
    return text;
}

/* A job that checks that use gets each batch in order, and after work. */
typedef struct order_check {
    uint64_t next;      /* number of the key that use expects */
    uint64_t fail_work; /* key at which work fails; 0: none */
    uint64_t fail_use;
    uint64_t stop_at;
    bool stop;
} order_check;

typedef struct order_result {
    uint64_t sum;
    char *memory;
} order_result;

static uint64_t number_of(const umbel_slice *key)
{
    char digits[LINE] = "";

    memcpy(digits, key->data, key->len < LINE ? key->len : LINE - 1);
    return strtoull(digits, NULL, 10);
}

static umbel_status sum_keys(const void *ctx, const um_key_batch *batch,
                             void *result, umbel_error *err)
{
    const order_check *c = ctx;
    order_result *r = result;

    r->sum = 0;
    if (!r->memory)
        r->memory = malloc(1);
    for (size_t i = 0; i < batch->n; i++) {
        uint64_t number = number_of(&batch->keys[i]);
        if (c->fail_work && number >= c->fail_work)
            return um_fail(err, UMBEL_E_KEY, "work fails");
        r->sum += number;
    }
    return UMBEL_OK;
}

static umbel_status check_order(void *ctx, const um_key_batch *batch,
                                void *result, umbel_error *err)
{
    order_check *c = ctx;
    const order_result *r = result;
    uint64_t sum = 0;

    for (size_t i = 0; i < batch->n; i++) {
        uint64_t number = number_of(&batch->keys[i]);
        assert_int_equal(number, c->next);
        c->next++;
        if (!c->fail_work || number < c->fail_work)
            sum += number;
        if (c->stop_at && number == c->stop_at)
            c->stop = true;
        if (c->fail_use && number == c->fail_use)
            return um_fail(err, UMBEL_E_LIMIT, "use fails");
    }
    assert_int_equal(r->sum, sum);
    return UMBEL_OK;
}

static unsigned freed_results;

static void free_result(void *result)
{
    free(((order_result *)result)->memory);
    freed_results++;
}

static umbel_status read_in_order(files *f, order_check *c, unsigned threads,
                                  umbel_error *err)
{
    um_key_job job = {.ctx = c,
                      .result_len = sizeof(order_result),
                      .work = sum_keys,
                      .use = check_order,
                      .fini = free_result};

    f->source.threads = threads;
    f->source.stop = &c->stop;
    freed_results = 0;
    umbel_status status = um_keys_each(&f->source, &job, err);
    assert_in_range(freed_results, 1, 16);
    return status;
}

static void add_many(files *f, const char *behind)
{
    char *text = many_lines();
    size_t len = strlen(text) + strlen(behind);

    text = realloc(text, len + 1);
    assert_non_null(text);
    strcat(text, behind);
    add_file(f, "many", text);
    free(text);
}

static void any_number_of_threads_keeps_the_order(void **state)
{
    files f;

    (void)state;
    files_init(&f);
    add_many(&f, "");
    for (unsigned threads = 0; threads <= 10; threads++) {
        order_check c = {0};
        assert_ok(read_in_order(&f, &c, threads, &test_refusal));
        assert_int_equal(c.next, MANY);
    }
    files_fini(&f);
}

static void reading_can_be_stopped_in_the_middle(void **state)
{
    files f;

    (void)state;
    files_init(&f);
    add_many(&f, "");
    for (unsigned threads = 1; threads <= 4; threads++) {
        order_check c = {.stop_at = MANY / 2};
        assert_ok(read_in_order(&f, &c, threads, &test_refusal));
        assert_in_range(c.next, MANY / 2 + 1, MANY - 1);
    }
    files_fini(&f);
}

/* Reads a pipe that stays open but sends nothing more. */
static void stopping_ends_a_wait_for_input(void **state)
{
    (void)state;
    for (unsigned threads = 2; threads <= 4; threads++) {
        order_check c = {.stop_at = 1};
        files f;
        int fds[2];
        char path[32];
        files_init(&f);
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(write(fds[1], "0\n1\n", 4), 4);
        snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
        f.paths[f.source.npaths++] = strdup(path);
        assert_ok(read_in_order(&f, &c, threads, &test_refusal));
        assert_int_equal(c.next, 2);
        close(fds[0]);
        close(fds[1]);
        files_fini(&f);
    }
}

static void the_first_failure_in_input_order_is_returned(void **state)
{
    char *bad = malloc(UM_MAX_KEY_LEN + 2);
    files f;

    (void)state;
    assert_non_null(bad);
    memset(bad, 'x', UM_MAX_KEY_LEN + 1);
    bad[UM_MAX_KEY_LEN + 1] = '\0';
    files_init(&f);
    add_many(&f, bad);
    free(bad);
    for (unsigned threads = 1; threads <= 4; threads++) {
        order_check fine = {0}, work = {.fail_work = 30000},
                    use = {.fail_use = 20000, .fail_work = 50000};
        assert_refused(read_in_order(&f, &fine, threads, &test_refusal),
                       UMBEL_E_KEY, "many, line 60001: longer than 1 MiB");
        assert_int_equal(fine.next, MANY);
        assert_refused(read_in_order(&f, &work, threads, &test_refusal),
                       UMBEL_E_KEY, "work fails");
        assert_in_range(work.next, 30000, MANY - 1);
        assert_refused(read_in_order(&f, &use, threads, &test_refusal),
                       UMBEL_E_LIMIT, "use fails");
        assert_int_equal(use.next, 20001);
    }
    files_fini(&f);
}

static void lines_are_numbered_in_their_own_file(void **state)
{
    files f;

    (void)state;
    files_init(&f);
    f.source.format.hex = true;
    add_file(&f, "good", "61\n62\n");
    add_file(&f, "bad", "63\n\nx\n");
    for (f.source.threads = 1; f.source.threads <= 4; f.source.threads++)
        expect_refused(&f.source, UMBEL_E_KEY, "a|b|c|",
                       "line 3: not hexadecimal from character 1 on: \"x\"");
    files_fini(&f);
}

/* Checks that slow input is used at once, not when a buffer is full. */
static void whole_lines_are_used_as_soon_as_they_come(void **state)
{
    test_drip d;
    test_input in;
    um_key_format lines = {0};

    (void)state;
    test_drip_open(&d, "a\nb\nc\n", 6, 2);
    um_key_source s = test_drip_source(&d, &lines);
    test_input_read(&s, &in);
    assert_int_equal(in.n, 3);
    assert_int_equal(in.nbatches, 3);
    test_drip_close(&d);
    test_input_fini(&in);
}

TEST_GROUP(source)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_one_after_the_other),
        cmocka_unit_test(a_missing_file_is_refused_after_the_keys_before_it),
        cmocka_unit_test(a_directory_is_refused),
        cmocka_unit_test(a_path_through_a_file_is_refused_without_a_hint),
        cmocka_unit_test(a_long_path_leaves_room_for_the_reason),
        cmocka_unit_test(files_that_are_no_lists_are_refused),
        cmocka_unit_test(standard_input_is_a_dash_or_no_path),
        cmocka_unit_test(messages_name_standard_input),
        cmocka_unit_test(only_regular_files_can_be_read_twice),
        cmocka_unit_test(progress_counts_the_bytes_of_all_files),
        cmocka_unit_test(any_number_of_threads_keeps_the_order),
        cmocka_unit_test(reading_can_be_stopped_in_the_middle),
        cmocka_unit_test(stopping_ends_a_wait_for_input),
        cmocka_unit_test(the_first_failure_in_input_order_is_returned),
        cmocka_unit_test(lines_are_numbered_in_their_own_file),
        cmocka_unit_test(whole_lines_are_used_as_soon_as_they_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
