/*
 * faults.c - out of memory, out of descriptors, interrupted calls.
 *
 * The linker redirects these calls to this file (tests/CMakeLists.txt). One of
 * them fails at a time: the first, the second, ... until none is left.
 */
#include "support/key_input.h"

#include "keylist/key_list.h"
#include "keylist/key_log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *old, size_t len);
int __real_inflateInit2_(void *z, int bits, const char *version, int len);
int __real_pipe(int fds[2]);
ssize_t __real_read(int fd, void *to, size_t len);
ssize_t __real_write(int fd, const void *from, size_t len);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);

void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void *__wrap_realloc(void *old, size_t len);
int __wrap_inflateInit2_(void *z, int bits, const char *version, int len);
int __wrap_pipe(int fds[2]);
ssize_t __wrap_read(int fd, void *to, size_t len);
ssize_t __wrap_write(int fd, const void *from, size_t len);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);

/*
 * Number of the allocation that fails, counted from now; 0: none. One thread.
 */
static size_t fail_in;
static size_t fail_read_in; /* the same for reads */
static bool fail_pipe, interrupt;

static bool fails(void)
{
    return fail_in && --fail_in == 0;
}

void *__wrap_malloc(size_t len)
{
    return fails() ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t n, size_t len)
{
    return fails() ? NULL : __real_calloc(n, len);
}

void *__wrap_realloc(void *old, size_t len)
{
    return fails() ? NULL : __real_realloc(old, len);
}

int __wrap_inflateInit2_(void *z, int bits, const char *version, int len)
{
    return fails() ? -4 : __real_inflateInit2_(z, bits, version, len);
}

int __wrap_pipe(int fds[2])
{
    errno = EMFILE;
    return fail_pipe ? -1 : __real_pipe(fds);
}

/* Interrupts every other call. */
static bool interrupts(void)
{
    static bool now;

    now = interrupt && !now;
    errno = EINTR;
    return now;
}

ssize_t __wrap_read(int fd, void *to, size_t len)
{
    if (interrupts())
        return -1;
    errno = EIO;
    return fail_read_in && --fail_read_in == 0 ? -1 : __real_read(fd, to, len);
}

ssize_t __wrap_write(int fd, const void *from, size_t len)
{
    return interrupts() ? -1 : __real_write(fd, from, len);
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    return interrupts() ? -1 : __real_poll(fds, n, timeout);
}

static const uint8_t gzip_of_nothing[] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3,
                                          3,    0,    0, 0, 0, 0, 0, 0, 0, 0};

/* --- faults ----------------------------------------------------------------
 */

typedef struct file {
    char *dir, *path;
    const char *paths[1];
    um_key_source source;
    umbel_filter *filter;
} file;

static void file_init(file *f, const void *bytes, size_t len)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    *f = (file){.dir = test_dir_make()};
    f->path = test_path(f->dir, "keys");
    f->paths[0] = f->path;
    f->source = (um_key_source){.paths = f->paths, .npaths = 1, .threads = 1};
    test_write_file(f->path, bytes, len);
    p.capacity = 100;
    f->filter = test_open(&p);
}

static void file_fini(file *f)
{
    umbel_close(f->filter);
    free(f->path);
    test_dir_remove(f->dir);
}

static umbel_status read_list(file *f, umbel_error *err)
{
    um_key_list_params params = {.filter = f->filter, .keep_lines = true};
    um_key_list k = {.n = 7};

    umbel_status status = um_key_list_read(&k, &f->source, &params, err);
    assert_int_equal(k.n, status == UMBEL_OK ? 2 : 0);
    um_key_list_fini(&k);
    return status;
}

static umbel_status count_keys(file *f, umbel_error *err)
{
    uint64_t n;

    return um_keys_count(&f->source, &n, err);
}

static umbel_status log_keys(file *f, umbel_error *err)
{
    umbel_slice key = {"key", 3};
    bool hit = true;
    um_key_log log;

    assert_ok(um_key_log_init(&log, f->path, '\n', &test_refusal));
    umbel_status status = um_key_log_append(&log, &key, &hit, 1, err);
    assert_ok(um_key_log_fini(&log, &test_refusal));
    return status;
}

/* Fails each allocation in turn. Returns their number. */
static size_t fail_each(file *f, umbel_status (*call)(file *, umbel_error *))
{
    umbel_status status = UMBEL_E_NOMEM;
    size_t n = 0;

    while (status != UMBEL_OK) {
        umbel_error err = {.text = ""};
        fail_in = ++n;
        status = call(f, &err);
        if (fail_in > 0) /* none was left to fail */
            assert_int_equal(status, UMBEL_OK);
        fail_in = 0;
        if (status != UMBEL_OK) {
            assert_int_equal(status, UMBEL_E_NOMEM);
            assert_memory_equal(err.text, "no memory", 9);
        }
    }
    return n;
}

static void missing_memory_is_a_status_wherever_it_is_missing(void **state)
{
    file f;

    (void)state;
    file_init(&f, "61\t1\t2\n62\t3\t4\n", 14);
    f.source.format = (um_key_format){
        .hex = true, .amount_field = 2, .weights = UM_WEIGHTS_ALL};
    assert_true(fail_each(&f, read_list) >= 12);
    assert_true(fail_each(&f, log_keys) >= 1);
    f.source.format = (um_key_format){0};
    assert_true(fail_each(&f, count_keys) >= 2);
    file_fini(&f);
}

static umbel_status add_keys(file *f, umbel_error *err)
{
    uint64_t n;

    return um_keys_add(&f->source, f->filter, &n, err);
}

/* Reads a line longer than the first buffer. */
static void missing_memory_for_a_long_line_is_a_status(void **state)
{
    size_t len = 5 * (size_t)65536;
    char *text = calloc(len, 1);
    file f;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', len);
    file_init(&f, text, len);
    assert_true(fail_each(&f, add_keys) >= 10);
    file_fini(&f);
    free(text);
}

static void missing_memory_to_decompress_is_a_status(void **state)
{
    file f;

    (void)state;
    file_init(&f, gzip_of_nothing, sizeof gzip_of_nothing);
    assert_ok(count_keys(&f, &test_refusal));
    assert_true(fail_each(&f, count_keys) >= 3);
    file_fini(&f);
}

static void threads_need_a_pipe_between_them(void **state)
{
    test_input in;
    file f;

    (void)state;
    file_init(&f, "a\n", 2);
    f.source.threads = 2;
    fail_pipe = true;
    test_input_read(&f.source, &in);
    fail_pipe = false;
    assert_int_equal(in.status, UMBEL_E_IO);
    assert_int_equal(in.n, 0);
    test_input_fini(&in);
    file_fini(&f);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    umbel_error err;
    file f;

    (void)state;
    file_init(&f, gzip_of_nothing, sizeof gzip_of_nothing);
    for (size_t i = 1; i <= 2; i++) {
        fail_read_in = i;
        assert_int_equal(count_keys(&f, &err), UMBEL_E_IO);
        assert_int_equal(fail_read_in, 0);
        assert_non_null(strstr(err.text, "keys: Input/output error"));
    }
    file_fini(&f);
}

static umbel_status stop_now(void *ctx, const um_key_batch *batch,
                             umbel_error *err)
{
    (void)batch;
    (void)err;
    *(bool *)ctx = true;
    return UMBEL_OK;
}

static void interrupted_calls_are_repeated(void **state)
{
    bool stop = false;
    test_input in;
    file f;

    (void)state;
    file_init(&f, "a\nb", 3);
    interrupt = true;
    for (f.source.threads = 1; f.source.threads <= 2; f.source.threads++) {
        test_input_read(&f.source, &in);
        assert_int_equal(in.status, UMBEL_OK);
        assert_int_equal(in.n, 2);
        test_input_fini(&in);
    }
    f.source.stop = &stop;
    assert_ok(um_keys_each_batch(&f.source, stop_now, &stop, &test_refusal));
    interrupt = false;
    file_fini(&f);
}

TEST_GROUP(faults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_memory_is_a_status_wherever_it_is_missing),
        cmocka_unit_test(missing_memory_for_a_long_line_is_a_status),
        cmocka_unit_test(missing_memory_to_decompress_is_a_status),
        cmocka_unit_test(threads_need_a_pipe_between_them),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(interrupted_calls_are_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
