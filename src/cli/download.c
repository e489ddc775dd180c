/*
 * download.c - fetch a piece, go on where the last try broke off, check it.
 */
#include "cli/download.h"

#include "base/error.h"
#include "cli/content.h"
#include "net/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that grows. */
typedef struct part {
    int fd;
    const char *path;
    const um_fetched *fetched;
    bool begun;
} part;

static bool fail_to_write(const part *p, umbel_error *err)
{
    int code = errno;

    if (code == ENOSPC || code == EDQUOT || code == EFBIG)
        unlink(p->path); /* the disk is needed for other things */
    errno = code;
    um_note_path(err, p->path);
    return false;
}

/* The first bytes tell whether the server went on, or began anew. */
static bool take(void *ctx, const void *bytes, size_t len, umbel_error *err)
{
    part *p = ctx;
    const uint8_t *at = bytes;

    if (!p->begun && p->fetched->whole &&
        (ftruncate(p->fd, 0) != 0 || lseek(p->fd, 0, SEEK_SET) != 0))
        return fail_to_write(p, err);
    p->begun = true;
    while (len) {
        ssize_t put = write(p->fd, at, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_to_write(p, err);
        at += put;
        len -= (size_t)put;
    }
    return true;
}

static umbel_status check(const um_blob *piece, const char *path,
                          umbel_error *err)
{
    uint8_t digest[UM_DIGEST_LEN];
    um_content c;
    umbel_status status = um_content_read(&c, path, err);

    if (status != UMBEL_OK)
        return status;
    um_digest_of(c.bytes, c.len, digest);
    bool same = c.len == piece->len &&
                memcmp(digest, piece->digest, sizeof digest) == 0;
    um_content_fini(&c);
    if (same)
        return UMBEL_OK;
    unlink(path);
    return um_fail(err, UMBEL_E_REFUSED,
                   "what the server sends is not what was published: its "
                   "digest is another");
}

/* An earlier try's length; too much of it is none. */
static uint64_t have_already(int fd, const um_blob *piece)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_size > 0 &&
        (uint64_t)st.st_size <= piece->len)
        return (uint64_t)st.st_size;
    return 0;
}

static umbel_status fetch_rest(const char *url, const um_blob *piece,
                               const char *path, int fd, uint64_t *moved,
                               umbel_error *err)
{
    um_fetched fetched;
    part p = {.fd = fd, .path = path, .fetched = &fetched};
    um_fetch f = {.url = url,
                  .from = have_already(fd, piece),
                  .max = piece->len,
                  .take = take,
                  .ctx = &p};

    if (f.from == piece->len)
        return UMBEL_OK;
    if (f.from == 0 && ftruncate(fd, 0) != 0)
        return um_fail_path(err, path);
    if (lseek(fd, (off_t)f.from, SEEK_SET) < 0)
        return um_fail_path(err, path);
    umbel_status status = um_fetch_run(&f, &fetched, err);
    *moved += fetched.bytes;
    if (status == UMBEL_OK && fsync(fd) != 0)
        return um_fail_path(err, path);
    return status;
}

umbel_status um_download(const char *url, const um_blob *piece,
                         const char *path, uint64_t *moved, umbel_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = fetch_rest(url, piece, path, fd, moved, err);
    close(fd);
    return status == UMBEL_OK ? check(piece, path, err) : status;
}
