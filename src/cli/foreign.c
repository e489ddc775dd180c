/*
 * foreign.c - files of other programs: mapped, read from pipes, or gunzipped.
 */
#include "cli/foreign.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* What a pipe or gzip may grow to: neither tells its length before its end. */
#define GROWN_LIMIT ((size_t)4 << 30)

/* A file's bytes: mapped, or in memory that grew. */
typedef struct content {
    uint8_t *bytes;
    size_t len, cap;
    bool mapped;
} content;

static void content_fini(content *c)
{
    if (c->mapped)
        munmap(c->bytes, c->len);
    else
        free(c->bytes);
    *c = (content){0};
}

static umbel_status grow(content *c, umbel_error *err)
{
    if (c->len < c->cap)
        return UMBEL_OK;
    size_t cap = c->cap ? 2 * c->cap : (size_t)1 << 20;
    if (cap > GROWN_LIMIT)
        return um_fail(err, UMBEL_E_LIMIT,
                       "more than %zu bytes come out of it: gunzip it to a "
                       "file first",
                       GROWN_LIMIT);
    uint8_t *bytes = realloc(c->bytes, cap);
    if (!bytes)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", cap);
    c->bytes = bytes;
    c->cap = cap;
    return UMBEL_OK;
}

static umbel_status read_all(int fd, content *c, umbel_error *err)
{
    for (;;) {
        umbel_status status = grow(c, err);
        if (status != UMBEL_OK)
            return status;
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

static umbel_status take(int fd, content *c, umbel_error *err)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        void *map =
            mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            return um_fail_errno(err, "cannot map");
        *c = (content){map, (size_t)st.st_size, 0, true};
        return UMBEL_OK;
    }
    return read_all(fd, c, err);
}

static bool is_gzip(const content *c)
{
    return c->len >= 2 && c->bytes[0] == 0x1F && c->bytes[1] == 0x8B;
}

static uInt at_most(size_t n)
{
    const size_t piece = (size_t)1 << 30;
    return (uInt)(n < piece ? n : piece);
}

/* One piece further; Z_STREAM_END with nothing left is the end. */
static umbel_status inflate_some(z_stream *z, const content *packed,
                                 content *out, bool *done, umbel_error *err)
{
    umbel_status status = grow(out, err);
    if (status != UMBEL_OK)
        return status;
    size_t at = (size_t)(z->next_in - packed->bytes);
    z->avail_in = at_most(packed->len - at);
    z->avail_out = at_most(out->cap - out->len);
    z->next_out = out->bytes + out->len;
    int code = inflate(z, Z_NO_FLUSH);
    out->len = (size_t)(z->next_out - out->bytes);
    if (code == Z_STREAM_END) {
        *done = z->next_in == packed->bytes + packed->len;
        code = *done ? Z_OK : inflateReset(z); /* the next member */
    }
    if (code == Z_OK)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT, "the gzip file is %s",
                   code == Z_BUF_ERROR ? "cut short" : "damaged");
}

static umbel_status gunzip(const content *packed, content *out,
                           umbel_error *err)
{
    enum { GZIP_ONLY = 15 + 16 };
    z_stream z = {.next_in = packed->bytes};
    umbel_status status = UMBEL_OK;
    bool done = false;

    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to gunzip");
    while (status == UMBEL_OK && !done)
        status = inflate_some(&z, packed, out, &done, err);
    inflateEnd(&z);
    return status;
}

static umbel_status import_content(const char *format, const content *c,
                                   umbel_filter **out, umbel_error *err)
{
    content plain = {0};
    umbel_status status = UMBEL_OK;

    if (!is_gzip(c))
        return umbel_import(format, c->bytes, c->len, NULL, out, err);
    status = gunzip(c, &plain, err);
    if (status == UMBEL_OK)
        status = umbel_import(format, plain.bytes, plain.len, NULL, out, err);
    content_fini(&plain);
    return status;
}

umbel_status um_import_file(const char *format, const char *path,
                            umbel_filter **out, umbel_error *err)
{
    bool stdin_used = strcmp(path, "-") == 0;
    int fd = stdin_used ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    content c = {0};
    umbel_error inner;

    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = take(fd, &c, &inner);
    if (status == UMBEL_OK)
        status = import_content(format, &c, out, &inner);
    content_fini(&c);
    if (!stdin_used)
        close(fd);
    if (status != UMBEL_OK)
        return um_fail(err, status, "%s%s: %s", um_path_dots(path),
                       um_path_tail(path), inner.text);
    return UMBEL_OK;
}

umbel_status um_export_file(const umbel_filter *f, const char *format,
                            const char *path, umbel_error *err)
{
    if (strcmp(path, "-") != 0)
        return umbel_export(f, format, path, err);
    if (isatty(STDOUT_FILENO))
        return um_fail(err, UMBEL_E_IO,
                       "a filter is no text for a terminal: use -o FILE");
    fflush(stdout);
    return umbel_export_to(f, format, STDOUT_FILENO, err);
}

bool um_is_format(const char *name)
{
    const char *known;

    for (size_t i = 0; umbel_foreign_at(i, &known, NULL); i++)
        if (strcmp(name, known) == 0)
            return true;
    return false;
}
