/*
 * redis.c - filters stored in Redis or Valkey.
 *
 * The server is not trusted: the size of its data is limited before memory is
 * allocated, and they are decoded like an untrusted file.
 */
#include "cli/commands/internal.h"

#include "base/error.h"
#include "foreign/redisbloom.h"
#include "net/redis.h"

#include <umbel/foreign.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT = 30, PIECE = 256 << 10 };
#define MAX_BYTES ((uint64_t)1 << 30)

bool um_is_redis(const char *address)
{
    return strncmp(address, "redis://", 8) == 0 ||
           strncmp(address, "rediss://", 9) == 0; /* refused by um_redis_open */
}

static umbel_slice word(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

static uint64_t max_bytes(const um_redis_limits *limits)
{
    return limits->max_bytes ? limits->max_bytes : MAX_BYTES;
}

static umbel_status connect(const char *address, const um_redis_limits *limits,
                            um_redis **out, umbel_error *err)
{
    return um_redis_open(address, limits->timeout ? limits->timeout : TIMEOUT,
                         out, err);
}

/* --- replies -------------------------------------------------------------- */

static umbel_status unexpected(const um_redis_reply *r, const char *command,
                               umbel_error *err)
{
    const um_redis_value *v = &r->value[0];
    const char *unknown = "ERR unknown command";
    size_t len = strlen(unknown);

    if (!r->is_array && v->type == UM_REDIS_ERROR &&
        strncmp(command, "UMB.", 4) == 0 && v->text.len >= len &&
        memcmp(v->text.data, unknown, len) == 0)
        return um_fail(err, UMBEL_E_IO,
                       "%s: the server has no umbel module: start it with "
                       "--loadmodule umbel.so",
                       command);
    if (!r->is_array && v->type == UM_REDIS_ERROR)
        return um_fail(err, UMBEL_E_IO, "%s: the server replies: %.*s", command,
                       v->text.len < 120 ? (int)v->text.len : 120,
                       (const char *)v->text.data);
    return um_fail(err, UMBEL_E_IO, "%s: the reply has another form", command);
}

/* Returns true for [number, ..., bytes]: n values, of which the last is
 * bytes. */
static bool has_form(const um_redis_reply *r, size_t n)
{
    if (!r->is_array || r->n != n || r->value[n - 1].type != UM_REDIS_BYTES)
        return false;
    for (size_t i = 0; i + 1 < n; i++)
        if (r->value[i].type != UM_REDIS_NUMBER || r->value[i].number < 0)
            return false;
    return true;
}

/* Calls COMMAND KEY NUMBER. */
static umbel_status call_numbered(um_redis *r, const char *command, uint64_t n,
                                  size_t values, um_redis_reply *out,
                                  umbel_error *err)
{
    char number[24];

    snprintf(number, sizeof number, "%" PRIu64, n);
    umbel_slice words[] = {word(command), um_redis_key(r), word(number)};
    UM_TRY(um_redis_call(r, words, 3, out, err));
    return has_form(out, values) ? UMBEL_OK : unexpected(out, command, err);
}

static umbel_status too_large(uint64_t bytes, uint64_t most, umbel_error *err)
{
    return um_fail_detail(err, UMBEL_E_REFUSED, UMBEL_D_BYTES_LIMIT,
                          "the filter has %" PRIu64
                          " bytes, the limit is %" PRIu64
                          ": allow more with --max-bytes",
                          bytes, most);
}

/* --- UMB.EXPORT ----------------------------------------------------------- */

/* Feeds all pieces to a decoder; reply has the first one. */
static umbel_status feed_pieces(um_redis *r, umbel_decoder *d, uint64_t total,
                                um_redis_reply *reply, umbel_error *err)
{
    for (uint64_t offset = 0;;) {
        umbel_slice piece = reply->value[2].text;
        uint64_t next = (uint64_t)reply->value[0].number;
        offset += piece.len;
        if (piece.len == 0 || offset > total || next != offset % total ||
            (uint64_t)reply->value[1].number != total)
            return um_fail(err, UMBEL_E_IO, "UMB.EXPORT: inconsistent pieces");
        UM_TRY(umbel_decoder_feed(d, piece.data, piece.len, err));
        if (next == 0)
            return UMBEL_OK;
        UM_TRY(call_numbered(r, "UMB.EXPORT", offset, 3, reply, err));
    }
}

static umbel_status fetch_umbel(um_redis *r, const um_redis_limits *limits,
                                umbel_filter **out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_decoder *d = NULL;
    um_redis_reply reply;

    source.verify = true;
    source.memory_limit = limits->max_memory;
    UM_TRY(call_numbered(r, "UMB.EXPORT", 0, 3, &reply, err));
    uint64_t total = (uint64_t)reply.value[1].number;
    if (total == 0 || total > max_bytes(limits))
        return too_large(total, max_bytes(limits), err);
    UM_TRY(umbel_decoder_open(&source, total, &d, err));
    umbel_status status = feed_pieces(r, d, total, &reply, err);
    if (!status)
        status = umbel_decoder_finish(d, out, err);
    umbel_decoder_close(d);
    return status;
}

/* --- BF.SCANDUMP ---------------------------------------------------------- */

/* A dump: header and bits. */
typedef struct bf_dump {
    uint8_t *bytes;
    size_t len, total;
} bf_dump;

/* Computes the total length from the header, and allocates the dump. */
static umbel_status begin_dump(bf_dump *d, umbel_slice header, uint64_t most,
                               umbel_error *err)
{
    um_bf *b = NULL;

    UM_TRY(
        um_bf_from_header(header.data, header.len, most, false, NULL, &b, err));
    d->total = header.len + (size_t)um_bf_bytes(b);
    um_bf_close(b);
    d->bytes = malloc(d->total);
    if (!d->bytes)
        return um_no_memory(err, d->total);
    memcpy(d->bytes, header.data, header.len);
    d->len = header.len;
    return UMBEL_OK;
}

static umbel_status fetch_chunks(um_redis *r, bf_dump *d, uint64_t most,
                                 umbel_error *err)
{
    um_redis_reply reply;
    uint64_t at = 1;

    UM_TRY(call_numbered(r, "BF.SCANDUMP", 0, 2, &reply, err));
    UM_TRY(begin_dump(d, reply.value[1].text, most, err));
    while (d->len < d->total) {
        UM_TRY(call_numbered(r, "BF.SCANDUMP", at, 2, &reply, err));
        umbel_slice chunk = reply.value[1].text;
        if (chunk.len == 0 || chunk.len > d->total - d->len ||
            (uint64_t)reply.value[0].number != at + chunk.len)
            return um_fail(
                err, UMBEL_E_IO,
                "BF.SCANDUMP: inconsistent chunks; if the filter grew "
                "meanwhile, try again");
        memcpy(d->bytes + d->len, chunk.data, chunk.len);
        d->len += chunk.len;
        at += chunk.len;
    }
    return UMBEL_OK;
}

static umbel_status fetch_redisbloom(um_redis *r, const um_redis_limits *limits,
                                     umbel_filter **out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    bf_dump d = {NULL, 0, 0};

    source.memory_limit = limits->max_memory;
    umbel_status status = fetch_chunks(r, &d, max_bytes(limits), err);
    if (!status)
        status =
            umbel_import("redisbloom", d.bytes, d.total, &source, out, err);
    free(d.bytes);
    return status;
}

/* --- types of keys -------------------------------------------------------- */

static const struct {
    const char *type;
    umbel_status (*fetch)(um_redis *r, const um_redis_limits *limits,
                          umbel_filter **out, umbel_error *err);
} types[] = {{"umbel-flt", fetch_umbel}, {"MBbloom--", fetch_redisbloom}};

static umbel_status fetch_by_type(um_redis *r, const um_redis_limits *limits,
                                  umbel_filter **out, umbel_error *err)
{
    umbel_slice words[] = {word("TYPE"), um_redis_key(r)};
    um_redis_reply reply;

    UM_TRY(um_redis_call(r, words, 2, &reply, err));
    const um_redis_value *v = &reply.value[0];
    if (reply.is_array || v->type != UM_REDIS_STATUS)
        return unexpected(&reply, "TYPE", err);
    for (size_t i = 0; i < UM_COUNT(types); i++)
        if (v->text.len == strlen(types[i].type) &&
            memcmp(v->text.data, types[i].type, v->text.len) == 0)
            return types[i].fetch(r, limits, out, err);
    return um_fail(
        err, UMBEL_E_UNKNOWN, "the key %.60s holds no filter: its type is %.*s",
        (const char *)um_redis_key(r).data,
        v->text.len < 20 ? (int)v->text.len : 20, (const char *)v->text.data);
}

umbel_status um_redis_fetch(const char *address, const um_redis_limits *limits,
                            umbel_filter **out, uint64_t *moved,
                            umbel_error *err)
{
    um_redis *r;

    UM_TRY(connect(address, limits, &r, err));
    umbel_status status = fetch_by_type(r, limits, out, err);
    *moved = um_redis_received(r);
    um_redis_close(r);
    return status;
}

static umbel_status store_pieces(um_redis *r, const uint8_t *bytes, size_t len,
                                 umbel_error *err)
{
    char at[24], total[24];
    um_redis_reply reply;

    snprintf(total, sizeof total, "%zu", len);
    for (size_t done = 0, some; done < len; done += some) {
        some = len - done < PIECE ? len - done : PIECE;
        snprintf(at, sizeof at, "%zu", done);
        umbel_slice words[] = {word("UMB.IMPORT"),
                               um_redis_key(r),
                               word(at),
                               word(total),
                               {bytes + done, some}};
        UM_TRY(um_redis_call(r, words, UM_COUNT(words), &reply, err));
        if (reply.is_array || reply.value[0].type == UM_REDIS_ERROR)
            return unexpected(&reply, "UMB.IMPORT", err);
    }
    return UMBEL_OK;
}

umbel_status um_redis_store(const char *address, const um_redis_limits *limits,
                            const void *bytes, size_t len, umbel_error *err)
{
    um_redis *r;

    UM_TRY(connect(address, limits, &r, err));
    umbel_status status = store_pieces(r, bytes, len, err);
    um_redis_close(r);
    return status;
}
