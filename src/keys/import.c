/*
 * import.c - decompress a filter of another program, and import it.
 *
 * A file that decompresses to far more than it should is found out early: a
 * filter states its length at its beginning, so it is checked before more
 * memory is allocated. What follows the cells is data of the user, and is
 * bounded as well.
 */
#define ZLIB_CONST /* input is const */
#include "keys/import.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    GZIP_ONLY = 15 + 16,   /* of inflateInit2: the gzip header is required */
    FIRST = 1 << 20,       /* bytes allocated at first */
    MOST_DATA = 16 << 20,  /* bytes behind the cells */
    MOST_AT_ONCE = 1 << 30 /* zlib counts in unsigned int */
};

/* What came out so far. */
typedef struct plain {
    const char *format;
    uint8_t *bytes;
    size_t len, cap;
    size_t limit;
} plain;

#define too_large(err, ...)                                                    \
    um_fail_detail(err, UMBEL_E_LIMIT, UMBEL_D_COMPRESSED, __VA_ARGS__)

/* Refuses to go on if the beginning says that the rest cannot be right. */
static umbel_status check_length(const plain *p, umbel_error *err)
{
    uint64_t least;

    if (p->len == 0)
        return UMBEL_OK;
    UM_TRY(umbel_import_len(p->format, p->bytes, p->len, &least, err));
    if (least > p->limit)
        return too_large(err,
                         "decompressed, it takes %" PRIu64 " bytes, and the "
                         "limit is %zu: decompress it to a file first",
                         least, p->limit);
    if (p->len > least && p->len - least > MOST_DATA)
        return um_fail(err, UMBEL_E_LIMIT,
                       "more than %d bytes follow its cells: decompress it to "
                       "a file first",
                       MOST_DATA);
    return UMBEL_OK;
}

/* Makes room for at least one byte more. */
static umbel_status make_room(plain *p, umbel_error *err)
{
    size_t cap = p->cap ? 2 * p->cap : FIRST;

    if (p->len < p->cap)
        return UMBEL_OK;
    UM_TRY(check_length(p, err));
    if (p->cap > p->limit)
        return too_large(err,
                         "decompressed, it takes more than %zu bytes: "
                         "decompress it to a file first",
                         p->limit);
    cap = cap <= p->limit ? cap : p->limit + 1; /* the one that is too much */
    uint8_t *larger = realloc(p->bytes, cap);
    if (!larger)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", cap);
    p->bytes = larger;
    p->cap = cap;
    return UMBEL_OK;
}

static uInt at_most(size_t n)
{
    return (uInt)(n < MOST_AT_ONCE ? n : MOST_AT_ONCE);
}

/* Decompresses some more. *done: the last member of the file ended. */
static umbel_status inflate_some(z_stream *z, const uint8_t *end, plain *p,
                                 bool *done, umbel_error *err)
{
    UM_TRY(make_room(p, err));
    z->avail_in = at_most((size_t)(end - z->next_in));
    z->avail_out = at_most(p->cap - p->len);
    z->next_out = p->bytes + p->len;
    int code = inflate(z, Z_NO_FLUSH);
    p->len = (size_t)(z->next_out - p->bytes);
    if (code == Z_STREAM_END) {
        *done = z->next_in == end;
        code = *done ? Z_OK : inflateReset(z);
    }
    return code == Z_OK
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_FORMAT, "the gzip file is %s",
                         code == Z_BUF_ERROR ? "cut short" : "damaged");
}

static umbel_status decompress(const uint8_t *bytes, size_t len, plain *p,
                               umbel_error *err)
{
    z_stream z = {.next_in = bytes};
    umbel_status status = UMBEL_OK;
    bool done = false;

    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to decompress");
    while (status == UMBEL_OK && !done)
        status = inflate_some(&z, bytes + len, p, &done, err);
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
    plain p = {.format = format,
               .limit = limit == 0         ? UM_IMPORT_LIMIT
                        : limit < SIZE_MAX ? (size_t)limit
                                           : SIZE_MAX - 1};

    source.memory_limit = limit;
    if (!is_gzip(bytes, len))
        return umbel_import(format, bytes, len, &source, out, err);
    umbel_status status = decompress(bytes, len, &p, err);
    if (status == UMBEL_OK)
        status = umbel_import(format, p.bytes, p.len, &source, out, err);
    free(p.bytes);
    return status;
}

bool um_is_format(const char *name)
{
    const char *known;

    for (size_t i = 0; umbel_foreign_at(i, &known, NULL); i++)
        if (strcmp(name, known) == 0)
            return true;
    return false;
}
