/*
 * unpack.c - decompresses gzip, zstd and bzip2 as the bytes arrive.
 *
 * A file may consist of several members one after the other, as parallel
 * compressors write them. Memory is bounded by the formats: 32 KiB of history
 * for gzip, blocks of 900 kB for bzip2, and a window for zstd that is refused
 * above WINDOW_LOG. What a small file may expand to is bounded as well, because
 * some lists of keys are kept in memory or in temporary files.
 */
#include "keylist/internal.h"

#include "base/error.h"

#include <bzlib.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { WINDOW_LOG = 27 }; /* 128 MiB, as the zstd command allows by default */

/* The result of a step. */
typedef enum step_result {
    MORE,
    MEMBER_ENDED,
    DAMAGED,
    WINDOW,
    NO_MEMORY
} step_result;

typedef struct row {
    const char *name;
    const char *magic;
    size_t magic_len;
    bool (*open)(um_unpacker *u);
    step_result (*step)(um_unpacker *u, um_span *in, um_span *out);
    bool (*restart)(um_unpacker *u); /* before the next member */
    void (*close)(um_unpacker *u);
} row;

struct um_unpacker {
    const row *format;
    step_result last;
    bool full;        /* the last output was full: there may be more */
    uint64_t in, out; /* bytes in total */
    union {
        z_stream z;
        bz_stream bz;
        ZSTD_DCtx *zstd;
    } state;
};

/* Removes the first n bytes. */
static void advance(um_span *s, size_t n)
{
    s->at += n;
    s->len -= n;
}

/* --- gzip ----------------------------------------------------------------- */

static bool open_gzip(um_unpacker *u)
{
    return inflateInit2(&u->state.z, 16 + MAX_WBITS) == Z_OK;
}

static step_result step_gzip(um_unpacker *u, um_span *in, um_span *out)
{
    z_stream *z = &u->state.z;

    z->next_in = in->at;
    z->avail_in = (uInt)in->len;
    z->next_out = out->at;
    z->avail_out = (uInt)out->len;
    int result = inflate(z, Z_NO_FLUSH);
    advance(in, in->len - z->avail_in);
    advance(out, out->len - z->avail_out);
    if (result == Z_OK || result == Z_BUF_ERROR)
        return MORE;
    return result == Z_STREAM_END  ? MEMBER_ENDED
           : result == Z_MEM_ERROR ? NO_MEMORY
                                   : DAMAGED;
}

static bool restart_gzip(um_unpacker *u)
{
    return inflateReset(&u->state.z) == Z_OK;
}

static void close_gzip(um_unpacker *u)
{
    inflateEnd(&u->state.z);
}

/* --- bzip2 ---------------------------------------------------------------- */

static bool open_bzip2(um_unpacker *u)
{
    return BZ2_bzDecompressInit(&u->state.bz, 0, 0) == BZ_OK;
}

static step_result step_bzip2(um_unpacker *u, um_span *in, um_span *out)
{
    bz_stream *z = &u->state.bz;

    z->next_in = (char *)in->at;
    z->avail_in = (unsigned)in->len;
    z->next_out = (char *)out->at;
    z->avail_out = (unsigned)out->len;
    int result = BZ2_bzDecompress(z);
    advance(in, in->len - z->avail_in);
    advance(out, out->len - z->avail_out);
    if (result == BZ_OK)
        return MORE;
    return result == BZ_STREAM_END  ? MEMBER_ENDED
           : result == BZ_MEM_ERROR ? NO_MEMORY
                                    : DAMAGED;
}

static void close_bzip2(um_unpacker *u)
{
    BZ2_bzDecompressEnd(&u->state.bz);
}

static bool restart_bzip2(um_unpacker *u)
{
    close_bzip2(u);
    u->state.bz = (bz_stream){0};
    return open_bzip2(u);
}

/* --- zstd ----------------------------------------------------------------- */

static bool open_zstd(um_unpacker *u)
{
    u->state.zstd = ZSTD_createDCtx();
    return u->state.zstd &&
           !ZSTD_isError(ZSTD_DCtx_setParameter(
               u->state.zstd, ZSTD_d_windowLogMax, WINDOW_LOG));
}

static step_result step_zstd(um_unpacker *u, um_span *in, um_span *out)
{
    ZSTD_inBuffer from = {in->at, in->len, 0};
    ZSTD_outBuffer to = {out->at, out->len, 0};
    size_t result = ZSTD_decompressStream(u->state.zstd, &to, &from);

    advance(in, from.pos);
    advance(out, to.pos);
    if (!ZSTD_isError(result))
        return result ? MORE : MEMBER_ENDED;
    ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
    return code == ZSTD_error_frameParameter_windowTooLarge ? WINDOW
           : code == ZSTD_error_memory_allocation           ? NO_MEMORY
                                                            : DAMAGED;
}

static bool restart_zstd(um_unpacker *u)
{
    return !ZSTD_isError(
        ZSTD_DCtx_reset(u->state.zstd, ZSTD_reset_session_only));
}

static void close_zstd(um_unpacker *u)
{
    ZSTD_freeDCtx(u->state.zstd);
}

/* --- all of them ---------------------------------------------------------- */

static const row rows[] = {
    {"gzip", "\x1F\x8B\x08", 3, open_gzip, step_gzip, restart_gzip, close_gzip},
    {"zstd", "\x28\xB5\x2F\xFD", 4, open_zstd, step_zstd, restart_zstd,
     close_zstd},
    /* a skippable frame, with which pzstd begins */
    {"zstd", "\x50\x2A\x4D\x18", 4, open_zstd, step_zstd, restart_zstd,
     close_zstd},
    {"bzip2", "BZh91AY&SY", 10, open_bzip2, step_bzip2, restart_bzip2,
     close_bzip2},
};

static const row *find_row(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        const row *r = &rows[i];
        size_t any = r->step == step_bzip2 ? 3 : SIZE_MAX; /* size of blocks */
        size_t n = 0;
        while (n < r->magic_len && n < len &&
               (bytes[n] == (uint8_t)r->magic[n] || n == any))
            n++;
        if (n == r->magic_len)
            return r;
    }
    return NULL;
}

umbel_status um_unpack_open(const void *bytes, size_t len, um_unpacker **out,
                            umbel_error *err)
{
    const row *format = find_row(bytes, len);

    *out = NULL;
    if (!format)
        return UMBEL_OK;
    um_unpacker *u = calloc(1, sizeof *u);
    if (u)
        u->format = format;
    if (!u || !format->open(u)) {
        um_unpack_close(u);
        return um_fail(err, UMBEL_E_NOMEM, "no memory to decompress keys");
    }
    *out = u;
    return UMBEL_OK;
}

void um_unpack_close(um_unpacker *u)
{
    if (u)
        u->format->close(u);
    free(u);
}

static bool expands_too_much(const um_unpacker *u)
{
    return u->out > UM_UNPACK_FREE && u->out / UM_UNPACK_TIMES > u->in;
}

bool um_unpack_has_more(const um_unpacker *u)
{
    return u->full && u->last == MORE;
}

size_t um_unpack_some(um_unpacker *u, um_span *in, uint8_t *to, size_t cap)
{
    um_span out = {to, cap};

    while ((in->len || um_unpack_has_more(u)) && out.len == cap &&
           !um_unpack_wrong(u)) {
        size_t before = in->len;
        if (u->last == MEMBER_ENDED && !u->format->restart(u))
            u->last = NO_MEMORY;
        else
            u->last = u->format->step(u, in, &out);
        u->full = out.len == 0;
        u->in += before - in->len;
        u->out += cap - out.len;
        if (before && before == in->len && out.len == cap && u->last == MORE)
            u->last = DAMAGED; /* no progress */
    }
    return cap - out.len;
}

const char *um_unpack_wrong(const um_unpacker *u)
{
    if (u->last == WINDOW)
        return "needs more than 128 MiB of memory: decompress it with zstdcat "
               "--long=31, and pipe the keys to umbel";
    if (u->last == NO_MEMORY)
        return "needs more memory than there is";
    if (u->last == DAMAGED)
        return "is damaged, or something else follows it";
    if (expands_too_much(u))
        return "expands to more than 500 times its size, as only forged files "
               "do: if it is a list of keys, decompress it, and pipe the keys "
               "to umbel";
    return NULL;
}

const char *um_unpack_cut(const um_unpacker *u)
{
    return u->last == MEMBER_ENDED ? NULL : "is cut short";
}

const char *um_unpack_format(const um_unpacker *u)
{
    return u->format->name;
}
