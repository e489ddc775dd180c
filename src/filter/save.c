/*
 * save.c - writes and saves files.
 *
 * A save writes an unnamed file (O_TMPFILE), which vanishes by itself if we are
 * killed, and gives it its name when it is complete and synced. To replace an
 * old file it needs a temporary name, since only a rename replaces. On file
 * systems without unnamed files it starts with the temporary name.
 *
 * A temporary name, .umbel-MACHINE-RANDOM.tmp, is never used twice, so a rename
 * cannot hit the file of another process. The file is locked until it is
 * renamed, so one that can be locked was left by a killed process, and the next
 * process that needs a name in that directory removes it. Locks may not work
 * between machines, so files of other machines are left alone.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "filter/save.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "filter/envelope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
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

/* The content to write. */
typedef struct content {
    const umbel_slice *parts;
    size_t n;
    bool spooled; /* drop the pages of the last part once written */
} content;

static bool write_spooled(int fd, const umbel_slice *part)
{
    const uint8_t *data = part->data;

    for (size_t at = 0, some; at < part->len; at += some) {
        some = part->len - at;
        if (some > UM_SPOOL_PIECE)
            some = UM_SPOOL_PIECE;
        if (!write_fully(fd, data + at, some))
            return false;
        um_spool_drop(data + at, some);
    }
    return true;
}

static bool write_content(int fd, const content *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const umbel_slice *part = &c->parts[i];
        if (c->spooled && i + 1 == c->n
                ? !write_spooled(fd, part)
                : !write_fully(fd, part->data, part->len))
            return false;
    }
    return true;
}

static umbel_status write_to(int fd, const content *c, umbel_error *err)
{
    return write_content(fd, c) ? UMBEL_OK : um_fail_errno(err, "not written");
}

umbel_status um_write_parts(int fd, const umbel_slice *parts, size_t nparts,
                            umbel_error *err)
{
    return write_to(fd, &(content){parts, nparts, false}, err);
}

/* Describes the parts of a filter. Coded payloads are in memory of their
 * own. */
static content content_of(const umbel_filter *f, const um_parts *parts)
{
    return (content){parts->part, UM_COUNT(parts->part),
                     um_is_spooled(f) && !f->coded};
}

umbel_status umbel_write(const umbel_filter *f, int fd, umbel_error *err)
{
    um_parts parts;

    UM_TRY(um_parts_init(&parts, f, err));
    content c = content_of(f, &parts);
    umbel_status status = write_to(fd, &c, err);
    um_parts_fini(&parts, f);
    return status;
}

/* A save in progress: everything needed to finish it or to leave no trace. */
typedef struct saving {
    char target[PATH_MAX]; /* links resolved */
    char dir[PATH_MAX];
    char temp[PATH_MAX + 64];
    int fd;
    bool named; /* temp exists */
    bool exists;
    struct stat old; /* if exists */
} saving;

/* Stores the path of `what` in the directory of path in out; false: too
 * long. */
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

/*
 * Follows links, even if the target does not exist yet; but none that the
 * kernel would refuse, such as another user's in /tmp.
 */
static bool follow(char target[PATH_MAX], const char *path)
{
    char link[PATH_MAX], at[PATH_MAX];
    struct stat st;

    if (!beside(at, "", path))
        return false;
    for (int hops = 0; hops < 40; hops++) {
        ssize_t len = readlink(at, link, sizeof link - 1);
        if (len < 0) {
            memcpy(target, at, sizeof at);
            return true;
        }
        if (stat(at, &st) != 0 && errno != ENOENT)
            return false;
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

bool um_is_at(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Locks a file. Also succeeds if the file system has no locks: nothing is
 * removed there. */
static bool hold(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static bool is_ours(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

/*
 * Removes a file left by a killed process. On some file systems locking needs a
 * writable descriptor, but the file may already have the mode of the old one.
 */
static void remove_if_dead(int dir, const char *name)
{
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = openat(dir, name, O_RDWR | flags);

    if (fd < 0 && errno == EACCES)
        fd = openat(dir, name, O_RDONLY | flags);
    if (fd >= 0 && is_ours(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(dir, name, 0);
    if (fd >= 0)
        close(fd);
}

/* Removes files left by killed processes. Gives up in large directories: such
 * files only take space. */
static void remove_dead(const char *path, const char *prefix)
{
    enum { LOOKED_AT = 1000 };
    struct dirent *entry;
    DIR *dir = opendir(path);

    for (int i = 0; dir && i < LOOKED_AT && (entry = readdir(dir)); i++)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            remove_if_dead(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
}

static uint32_t machine(void)
{
    char name[256] = "";

    gethostname(name, sizeof name - 1);
    return (uint32_t)um_checksum(name, strlen(name));
}

/* Finds an unused name next to the target, with a limited number of tries. */
static bool try_names(saving *s, bool (*take)(saving *s))
{
    char prefix[32];
    uint64_t random;

    snprintf(prefix, sizeof prefix, ".umbel-%08" PRIx32 "-", machine());
    remove_dead(s->dir, prefix);
    for (int i = 0; i < 100; i++) {
        if (getentropy(&random, sizeof random) != 0)
            return false;
        snprintf(s->temp, sizeof s->temp, "%s/%s%016" PRIx64 ".tmp", s->dir,
                 prefix, random);
        s->named = take(s);
        if (s->named || errno != EEXIST)
            return s->named;
    }
    return false;
}

/* Creates and locks the temporary file. Until it is locked, another process may
 * remove it as left over. */
static bool create_named(saving *s)
{
    s->fd = open(s->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                 s->exists ? 0600 : 0666);
    if (s->fd < 0)
        return false;
    if (hold(s->fd) && um_is_at(s->fd, s->temp))
        return true;
    close(s->fd);
    unlink(s->temp);
    s->fd = -1;
    errno = EEXIST;
    return false;
}

static bool link_as(const saving *s, const char *name)
{
    char self[64];

    snprintf(self, sizeof self, "/proc/self/fd/%d", s->fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

static bool link_unnamed(saving *s)
{
    return link_as(s, s->temp);
}

static bool create(saving *s)
{
    s->fd = open(s->dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
    if (s->fd >= 0 && access("/proc/self/fd", X_OK) == 0 && hold(s->fd))
        return true;
    if (s->fd >= 0)
        close(s->fd);
    return try_names(s, create_named);
}

bool um_sync_directory(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool fine = fsync(fd) == 0 || errno == EINVAL;
    close(fd);
    return fine;
}

bool um_sync_name(const char *path)
{
    char dir[PATH_MAX];

    return beside(dir, path, ".") && um_sync_directory(dir);
}

/*
 * Copies owner, group and mode of the old file if permitted. If the group
 * cannot be kept, ours must not get its rights.
 */
static bool retain_rights(const saving *s)
{
    const uid_t same = (uid_t)-1;

    if (!s->exists)
        return true;
    bool group = fchown(s->fd, s->old.st_uid, s->old.st_gid) == 0 ||
                 fchown(s->fd, same, s->old.st_gid) == 0;
    return fchmod(s->fd, s->old.st_mode & (group ? 0777 : 0707)) == 0;
}

/* Gives the file its name. A new file needs no temporary name. */
static bool name_it(saving *s)
{
    if (!s->named && !s->exists && link_as(s, s->target))
        return true;
    return (s->named || try_names(s, link_unnamed)) &&
           rename(s->temp, s->target) == 0;
}

static bool save(saving *s, const content *c)
{
    return retain_rights(s) && write_content(s->fd, c) && fsync(s->fd) == 0 &&
           name_it(s);
}

static umbel_status save_straight(const content *c, const char *path,
                                  umbel_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return um_fail_path(err, path);
    bool fine = write_content(fd, c);
    if (!fine)
        um_set_error_path(err, path);
    if (close(fd) != 0 && fine)
        return um_fail_path(err, path);
    return fine ? UMBEL_OK : UMBEL_E_IO;
}

/* Finishes a save; fine: it has its name. The new file's descriptor goes to
 * *held, or is closed. */
static umbel_status finish(const saving *s, bool fine, const char *path,
                           int *held, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    if (!fine || !um_sync_directory(s->dir))
        status = um_fail_errno(
            err, "%s%s: %s", um_path_dots(path), um_path_tail(path),
            fine ? "written, but not synced" : "not written");
    if (!fine && s->named)
        unlink(s->temp);
    if (held && status == UMBEL_OK)
        *held = s->fd;
    else if (s->fd >= 0)
        close(s->fd);
    return status;
}

static umbel_status save_content(const content *c, const char *path, int *held,
                                 umbel_error *err)
{
    saving s = {.fd = -1};

    if (!resolve(&s, path) || !create(&s))
        return um_fail_path(err, path);
    return finish(&s, save(&s, c), path, held, err);
}

static umbel_status save_to(const content *c, const char *path,
                            umbel_error *err)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return um_fail_path(err, path);
    }
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return save_straight(c, path, err);
    return save_content(c, path, NULL, err);
}

umbel_status um_save_parts(const umbel_slice *parts, size_t nparts,
                           const char *path, umbel_error *err)
{
    return save_to(&(content){parts, nparts, false}, path, err);
}

umbel_status um_save_held(const umbel_slice *parts, size_t nparts,
                          const char *path, int *fd, umbel_error *err)
{
    return save_content(&(content){parts, nparts, false}, path, fd, err);
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
    bool fine = s.fd >= 0 && retain_rights(&s) && fsync(s.fd) == 0 &&
                rename(from, s.target) == 0;
    return finish(&s, fine, path, NULL, err);
}

umbel_status umbel_save(const umbel_filter *f, const char *path,
                        umbel_error *err)
{
    um_parts parts;

    UM_TRY(um_parts_init(&parts, f, err));
    content c = content_of(f, &parts);
    umbel_status status = save_to(&c, path, err);
    um_parts_fini(&parts, f);
    return status;
}

/* --- lock a file that is about to be replaced ------------------------------
 *
 * A lock belongs to the file and not to its name. After waiting, a process may
 * hold a file that was replaced in the meantime; it then locks the new one.
 */

umbel_status um_lock(const char *path, int flags, int *fd, umbel_error *err)
{
    for (;;) {
        *fd = open(path, flags | O_CLOEXEC, 0666);
        if (*fd < 0)
            return um_fail_path(err, path);
        while (flock(*fd, LOCK_EX) != 0)
            if (errno != EINTR) {
                um_set_errno(err, "%s: cannot lock", path);
                close(*fd);
                return UMBEL_E_IO;
            }
        if (um_is_at(*fd, path))
            return UMBEL_OK;
        close(*fd);
    }
}
