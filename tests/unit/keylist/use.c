/* use.c - counting keys, adding and removing them, lists and logs. */
#include "support/key_input.h"

#include "keylist/key_list.h"
#include "keylist/key_log.h"
#include "keylist/sniff.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One file in a directory, and the source that reads it. */
typedef struct file {
    char *dir, *path;
    const char *paths[1];
    um_key_source source;
} file;

static void file_init(file *f, const char *name, const char *text)
{
    *f = (file){.dir = test_dir_make()};
    f->path = test_path(f->dir, name);
    f->paths[0] = f->path;
    f->source = (um_key_source){.paths = f->paths, .npaths = 1, .threads = 1};
    if (text)
        test_write_file(f->path, text, strlen(text));
}

static void file_fini(file *f)
{
    free(f->path);
    test_dir_remove(f->dir);
}

static void assert_file(const file *f, const char *text)
{
    size_t len;
    uint8_t *bytes = test_read_file(f->path, &len);

    assert_int_equal(len, strlen(text));
    assert_memory_equal(bytes, text, len);
    free(bytes);
}

/* --- counting --------------------------------------------------------------
 */

static void counting_agrees_with_reading(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "a",
                                        "a\n",
                                        "a\n\nb",
                                        "\r\n",
                                        "a\r\n\r\n",
                                        "\r",
                                        "a\r",
                                        "\n\r",
                                        "\r\r\n",
                                        "a\n\r\r\n",
                                        "\xEF\xBB\xBF",
                                        "\xEF\xBB\xBF\n",
                                        "\xEF\xBB\xBF\r\na\n",
                                        "\xEF\xBB\xBFz\n",
                                        "\n\xEF\xBB\xBF\n",
                                        "\xEF\xBB\n"};
    um_key_format formats[] = {{0}, {.null_ended = true}, {.field = 1}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(texts) * TEST_COUNT(formats); i++) {
        file f;
        test_input in;
        uint64_t n = 77;
        file_init(&f, "keys", texts[i / TEST_COUNT(formats)]);
        f.source.format = formats[i % TEST_COUNT(formats)];
        test_input_read(&f.source, &in);
        assert_ok(um_keys_count(&f.source, &n, &test_refusal));
        assert_int_equal(n, in.n);
        test_input_fini(&in);
        file_fini(&f);
    }
}

static void lines_that_are_bad_are_not_counted(void **state)
{
    static const um_key_format formats[] = {
        {.hex = true}, {.amount_field = 2}, {.weights = UM_WEIGHTS_ALL}};
    file f;
    uint64_t n;

    (void)state;
    file_init(&f, "keys", "not hexadecimal, no weight, no amount");
    for (size_t i = 0; i < TEST_COUNT(formats); i++) {
        f.source.format = formats[i];
        assert_refused(um_keys_count(&f.source, &n, &test_refusal), UMBEL_E_KEY,
                       "line 1");
        assert_int_equal(n, 0);
    }
    file_fini(&f);
}

static void long_files_are_counted_in_parts(void **state)
{
    enum {
        LINES = 200000
    }; /* several buffers, with line ends everywhere around their ends */
    char *text = malloc((size_t)LINES * 12 + 1), *at = text;
    file f;
    uint64_t n;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < LINES; i++)
        at += sprintf(at, "%d%s", i, i % 3 ? "\r\n\r\n" : "\n\n");
    file_init(&f, "keys", text);
    assert_ok(um_keys_count(&f.source, &n, &test_refusal));
    assert_int_equal(n, LINES);
    file_fini(&f);
    free(text);
}

static void a_pipe_is_counted_as_it_comes(void **state)
{
    um_key_format lines = {0};
    test_drip d;
    uint64_t n;

    (void)state;
    test_drip_open(&d, "a\r\n\r\nb\n\nc", 10, 1);
    um_key_source s = test_drip_source(&d, &lines);
    assert_ok(um_keys_count(&s, &n, &test_refusal));
    assert_int_equal(n, 3);
    test_drip_close(&d);
}

static void counting_fails_where_reading_does(void **state)
{
    file f;
    uint64_t n;

    (void)state;
    file_init(&f, "missing", NULL);
    assert_refused(um_keys_count(&f.source, &n, &test_refusal), UMBEL_E_IO,
                   "expected a file of keys");
    f.paths[0] = f.dir;
    assert_refused(um_keys_count(&f.source, &n, &test_refusal), UMBEL_E_IO,
                   "Is a directory");
    file_fini(&f);
}

/* --- adding and removing ---------------------------------------------------
 */

static umbel_filter *open_kind(const char *kind)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.capacity = 1000;
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    return f;
}

static uint64_t count_of(const umbel_filter *f, const char *key)
{
    umbel_slice slice = {key, strlen(key)};
    uint64_t n;

    assert_ok(umbel_count_many(f, &slice, 1, &n, &test_refusal));
    return n;
}

static bool has_key(const umbel_filter *f, const char *key)
{
    umbel_slice slice = {key, strlen(key)};
    bool hit;

    assert_ok(umbel_query_many(f, &slice, 1, &hit, &test_refusal));
    return hit;
}

static void keys_are_added_to_a_filter(void **state)
{
    file f;

    (void)state;
    file_init(&f, "keys", "one\ntwo\none\n");
    for (f.source.threads = 0; f.source.threads <= 4; f.source.threads++) {
        umbel_filter *bloom = open_kind("bloom");
        uint64_t n = 0;
        assert_ok(um_keys_add(&f.source, bloom, &n, &test_refusal));
        assert_int_equal(n, 3);
        assert_int_equal(umbel_added(bloom), 2);
        assert_true(has_key(bloom, "one") && has_key(bloom, "two"));
        umbel_close(bloom);
    }
    file_fini(&f);
}

static void keys_are_added_as_often_as_their_amounts_say(void **state)
{
    umbel_filter *counting = open_kind("countmin"), *bloom = open_kind("bloom");
    file f;
    uint64_t n;

    (void)state;
    file_init(&f, "keys", "one\t3\ntwo\t4\n");
    f.source.format.amount_field = 2;
    assert_ok(um_keys_add(&f.source, counting, &n, &test_refusal));
    assert_int_equal(n, 2);
    assert_int_equal(count_of(counting, "one"), 3);
    f.source.format = (um_key_format){.times = 5, .field = 1};
    assert_ok(um_keys_add(&f.source, counting, &n, &test_refusal));
    assert_int_equal(count_of(counting, "one"), 8);
    assert_int_equal(count_of(counting, "two"), 9);
    f.source.format.times = 1; /* together with an amount */
    assert_refused(um_keys_add(&f.source, bloom, &n, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "");
    umbel_close(counting);
    umbel_close(bloom);
    file_fini(&f);
}

static void a_key_that_the_hash_refuses_is_an_error(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *integers;
    file f;
    uint64_t n = 9;

    (void)state;
    p.capacity = 100;
    p.addressing = "universal";
    assert_ok(umbel_create("bloom", &p, &integers, &test_refusal));
    file_init(&f, "keys", "1\nno\n2\n");
    for (f.source.threads = 1; f.source.threads <= 3; f.source.threads++) {
        assert_int_equal(um_keys_add(&f.source, integers, &n, &test_refusal),
                         UMBEL_E_KEY);
        assert_int_equal(n, 0);
    }
    assert_int_equal(umbel_added(integers), 0);
    umbel_close(integers);
    file_fini(&f);
}

static void keys_are_removed_once_each(void **state)
{
    umbel_filter *counting = open_kind("counting");
    file f;
    uint64_t n;

    (void)state;
    file_init(&f, "keys", "one\none\ntwo\n");
    assert_ok(um_keys_add(&f.source, counting, &n, &test_refusal));
    test_write_file(f.path, "one\n", 4);
    assert_ok(um_keys_remove(&f.source, counting, &n, &test_refusal));
    assert_int_equal(n, 1);
    assert_int_equal(count_of(counting, "one"), 1);
    test_write_file(f.path, "two\ntwo\n", 8);
    assert_refused(um_keys_remove(&f.source, counting, &n, &test_refusal),
                   UMBEL_E_RANGE,
                   "\"two\" is not in the filter, so it cannot be removed");
    assert_int_equal(n, 1);
    test_write_file(f.path, "12345678901234567890123456789012345678901", 41);
    assert_refused(um_keys_remove(&f.source, counting, &n, &test_refusal),
                   UMBEL_E_RANGE,
                   "\"1234567890123456789012345678901234567890\" is not in");
    umbel_close(counting);
    file_fini(&f);
}

static void a_kind_that_cannot_remove_says_so(void **state)
{
    umbel_filter *bloom = open_kind("bloom");
    file f;
    uint64_t n;

    (void)state;
    file_init(&f, "keys", "one\n");
    assert_refused(um_keys_remove(&f.source, bloom, &n, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "");
    assert_int_equal(n, 0);
    umbel_close(bloom);
    file_fini(&f);
}

/* --- lists -----------------------------------------------------------------
 */

static void a_list_keeps_what_is_asked_for(void **state)
{
    umbel_filter *bloom = open_kind("bloom");
    um_key_list_params all = {.filter = bloom, .keep_lines = true}, none = {0};
    um_key_list k;
    umbel_digest d;
    file f;

    (void)state;
    file_init(&f, "keys.tsv", "one\t3\ntwo\t0.5\r\n");
    f.source.format.weights = UM_WEIGHTS_TSV;
    assert_ok(um_key_list_read(&k, &f.source, &all, &test_refusal));
    assert_int_equal(k.n, 2);
    assert_near(k.weights[0], 3, 0);
    assert_near(k.weights[1], 0.5, 0);
    assert_null(k.amounts);
    umbel_slice line = um_key_list_line(&k, 1), key = {"two", 3};
    assert_int_equal(line.len, 7);
    assert_memory_equal(line.data, "two\t0.5", 7);
    assert_int_equal(um_key_list_line(&k, 0).len, 5);
    assert_ok(umbel_digest_many(bloom, &key, 1, &d, &test_refusal));
    umbel_key_list set = um_key_list_view(&k);
    assert_int_equal(set.n, 2);
    assert_memory_equal(&set.digests[1], &d, sizeof d);
    assert_ptr_equal(set.weights, k.weights);
    um_key_list_fini(&k);
    assert_null(k.digests);

    f.source.format = (um_key_format){0};
    assert_ok(um_key_list_read(&k, &f.source, &none, &test_refusal));
    assert_int_equal(k.n, 2);
    assert_true(!k.digests && !k.weights && !k.amounts && !k.line_end);
    um_key_list_fini(&k);
    umbel_close(bloom);
    file_fini(&f);
}

static void a_list_may_be_one_of_amounts_alone(void **state)
{
    um_key_list_params none = {0};
    um_key_list k;
    file f;

    (void)state;
    file_init(&f, "counts", "one\t3\ntwo\textra\t18446744073709551615\n");
    f.source.format.amount_field = UM_LAST_FIELD;
    assert_ok(um_key_list_read(&k, &f.source, &none, &test_refusal));
    assert_int_equal(k.n, 2);
    assert_int_equal(k.amounts[0], 3);
    assert_true(k.amounts[1] == UINT64_MAX);
    um_key_list_fini(&k);
    file_fini(&f);
}

static void a_list_without_files_is_empty(void **state)
{
    um_key_source s = {.threads = 1};
    um_key_list_params params = {.keep_lines = true};
    um_key_list k = {.n = 5};

    (void)state;
    assert_ok(um_key_list_read(&k, &s, &params, &test_refusal));
    assert_int_equal(k.n, 0);
    um_key_list_fini(&k);
}

static void a_list_of_many_keys_grows(void **state)
{
    enum { KEYS = 100000 };
    umbel_filter *bloom = open_kind("bloom");
    um_key_list_params params = {.filter = bloom, .keep_lines = true};
    char *text = malloc((size_t)KEYS * 7 + 1), *at = text;
    um_key_list k;
    file f;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < KEYS; i++)
        at += sprintf(at, "%06d\n", i);
    file_init(&f, "keys", text);
    for (f.source.threads = 1; f.source.threads <= 4; f.source.threads++) {
        assert_ok(um_key_list_read(&k, &f.source, &params, &test_refusal));
        assert_int_equal(k.n, KEYS);
        assert_int_equal(k.cap, KEYS); /* no memory is wasted */
        for (size_t i = 0; i < KEYS; i += 999) {
            umbel_slice line = um_key_list_line(&k, i);
            umbel_digest d;
            assert_memory_equal(line.data, text + 7 * i, 6);
            assert_ok(umbel_digest_many(bloom, &line, 1, &d, &test_refusal));
            assert_memory_equal(&k.digests[i], &d, sizeof d);
        }
        um_key_list_fini(&k);
    }
    umbel_close(bloom);
    file_fini(&f);
    free(text);
}

static void a_list_has_no_more_keys_than_its_limit(void **state)
{
    um_key_list_params params = {.max_keys = 3};
    um_key_list k = {.n = 5};
    umbel_error err;
    file f;

    (void)state;
    file_init(&f, "keys", "a\nb\nc\n");
    assert_ok(um_key_list_read(&k, &f.source, &params, &test_refusal));
    assert_int_equal(k.n, 3);
    um_key_list_fini(&k);
    params.max_keys = 2;
    assert_int_equal(um_key_list_read(&k, &f.source, &params, &err),
                     UMBEL_E_LIMIT);
    assert_string_equal(err.text, "more than 2 keys");
    assert_int_equal(err.detail, UMBEL_D_MEMORY_LIMIT);
    assert_int_equal(k.n, 0);
    file_fini(&f);
}

/* --- logs ------------------------------------------------------------------
 */

static const umbel_slice three[] = {{"one", 3}, {"two", 3}, {"three", 5}};

static void a_log_gets_the_keys_that_match(void **state)
{
    static const bool hit[] = {true, false, true}, none[3] = {false};
    um_key_log log;
    file f;

    (void)state;
    file_init(&f, "log", NULL);
    assert_ok(um_key_log_init(&log, f.path, '\n', &test_refusal));
    assert_ok(um_key_log_append(&log, three, hit, 3, &test_refusal));
    assert_ok(um_key_log_append(&log, three, none, 3, &test_refusal));
    assert_ok(um_key_log_append(&log, three, hit, 1, &test_refusal));
    assert_ok(um_key_log_fini(&log, &test_refusal));
    assert_file(&f, "one\nthree\none\n");
    file_fini(&f);
}

static void a_log_that_is_not_open_takes_nothing(void **state)
{
    static const bool hit[] = {true, true, true};
    um_key_log log = {0};

    (void)state;
    assert_ok(um_key_log_append(&log, three, hit, 3, &test_refusal));
    assert_ok(um_key_log_fini(&log, &test_refusal));
}

static void a_line_without_its_end_is_completed(void **state)
{
    static const struct {
        const char *before, *after;
    } cases[] = {{"", "one\n"}, {"x", "x\none\n"}, {"x\n", "x\none\n"}};
    bool hit = true;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        um_key_log log;
        file f;
        file_init(&f, "log", cases[i].before);
        assert_ok(um_key_log_init(&log, f.path, '\n', &test_refusal));
        assert_ok(um_key_log_append(&log, three, &hit, 1, &test_refusal));
        assert_ok(um_key_log_fini(&log, &test_refusal));
        assert_file(&f, cases[i].after);
        file_fini(&f);
    }
}

static void a_log_that_cannot_be_written_is_refused(void **state)
{
    bool hit = true;
    um_key_log log;
    file f;

    (void)state;
    file_init(&f, "log", NULL);
    assert_refused(um_key_log_init(&log, f.dir, '\n', &test_refusal),
                   UMBEL_E_IO, "Is a directory");
    assert_null(log.path);
    if (access("/dev/full", W_OK) == 0) {
        assert_ok(um_key_log_init(&log, "/dev/full", '\n', &test_refusal));
        assert_refused(um_key_log_append(&log, three, &hit, 1, &test_refusal),
                       UMBEL_E_IO, "/dev/full: No space left on device");
        assert_ok(um_key_log_fini(&log, &test_refusal));
    }
    assert_ok(um_key_log_init(&log, f.path, '\n', &test_refusal));
    assert_int_equal(close(log.fd), 0);
    assert_refused(um_key_log_fini(&log, &test_refusal), UMBEL_E_IO,
                   "Bad file descriptor");
    file_fini(&f);
}

/* Checks that lines of several processes are all complete. */
static void processes_may_append_together(void **state)
{
    enum { PROCESSES = 4, ROUNDS = 200 };
    size_t count[PROCESSES] = {0};
    file f;

    (void)state;
    file_init(&f, "log", NULL);
    for (int i = 0; i < PROCESSES; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid)
            continue;
        char text[8] = "......\0";
        umbel_slice key = {text, 7};
        bool hit = true;
        um_key_log log;
        memset(text, 'a' + i, 7);
        int bad = um_key_log_init(&log, f.path, '\n', NULL) != UMBEL_OK;
        for (int j = 0; !bad && j < ROUNDS; j++)
            bad = um_key_log_append(&log, &key, &hit, 1, NULL) != UMBEL_OK;
        _exit(bad);
    }
    for (int i = 0, code; i < PROCESSES; i++) {
        assert_true(wait(&code) > 0);
        assert_int_equal(code, 0);
    }
    size_t len;
    char *bytes = (char *)test_read_file(f.path, &len);
    assert_int_equal(len, PROCESSES * ROUNDS * 8);
    for (size_t i = 0; i < len; i += 8) {
        assert_int_equal(strspn(bytes + i, (char[]){bytes[i], 0}), 7);
        assert_int_equal(bytes[i + 7], '\n');
        count[bytes[i] - 'a']++;
    }
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(count[i], ROUNDS);
    free(bytes);
    file_fini(&f);
}

/* --- recognizing files -----------------------------------------------------
 */

static void files_are_recognized_by_their_beginning(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *not_keys, *not_filter; /* expected words, or NULL */
    } cases[] = {
        {"\x89UMB\r\n\x1A\n...", 11, "merge", NULL},
        {"\x89UMB\r", 5, NULL, NULL}, /* truncated: it may be a filter */
        {"\x89UMD\r\n\x1A\n...", 11, "difference", "umbel patch"},
        {"\x1F\x8B\x08...", 6, NULL, "gunzip"},
        {"\x28\xB5\x2F\xFD...", 7, NULL, "unzstd"},
        {"BZh11AY&SY...", 13, NULL, "bunzip2"},
        {"PAR1\x15...", 8, "duckdb", "Parquet"},
        {"PAR1...", 7, NULL, "umbel build"},
        {"\xFF\xFE...", 5, "iconv", "UTF-16"},
        {"\xFD\x37zXZ\0...", 9, "xzcat", "unxz"},
        {"\1\0\0\0\0\0\0\0...", 11, "dcso", "dcso"},
        {"umbel-manifest 1\n", 17, "umbel pull", "umbel pull"},
        {"umbel-secret-1 ", 15, "--key-file", "--key-file"},
        {"umbel-sign-1 ", 13, "--sign", "--sign"},
        {"umbel-trust-1 ", 14, "--trust", "--trust"},
        {"key\n", 4, NULL, "umbel build"},
        {"", 0, NULL, NULL}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        const char *want = cases[i].not_keys, *other = cases[i].not_filter;
        umbel_error err = {.status = UMBEL_E_RANGE, .text = "before"};
        file f;
        file_init(&f, "file", "");
        test_write_file(f.path, cases[i].bytes, cases[i].len);
        int fd = open(f.path, O_RDONLY);
        assert_true(fd >= 0);
        assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
        const char *why = um_why_not_keys(cases[i].bytes, cases[i].len);
        assert_true(want ? why && strstr(why, want) : !why);
        why = um_why_not_filter(fd);
        assert_true(other ? why && strstr(why, other) : !why);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
        close(fd);
        um_explain_not_filter(f.path, &err);
        assert_non_null(strstr(err.text, other ? other : "before"));
        assert_int_equal(err.status, other ? UMBEL_E_FORMAT : UMBEL_E_RANGE);
        file_fini(&f);
    }
}

static void nothing_is_known_of_pipes_and_missing_files(void **state)
{
    umbel_error err = {.text = "before"};
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "\x89UMB\r\n\x1A\n", 8), 8);
    assert_null(um_why_not_filter(fds[0]));
    close(fds[0]);
    close(fds[1]);
    um_explain_not_filter("/no/such/file", &err);
    assert_string_equal(err.text, "before");
}

TEST_GROUP(use)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_agrees_with_reading),
        cmocka_unit_test(lines_that_are_bad_are_not_counted),
        cmocka_unit_test(long_files_are_counted_in_parts),
        cmocka_unit_test(a_pipe_is_counted_as_it_comes),
        cmocka_unit_test(counting_fails_where_reading_does),
        cmocka_unit_test(keys_are_added_to_a_filter),
        cmocka_unit_test(keys_are_added_as_often_as_their_amounts_say),
        cmocka_unit_test(a_key_that_the_hash_refuses_is_an_error),
        cmocka_unit_test(keys_are_removed_once_each),
        cmocka_unit_test(a_kind_that_cannot_remove_says_so),
        cmocka_unit_test(a_list_keeps_what_is_asked_for),
        cmocka_unit_test(a_list_may_be_one_of_amounts_alone),
        cmocka_unit_test(a_list_without_files_is_empty),
        cmocka_unit_test(a_list_of_many_keys_grows),
        cmocka_unit_test(a_list_has_no_more_keys_than_its_limit),
        cmocka_unit_test(a_log_gets_the_keys_that_match),
        cmocka_unit_test(a_log_that_is_not_open_takes_nothing),
        cmocka_unit_test(a_line_without_its_end_is_completed),
        cmocka_unit_test(a_log_that_cannot_be_written_is_refused),
        cmocka_unit_test(processes_may_append_together),
        cmocka_unit_test(files_are_recognized_by_their_beginning),
        cmocka_unit_test(nothing_is_known_of_pipes_and_missing_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
