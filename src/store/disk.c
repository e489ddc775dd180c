/*
 * disk.c - a directory of the file system as the store's disk.
 *
 * The child that writes a snapshot shares its parent's lock, because flock
 * belongs to the open file. If the parent is killed, the kernel kills the
 * child, and the lock is held until the child is gone, so a second server never
 * runs beside a child of the first. A child that waits for a slow disk does not
 * exit at once, so `lock` waits while the process named in the lock file is
 * gone but the lock is still held.
 */
#define _GNU_SOURCE /* prctl, flock, O_DIRECTORY */
#include "store/disk.h"

#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LOCK_TRIES = 500,
    LOCK_PAUSE = 20 * 1000 * 1000, /* nanoseconds */
    CHILD_NICE = 10,
    CHILD_REST = 200 * 1000 * 1000, /* nanoseconds */
    MODE = 0600
};

typedef struct real_disk {
    um_disk base;
    int dir;
    int lock;
    bool child; /* true in the child process */
} real_disk;

static int dir_of(const um_disk *d)
{
    return ((const real_disk *)d)->dir;
}

/* Returns the pid in the lock file if that process is alive, otherwise 0. */
static pid_t holder_of(int fd)
{
    char text[24] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    uint64_t pid = 0;

    if (n > 0)
        um_decimal_scan(text, (size_t)n, &pid);

    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM) ? (pid_t)pid
                                                                   : 0;
}

/* Writes our process id, for people and for holder_of. */
static void write_holder(int fd)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) < 0)
        errno = 0;
}

static int wait_lock(int fd, pid_t *holder)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE};

    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return errno;
        *holder = holder_of(fd);
        if (*holder || i == LOCK_TRIES)
            return EWOULDBLOCK;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int real_lock(um_disk *d, const char *name, pid_t *holder)
{
    real_disk *r = (real_disk *)d;
    int fd = openat(r->dir, name, O_RDWR | O_CREAT | O_CLOEXEC, MODE);

    *holder = 0;
    if (fd < 0)
        return errno;
    int number = wait_lock(fd, holder);
    if (number) {
        close(fd);
        return number;
    }
    write_holder(fd);
    r->lock = fd;
    return 0;
}

static int real_names(um_disk *d, void (*each)(void *ctx, const char *name),
                      void *ctx)
{
    int fd = openat(dir_of(d), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        int number = errno;
        if (fd >= 0)
            close(fd);
        return number;
    }
    errno = 0;
    while ((entry = readdir(dir)) != NULL) {
        each(ctx, entry->d_name);
        errno = 0;
    }
    int number = errno;
    closedir(dir);
    return number;
}

static int real_open(um_disk *d, const char *name, um_disk_mode mode, int *file)
{
    int flags = mode == UM_DISK_CREATE ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY;

    *file = openat(dir_of(d), name, flags | O_CLOEXEC | O_NOFOLLOW, MODE);
    return *file < 0 ? errno : 0;
}

static int real_size(um_disk *d, int file, uint64_t *size)
{
    struct stat st;

    (void)d;
    if (fstat(file, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EINVAL;
    *size = (uint64_t)st.st_size;
    return 0;
}

static int real_read(um_disk *d, int file, uint64_t at, void *out, size_t len,
                     size_t *got)
{
    uint8_t *to = out;

    (void)d;
    *got = 0;
    while (*got < len) {
        ssize_t n = pread(file, to + *got, len - *got, (off_t)(at + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

static int real_write(um_disk *d, int file, uint64_t at, const void *bytes,
                      size_t len)
{
    const uint8_t *from = bytes;

    (void)d;
    while (len) {
        ssize_t n = pwrite(file, from, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        from += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

static int real_sync(um_disk *d, int file)
{
    (void)d;
    return fdatasync(file) == 0 ? 0 : errno;
}

static void real_close(um_disk *d, int file)
{
    (void)d;
    close(file);
}

static int real_rename(um_disk *d, const char *from, const char *to)
{
    return renameat(dir_of(d), from, dir_of(d), to) == 0 ? 0 : errno;
}

static int real_remove(um_disk *d, const char *name)
{
    return unlinkat(dir_of(d), name, 0) == 0 ? 0 : errno;
}

static int real_sync_names(um_disk *d)
{
    return fsync(dir_of(d)) == 0 ? 0 : errno;
}

/* Runs the job in the child. Signals stay blocked, because the handlers are the
 * parent's. */
_Noreturn static void run_child(um_disk *d, int (*job)(void *arg), void *arg,
                                pid_t parent)
{
    ((real_disk *)d)->child = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EINTR);
    errno = 0;
    if (nice(CHILD_NICE) < 0 && errno != 0)
        errno = 0; /* not fatal: the child keeps the parent's priority */
    _exit(job(arg));
}

static int real_start(um_disk *d, int (*job)(void *arg), void *arg,
                      pid_t *child)
{
    sigset_t all, before;
    pid_t parent = getpid();

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    int number = pid < 0 ? errno : 0;
    if (pid == 0)
        run_child(d, job, arg, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number == 0)
        *child = pid;
    return number;
}

static void real_rest(um_disk *d)
{
    if (((real_disk *)d)->child)
        nanosleep(&(struct timespec){.tv_nsec = CHILD_REST}, NULL);
}

static bool reap(pid_t child, int flags, int *result)
{
    int status = 0;
    pid_t got;

    do
        got = waitpid(child, &status, flags);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return false;
    *result = got == child && WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    return true;
}

static bool real_ended(um_disk *d, pid_t child, int *result)
{
    (void)d;
    return reap(child, WNOHANG, result);
}

static void real_stop(um_disk *d, pid_t child)
{
    int result;

    (void)d;
    kill(child, SIGKILL);
    reap(child, 0, &result);
}

static void real_release(um_disk *d)
{
    real_disk *r = (real_disk *)d;

    if (r->lock >= 0)
        close(r->lock);
    if (r->dir >= 0)
        close(r->dir);
    free(r);
}

static int real_space(um_disk *d, uint64_t *bytes)
{
    struct statvfs s;

    if (fstatvfs(dir_of(d), &s) != 0)
        return errno;
    if (s.f_blocks == 0) /* a file system that does not know */
        return ENOTSUP;
    *bytes = (uint64_t)s.f_bavail * s.f_frsize;
    return 0;
}

static const um_disk_ops real_ops = {.lock = real_lock,
                                     .names = real_names,
                                     .open = real_open,
                                     .size = real_size,
                                     .read = real_read,
                                     .write = real_write,
                                     .sync = real_sync,
                                     .close = real_close,
                                     .rename = real_rename,
                                     .remove = real_remove,
                                     .sync_names = real_sync_names,
                                     .start = real_start,
                                     .ended = real_ended,
                                     .stop = real_stop,
                                     .rest = real_rest,
                                     .space = real_space,
                                     .release = real_release,
                                     .threads = true};

/* Creates the directory if it does not exist, and syncs its parent. */
static bool create_directory(const char *path)
{
    char above[PATH_MAX + 4];

    if (mkdir(path, 0700) != 0)
        return errno == EEXIST;
    snprintf(above, sizeof above, "%s/..", path);
    return um_sync_directory(above);
}

umbel_status um_disk_open(const char *path, um_disk **out, umbel_error *err)
{
    if (!create_directory(path))
        return um_fail_path(err, path);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return um_fail_path(err, path);
    real_disk *r = calloc(1, sizeof *r);
    if (!r) {
        close(dir);
        return um_no_memory(err, sizeof *r);
    }
    *r = (real_disk){.base = {&real_ops}, .dir = dir, .lock = -1};
    *out = (um_disk *)r;
    return UMBEL_OK;
}

umbel_status um_check_creatable(const char *path, umbel_error *err)
{
    char above[PATH_MAX];

    if (snprintf(above, sizeof above, "%s", path) >= PATH_MAX)
        return um_fail(err, UMBEL_E_IO, "the path is too long");
    if (access(dirname(above), W_OK | X_OK) == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO, "%s%s cannot be created: %s",
                   um_path_dots(path), um_path_tail(path), strerror(errno));
}

void um_disk_close(um_disk *d)
{
    if (d)
        d->ops->release(d);
}

umbel_status um_disk_status(int number, const char *name, umbel_error *err)
{
    if (number == 0)
        return UMBEL_OK;
    errno = number;
    return um_fail_errno(err, "%s", name);
}

int um_disk_copy_bytes(um_disk *from, int in, um_disk *to, int out,
                       uint64_t *bytes)
{
    enum { CHUNK = 1 << 18 };
    uint8_t *chunk = malloc(CHUNK);
    int number = chunk ? 0 : ENOMEM;
    uint64_t at = 0;
    size_t got = 1;

    while (number == 0 && got > 0 && at < *bytes) {
        size_t some = *bytes - at < CHUNK ? (size_t)(*bytes - at) : CHUNK;
        number = from->ops->read(from, in, at, chunk, some, &got);
        if (number == 0 && got > 0)
            number = to->ops->write(to, out, at, chunk, got);
        at += number == 0 ? got : 0;
    }
    free(chunk);
    *bytes = at;
    return number;
}

int um_disk_finish(um_disk *d, int file, const char *name)
{
    char new[UM_DISK_NAME];

    snprintf(new, sizeof new, "%s.new", name);
    int number = d->ops->sync(d, file);
    if (number == 0)
        number = d->ops->rename(d, new, name);
    if (number == 0)
        number = d->ops->sync_names(d);
    return number;
}
