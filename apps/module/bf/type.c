/*
 * type.c - the data type MBbloom--, with the payload of RedisBloom.
 *
 * RDB, encoding 4: unsigned items, sub-filters, options, expansion; for each
 * sub-filter unsigned capacity, double error, unsigned hashes, double bits per
 * item, unsigned bits, unsigned log2, string bits, unsigned items.
 */
#include "base/error.h"
#include "module/runtime/compat.h"
#include "module/runtime/memory.h"

#include <string.h>

enum { ENCODING = 4 };

um_type *um_bf_type;

static void rdb_save(um_io *io, void *value)
{
    const um_bf *b = value;

    um_api.SaveUnsigned(io, b->items);
    um_api.SaveUnsigned(io, b->nlinks);
    um_api.SaveUnsigned(io, b->options);
    um_api.SaveUnsigned(io, b->expansion);
    for (uint32_t i = 0; i < b->nlinks; i++) {
        const um_bf_link *l = &b->links[i];
        um_api.SaveUnsigned(io, l->capacity);
        um_api.SaveDouble(io, l->error);
        um_api.SaveUnsigned(io, l->hashes);
        um_api.SaveDouble(io, l->bits_per_item);
        um_api.SaveUnsigned(io, l->nbits);
        um_api.SaveUnsigned(io, l->log2);
        um_api.SaveStringBuffer(io, (const char *)l->bits, (size_t)l->bytes);
        um_api.SaveUnsigned(io, l->items);
    }
}

static umbel_status bad(umbel_error *err, const char *why)
{
    return um_fail(err, UMBEL_E_FORMAT, "MBbloom--: %s", why);
}

/* Loads a number of 32 bits, stored in 64. Returns 0 for a larger one, which is
 * refused later. */
static uint32_t load_u32(um_io *io)
{
    uint64_t x = um_api.LoadUnsigned(io);

    return x > UINT32_MAX ? 0 : (uint32_t)x;
}

static umbel_status load_bits(um_io *io, um_bf *b, um_bf_link *l,
                              umbel_error *err)
{
    size_t len = 0;
    char *bytes = um_api.LoadStringBuffer(io, &len);
    umbel_status status = UMBEL_OK;

    l->items = um_api.LoadUnsigned(io);
    if (!bytes || um_api.IsIOError(io))
        status = bad(err, "cut short");
    else if (len != l->bytes)
        status = bad(err, "the bits have another length than stated");
    if (!status)
        status = um_bf_link_bits(b, l, err);
    if (!status) {
        memcpy(l->bits, bytes, len);
        b->links[b->nlinks++] = *l;
    }
    if (bytes)
        um_api.Free(bytes);
    return status;
}

static umbel_status load_link(um_io *io, um_bf *b, umbel_error *err)
{
    um_bf_link l = {.capacity = um_api.LoadUnsigned(io)};

    l.error = um_api.LoadDouble(io);
    l.hashes = load_u32(io);
    l.bits_per_item = um_api.LoadDouble(io);
    l.nbits = um_api.LoadUnsigned(io);
    l.bytes = l.nbits / 8;
    uint32_t log2 = load_u32(io);
    l.log2 = log2 > 63 ? 64 : (uint8_t)log2;
    if (um_api.IsIOError(io))
        return bad(err, "cut short");
    if (!um_bf_link_fits(&l))
        return bad(err, "the numbers of a sub-filter contradict each other");
    UM_TRY(um_bf_check_limit(b, &l, err));
    UM_TRY(um_bf_hold(b, b->nlinks + 1, err));
    return load_bits(io, b, &l, err);
}

static umbel_status load(um_io *io, um_bf *b, umbel_error *err)
{
    b->items = um_api.LoadUnsigned(io);
    uint32_t links = load_u32(io);
    b->options = load_u32(io);
    b->expansion = load_u32(io);

    if (um_api.IsIOError(io))
        return bad(err, "cut short");
    for (uint32_t i = 0; i < links; i++)
        UM_TRY(load_link(io, b, err));
    return um_bf_check(b, err);
}

static void *rdb_load(um_io *io, int encver)
{
    umbel_error err;
    um_bf *b = NULL;

    if (encver != ENCODING) {
        um_set_error(&err, UMBEL_E_VERSION,
                     "MBbloom-- in encoding %d: only 4 is known", encver);
        return um_load_refused(io, &err);
    }
    if (um_bf_blank(um_load_limit(io), &um_module_alloc, &b, &err) ==
            UMBEL_OK &&
        load(io, b, &err) == UMBEL_OK)
        return b;
    um_bf_close(b);
    return um_load_refused(io, &err);
}

static void aof_rewrite(um_io *io, um_str *key, void *value)
{
    const um_bf *b = value;
    size_t len = um_bf_header_len(b);
    uint8_t *header = um_api.Alloc(len);
    umbel_slice chunk;

    um_bf_append_header(b, header);
    um_api.EmitAOF(io, "BF.LOADCHUNK", "slb", key, 1LL, (const char *)header,
                   len);
    um_api.Free(header);
    for (uint64_t at = 0; (chunk = um_bf_chunk(b, at)).len; at += chunk.len)
        um_api.EmitAOF(io, "BF.LOADCHUNK", "slb", key,
                       (long long)at + (long long)chunk.len + 1, chunk.data,
                       chunk.len);
}

static size_t mem_usage(const void *value)
{
    return um_bf_memory(value);
}

static void digest(um_md *md, void *value)
{
    const um_bf *b = value;

    for (uint32_t i = 0; i < b->nlinks; i++) {
        const um_bf_link *l = &b->links[i];
        um_api.DigestAddStringBuffer(md, (const char *)&l->items,
                                     sizeof l->items);
        um_api.DigestAddStringBuffer(md, (const char *)l->bits,
                                     (size_t)l->bytes);
    }
    um_api.DigestEndSequence(md);
}

static void free_value(void *value)
{
    um_bf_close(value);
}

static size_t free_effort(um_str *key, const void *value)
{
    (void)key;
    return 1 + (size_t)um_bf_bytes(value) / 4096;
}

static void *copy(um_str *from, um_str *to, void *value)
{
    um_bf *made = NULL;

    (void)from;
    (void)to;
    return um_bf_copy(value, &made, NULL) == UMBEL_OK ? made : NULL;
}

const um_module_type um_module_bf_type = {
    .name = "MBbloom--",
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
    .type = &um_bf_type};
