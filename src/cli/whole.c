/*
 * whole.c - files of bytes that are no filter: read and written whole.
 */
#include "cli/whole.h"

#include "base/error.h"
#include "base/text.h"
#include "filter/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST = 1 << 16 };

typedef struct growing {
    uint8_t *bytes;
    size_t len, cap;
} growing;

static bool grow(growing *g)
{
    if (g->len < g->cap)
        return true;
    size_t cap = g->cap ? 2 * g->cap : FIRST;
    uint8_t *more = realloc(g->bytes, cap);
    if (!more)
        return false;
    g->bytes = more;
    g->cap = cap;
    return true;
}

/* Up to one byte more than limit: then there is too much. */
static umbel_status read_all(int fd, size_t limit, growing *g, umbel_error *err)
{
    ssize_t got = 1;

    while (got != 0 && g->len <= limit) {
        if (!grow(g))
            return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes",
                           2 * g->cap);
        got = read(fd, g->bytes + g->len, g->cap - g->len);
        if (got < 0 && errno != EINTR)
            return um_fail_errno(err, "cannot read");
        g->len += got > 0 ? (size_t)got : 0;
    }
    if (g->len > limit)
        return um_fail(err, UMBEL_E_LIMIT, "more than %zu bytes", limit);
    return UMBEL_OK;
}

umbel_status um_read_whole(const char *path, size_t limit, uint8_t **out,
                           size_t *len, umbel_error *err)
{
    bool input = strcmp(path, "-") == 0;
    int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    growing g = {NULL, 0, 0};
    umbel_error inner;

    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = read_all(fd, limit, &g, &inner);
    if (!input)
        close(fd);
    if (status != UMBEL_OK) {
        free(g.bytes);
        um_note(err, status, "%s%s: %s", um_path_dots(path), um_path_tail(path),
                inner.text);
        return status;
    }
    *out = g.bytes;
    *len = g.len;
    return UMBEL_OK;
}

static umbel_status write_output(const uint8_t *at, size_t len,
                                 umbel_error *err)
{
    if (isatty(STDOUT_FILENO))
        return um_fail(err, UMBEL_E_IO,
                       "this is no text for a terminal: use -o FILE");
    fflush(stdout);
    while (len) {
        ssize_t put = write(STDOUT_FILENO, at, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return um_fail_errno(err, "not written");
        at += put;
        len -= (size_t)put;
    }
    return UMBEL_OK;
}

umbel_status um_write_whole(const char *path, const void *bytes, size_t len,
                            umbel_error *err)
{
    umbel_slice part = {bytes, len};

    if (strcmp(path, "-") == 0)
        return write_output(bytes, len, err);
    return um_save_parts(&part, 1, path, err);
}

um_name_text um_name_of(const umbel_filter *f)
{
    uint8_t name[UMBEL_CONTENT_LEN];
    um_name_text out;

    umbel_content_name(f, name);
    sodium_bin2hex(out.text, sizeof out.text, name, sizeof name);
    return out;
}
