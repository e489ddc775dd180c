/* read.c - load, map and save, and the files they leave. */
#include "support/test.h"

#include "base/bits.h"
#include "filter/handle.h"

#include <umbel/file.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *dir;

static int create_dir(void **state)
{
    (void)state;
    dir = test_dir_make();
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    test_dir_remove(dir);
    dir = NULL;
    return 0;
}

static umbel_filter *sample(size_t keys)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.cells = 512 * 16;
    p.hashes = 5;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, keys);
    return f;
}

static umbel_filter *load(const char *path)
{
    umbel_filter *f = NULL;

    assert_ok(umbel_load(path, NULL, &f, &test_refusal));
    return f;
}

static void assert_file_holds(const char *path, const umbel_filter *f)
{
    size_t want_len, len;
    uint8_t *want = test_encode(f, &want_len);
    uint8_t *got = test_read_file(path, &len);

    assert_int_equal(len, want_len);
    assert_memory_equal(got, want, len);
    free(want);
    free(got);
}

static void what_is_saved_is_what_is_loaded_and_mapped(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_filter *f = sample(300), *mapped = NULL;

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    umbel_filter *loaded = load(path);
    assert_ok(umbel_map(path, NULL, &mapped, &test_refusal));
    assert_file_holds(path, f);
    test_assert_same_file(f, loaded);
    test_assert_same_file(f, mapped);
    assert_int_equal(test_hits(mapped, 0, 300), 300);
    assert_int_equal(test_dir_count(dir), 1);
    umbel_close(f);
    umbel_close(loaded);
    umbel_close(mapped);
    free(path);
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void saving_keeps_the_mode_of_the_file(void **state)
{
    static const mode_t modes[] = {0600, 0640, 0664, 0400, 0777};
    char *path = test_path(dir, "a.umb");
    umbel_filter *f = sample(10);

    (void)state;
    test_write_file(path, "old", 3);
    for (size_t i = 0; i < TEST_COUNT(modes); i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_ok(umbel_save(f, path, &test_refusal));
        assert_int_equal(mode_of(path), modes[i]);
    }
    umbel_close(f);
    free(path);
}

static void a_new_file_gets_the_mode_of_the_umask(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_filter *f = sample(10);
    mode_t before = umask(027);

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    umask(before);
    assert_int_equal(mode_of(path), 0640);
    umbel_close(f);
    free(path);
}

/* A process that has the file open can still read all of the old one. */
static void saving_replaces_the_file_whole(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_filter *old = sample(10), *new = sample(500), *mapped = NULL;

    (void)state;
    assert_ok(umbel_save(old, path, &test_refusal));
    assert_ok(umbel_map(path, NULL, &mapped, &test_refusal));
    assert_ok(umbel_save(new, path, &test_refusal));
    test_assert_same_file(mapped, old);
    assert_file_holds(path, new);
    assert_int_equal(test_dir_count(dir), 1);
    umbel_close(old);
    umbel_close(new);
    umbel_close(mapped);
    free(path);
}

static bool is_link(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return S_ISLNK(st.st_mode);
}

static void saving_follows_a_link_to_its_target(void **state)
{
    char *target = test_path(dir, "target"), *link = test_path(dir, "link");
    umbel_filter *f = sample(10);

    (void)state;
    test_write_file(target, "old", 3);
    assert_int_equal(symlink("target", link), 0);
    assert_ok(umbel_save(f, link, &test_refusal));
    assert_true(is_link(link));
    assert_false(is_link(target));
    assert_file_holds(target, f);
    assert_int_equal(test_dir_count(dir), 2);
    umbel_close(f);
    free(target);
    free(link);
}

static void saving_follows_a_link_whose_target_is_not_there_yet(void **state)
{
    char *target = test_path(dir, "target"), *link = test_path(dir, "link");
    umbel_filter *f = sample(10);

    (void)state;
    assert_int_equal(symlink("target", link), 0);
    assert_ok(umbel_save(f, link, &test_refusal));
    bool still_link = is_link(link);
    umbel_close(f);
    assert_true(still_link);
    assert_int_equal(access(target, F_OK), 0);
    free(target);
    free(link);
}

static void a_bare_name_is_saved_in_the_working_directory(void **state)
{
    char *path = test_path(dir, "a.umb"), before[4096];
    umbel_filter *f = sample(10);

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(dir), 0);
    umbel_status status = umbel_save(f, "a.umb", &test_refusal);
    umbel_status nameless = umbel_save(f, "", NULL);
    assert_int_equal(chdir(before), 0);
    assert_ok(status);
    assert_int_equal(nameless, UMBEL_E_IO);
    assert_file_holds(path, f);
    assert_int_equal(test_dir_count(dir), 1);
    umbel_close(f);
    free(path);
}

/*
 * A name may have 255 bytes, which leaves no room for a longer temporary name.
 */
static void the_longest_name_can_be_saved(void **state)
{
    char name[256], *path;
    umbel_filter *f = sample(10);

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    path = test_path(dir, name);
    umbel_status status = umbel_save(f, path, &test_refusal);
    umbel_close(f);
    free(path);
    assert_ok(status);
    assert_int_equal(test_dir_count(dir), 1);
}

static void saving_where_no_directory_is_fails_and_leaves_nothing(void **state)
{
    char *path = test_path(dir, "missing/a.umb");
    umbel_filter *f = sample(10);

    (void)state;
    assert_refused(umbel_save(f, path, &test_refusal), UMBEL_E_IO,
                   "missing/a.umb");
    assert_int_equal(test_dir_count(dir), 0);
    umbel_close(f);
    free(path);
}

static void saving_over_a_directory_fails_and_leaves_nothing(void **state)
{
    char *path = test_path(dir, "sub");
    umbel_filter *f = sample(10);

    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(umbel_save(f, path, &test_refusal), UMBEL_E_IO, "directory");
    assert_int_equal(test_dir_count(dir), 1);
    assert_int_equal(test_dir_count(path), 0);
    umbel_close(f);
    free(path);
}

/* Saves with a limit on the file size, as on a full disk. */
static umbel_status save_within(rlim_t bytes, const umbel_filter *f,
                                const char *path)
{
    struct rlimit before, low;
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = before;
    low.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    umbel_status status = umbel_save(f, path, &test_refusal);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, old);
    return status;
}

static void a_save_that_runs_out_of_room_keeps_the_old_file(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_filter *f = sample(10);
    size_t len;

    (void)state;
    test_write_file(path, "old", 3);
    for (rlim_t room = 0; room < 1000; room += 300)
        assert_refused(save_within(room, f, path), UMBEL_E_IO,
                       "File too large");
    uint8_t *bytes = test_read_file(path, &len);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "old", 3);
    assert_int_equal(test_dir_count(dir), 1);
    free(bytes);
    umbel_close(f);
    free(path);
}

static void a_full_device_is_an_error(void **state)
{
    umbel_filter *f = sample(10);

    (void)state;
    if (access("/dev/full", W_OK) == 0)
        assert_refused(umbel_save(f, "/dev/full", &test_refusal), UMBEL_E_IO,
                       "/dev/full");
    umbel_close(f);
}

static void a_fifo_is_written_straight(void **state)
{
    char *path = test_path(dir, "fifo");
    umbel_filter *f = sample(10);
    size_t len;
    uint8_t *want = test_encode(f, &len), *got = malloc(len);

    (void)state;
    assert_non_null(got);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR); /* both ends, so that open does not block */
    assert_true(fd >= 0);
    assert_ok(umbel_save(f, path, &test_refusal));
    assert_int_equal(read(fd, got, len), len);
    assert_memory_equal(got, want, len);
    close(fd);
    free(want);
    free(got);
    umbel_close(f);
    free(path);
}

static void bytes_are_written_to_a_descriptor_from_where_it_stands(void **state)
{
    char *path = test_path(dir, "a.bin");
    umbel_filter *f = sample(10);
    size_t len, got_len;

    (void)state;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "before", 6), 6);
    assert_ok(umbel_write(f, fd, &test_refusal));
    close(fd);
    assert_refused(umbel_write(f, -1, &test_refusal), UMBEL_E_IO,
                   "not written");
    uint8_t *want = test_encode(f, &len);
    uint8_t *got = test_read_file(path, &got_len);
    assert_int_equal(got_len, 6 + len);
    assert_memory_equal(got + 6, want, len);
    free(want);
    free(got);
    umbel_close(f);
    free(path);
}

/* Loads from a pipe that contains these bytes and then ends. */
static umbel_status load_from_pipe(const void *bytes, size_t len,
                                   const umbel_source *source,
                                   umbel_filter **out)
{
    int ends[2];
    char path[32];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, len), len); /* fits its buffer */
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    umbel_status status = umbel_load(path, source, out, &test_refusal);
    close(ends[0]);
    return status;
}

/* errno is meaningless after a successful read. */
static void an_old_interruption_is_not_taken_for_a_new_one(void **state)
{
    umbel_filter *f = sample(200), *back = NULL;
    char *path = test_path(dir, "a.umb");
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    errno = EINTR;
    assert_ok(umbel_load(path, NULL, &back, &test_refusal));
    test_assert_same_file(f, back);
    umbel_close(back);
    back = NULL;
    errno = EINTR;
    assert_ok(load_from_pipe(bytes, len, NULL, &back));
    test_assert_same_file(f, back);
    umbel_close(back);
    umbel_close(f);
    free(bytes);
    free(path);
}

static void a_pipe_is_loaded_to_its_end(void **state)
{
    umbel_filter *f = sample(200), *back = NULL;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    assert_ok(load_from_pipe(bytes, len, NULL, &back));
    test_assert_same_file(f, back);
    umbel_close(back);
    back = NULL;
    for (size_t cut = 0; cut < len; cut += 37)
        assert_int_equal(load_from_pipe(bytes, cut, NULL, &back),
                         UMBEL_E_FORMAT);
    uint8_t *longer = realloc(bytes, len + 1);
    assert_non_null(longer);
    longer[len] = 0;
    assert_refused(load_from_pipe(longer, len + 1, NULL, &back), UMBEL_E_FORMAT,
                   "appended");
    assert_null(back);
    free(longer);
    umbel_close(f);
}

/* Returns a file whose head claims 2^40 cells, with correct checksums. */
static uint8_t *claim_a_terabit(const umbel_filter *f, size_t *len)
{
    um_shape s = *um_shape_of(f);

    s.cells = UINT64_C(1) << 40;
    return test_forge(f, &s, len);
}

static void a_pipe_cannot_claim_more_than_the_limit(void **state)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f = sample(10), *back = NULL;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    source.memory_limit = 1000;
    assert_refused(load_from_pipe(bytes, len, &source, &back), UMBEL_E_LIMIT,
                   "limit is 1000");
    free(bytes);
    bytes = claim_a_terabit(f, &len);
    assert_refused(load_from_pipe(bytes, len, NULL, &back), UMBEL_E_LIMIT,
                   "limit is 268435456");
    assert_null(back);
    free(bytes);
    umbel_close(f);
}

static void a_file_cannot_claim_more_than_it_has(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_filter *f = sample(10), *back = NULL;
    size_t len;
    uint8_t *bytes = claim_a_terabit(f, &len);

    (void)state;
    test_write_file(path, bytes, len);
    assert_refused(umbel_load(path, NULL, &back, &test_refusal), UMBEL_E_FORMAT,
                   "cut short");
    assert_refused(umbel_map(path, NULL, &back, &test_refusal), UMBEL_E_FORMAT,
                   "cut short");
    assert_null(back);
    free(bytes);
    umbel_close(f);
    free(path);
}

/* Reads two filters and other bytes from one file, one after the other. */
static void a_descriptor_is_read_from_where_it_stands_to_its_end(void **state)
{
    char *path = test_path(dir, "a.bin");
    umbel_filter *f = sample(10), *back = NULL;

    (void)state;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "before", 6), 6);
    assert_ok(umbel_write(f, fd, &test_refusal));
    assert_int_equal(lseek(fd, 6, SEEK_SET), 6);
    assert_ok(umbel_read(fd, UMBEL_TO_END, NULL, &back, &test_refusal));
    test_assert_same_file(f, back);
    umbel_close(back);
    back = NULL;
    assert_refused(umbel_read(fd, UMBEL_TO_END, NULL, &back, &test_refusal),
                   UMBEL_E_FORMAT, "empty");
    assert_ok(umbel_write(f, fd, &test_refusal));
    assert_int_equal(lseek(fd, 6, SEEK_SET), 6);
    assert_refused(umbel_read(fd, UMBEL_TO_END, NULL, &back, &test_refusal),
                   UMBEL_E_FORMAT, "appended");
    close(fd);
    assert_refused(umbel_read(-1, UMBEL_TO_END, NULL, &back, &test_refusal),
                   UMBEL_E_IO, "cannot read");
    assert_null(back);
    umbel_close(f);
    free(path);
}

/* Arguments of send_in_pieces. */
typedef struct sender {
    int fd;
    const uint8_t *bytes;
    size_t len;
} sender;

/*
 * Sends part of a head and part of the cells, each after the previous piece was
 * read, then the rest.
 */
static void *send_in_pieces(void *arg)
{
    static const size_t ends[] = {10, 300};
    const sender *s = arg;
    size_t sent = 0;

    for (size_t i = 0; i < TEST_COUNT(ends); i++) {
        int waiting = 1;
        if (write(s->fd, s->bytes + sent, ends[i] - sent) < 0)
            return NULL;
        while (waiting > 0 && ioctl(s->fd, FIONREAD, &waiting) == 0)
            sched_yield();
        sent = ends[i];
    }
    if (write(s->fd, s->bytes + sent, s->len - sent) < 0)
        return NULL;
    close(s->fd);
    return arg;
}

static void two_filters_come_in_pieces_through_one_pipe(void **state)
{
    umbel_filter *f = sample(200), *back = NULL;
    size_t len;
    uint8_t *bytes = test_encode(f, &len), *both = malloc(2 * len);
    pthread_t thread;
    void *sent;
    int ends[2];

    (void)state;
    assert_non_null(both);
    memcpy(both, bytes, len);
    memcpy(both + len, bytes, len);
    assert_int_equal(pipe(ends), 0);
    sender s = {ends[1], both, 2 * len};
    assert_int_equal(pthread_create(&thread, NULL, send_in_pieces, &s), 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(umbel_read(ends[0], len, NULL, &back, &test_refusal));
        test_assert_same_file(f, back);
        umbel_close(back);
    }
    assert_int_equal(pthread_join(thread, &sent), 0);
    assert_ptr_equal(sent, &s);
    close(ends[0]);
    free(both);
    free(bytes);
    umbel_close(f);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    umbel_source unset = {0};
    umbel_filter *none = NULL, *f = sample(10);
    char *path = test_path(dir, "a.umb");

    (void)state;
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    assert_refused(umbel_read(fd, UMBEL_TO_END, NULL, &none, &test_refusal),
                   UMBEL_E_IO, "cannot read");
    close(fd);
    assert_ok(umbel_save(f, path, &test_refusal));
    fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(lseek(fd, 1 << 20, SEEK_SET) > 0); /* after its end */
    assert_refused(umbel_read(fd, UMBEL_TO_END, NULL, &none, &test_refusal),
                   UMBEL_E_FORMAT, "empty");
    assert_refused(umbel_read(fd, UMBEL_TO_END, &unset, &none, &test_refusal),
                   UMBEL_E_RANGE, "source.size");
    close(fd);
    assert_refused(umbel_load(path, &unset, &none, &test_refusal),
                   UMBEL_E_RANGE, "source.size");
    assert_refused(umbel_map(path, &unset, &none, &test_refusal), UMBEL_E_RANGE,
                   "source.size");
    assert_null(none);
    umbel_close(f);
    free(path);
}

static void long_paths_leave_room_for_the_reason(void **state)
{
    char name[600];
    umbel_filter *f = sample(10), *back = NULL;

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    char *path = test_path(dir, name);
    assert_refused(umbel_load(path, NULL, &back, &test_refusal), UMBEL_E_IO,
                   ": File name too long");
    assert_refused(umbel_save(f, path, &test_refusal), UMBEL_E_IO,
                   ": File name too long");
    assert_int_equal(test_dir_count(dir), 0);
    umbel_close(f);
    free(path);
}

static void links_in_a_circle_are_refused(void **state)
{
    char *a = test_path(dir, "a"), *b = test_path(dir, "b");
    umbel_filter *f = sample(10);

    (void)state;
    assert_int_equal(symlink("b", a), 0);
    assert_int_equal(symlink("a", b), 0);
    assert_refused(umbel_save(f, a, &test_refusal), UMBEL_E_IO, "/a: ");
    assert_int_equal(test_dir_count(dir), 2);
    umbel_close(f);
    free(a);
    free(b);
}

/* Relative links start at the link's directory, absolute ones at the root. */
static void chains_of_links_are_followed(void **state)
{
    char *sub = test_path(dir, "sub"), *first = test_path(dir, "first");
    char *second = test_path(sub, "second"), *last = test_path(dir, "last");
    umbel_filter *f = sample(10);

    (void)state;
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(symlink("sub/second", first), 0);
    assert_int_equal(symlink("../last", second), 0);
    assert_ok(umbel_save(f, first, &test_refusal));
    assert_true(is_link(first) && is_link(second));
    assert_file_holds(last, f);
    assert_int_equal(unlink(second), 0);
    assert_int_equal(symlink(last, second), 0);
    test_add(f, 10, 10);
    assert_ok(umbel_save(f, first, &test_refusal));
    assert_file_holds(last, f);
    assert_int_equal(unlink(second), 0);
    umbel_close(f);
    free(sub);
    free(first);
    free(second);
    free(last);
}

static void a_pipe_cannot_be_mapped(void **state)
{
    char *path = test_path(dir, "fifo");
    umbel_filter *f = NULL;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_refused(umbel_map(path, NULL, &f, &test_refusal), UMBEL_E_IO,
                   "load it");
    close(fd);
    free(path);
}

static void a_mapped_filter_is_read_only(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_filter *f = sample(10), *mapped = NULL;

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    assert_ok(umbel_map(path, NULL, &mapped, &test_refusal));
    assert_refused(umbel_add(mapped, "x", 1, NULL, &test_refusal),
                   UMBEL_E_READONLY, "read-only");
    assert_refused(umbel_clear(mapped, &test_refusal), UMBEL_E_READONLY,
                   "read-only");
    assert_refused(umbel_merge(mapped, f, UMBEL_OR, &test_refusal),
                   UMBEL_E_READONLY, "read-only");
    assert_ok(umbel_merge(f, mapped, UMBEL_OR, &test_refusal));
    umbel_close(f);
    umbel_close(mapped);
    free(path);
}

static void a_copy_of_a_mapped_filter_is_writable(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_filter *f = sample(10), *mapped = NULL, *copy = NULL;

    (void)state;
    assert_ok(umbel_save(f, path, &test_refusal));
    assert_ok(umbel_map(path, NULL, &mapped, &test_refusal));
    assert_ok(umbel_copy(mapped, &copy, &test_refusal));
    umbel_close(mapped);
    test_add(copy, 10, 50);
    assert_int_equal(test_hits(copy, 0, 60), 60);
    assert_file_holds(path, f);
    umbel_close(f);
    umbel_close(copy);
    free(path);
}

static void load_and_map_hold_the_payload_against_its_checksum(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_source verify = UMBEL_SOURCE_INIT;
    umbel_filter *f = sample(10), *back = NULL;
    size_t len;
    uint8_t *bytes = test_encode(f, &len);

    (void)state;
    verify.verify = true;
    bytes[len - 1] ^= 1;
    test_write_file(path, bytes, len);
    assert_refused(umbel_load(path, &verify, &back, &test_refusal),
                   UMBEL_E_CHECKSUM, "a.umb: damaged");
    assert_refused(umbel_map(path, &verify, &back, &test_refusal),
                   UMBEL_E_CHECKSUM, "a.umb: damaged");
    umbel_close(load(path));
    free(bytes);
    umbel_close(f);
    free(path);
}

static void a_keyed_file_is_mapped_with_its_secret(void **state)
{
    char *path = test_path(dir, "a.umb");
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *mapped = NULL;

    (void)state;
    p.capacity = 100;
    p.hash = "sip";
    p.secret = test_secret;
    umbel_filter *f = test_open(&p);
    test_add(f, 0, 100);
    assert_ok(umbel_save(f, path, &test_refusal));
    source.secret = test_other_secret;
    assert_refused(umbel_map(path, &source, &mapped, &test_refusal),
                   UMBEL_E_SECRET, "wrong secret");
    source.secret = test_secret;
    assert_ok(umbel_map(path, &source, &mapped, &test_refusal));
    assert_int_equal(test_hits(mapped, 0, 100), 100);
    umbel_close(mapped);
    umbel_close(f);
    free(path);
}

typedef umbel_status opener(const char *path, const umbel_source *source,
                            umbel_filter **out, umbel_error *err);

static void what_is_no_filter_is_refused_by_name(void **state)
{
    static opener *const openers[] = {umbel_load, umbel_map};
    char *empty = test_path(dir, "empty"), *sub = test_path(dir, "sub");
    char *missing = test_path(dir, "missing"), *text = test_path(dir, "text");

    (void)state;
    test_write_file(empty, "", 0);
    test_write_file(text, "words\n", 6);
    assert_int_equal(mkdir(sub, 0700), 0);
    for (size_t i = 0; i < TEST_COUNT(openers); i++) {
        umbel_filter *f = NULL;
        assert_refused(openers[i](empty, NULL, &f, &test_refusal),
                       UMBEL_E_FORMAT, "empty");
        assert_refused(openers[i](text, NULL, &f, &test_refusal),
                       UMBEL_E_FORMAT, "not an umbel file");
        assert_refused(openers[i](sub, NULL, &f, &test_refusal), UMBEL_E_IO,
                       "sub: Is a directory");
        assert_refused(openers[i](missing, NULL, &f, &test_refusal), UMBEL_E_IO,
                       "missing: No such file");
        assert_null(f);
    }
    free(empty);
    free(sub);
    free(missing);
    free(text);
}

#define IN_DIR(test)                                                           \
    cmocka_unit_test_setup_teardown(test, create_dir, remove_dir)

TEST_GROUP(read)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(what_is_saved_is_what_is_loaded_and_mapped),
        IN_DIR(saving_keeps_the_mode_of_the_file),
        IN_DIR(a_new_file_gets_the_mode_of_the_umask),
        IN_DIR(saving_replaces_the_file_whole),
        IN_DIR(saving_follows_a_link_to_its_target),
        IN_DIR(saving_follows_a_link_whose_target_is_not_there_yet),
        IN_DIR(a_bare_name_is_saved_in_the_working_directory),
        IN_DIR(the_longest_name_can_be_saved),
        IN_DIR(saving_where_no_directory_is_fails_and_leaves_nothing),
        IN_DIR(saving_over_a_directory_fails_and_leaves_nothing),
        IN_DIR(a_save_that_runs_out_of_room_keeps_the_old_file),
        IN_DIR(a_full_device_is_an_error),
        IN_DIR(a_fifo_is_written_straight),
        IN_DIR(bytes_are_written_to_a_descriptor_from_where_it_stands),
        IN_DIR(an_old_interruption_is_not_taken_for_a_new_one),
        IN_DIR(a_pipe_is_loaded_to_its_end),
        IN_DIR(a_pipe_cannot_claim_more_than_the_limit),
        IN_DIR(a_file_cannot_claim_more_than_it_has),
        IN_DIR(a_descriptor_is_read_from_where_it_stands_to_its_end),
        IN_DIR(long_paths_leave_room_for_the_reason),
        IN_DIR(links_in_a_circle_are_refused),
        IN_DIR(chains_of_links_are_followed),
        IN_DIR(a_pipe_cannot_be_mapped),
        IN_DIR(a_mapped_filter_is_read_only),
        IN_DIR(a_copy_of_a_mapped_filter_is_writable),
        IN_DIR(load_and_map_hold_the_payload_against_its_checksum),
        IN_DIR(a_keyed_file_is_mapped_with_its_secret),
        IN_DIR(what_is_no_filter_is_refused_by_name),
        IN_DIR(two_filters_come_in_pieces_through_one_pipe),
        IN_DIR(what_cannot_be_read_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
