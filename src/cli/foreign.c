/*
 * foreign.c - files of other programs: mapped, read from pipes, or gunzipped.
 */
#include "cli/foreign.h"

#include "base/error.h"
#include "base/text.h"
#include "exchange/content.h"
#include "cli/files.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static bool is_gzip(const um_content *c)
{
    return c->len >= 2 && c->bytes[0] == 0x1F && c->bytes[1] == 0x8B;
}

enum { LIMIT = 256 << 20 }; /* bytes from a pipe or gzip, unless told */

/*
 * Whether what came out so far may go on: a file of theirs tells its length at
 * its beginning, and bytes of the user's come behind. Most bombs are no such
 * file; the rest are, and stop at the limit.
 */
static umbel_status may_grow(const char *format, const um_content *c,
                             umbel_error *err)
{
    const size_t most_data = (size_t)16 << 20;
    uint64_t least;

    if (c->len == 0 || c->len < c->cap)
        return UMBEL_OK;
    umbel_status status =
        umbel_import_len(format, c->bytes, c->len, &least, err);
    if (status == UMBEL_OK && least > c->limit)
        return um_fail(err, UMBEL_E_LIMIT,
                       "unpacked, it takes %" PRIu64 " bytes, the limit is "
                       "%zu: gunzip it to a file first, or allow more with "
                       "--max-memory",
                       least, c->limit);
    if (status == UMBEL_OK && c->len > least && c->len - least > most_data)
        status = um_fail(err, UMBEL_E_LIMIT,
                         "more than %zu bytes come behind its cells: gunzip "
                         "it to a file first",
                         most_data);
    return status;
}

static uInt at_most(size_t n)
{
    const size_t piece = (size_t)1 << 30;
    return (uInt)(n < piece ? n : piece);
}

/* One piece further; Z_STREAM_END with nothing left is the end. */
static umbel_status inflate_some(z_stream *z, const char *format,
                                 const um_content *packed, um_content *out,
                                 bool *done, umbel_error *err)
{
    umbel_status status = may_grow(format, out, err);
    if (status == UMBEL_OK)
        status = um_content_grow(out, err);
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

static umbel_status gunzip(const char *format, const um_content *packed,
                           um_content *out, umbel_error *err)
{
    enum { GZIP_ONLY = 15 + 16 };
    z_stream z = {.next_in = packed->bytes};
    umbel_status status = UMBEL_OK;
    bool done = false;

    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to gunzip");
    while (status == UMBEL_OK && !done)
        status = inflate_some(&z, format, packed, out, &done, err);
    inflateEnd(&z);
    return status;
}

static umbel_status import_content(const char *format, const um_content *c,
                                   uint64_t limit, umbel_filter **out,
                                   umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    um_content plain = {.limit = c->limit};
    umbel_status status = UMBEL_OK;

    source.memory_limit = limit;
    if (!is_gzip(c))
        return umbel_import(format, c->bytes, c->len, &source, out, err);
    status = gunzip(format, c, &plain, err);
    if (status == UMBEL_OK)
        status =
            umbel_import(format, plain.bytes, plain.len, &source, out, err);
    um_content_fini(&plain);
    return status;
}

umbel_status um_import_file(const char *format, const char *path,
                            uint64_t limit, umbel_filter **out,
                            umbel_error *err)
{
    um_content c;
    umbel_error inner;
    const uint64_t most = (uint64_t)4 << 30;
    size_t grown = (size_t)(limit < most ? limit : most);
    umbel_status status =
        um_content_read_within(&c, path, limit ? grown : LIMIT, err);

    if (status == UMBEL_OK) {
        status = import_content(format, &c, limit, out, &inner);
        um_content_fini(&c);
        if (status != UMBEL_OK)
            um_set_error(err, status, "%s%s: %s", um_path_dots(path),
                         um_path_tail(path), inner.text);
    }
    if (status == UMBEL_E_LIMIT && strstr(err->text, "plain file first")) {
        inner = *err;
        um_set_error(err, status, "%.200s, or allow more with --max-memory",
                     inner.text);
    }
    return status;
}

umbel_status um_export_file(const umbel_filter *f, const char *format,
                            const char *path, umbel_error *err)
{
    if (strcmp(path, "-") != 0)
        return umbel_export(f, format, path, err);
    umbel_status status = um_check_pipe(err);
    return status == UMBEL_OK ? umbel_export_to(f, format, STDOUT_FILENO, err)
                              : status;
}

bool um_is_format(const char *name)
{
    const char *known;

    for (size_t i = 0; umbel_foreign_at(i, &known, NULL); i++)
        if (strcmp(name, known) == 0)
            return true;
    return false;
}
