/*
 * save.c - write and save.
 *
 * A save writes an unnamed file (O_TMPFILE), which vanishes by itself when we
 * are killed, gives it a temporary name only when it is complete and synced,
 * and renames it over the old one. Where the file system has no unnamed files
 * it starts with the temporary name.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "filter/save.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/coded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_fully(int fd, const uint8_t *data, size_t len)
{
    while (len) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        data += put;
        len -= (size_t)put;
    }
    return true;
}

static bool write_parts(int fd, const umbel_slice *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!write_fully(fd, parts[i].data, parts[i].len))
            return false;
    return true;
}

umbel_status um_write_parts(int fd, const umbel_slice *parts, size_t nparts,
                            umbel_error *err)
{
    return write_parts(fd, parts, nparts) ? UMBEL_OK
                                          : um_fail_errno(err, "not written");
}

umbel_status umbel_write(const umbel_filter *f, int fd, umbel_error *err)
{
    um_parts parts;
    umbel_status status = um_parts_init(&parts, f, err);

    if (status != UMBEL_OK)
        return status;
    status = um_write_parts(fd, parts.part, UM_COUNT(parts.part), err);
    um_parts_fini(&parts, f);
    return status;
}

/* A save under way: everything needed to finish or to leave no trace. */
typedef struct saving {
    char target[PATH_MAX]; /* links resolved */
    char dir[PATH_MAX];
    char temp[PATH_MAX + 64];
    int fd;
    bool named; /* temp exists */
    bool exists;
    struct stat old; /* when it exists */
} saving;

/* out = the directory of path, with what behind it; false: too long. */
static bool beside(char out[PATH_MAX], const char *path, const char *what)
{
    const char *slash = strrchr(path, '/');
    int dir = *what == '/' || !slash ? 0 : (int)(slash - path) + 1;
    int len = snprintf(out, PATH_MAX, "%.*s%s", dir, path, what);

    if (len >= 0 && len < PATH_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Follow links, also one whose target is not there yet. */
static bool follow(char target[PATH_MAX], const char *path)
{
    char link[PATH_MAX], at[PATH_MAX];

    if (!beside(at, "", path))
        return false;
    for (int hops = 0; hops < 40; hops++) {
        ssize_t len = readlink(at, link, sizeof link - 1);
        if (len < 0) {
            memcpy(target, at, sizeof at);
            return true;
        }
        link[len] = '\0';
        char next[PATH_MAX];
        if (!beside(next, at, link))
            return false;
        memcpy(at, next, sizeof at);
    }
    errno = ELOOP;
    return false;
}

static bool resolve(saving *s, const char *path)
{
    if (!follow(s->target, path))
        return false;
    s->exists = stat(s->target, &s->old) == 0;
    memcpy(s->dir, s->target, sizeof s->dir);
    char *slash = strrchr(s->dir, '/');
    if (!slash)
        memcpy(s->dir, ".", 2);
    else
        slash[slash == s->dir] = '\0';
    return true;
}

/* A name beside the target that nobody has; tries are bounded. */
static bool try_names(saving *s, bool (*take)(saving *s))
{
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(s->temp, sizeof s->temp, "%s/.umbel-%ld-%u.tmp", s->dir,
                 (long)getpid(), i);
        if (take(s)) {
            s->named = true;
            return true;
        }
        if (errno != EEXIST)
            return false;
    }
    return false;
}

static bool create_named(saving *s)
{
    s->fd = open(s->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 s->exists ? 0600 : 0666);
    return s->fd >= 0;
}

static bool link_unnamed(saving *s)
{
    char self[64];

    snprintf(self, sizeof self, "/proc/self/fd/%d", s->fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, s->temp, AT_SYMLINK_FOLLOW) == 0;
}

static bool create(saving *s)
{
    s->fd = open(s->dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (s->fd >= 0 && access("/proc/self/fd", X_OK) == 0)
        return true;
    if (s->fd >= 0)
        close(s->fd);
    return try_names(s, create_named);
}

static bool sync_directory(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool fine = fsync(fd) == 0 || errno == EINVAL;
    close(fd);
    return fine;
}

/*
 * Owner and group where we may; a group that we cannot keep must not pass its
 * rights on to ours.
 */
static bool keep_rights(const saving *s)
{
    const uid_t same = (uid_t)-1;

    if (!s->exists)
        return true;
    bool group = fchown(s->fd, s->old.st_uid, s->old.st_gid) == 0 ||
                 fchown(s->fd, same, s->old.st_gid) == 0;
    return fchmod(s->fd, s->old.st_mode & (group ? 0777 : 0707)) == 0;
}

static bool save(saving *s, const umbel_slice *parts, size_t n)
{
    return keep_rights(s) && write_parts(s->fd, parts, n) &&
           fsync(s->fd) == 0 && (s->named || try_names(s, link_unnamed)) &&
           rename(s->temp, s->target) == 0;
}

static umbel_status save_straight(const umbel_slice *parts, size_t n,
                                  const char *path, umbel_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return um_fail_path(err, path);
    bool fine = write_parts(fd, parts, n);
    if (!fine)
        um_note_path(err, path);
    if (close(fd) != 0 && fine)
        return um_fail_path(err, path);
    return fine ? UMBEL_OK : UMBEL_E_IO;
}

/* fine: it has its name. */
static umbel_status finish(const saving *s, bool fine, const char *path,
                           umbel_error *err)
{
    if (!fine) {
        um_note_errno(err, "%s%s: not written", um_path_dots(path),
                      um_path_tail(path));
        if (s->named)
            unlink(s->temp);
    }
    if (s->fd >= 0)
        close(s->fd);
    if (fine && !sync_directory(s->dir))
        return um_fail_errno(err, "%s%s: written, but not synced",
                             um_path_dots(path), um_path_tail(path));
    return fine ? UMBEL_OK : UMBEL_E_IO;
}

umbel_status um_save_parts(const umbel_slice *parts, size_t nparts,
                           const char *path, umbel_error *err)
{
    saving s = {.fd = -1};
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return um_fail_path(err, path);
    }
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return save_straight(parts, nparts, path, err);
    if (!resolve(&s, path) || !create(&s))
        return um_fail_path(err, path);
    return finish(&s, save(&s, parts, nparts), path, err);
}

umbel_status um_save_ready(const char *from, const char *path, umbel_error *err)
{
    saving s = {.fd = -1};

    if (!resolve(&s, path))
        return um_fail_path(err, path);
    if (s.exists && !S_ISREG(s.old.st_mode))
        return um_fail(err, UMBEL_E_IO, "%s%s: not a regular file",
                       um_path_dots(path), um_path_tail(path));
    s.fd = open(from, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    bool fine = s.fd >= 0 && keep_rights(&s) && fsync(s.fd) == 0 &&
                rename(from, s.target) == 0;
    return finish(&s, fine, path, err);
}

umbel_status umbel_save(const umbel_filter *f, const char *path,
                        umbel_error *err)
{
    um_parts parts;
    umbel_status status = um_parts_init(&parts, f, err);

    if (status != UMBEL_OK)
        return status;
    status = um_save_parts(parts.part, UM_COUNT(parts.part), path, err);
    um_parts_fini(&parts, f);
    return status;
}
