/*
 * file_store.c - checks of stores, and the store made of files: a directory, or
 * a reader's file with others beside it.
 *
 * A name is appended to the store's path: with a slash for a directory, without
 * one for a reader's file. Files that are put or moved are complete or absent
 * at every moment, even after a power failure (filter/save.h).
 *
 * A directory is locked itself. A reader locks its state file, which is
 * replaced while it is locked: um_save_held.
 */
#include "base/error.h"
#include "base/text.h"
#include "filter/content.h"
#include "filter/save.h"
#include "publish/internal.h"

#include <umbel/experimental/exchange.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- any store ------------------------------------------------------------ */

umbel_status um_store_check(const umbel_store *s, bool for_reader,
                            umbel_error *err)
{
    bool both = s && s->size >= sizeof *s && s->lock && s->unlock && s->get &&
                s->release && s->put && s->list && s->remove;

    if (!both || (for_reader && !(s->resume && s->append && s->move)))
        return um_fail(err, UMBEL_E_RANGE,
                       "the store's size is not set, or it lacks a call");
    return UMBEL_OK;
}

umbel_status um_store_object_digest(const umbel_store *s, const char *name,
                                    um_blob *out, umbel_error *err)
{
    umbel_slice all;

    if (s->digest)
        return s->digest(s->ctx, name, out->digest, &out->len, err);
    UM_TRY(s->get(s->ctx, name, &all, err));
    um_digest_parts(&all, 1, out->digest);
    out->len = all.len;
    s->release(s->ctx, all);
    return UMBEL_OK;
}

const char *um_store_where(const umbel_store *s, const char *name)
{
    return s->where ? s->where(s->ctx, name) : name;
}

/* --- files ---------------------------------------------------------------- */

static const char state_name[] = ".pull";

/* A file whose digest is known. */
typedef struct seen {
    struct stat st;
    time_t at; /* when it was read; 0: never */
    uint8_t digest[UMBEL_FILE_DIGEST_LEN];
} seen;

typedef struct disk {
    char base[PATH_MAX];
    bool is_dir;
    char path[PATH_MAX + 256]; /* path of the last name */
    int lock;                  /* -1: not held */
    seen seen;
} disk;

static const char *path_of(disk *d, const char *name)
{
    snprintf(d->path, sizeof d->path, "%s%s%s", d->base, d->is_dir ? "/" : "",
             name);
    return d->path;
}

static const char *where(void *ctx, const char *name)
{
    return path_of(ctx, name);
}

/* --- the lock ------------------------------------------------------------- */

/* Creates the directory and syncs its name. A publish directory that was lost
 * would start again at serial 1, which readers refuse. */
static bool create_directory(const char *dir)
{
    char above[PATH_MAX + 4];

    if (mkdir(dir, 0777) != 0)
        return errno == EEXIST;
    snprintf(above, sizeof above, "%s/..", dir);
    return um_sync_directory(above);
}

/* Locks the state file. Messages name its directory, which the user knows. */
static umbel_status lock_state(disk *d, umbel_error *err)
{
    const char *slash = strrchr(d->base, '/');
    int len = slash ? (int)(slash - d->base) : 0;
    struct stat st;

    snprintf(d->path, sizeof d->path, "%.*s", len, d->base);
    if (len && stat(d->path, &st) != 0)
        return um_fail(err, UMBEL_E_IO, "%.200s: %s: make the directory first",
                       d->path, strerror(errno));
    return um_lock(path_of(d, state_name), O_RDWR | O_CREAT, &d->lock, err);
}

static umbel_status lock_store(void *ctx, umbel_error *err)
{
    disk *d = ctx;

    if (!d->is_dir)
        return lock_state(d, err);
    if (!create_directory(d->base))
        return um_fail_path(err, d->base);
    return um_lock(d->base, O_RDONLY | O_DIRECTORY, &d->lock, err);
}

/* Unlocks the store. Removes an empty state file, left by a reader that never
 * received anything. */
static void unlock_store(void *ctx)
{
    disk *d = ctx;
    struct stat st;

    if (!d->is_dir && fstat(d->lock, &st) == 0 && st.st_size == 0 &&
        um_is_at(d->lock, path_of(d, state_name)))
        unlink(d->path);
    close(d->lock);
    d->lock = -1;
}

/* --- whole files ---------------------------------------------------------- */

static umbel_status get_file(void *ctx, const char *name, umbel_slice *out,
                             umbel_error *err)
{
    um_content c;

    UM_TRY(um_content_read(&c, path_of(ctx, name), err));
    *out = (umbel_slice){c.bytes, c.len};
    return UMBEL_OK;
}

/* Releases bytes that get_file mapped; an empty file was not mapped. */
static void release_file(void *ctx, umbel_slice bytes)
{
    union {
        const void *given;
        void *mapped;
    } same = {bytes.data};

    (void)ctx;
    if (bytes.len)
        munmap(same.mapped, bytes.len);
}

static umbel_status write_file(void *ctx, const char *name,
                               const umbel_slice *parts, size_t n,
                               umbel_error *err)
{
    disk *d = ctx;
    int fd;

    path_of(d, name);
    if (d->is_dir || strcmp(name, state_name) != 0)
        return um_save_parts(parts, n, d->path, err);
    UM_TRY(um_save_held(parts, n, d->path, &fd, err));
    close(d->lock);
    d->lock = fd;
    return UMBEL_OK;
}

static umbel_status remove_file(void *ctx, const char *name, umbel_error *err)
{
    const char *path = path_of(ctx, name);

    return unlink(path) == 0 ? UMBEL_OK : um_fail_open(err, path);
}

/* Moves a file. If `to` is a symbolic link, the file that it points to is
 * replaced. */
static umbel_status move_file(void *ctx, const char *from, const char *to,
                              umbel_error *err)
{
    disk *d = ctx;
    char path[sizeof d->path];
    struct stat st;
    umbel_slice all;

    memcpy(path, path_of(d, to), sizeof path);
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
        return um_save_ready(path_of(d, from), path, err);
    UM_TRY(get_file(d, from, &all, err));
    umbel_status status = um_save_parts(&all, 1, path, err);
    release_file(d, all);
    if (status == UMBEL_OK)
        unlink(path_of(d, from));
    return status;
}

/* --- digests -------------------------------------------------------------- */

/*
 * Returns true if the file has not changed since its digest was computed, so
 * that a reader that watches a large file need not read it every time. Times
 * are coarse: a file that changed just before it was read may have changed
 * again without a trace.
 */
static bool is_as_seen(const disk *d, const struct stat *st)
{
    enum { COARSE = 2 };
    const struct stat *was = &d->seen.st;

    return d->seen.at && d->seen.at - st->st_ctim.tv_sec >= COARSE &&
           st->st_dev == was->st_dev && st->st_ino == was->st_ino &&
           st->st_size == was->st_size &&
           st->st_ctim.tv_sec == was->st_ctim.tv_sec &&
           st->st_ctim.tv_nsec == was->st_ctim.tv_nsec;
}

/* Computes the digest of an open file. Reads instead of mapping, so that a file
 * truncated meanwhile does no harm. */
static umbel_status hash_open_file(disk *d, int fd, uint64_t *len,
                                   umbel_error *err)
{
    uint8_t bytes[1 << 16];
    crypto_generichash_state state; /* same algorithm as um_digest_parts */
    ssize_t got;

    crypto_generichash_init(&state, NULL, 0, UMBEL_FILE_DIGEST_LEN);
    for (*len = 0; (got = read(fd, bytes, sizeof bytes)) != 0;) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return um_fail_path(err, d->path);
        crypto_generichash_update(&state, bytes, (size_t)got);
        *len += (uint64_t)got;
    }
    crypto_generichash_final(&state, d->seen.digest, UMBEL_FILE_DIGEST_LEN);
    return UMBEL_OK;
}

static umbel_status digest_open_file(disk *d, int fd, uint64_t *len,
                                     umbel_error *err)
{
    struct stat st;
    time_t now = time(NULL);

    if (fstat(fd, &st) != 0)
        return um_fail_path(err, d->path);
    if (!S_ISREG(st.st_mode))
        return um_fail(err, UMBEL_E_IO, "%s%s: not a regular file",
                       um_path_dots(d->path), um_path_tail(d->path));
    *len = (uint64_t)st.st_size;
    if (is_as_seen(d, &st))
        return UMBEL_OK;
    d->seen.at = 0;
    UM_TRY(hash_open_file(d, fd, len, err));
    d->seen.st = st;
    d->seen.at = now;
    return UMBEL_OK;
}

static umbel_status digest_file(void *ctx, const char *name,
                                uint8_t out[UMBEL_FILE_DIGEST_LEN],
                                uint64_t *len, umbel_error *err)
{
    disk *d = ctx;
    int fd = open(path_of(d, name), O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return um_fail_open(err, d->path);
    umbel_status status = digest_open_file(d, fd, len, err);
    close(fd);
    memcpy(out, d->seen.digest, UMBEL_FILE_DIGEST_LEN);
    return status;
}

/* --- parts ---------------------------------------------------------------- */

/* Opens a file that we own and that has no other name; returns -1 if there is
 * none. */
static int open_own(const char *path, uint64_t *len)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_uid == geteuid() && st.st_nlink == 1) {
        *len = (uint64_t)st.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static umbel_status resume_part(void *ctx, const char *name, uint64_t *len,
                                umbel_error *err)
{
    int fd = open_own(path_of(ctx, name), len);

    (void)err;
    if (fd < 0)
        *len = 0;
    else
        close(fd);
    return UMBEL_OK;
}

/*
 * Appends to a part, which is created if necessary. A file of another owner is
 * removed first: its owner could change it after it was checked.
 */
static umbel_status append_part(void *ctx, const char *name, uint64_t at,
                                umbel_slice bytes, umbel_error *err)
{
    const char *path = path_of(ctx, name);
    umbel_status status = UMBEL_OK;
    uint64_t len = 0;
    int fd = open_own(path, &len);

    if (fd < 0) {
        unlink(path);
        fd = open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
    }
    if (fd < 0)
        return um_fail_path(err, path);
    if ((len != at && ftruncate(fd, (off_t)at) != 0) ||
        lseek(fd, (off_t)at, SEEK_SET) < 0 ||
        um_write_parts(fd, &bytes, 1, NULL) != UMBEL_OK)
        status = um_fail_path(err, path);
    close(fd);
    return status;
}

/* --- names ---------------------------------------------------------------- */

/* Visits the names in a directory that begin with prefix; passes them without
 * it. */
static umbel_status visit_names(const char *dir_path, const char *prefix,
                                umbel_store_visit *visit, void *visit_ctx,
                                umbel_error *err)
{
    size_t skip = strlen(prefix);
    struct dirent *entry;
    DIR *dir = opendir(dir_path);

    if (!dir)
        return um_fail_path(err, dir_path);
    while ((errno = 0, entry = readdir(dir)))
        if (strncmp(entry->d_name, prefix, skip) == 0 &&
            !visit(visit_ctx, entry->d_name + skip))
            break;
    umbel_status status =
        !entry && errno ? um_fail_path(err, dir_path) : UMBEL_OK;
    closedir(dir);
    return status;
}

static umbel_status list_files(void *ctx, umbel_store_visit *visit,
                               void *visit_ctx, umbel_error *err)
{
    disk *d = ctx;
    char dir[PATH_MAX + 4];
    const char *slash = strrchr(d->base, '/');
    int len = slash ? (int)(slash - d->base) + 1 : 0;

    if (d->is_dir)
        return visit_names(d->base, "", visit, visit_ctx, err);
    snprintf(dir, sizeof dir, "%.*s.", len, d->base);
    return visit_names(dir, d->base + len, visit, visit_ctx, err);
}

/* --- opening -------------------------------------------------------------- */

static umbel_status open_disk(const char *path, bool is_dir, umbel_store *out,
                              umbel_error *err)
{
    size_t len = strlen(path);

    if (len == 0 || len >= PATH_MAX)
        return um_fail(err, UMBEL_E_RANGE, "a path has 1 to %d bytes, not %zu",
                       PATH_MAX - 1, len);
    disk *d = calloc(1, sizeof *d);
    if (!d)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a store");
    memcpy(d->base, path, len + 1);
    d->is_dir = is_dir;
    d->lock = -1;
    *out = (umbel_store){.size = sizeof *out,
                         .ctx = d,
                         .lock = lock_store,
                         .unlock = unlock_store,
                         .get = get_file,
                         .release = release_file,
                         .digest = digest_file,
                         .put = write_file,
                         .resume = resume_part,
                         .append = append_part,
                         .move = move_file,
                         .list = list_files,
                         .remove = remove_file,
                         .where = where};
    return UMBEL_OK;
}

umbel_status umbel_store_dir(const char *dir, umbel_store *out,
                             umbel_error *err)
{
    return open_disk(dir, true, out, err);
}

umbel_status umbel_store_file(const char *path, umbel_store *out,
                              umbel_error *err)
{
    return open_disk(path, false, out, err);
}

void umbel_store_close(umbel_store *store)
{
    free(store->ctx);
    *store = (umbel_store){.size = 0};
}
