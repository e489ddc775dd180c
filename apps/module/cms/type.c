/*
 * type.c - the data type CMSk-TYPE, with the payload of RedisBloom.
 *
 * RDB, encoding 0: unsigned width, depth, count, and a string of counters of 32
 * bits, row by row, little-endian.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "module/runtime/compat.h"
#include "module/runtime/memory.h"

#include <inttypes.h>
#include <string.h>

enum { ENCODING = 0, AOF_PIECE = 16 << 20 };

um_type *um_cms_type;

size_t um_cms_bytes(const um_cms *c)
{
    return (size_t)(c->width * c->depth * sizeof *c->cells);
}

umbel_status um_cms_open(uint64_t width, uint64_t depth, uint64_t limit,
                         um_cms **out, umbel_error *err)
{
    um_cms *c;

    if (width == 0 || depth == 0)
        return um_fail(err, UMBEL_E_FORMAT, "CMSk-TYPE: no counters");
    if (depth > limit / sizeof *c->cells / width)
        return um_fail(err, UMBEL_E_LIMIT,
                       "a sketch of %" PRIu64 " x %" PRIu64
                       " counters, the limit is %" PRIu64 " bytes",
                       width, depth, limit);
    c = um_get(&um_module_alloc, sizeof *c);
    if (!c)
        return um_no_memory(err, sizeof *c);
    c->width = width;
    c->depth = depth;
    c->cells = um_get(&um_module_alloc, um_cms_bytes(c));
    if (!c->cells) {
        um_put(&um_module_alloc, c, sizeof *c);
        return um_no_memory(err, width * depth * sizeof *c->cells);
    }
    *out = c;
    return UMBEL_OK;
}

void um_cms_close(um_cms *c)
{
    if (!c)
        return;
    um_put(&um_module_alloc, c->cells, um_cms_bytes(c));
    um_put(&um_module_alloc, c, sizeof *c);
}

static void rdb_save(um_io *io, void *value)
{
    const um_cms *c = value;

    um_api.SaveUnsigned(io, c->width);
    um_api.SaveUnsigned(io, c->depth);
    um_api.SaveUnsigned(io, (uint64_t)c->count);
    um_api.SaveStringBuffer(io, (const char *)c->cells, um_cms_bytes(c));
}

/* Creates the sketch when its counters have been read, so that it takes no more
 * memory than they do. */
static umbel_status load_cells(um_io *io, uint64_t width, uint64_t depth,
                               um_cms **out, umbel_error *err)
{
    size_t len = 0;
    char *bytes = um_api.LoadStringBuffer(io, &len);
    umbel_status status = UMBEL_OK;

    if (!bytes || um_api.IsIOError(io) || width == 0 ||
        len / sizeof *(*out)->cells / width != depth ||
        len != width * depth * sizeof *(*out)->cells)
        status = um_fail(err, UMBEL_E_FORMAT,
                         "CMSk-TYPE: the counters have another length");
    if (!status)
        status = um_cms_open(width, depth, um_load_limit(io), out, err);
    if (!status)
        memcpy((*out)->cells, bytes, len);
    if (bytes)
        um_api.Free(bytes);
    return status;
}

static void *rdb_load(um_io *io, int encver)
{
    uint64_t width = um_api.LoadUnsigned(io), depth = um_api.LoadUnsigned(io);
    uint64_t count = um_api.LoadUnsigned(io);
    umbel_error err;
    um_cms *c = NULL;

    if (encver != ENCODING || um_api.IsIOError(io) || count > INT64_MAX)
        um_set_error(&err, UMBEL_E_FORMAT, "CMSk-TYPE: bad or cut short");
    else if (load_cells(io, width, depth, &c, &err) == UMBEL_OK) {
        c->count = (int64_t)count;
        return c;
    }
    return um_load_refused(io, &err);
}

/* Writes a sketch to the AOF. CMS.LOADCHUNK is our own: RedisBloom has no
 * command that restores counters. */
static void aof_rewrite(um_io *io, um_str *key, void *value)
{
    const um_cms *c = value;
    size_t len = um_cms_bytes(c), some;

    um_api.EmitAOF(io, "CMS.INITBYDIM", "sll", key, (long long)c->width,
                   (long long)c->depth);
    for (size_t at = 0; at < len; at += some) {
        some = len - at < AOF_PIECE ? len - at : AOF_PIECE;
        um_api.EmitAOF(io, "CMS.LOADCHUNK", "sllb", key, (long long)at,
                       (long long)c->count, (const char *)c->cells + at, some);
    }
}

static size_t mem_usage(const void *value)
{
    return sizeof(um_cms) + um_cms_bytes(value);
}

static void digest(um_md *md, void *value)
{
    const um_cms *c = value;

    um_api.DigestAddStringBuffer(md, (const char *)&c->width, sizeof c->width);
    um_api.DigestAddStringBuffer(md, (const char *)&c->count, sizeof c->count);
    um_api.DigestAddStringBuffer(md, (const char *)c->cells, um_cms_bytes(c));
    um_api.DigestEndSequence(md);
}

static void free_value(void *value)
{
    um_cms_close(value);
}

static size_t free_effort(um_str *key, const void *value)
{
    (void)key;
    return 1 + um_cms_bytes(value) / 4096;
}

static void *copy(um_str *from, um_str *to, void *value)
{
    const um_cms *c = value;
    um_cms *made = NULL;

    (void)from;
    (void)to;
    if (um_cms_open(c->width, c->depth, INT64_MAX, &made, NULL) != UMBEL_OK)
        return NULL;
    memcpy(made->cells, c->cells, um_cms_bytes(c));
    made->count = c->count;
    return made;
}

const um_module_type um_module_cms_type = {
    .name = "CMSk-TYPE",
    .encoding = ENCODING,
    .methods = {.version = UM_METHODS_VERSION,
                .rdb_load = rdb_load,
                .rdb_save = rdb_save,
                .aof_rewrite = aof_rewrite,
                .mem_usage = mem_usage,
                .digest = digest,
                .free = free_value,
                .free_effort = free_effort,
                .copy = copy},
    .type = &um_cms_type};
