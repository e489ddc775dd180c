/*
 * download.c - fetch a piece, go on where the last try broke off, check it.
 */
#include "cli/download.h"

#include "base/error.h"
#include "cli/content.h"
#include "filter/save.h"
#include "net/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- names ------------------------------------------------------------------
 */

enum { DIGITS = 16 }; /* of a digest, in a part's name */
static const char mark[] = ".part-";

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "words.umb.part-0123456789abcdef" is a part of words.umb. */
static bool is_part_of(const char *name, const char *base)
{
    uint8_t digits[DIGITS / 2];
    size_t len = strlen(base), skip = len + sizeof mark - 1;

    return strlen(name) == skip + DIGITS && memcmp(name, base, len) == 0 &&
           memcmp(name + len, mark, sizeof mark - 1) == 0 &&
           um_hex_read(name + skip, digits, sizeof digits);
}

/* keep may be NULL. Whoever cannot look keeps all: they only take room. */
static void remove_parts(const char *path, const char *keep)
{
    char dir_name[PATH_MAX];
    const char *base = base_of(path);
    struct dirent *entry;

    snprintf(dir_name, sizeof dir_name, "%.*s.", (int)(base - path), path);
    DIR *dir = opendir(dir_name);
    while (dir && (entry = readdir(dir)))
        if (is_part_of(entry->d_name, base) &&
            (!keep || strcmp(entry->d_name, base_of(keep)) != 0))
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
}

bool um_download_to(um_download *d, const char *path)
{
    char hex[UM_DIGEST_HEX];

    um_digest_text(d->piece->digest, hex);
    int len =
        snprintf(d->path, sizeof d->path, "%s%s%.*s", path, mark, DIGITS, hex);
    if (len < 0 || (size_t)len >= sizeof d->path)
        return false;
    remove_parts(path, d->path);
    return true;
}

void um_download_clear(const char *path)
{
    remove_parts(path, NULL);
}

/* --- bytes ------------------------------------------------------------------
 */

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
    um_set_error_path(err, p->path);
    return false;
}

/* The first bytes tell whether the server went on, or began anew. */
static bool take(void *ctx, const void *bytes, size_t len, umbel_error *err)
{
    part *p = ctx;
    umbel_slice piece = {bytes, len};
    umbel_error inner;

    if (!p->begun && p->fetched->whole &&
        (ftruncate(p->fd, 0) != 0 || lseek(p->fd, 0, SEEK_SET) != 0))
        return fail_to_write(p, err);
    p->begun = true;
    return um_write_parts(p->fd, &piece, 1, &inner) == UMBEL_OK ||
           fail_to_write(p, err);
}

static umbel_status check(const um_download *d, umbel_error *err)
{
    uint8_t digest[UM_DIGEST_LEN];
    uint64_t len;
    umbel_status status = um_content_digest(d->path, digest, &len, err);

    if (status != UMBEL_OK ||
        (len == d->piece->len &&
         memcmp(digest, d->piece->digest, sizeof digest) == 0))
        return status;
    unlink(d->path);
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

/* *anew: an earlier try's bytes stood in the way. */
static umbel_status fetch_rest(um_download *d, int fd, bool *anew,
                               umbel_error *err)
{
    um_fetched fetched = {.bytes = 0};
    part p = {.fd = fd, .path = d->path, .fetched = &fetched};
    um_fetch f = {.url = d->url,
                  .ca = d->ca,
                  .from = have_already(fd, d->piece),
                  .max = d->piece->len,
                  .take = take,
                  .ctx = &p};

    *anew = f.from > 0;
    if (f.from == d->piece->len)
        return UMBEL_OK;
    if ((f.from == 0 && ftruncate(fd, 0) != 0) ||
        lseek(fd, (off_t)f.from, SEEK_SET) < 0)
        return um_fail_path(err, d->path);
    umbel_status status = um_fetch_run(&f, &fetched, err);
    d->moved += fetched.bytes;
    d->missing = fetched.missing;
    *anew =
        *anew && !fetched.whole &&
        (status == UMBEL_OK || status == UMBEL_E_LIMIT || fetched.odd_range);
    if (status == UMBEL_E_LIMIT || fetched.odd_range)
        unlink(d->path);
    return status;
}

/* Nobody else owns it, or knows it by another name. */
static bool is_own(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_uid == geteuid() && st.st_nlink == 1;
}

/*
 * A beginning that an earlier try left, or a new file. What somebody else put
 * there could be written to after it was checked: it goes.
 */
static int open_part(const char *path)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(path, flags);

    if (fd >= 0 && is_own(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    unlink(path);
    return open(path, flags | O_CREAT | O_EXCL, 0666);
}

static umbel_status try_once(um_download *d, bool *anew, umbel_error *err)
{
    int fd = open_part(d->path);

    *anew = false;
    if (fd < 0)
        return um_fail_path(err, d->path);
    umbel_status status = fetch_rest(d, fd, anew, err);
    if (status != UMBEL_OK && have_already(fd, d->piece) == 0)
        unlink(d->path);
    close(fd);
    return status == UMBEL_OK ? check(d, err) : status;
}

umbel_status um_download_run(um_download *d, umbel_error *err)
{
    bool anew;
    umbel_status status = try_once(d, &anew, err);

    return status != UMBEL_OK && anew ? try_once(d, &anew, err) : status;
}
