/*
 * import.c - decompresses a filter of another program, and imports it.
 *
 * A file that decompresses to far more than it should is detected early: a
 * filter states its length at the beginning, which is checked before more
 * memory is allocated. The user's data after the cells are limited as well.
 */
#define ZLIB_CONST /* input is const */
#include "build/build.h"

#include "base/error.h"
#include "filter/content.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    GZIP_ONLY = 15 + 16,  /* of inflateInit2: the gzip header is required */
    MAX_DATA = 16 << 20,  /* bytes after the cells */
    MAX_AT_ONCE = 1 << 30 /* zlib counts in unsigned int */
};

/* Fails if the beginning shows that the file is too long. */
static umbel_status check_length(const char *format, const um_content *c,
                                 umbel_error *err)
{
    uint64_t least;

    if (c->len == 0)
        return UMBEL_OK;
    UM_TRY(umbel_import_len(format, c->bytes, c->len, &least, err));
    if (least > c->limit)
        return um_fail_detail(err, UMBEL_E_LIMIT, UMBEL_D_COMPRESSED,
                              "decompressed, it takes %" PRIu64
                              " bytes, and the limit is %zu: decompress it to "
                              "a file first",
                              least, c->limit);
    if (c->len > least && c->len - least > MAX_DATA)
        return um_fail(err, UMBEL_E_LIMIT,
                       "more than %d bytes follow its cells: decompress it to "
                       "a file first",
                       MAX_DATA);
    return UMBEL_OK;
}

/* Reserves space for at least one more byte. */
static umbel_status reserve(const char *format, um_content *c, umbel_error *err)
{
    if (c->len < c->cap)
        return UMBEL_OK;
    UM_TRY(check_length(format, c, err));
    umbel_status status = um_content_grow(c, err);
    if (status == UMBEL_E_LIMIT)
        um_set_detail(err, UMBEL_D_COMPRESSED);
    return status;
}

static uInt at_most(size_t n)
{
    return (uInt)(n < MAX_AT_ONCE ? n : MAX_AT_ONCE);
}

/* Decompresses some more. Sets *done at the end of the last gzip member. */
static umbel_status inflate_some(z_stream *z, const uint8_t *end,
                                 const char *format, um_content *out,
                                 bool *done, umbel_error *err)
{
    UM_TRY(reserve(format, out, err));
    z->avail_in = at_most((size_t)(end - z->next_in));
    z->avail_out = at_most(out->cap - out->len);
    z->next_out = out->bytes + out->len;
    int code = inflate(z, Z_NO_FLUSH);
    out->len = (size_t)(z->next_out - out->bytes);
    if (code == Z_STREAM_END) {
        *done = z->next_in == end;
        code = *done ? Z_OK : inflateReset(z);
    }
    return code == Z_OK
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_FORMAT, "the gzip file is %s",
                         code == Z_BUF_ERROR ? "cut short" : "damaged");
}

static umbel_status decompress(const char *format, const uint8_t *bytes,
                               size_t len, um_content *out, umbel_error *err)
{
    z_stream z = {.next_in = bytes};
    umbel_status status = UMBEL_OK;
    bool done = false;

    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to decompress");
    while (status == UMBEL_OK && !done)
        status = inflate_some(&z, bytes + len, format, out, &done, err);
    inflateEnd(&z);
    return status;
}

static bool is_gzip(const uint8_t *bytes, size_t len)
{
    return len >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
}

umbel_status um_import(const char *format, const void *bytes, size_t len,
                       uint64_t limit, umbel_filter **out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    um_content plain = {.limit = limit == 0         ? UM_IMPORT_LIMIT
                                 : limit < SIZE_MAX ? (size_t)limit
                                                    : SIZE_MAX - 1};

    source.memory_limit = limit;
    if (!is_gzip(bytes, len))
        return umbel_import(format, bytes, len, &source, out, err);
    umbel_status status = decompress(format, bytes, len, &plain, err);
    if (status == UMBEL_OK)
        status =
            umbel_import(format, plain.bytes, plain.len, &source, out, err);
    um_content_fini(&plain);
    return status;
}
