/*
 * memory.c - the server's memory for filters.
 *
 * The library wants memory that is aligned to cache lines; the server's
 * allocator promises 16 bytes. jemalloc, which servers use, aligns a multiple
 * of 64 bytes to 64 anyway. Where that was not seen when the module was loaded,
 * a line is added to each allocation, and the distance to its begin stands
 * before the memory.
 */
#include "module/memory.h"

#include "base/error.h"
#include "module/settings.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

enum { LINE = 64 };

static bool shifted;            /* set once, before filters exist */
static _Atomic uint64_t in_use; /* bytes, as the allocator counts them */

static void *get_counted(size_t len)
{
    void *base = um_api.TryAlloc(len);

    if (base)
        in_use += um_api.MallocSize(base);
    return base;
}

static void *get_shifted(size_t len)
{
    uint8_t *base = get_counted(len + LINE);
    size_t distance;

    if (!base)
        return NULL;
    distance = LINE - ((uintptr_t)base & (LINE - 1)); /* at least 16 */
    memcpy(base + distance - sizeof distance, &distance, sizeof distance);
    return base + distance;
}

static void *server_get(void *ctx, size_t align, size_t len)
{
    (void)ctx;
    if (align > LINE || len > SIZE_MAX / 2)
        return NULL;
    return shifted ? get_shifted(len)
                   : get_counted((len + align - 1) / align * align);
}

static void server_put(void *ctx, void *memory, size_t len)
{
    uint8_t *base = memory;
    size_t distance = 0;

    (void)ctx;
    (void)len;
    if (shifted)
        memcpy(&distance, base - sizeof distance, sizeof distance);
    base -= distance;
    in_use -= um_api.MallocSize(base);
    um_api.Free(base);
}

const umbel_alloc um_module_alloc = {.get = server_get, .put = server_put};

static bool is_aligned(size_t len)
{
    void *first = um_api.TryAlloc(len), *second = um_api.TryAlloc(len);
    bool yes = (((uintptr_t)first | (uintptr_t)second) & (LINE - 1)) == 0;

    um_api.Free(first);
    um_api.Free(second);
    return yes;
}

void um_memory_init(void)
{
    for (size_t len = LINE; len <= 4 << 20; len += len < 4096 ? LINE : len)
        shifted |= !is_aligned(len);
}

uint64_t um_memory_used(void)
{
    return in_use;
}

static uint64_t server_number(void *info, const char *name)
{
    int missing;
    uint64_t n = um_api.ServerInfoGetFieldUnsigned(info, name, &missing);

    return missing ? 0 : n;
}

umbel_status um_memory_check(um_ctx *ctx, uint64_t bytes, umbel_error *err)
{
    void *info;
    uint64_t most, used;

    if (bytes > (uint64_t)um_settings.max_filter_bytes)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the filter takes %" PRIu64
                       " bytes, umbel.max-filter-bytes allows %lld",
                       bytes, um_settings.max_filter_bytes);
    info = um_api.GetServerInfo(ctx, "memory");
    most = server_number(info, "maxmemory");
    used = server_number(info, "used_memory");
    um_api.FreeServerInfo(ctx, info);
    if (most && (used > most || bytes > most - used))
        return um_fail(err, UMBEL_E_LIMIT,
                       "the filter takes %" PRIu64
                       " bytes, maxmemory leaves %" PRIu64,
                       bytes, used > most ? 0 : most - used);
    return UMBEL_OK;
}
