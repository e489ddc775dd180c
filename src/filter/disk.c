/*
 * disk.c - load, map, save.
 *
 * A save writes an unnamed file (O_TMPFILE), which vanishes by itself when we
 * are killed, gives it a temporary name only when it is complete and synced,
 * and renames it over the old one. Where the file system has no unnamed files
 * it starts with the temporary name.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "filter/disk.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/coded.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE_LIMIT = 256 << 20 };

static umbel_status open_to_read(const char *path, int *fd, struct stat *st,
                                 umbel_error *err)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return um_fail_path(err, path);
    if (fstat(*fd, st) == 0 && !S_ISDIR(st->st_mode))
        return UMBEL_OK;
    if (S_ISDIR(st->st_mode))
        errno = EISDIR;
    umbel_status status = um_fail_path(err, path);
    close(*fd);
    return status;
}

/* Up to len bytes; fewer only at the end of the file. */
static ssize_t read_fully(int fd, uint8_t *out, size_t len)
{
    size_t have = 0;

    while (have < len) {
        ssize_t got = read(fd, out + have, len - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static umbel_status read_head(int fd, um_head *head, umbel_error *err)
{
    uint8_t bytes[UM_HEAD_MAX];
    size_t want;

    ssize_t have = read_fully(fd, bytes, UM_HEAD_START);
    if (have < 0)
        return um_fail_errno(err, "cannot read");
    umbel_status status = um_head_len(bytes, (size_t)have, &want, err);
    if (status != UMBEL_OK)
        return status;
    ssize_t more = read_fully(fd, bytes + have, want - (size_t)have);
    if (more < 0)
        return um_fail_errno(err, "cannot read");
    return um_head_decode(bytes, (size_t)(have + more), head, err);
}

/* Refuse before allocating: by the file's length, or by a limit. */
static umbel_status check_room(const um_head *head, const struct stat *st,
                               const umbel_source *source, umbel_error *err)
{
    uint64_t limit = source->memory_limit;
    umbel_status status = UMBEL_OK;

    if (S_ISREG(st->st_mode))
        status = um_check_len(head, (uint64_t)st->st_size, err);
    else if (!limit)
        limit = PIPE_LIMIT;
    if (status != UMBEL_OK)
        return status;
    if (head->shape.coded)
        return um_check_coded_room(head, source, err);
    if (limit && head->payload_len > limit)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the filter takes %zu bytes, the limit is %" PRIu64,
                       head->payload_len, limit);
    return UMBEL_OK;
}

static umbel_status read_stored(int fd, const um_head *head, uint8_t *out,
                                umbel_error *err)
{
    uint8_t extra;
    ssize_t got = read_fully(fd, out, head->stored_len);
    if (got < 0)
        return um_fail_errno(err, "cannot read");
    ssize_t behind = read_fully(fd, &extra, 1);
    if (behind < 0)
        return um_fail_errno(err, "cannot read");
    return um_check_len(head, head->len + (size_t)got + (size_t)behind, err);
}

static umbel_status load(int fd, const struct stat *st,
                         const umbel_source *source, umbel_filter **out,
                         umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(source->alloc);
    um_head head;

    umbel_status status = read_head(fd, &head, err);
    if (status == UMBEL_OK)
        status = check_room(&head, st, source, err);
    if (status != UMBEL_OK)
        return status;
    uint8_t *stored = um_get(&alloc, head.stored_len);
    if (!stored)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes",
                       head.stored_len);
    status = read_stored(fd, &head, stored, err);
    if (status == UMBEL_OK)
        status = head.shape.coded
                     ? um_enclose_coded(&head, source, stored, out, err)
                     : um_enclose(&head, source, stored, NULL, 0, out, err);
    if (status != UMBEL_OK || head.shape.coded)
        um_put(&alloc, stored, head.stored_len);
    return status;
}

/* Texts below this level say what is wrong; here they learn where. */
static umbel_status name_file(umbel_status status, const char *path,
                              umbel_error *err)
{
    umbel_error inner;

    if (status == UMBEL_OK || !err)
        return status;
    inner = *err;
    return um_fail(err, status, "%s%s: %s", um_path_dots(path),
                   um_path_tail(path), inner.text);
}

umbel_status umbel_read(int fd, const umbel_source *source, umbel_filter **out,
                        umbel_error *err)
{
    struct stat st;
    umbel_status status = um_check_source(&source, err);

    if (status != UMBEL_OK)
        return status;
    if (fstat(fd, &st) != 0)
        return um_fail_errno(err, "cannot read");
    if (S_ISREG(st.st_mode)) {
        off_t at = lseek(fd, 0, SEEK_CUR);
        st.st_size = at < 0 || at > st.st_size ? 0 : st.st_size - at;
    }
    return load(fd, &st, source, out, err);
}

umbel_status umbel_load(const char *path, const umbel_source *source,
                        umbel_filter **out, umbel_error *err)
{
    struct stat st = {0};
    int fd;

    umbel_status status = um_check_source(&source, err);
    if (status == UMBEL_OK)
        status = open_to_read(path, &fd, &st, err);
    if (status != UMBEL_OK)
        return status;
    status = load(fd, &st, source, out, err);
    close(fd);
    return name_file(status, path, err);
}

/*
 * The head is copied before it is believed: the file may change meanwhile. What
 * is coded does not stay mapped.
 */
static umbel_status enclose_mapping(uint8_t *map, size_t len,
                                    const umbel_source *source,
                                    umbel_filter **out, bool *stays,
                                    umbel_error *err)
{
    uint8_t copy[UM_HEAD_MAX];
    size_t part = len < sizeof copy ? len : sizeof copy;
    um_head head;

    memcpy(copy, map, part);
    umbel_status status = um_head_decode(copy, part, &head, err);
    if (status == UMBEL_OK)
        status = um_check_len(&head, len, err);
    if (status != UMBEL_OK)
        return status;
    *stays = !head.shape.coded;
    if (head.shape.coded)
        return um_enclose_coded(&head, source, map + head.len, out, err);
    return um_enclose(&head, source, map + head.len, map, len, out, err);
}

static umbel_status map_fd(int fd, const struct stat *st,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err)
{
    bool stays = false;

    if (!S_ISREG(st->st_mode))
        return um_fail(err, UMBEL_E_IO,
                       "only a regular file can be mapped: load it");
    if (st->st_size == 0)
        return um_fail(err, UMBEL_E_FORMAT, "not an umbel file: it is empty");
    size_t len = (size_t)st->st_size;
    void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return um_fail_errno(err, "cannot map");
    umbel_status status = enclose_mapping(map, len, source, out, &stays, err);
    if (status != UMBEL_OK || !stays)
        munmap(map, len);
    return status;
}

umbel_status umbel_map(const char *path, const umbel_source *source,
                       umbel_filter **out, umbel_error *err)
{
    struct stat st = {0};
    int fd;

    umbel_status status = um_check_source(&source, err);
    if (status == UMBEL_OK)
        status = open_to_read(path, &fd, &st, err);
    if (status != UMBEL_OK)
        return status;
    status = map_fd(fd, &st, source, out, err);
    close(fd);
    return name_file(status, path, err);
}

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
