/*
 * content.c - all bytes of a file: mapped, read from a pipe, or computed.
 */
#include "filter/content.h"

#include "base/buffer.h"
#include "base/error.h"

#include <umbel/umbel.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

umbel_status um_fail_open(umbel_error *err, const char *path)
{
    umbel_status status = errno == ENOENT ? UMBEL_E_UNKNOWN : UMBEL_E_IO;

    um_set_error_path(err, path);
    if (err)
        err->status = status;
    return status;
}

void um_content_fini(um_content *c)
{
    if (c->mapped)
        munmap(c->bytes, c->len);
    else
        free(c->bytes);
    *c = (um_content){0};
}

umbel_status um_content_grow(um_content *c, umbel_error *err)
{
    size_t cap = c->cap ? 2 * c->cap : (size_t)1 << 20;

    if (c->len < c->cap)
        return UMBEL_OK;
    if (c->cap > c->limit)
        return um_fail_detail(
            err, UMBEL_E_LIMIT, UMBEL_D_COMPRESSED,
            "more than %zu bytes come out of it: make it a plain "
            "file first",
            c->limit);
    cap = cap <= c->limit ? cap : c->limit + 1; /* one byte more than allowed */
    if (!um_array_resize(&c->bytes, cap, 1))
        return um_no_memory(err, cap);
    c->cap = cap;
    return UMBEL_OK;
}

static umbel_status read_all(int fd, um_content *c, umbel_error *err)
{
    for (;;) {
        UM_TRY(um_content_grow(c, err));
        ssize_t got = read(fd, c->bytes + c->len, c->cap - c->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return um_fail_errno(err, "cannot read");
        if (got == 0)
            return UMBEL_OK;
        c->len += (size_t)got;
    }
}

/* Maps a file; an empty one cannot be mapped, and need not be. */
static umbel_status map_all(int fd, const struct stat *st, um_content *c,
                            umbel_error *err)
{
    size_t len = (size_t)st->st_size;
    void *map = len ? mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;

    if (map == MAP_FAILED)
        return um_fail_errno(err, "cannot map");
    c->bytes = map;
    c->len = len;
    c->mapped = len > 0;
    return UMBEL_OK;
}

static umbel_status read_file(int fd, um_content *c, umbel_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return um_fail_errno(err, "cannot read");
    if (!S_ISREG(st.st_mode))
        return um_fail(err, UMBEL_E_IO,
                       "not a regular file: keep it in one first");
    return map_all(fd, &st, c, err);
}

/* Maps a file, or reads it if its length is unknown: files in /proc report
 * 0. */
static umbel_status read_any(int fd, um_content *c, umbel_error *err)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        return map_all(fd, &st, c, err);
    return read_all(fd, c, err);
}

/* Frees *c after a failure, and prepends the path to the text. */
static umbel_status conclude(um_content *c, umbel_status status,
                             const char *path, umbel_error *err)
{
    if (status != UMBEL_OK)
        um_content_fini(c);
    return um_name_file(status, path, err);
}

/* Maps a regular file. O_NONBLOCK: otherwise opening a pipe would wait for a
 * writer. */
umbel_status um_content_read(um_content *c, const char *path, umbel_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *c = (um_content){.len = 0};
    if (fd < 0)
        return um_fail_open(err, path);
    umbel_status status = read_file(fd, c, err);
    close(fd);
    return conclude(c, status, path, err);
}

umbel_status um_content_read_within(um_content *c, const char *path,
                                    size_t limit, umbel_error *err)
{
    bool piped = strcmp(path, "-") == 0;
    int fd = piped ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

    *c = (um_content){.limit = limit};
    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = read_any(fd, c, err);
    if (!piped)
        close(fd);
    return conclude(c, status, path, err);
}
