/*
 * save.c - the steps of a save, and the files left when it is interrupted.
 *
 * The linker redirects the system calls that give a file its name to the
 * functions __wrap_* below (tests/CMakeLists.txt): they record each call, and
 * can end the process there, or let another one run first.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "support/test.h"

#include "filter/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;
static char *path;      /* of the saved file */
static char steps[256]; /* a word for each call */
static bool no_unnamed; /* as on file systems without O_TMPFILE */
static bool locks_lie;  /* locks have no effect, as between kernels */
static bool bad_link;   /* path is another user's link in /tmp */
static int no_sync;     /* errno of syncing a directory */
static bool bad_close;  /* as if writing failed at close */
static int refused;     /* calls of fchown that fail, as for users */
static uid_t owner;     /* set by the last call of fchown */
static void (*before_rename)(void);
static char temp[512]; /* source of the last rename */

int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_linkat(int a, const char *from, int b, const char *to, int flags);
int __real_open(const char *name, int flags, ...);
int __real_flock(int fd, int how);
int __real_stat(const char *name, struct stat *out);
int __real_fchown(int fd, uid_t user, gid_t group);
int __real_close(int fd);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_open(const char *name, int flags, ...);
int __wrap_flock(int fd, int how);
int __wrap_stat(const char *name, struct stat *out);
int __wrap_fchown(int fd, uid_t user, gid_t group);
int __wrap_close(int fd);

static void note(const char *word)
{
    size_t len = strlen(steps);
    snprintf(steps + len, sizeof steps - len, "%s%s", len ? " " : "", word);
}

int __wrap_fsync(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    note(S_ISDIR(st.st_mode) ? "sync-directory" : "sync-file");
    if (S_ISDIR(st.st_mode) && no_sync) {
        errno = no_sync;
        return -1;
    }
    return __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
    note("rename");
    snprintf(temp, sizeof temp, "%s", from);
    if (before_rename)
        before_rename();
    return __real_rename(from, to);
}

int __wrap_linkat(int a, const char *from, int b, const char *to, int flags)
{
    note("link");
    return __real_linkat(a, from, b, to, flags);
}

int __wrap_open(const char *name, int flags, ...)
{
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if (unnamed || flags & O_CREAT)
        mode = va_arg(args, mode_t);
    va_end(args);
    if (no_unnamed && unnamed) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_open(name, flags, mode);
}

int __wrap_flock(int fd, int how)
{
    return locks_lie ? 0 : __real_flock(fd, how);
}

/* Simulates fs.protected_symlinks, which would need root and two users. */
int __wrap_stat(const char *name, struct stat *out)
{
    if (!bad_link || strcmp(name, path) != 0)
        return __real_stat(name, out);
    errno = EACCES;
    return -1;
}

int __wrap_fchown(int fd, uid_t user, gid_t group)
{
    owner = user;
    if (refused == 0)
        return __real_fchown(fd, user, group);
    refused--;
    errno = EPERM;
    return -1;
}

int __wrap_close(int fd)
{
    int result = __real_close(fd);

    if (!bad_close)
        return result;
    errno = EIO;
    return -1;
}

static int begin(void **state)
{
    (void)state;
    dir = test_dir_make();
    path = test_path(dir, "a");
    steps[0] = '\0';
    no_unnamed = locks_lie = bad_link = bad_close = false;
    no_sync = refused = 0;
    before_rename = NULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(path);
    test_dir_remove(dir);
    return 0;
}

static umbel_status save(const char *text)
{
    umbel_slice part = {text, strlen(text)};
    return um_save_parts(&part, 1, path, &test_refusal);
}

static void assert_holds(const char *text)
{
    size_t len;
    uint8_t *bytes = test_read_file(path, &len);

    assert_int_equal(len, strlen(text));
    assert_memory_equal(bytes, text, len);
    free(bytes);
}

static void die(void)
{
    _exit(0); /* without cleanup, as with SIGKILL */
}

/* Ends a process between the temporary name and the final one. */
static void save_and_die(void)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        before_rename = die;
        save("of the dead");
        _exit(1); /* still alive: there was no rename */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_file_is_synced_then_named_then_its_directory_is_synced(void **s)
{
    (void)s;
    assert_ok(save("new"));
    assert_string_equal(steps, "sync-file link sync-directory");
    steps[0] = '\0';
    assert_ok(save("newer"));
    assert_string_equal(steps, "sync-file link rename sync-directory");
    steps[0] = '\0';
    no_unnamed = true;
    assert_ok(save("newest"));
    assert_string_equal(steps, "sync-file rename sync-directory");
    assert_holds("newest");
    assert_int_equal(test_dir_count(dir), 1);
}

static void a_file_that_lies_ready_is_synced_in_the_same_order(void **state)
{
    char *ready = test_path(dir, "ready");

    (void)state;
    test_write_file(ready, "ready", 5);
    assert_ok(um_save_ready(ready, path, &test_refusal));
    assert_string_equal(steps, "sync-file rename sync-directory");
    assert_holds("ready");
    assert_int_equal(test_dir_count(dir), 1);
    free(ready);
}

static void what_a_killed_save_left_goes_with_the_next(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        no_unnamed = way == 1;
        assert_ok(save("old"));
        save_and_die();
        assert_holds("old");
        assert_int_equal(test_dir_count(dir), 2);
        save_and_die(); /* does not accumulate */
        assert_int_equal(test_dir_count(dir), 2);
        assert_ok(save("new"));
        assert_holds("new");
        assert_int_equal(test_dir_count(dir), 1);
    }
}

/* The file left may have the mode of an old file that is read-only. */
static void what_was_left_goes_whatever_its_mode(void **state)
{
    (void)state;
    assert_ok(save("old"));
    assert_int_equal(chmod(path, 0444), 0);
    save_and_die();
    assert_int_equal(test_dir_count(dir), 2);
    assert_ok(save("new"));
    assert_int_equal(test_dir_count(dir), 1);
}

static void save_another(void)
{
    before_rename = NULL;
    assert_ok(save("second"));
    assert_int_equal(test_dir_count(dir), 2); /* the first one's is there */
}

static void what_a_living_save_writes_is_left_alone(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        no_unnamed = way == 1;
        assert_ok(save("old"));
        before_rename = save_another;
        assert_ok(save("first"));
        assert_holds("first");
        assert_int_equal(test_dir_count(dir), 1);
    }
}

/*
 * Simulates two kernels: one takes the other's file for an abandoned one, and
 * continues later.
 */
static void meanwhile_another_is_amid_a_save(void)
{
    before_rename = NULL;
    save_and_die();
}

static void nobody_gives_anothers_bytes_a_name(void **state)
{
    (void)state;
    locks_lie = true;
    for (int way = 0; way < 2; way++) {
        no_unnamed = way == 1;
        assert_ok(save("old"));
        before_rename = meanwhile_another_is_amid_a_save;
        assert_int_equal(save("first"), UMBEL_E_IO);
        assert_holds("old");
        assert_ok(save("second"));
        assert_int_equal(test_dir_count(dir), 1);
    }
}

static void a_name_is_not_used_twice(void **state)
{
    char before[sizeof temp];

    (void)state;
    assert_ok(save("old"));
    assert_ok(save("older"));
    memcpy(before, temp, sizeof before);
    assert_ok(save("oldest"));
    assert_string_not_equal(before, temp);
}

/* Finds the name that the save after next will use. */
static void create_name(char out[sizeof temp])
{
    assert_ok(save("old"));
    assert_ok(save("older"));
    memcpy(out, temp, sizeof temp);
}

static void what_is_no_file_of_ours_is_passed_over(void **state)
{
    char name[sizeof temp];

    (void)state;
    create_name(name);
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_ok(save("beside a pipe"));
    assert_int_equal(test_dir_count(dir), 2);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink(path, name), 0);
    assert_ok(save("beside a link"));
    assert_holds("beside a link");
    assert_int_equal(test_dir_count(dir), 2);
    assert_int_equal(unlink(name), 0);
    test_write_file(name, "", 0);
    if (geteuid() == 0) { /* root can create another user's file */
        assert_int_equal(chown(name, 12345, (gid_t)-1), 0);
        assert_ok(save("beside a stranger's"));
        assert_int_equal(test_dir_count(dir), 2);
        assert_int_equal(chown(name, 0, (gid_t)-1), 0);
    }
    assert_ok(save("without ours"));
    assert_int_equal(test_dir_count(dir), 1);
}

static void a_link_that_the_kernel_does_not_follow_is_refused(void **state)
{
    char *precious = test_path(dir, "precious");
    char *link = path;

    (void)state;
    test_write_file(precious, "precious", 8);
    assert_int_equal(symlink(precious, link), 0);
    bad_link = true;
    assert_int_equal(save("new"), UMBEL_E_IO);
    path = precious;
    assert_holds("precious");
    path = link;
    bad_link = false;
    assert_ok(save("new"));
    path = precious;
    assert_holds("new");
    free(link);
}

/* Some file systems cannot sync a directory, and fail with EINVAL. */
static void a_directory_is_synced_where_it_can_be(void **state)
{
    (void)state;
    no_sync = EINVAL;
    assert_ok(save("not synced"));
    assert_holds("not synced");
    no_sync = EIO;
    assert_int_equal(save("lost"), UMBEL_E_IO);
    no_sync = 0;
    assert_ok(save("synced"));
}

/* Checks that a path one byte too long is refused, not truncated. */
static void a_path_that_is_too_long_is_not_cut(void **state)
{
    char longer[PATH_MAX + 1], *file = path;

    (void)state;
    memset(longer, '/', sizeof longer);
    memcpy(longer, dir, strlen(dir));
    memcpy(longer + PATH_MAX - 4, "name", 5);
    path = longer;
    assert_int_equal(save("new"), UMBEL_E_IO);
    assert_int_equal(test_dir_count(dir), 0);
    memmove(longer + PATH_MAX - 5, "name", 5);
    assert_ok(save("new"));
    assert_int_equal(test_dir_count(dir), 1);
    path = file;
}

/* Follows as many links as the kernel does. */
static void links_are_followed_to_their_end(void **state)
{
    enum { LINKS = 39 };
    char name[LINKS + 1][16], *first = path, *at;

    (void)state;
    for (int i = 0; i <= LINKS; i++)
        snprintf(name[i], sizeof name[i], "link%d", i);
    for (int i = 0; i < LINKS; i++) {
        at = test_path(dir, name[i]);
        assert_int_equal(symlink(name[i + 1], at), 0);
        free(at);
    }
    path = test_path(dir, name[0]);
    assert_ok(save("at the end"));
    free(path);
    path = test_path(dir, name[LINKS]);
    assert_holds("at the end");
    assert_int_equal(unlink(path), 0); /* now a loop */
    assert_int_equal(symlink(name[0], path), 0);
    assert_int_equal(save("nowhere"), UMBEL_E_IO);
    free(path);
    path = first;
}

static void a_held_file_can_be_read_and_is_locked_under_its_name(void **state)
{
    umbel_slice part = {"held", 4};
    char text[8];
    int fd;

    (void)state;
    for (int i = 0; i < 2; i++) { /* a new file, and one that replaces it */
        assert_ok(um_save_held(&part, 1, path, &fd, &test_refusal));
        assert_true(um_is_at(fd, path));
        assert_int_equal(pread(fd, text, sizeof text, 0), 4);
        int other = open(path, O_RDONLY);
        assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
        assert_int_equal(close(fd), 0);
        assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(close(other), 0);
    }
    assert_string_equal(steps, "sync-file link sync-directory "
                               "sync-file link rename sync-directory");
}

static mode_t mode_of(const char *name)
{
    struct stat st;

    assert_int_equal(stat(name, &st), 0);
    return st.st_mode & 07777;
}

/*
 * If the owner cannot be kept, the group is kept if allowed; otherwise it gets
 * no rights.
 */
static void a_group_that_cannot_be_kept_gets_no_rights(void **state)
{
    (void)state;
    test_write_file(path, "old", 3);
    assert_int_equal(chmod(path, 0666), 0);
    assert_ok(save("by its owner"));
    assert_int_equal(owner, geteuid());
    assert_int_equal(mode_of(path), 0666);
    refused = 1;
    assert_ok(save("by its group"));
    assert_int_equal(refused, 0);
    assert_int_equal(owner, (uid_t)-1);
    assert_int_equal(mode_of(path), 0666);
    refused = 2;
    assert_ok(save("by another"));
    assert_int_equal(refused, 0);
    assert_int_equal(mode_of(path), 0606);
}

static void a_file_that_cannot_be_closed_is_not_written(void **state)
{
    char *file = path, null[] = "/dev/null";

    (void)state;
    path = null;
    assert_ok(save("text"));
    bad_close = true;
    umbel_status status = save("text");
    bad_close = false;
    path = file;
    assert_int_equal(status, UMBEL_E_IO);
    assert_non_null(strstr(test_refusal.text, "/dev/null"));
}

/*
 * Saves through a link without a directory in its name, and through one with an
 * absolute target.
 */
static void links_of_the_working_directory_are_followed(void **state)
{
    char here[PATH_MAX], *file = path, bare[] = "bare", whole[] = "./whole";

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(symlink("a", bare), 0);
    assert_int_equal(symlink(file, whole), 0);
    path = bare;
    umbel_status first = save("by a bare name");
    path = file;
    assert_holds("by a bare name");
    path = whole;
    umbel_status second = save("by a whole one");
    path = file;
    assert_holds("by a whole one");
    assert_int_equal(chdir(here), 0);
    assert_ok(first);
    assert_ok(second);
    assert_int_equal(test_dir_count(dir), 3);
}

TEST_GROUP(save)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_synced_then_named_then_its_directory_is_synced),
        TEST(a_file_that_lies_ready_is_synced_in_the_same_order),
        TEST(what_a_killed_save_left_goes_with_the_next),
        TEST(what_was_left_goes_whatever_its_mode),
        TEST(what_a_living_save_writes_is_left_alone),
        TEST(what_is_no_file_of_ours_is_passed_over),
        TEST(nobody_gives_anothers_bytes_a_name),
        TEST(a_name_is_not_used_twice),
        TEST(a_link_that_the_kernel_does_not_follow_is_refused),
        TEST(a_directory_is_synced_where_it_can_be),
        TEST(a_path_that_is_too_long_is_not_cut),
        TEST(links_are_followed_to_their_end),
        TEST(a_held_file_can_be_read_and_is_locked_under_its_name),
        TEST(a_group_that_cannot_be_kept_gets_no_rights),
        TEST(a_file_that_cannot_be_closed_is_not_written),
        TEST(links_of_the_working_directory_are_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
