/*
 * memory.c - allocates filters from the server's memory.
 */
#include "module/runtime/memory.h"

#include "base/alloc.h"
#include "base/bits.h"
#include "base/error.h"
#include "module/runtime/keys.h"
#include "module/runtime/settings.h"

#include <inttypes.h>
#include <stdatomic.h>

enum { PROMISED = 16 }; /* alignment of the server's allocations */
enum { SMALL = 1 << 20 };
enum { HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20 };

static _Thread_local bool growing; /* see um_memory_growing */
static _Atomic uint64_t in_use;    /* bytes, as counted by the allocator */

/*
 * Requests huge pages inside a block, or normal ones before the block is freed
 * and the server reuses it. Cells are accessed at random, so most look-ups in a
 * large filter would miss the TLB; and freeing 1 GB takes milliseconds with
 * huge pages, a tenth of a second without. Saving in a child process takes no
 * more memory: since 5.8 Linux copies 4 KiB at a time.
 */
static void set_pages(void *memory, size_t len, bool huge)
{
    uintptr_t from = ((uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE;
    uintptr_t to = ((uintptr_t)memory + len) / HUGE_PAGE;

    if (len >= HUGE_FROM && from < to)
        um_use_huge_pages((uint8_t *)memory +
                              (from * HUGE_PAGE - (uintptr_t)memory),
                          (to - from) * HUGE_PAGE, huge);
}

static void *server_get(void *ctx, size_t align, size_t len)
{
    uint64_t most = (uint64_t)um_settings.max_filter_bytes + UM_LINE;
    void *memory = NULL;

    (void)ctx;
    if (align <= PROMISED && (!growing || len <= most))
        memory = um_api.TryAlloc(len);
    if (!memory)
        return NULL;
    in_use += um_api.MallocSize(memory);
    set_pages(memory, len, true);
    return memory;
}

static void server_put(void *ctx, void *memory, size_t len)
{
    (void)ctx;
    in_use -= um_api.MallocSize(memory);
    set_pages(memory, len, false);
    um_api.Free(memory);
}

const umbel_alloc um_module_alloc = {.get = server_get, .put = server_put};

void um_memory_growing(bool yes)
{
    growing = yes;
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

uint64_t um_memory_limit(um_ctx *ctx)
{
    return um_from_primary(ctx) ? INT64_MAX
                                : (uint64_t)um_settings.max_filter_bytes;
}

uint64_t um_load_limit(um_io *io)
{
    um_ctx *ctx = um_api.GetContextFromIO(io);
    int replica = UM_IS_REPLICA | UM_READ_ONLY;

    return (um_api.GetContextFlags(ctx) & replica) == replica
               ? INT64_MAX
               : um_memory_limit(ctx);
}

umbel_status um_memory_check(um_ctx *ctx, uint64_t bytes, umbel_error *err)
{
    void *info;
    uint64_t most, used;

    if (bytes > um_memory_limit(ctx))
        return um_fail(err, UMBEL_E_LIMIT,
                       "the filter takes %" PRIu64
                       " bytes, umbel.max-filter-bytes allows %lld",
                       bytes, um_settings.max_filter_bytes);
    /* The server itself refuses small allocations (deny-oom), and INFO is slow.
     * A replica accepts what its primary accepted. */
    if (bytes < SMALL || um_from_primary(ctx) ||
        um_api.GetUsedMemoryRatio() <= 0)
        return UMBEL_OK;
    info = um_api.GetServerInfo(ctx, "memory");
    most = server_number(info, "maxmemory");
    used = server_number(info, "used_memory");
    if (um_api.GetContextFlags(ctx) & UM_MAY_EVICT)
        used = 0; /* other keys are evicted for it */
    um_api.FreeServerInfo(ctx, info);
    if (most && (used > most || bytes > most - used))
        return um_fail(err, UMBEL_E_LIMIT,
                       "the filter takes %" PRIu64
                       " bytes, maxmemory leaves %" PRIu64,
                       bytes, used > most ? 0 : most - used);
    return UMBEL_OK;
}

bool um_memory_is_over(um_ctx *ctx)
{
    return um_api.GetUsedMemoryRatio() > 1 && !um_from_primary(ctx) &&
           !(um_api.GetContextFlags(ctx) & UM_MAY_EVICT);
}
