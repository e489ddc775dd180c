/*
 * alloc.c - the default allocator, and zeroing on top of any.
 *
 * Large blocks come from mmap: the kernel hands out zeroed pages lazily, so a
 * filter of gigabytes costs only the pages that are touched. Random accesses to
 * a large filter also miss the TLB; huge pages avoid that.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "base/alloc.h"
#include "base/bits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MMAP_FROM = 1 << 20, HUGE_FROM = 4 << 20 };

void um_use_huge_pages(void *memory, size_t len, bool huge)
{
    /* only a hint: a failure does not matter */
    madvise(memory, len, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static void *library_get(void *ctx, size_t align, size_t len)
{
    (void)ctx;
    if (len >= MMAP_FROM) {
        void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return NULL;
        if (len >= HUGE_FROM)
            um_use_huge_pages(p, len, true);
        return p;
    }
    void *p = NULL;
    return posix_memalign(&p, align, len) ? NULL : p;
}

static void library_put(void *ctx, void *memory, size_t len)
{
    (void)ctx;
    if (len >= MMAP_FROM)
        munmap(memory, len);
    else
        free(memory);
}

umbel_alloc um_alloc_or_default(const umbel_alloc *given)
{
    if (given)
        return *given;
    return (umbel_alloc){.get = library_get, .put = library_put};
}

/*
 * The caller's allocator guarantees ALIGN. For more alignment, ROOM extra bytes
 * are requested; the byte before the aligned memory holds its offset in the
 * block.
 */
enum { ALIGN = 16, ROOM = UM_LINE };

static bool is_library(const umbel_alloc *a)
{
    return a->get == library_get;
}

size_t um_lazy_page(const umbel_alloc *a, size_t len)
{
    long page = sysconf(_SC_PAGESIZE);

    return is_library(a) && len >= MMAP_FROM && page > 0 ? (size_t)page : 0;
}

void *um_get(const umbel_alloc *a, size_t len)
{
    if (is_library(a)) {
        void *p = library_get(NULL, UM_LINE, len);
        return p && len < MMAP_FROM ? memset(p, 0, len) : p;
    }
    uint8_t *base =
        len <= SIZE_MAX - ROOM ? a->get(a->ctx, ALIGN, len + ROOM) : NULL;
    if (!base)
        return NULL;
    size_t offset = ROOM - (uintptr_t)base % UM_LINE;
    base[offset - 1] = (uint8_t)offset;
    return memset(base + offset, 0, len);
}

void um_put(const umbel_alloc *a, void *memory, size_t len)
{
    uint8_t *p = memory;

    if (!p)
        return;
    if (is_library(a))
        library_put(NULL, p, len);
    else
        a->put(a->ctx, p - p[-1], len + ROOM);
}

void *um_block_of(void *memory)
{
    uint8_t *p = memory;

    return p - p[-1];
}

void *um_realign(void *memory, const void *old, void *block, size_t len)
{
    size_t before = (uintptr_t)memory - (uintptr_t)old;
    size_t offset = ROOM - (uintptr_t)block % UM_LINE;
    uint8_t *base = block;

    memmove(base + offset, base + before, len);
    base[offset - 1] = (uint8_t)offset;
    return base + offset;
}

void *um_get_object(const umbel_alloc *a, size_t len)
{
    void *p = a->get(a->ctx, ALIGN, len);

    return p ? memset(p, 0, len) : NULL;
}

void um_free_object(const umbel_alloc *a, void *memory, size_t len)
{
    if (memory)
        a->put(a->ctx, memory, len);
}

void *um_get_lined(const umbel_alloc *a, size_t len, bool *padded)
{
    void *p = a->get(a->ctx, is_library(a) ? UM_LINE : ALIGN, len);

    *padded = (uintptr_t)p % UM_LINE != 0;
    if (*padded) {
        a->put(a->ctx, p, len);
        len += UM_LINE - ALIGN;
        p = a->get(a->ctx, ALIGN, len);
    }
    return p ? memset(p, 0, len) : NULL;
}

void um_free_lined(const umbel_alloc *a, void *memory, size_t len)
{
    a->put(a->ctx, memory, len + UM_LINE - ALIGN);
}

void um_pool_init(um_pool *p, const umbel_alloc *alloc)
{
    *p = (um_pool){.alloc = *alloc};
}

void *um_pool_get(um_pool *p, size_t n, size_t size)
{
    void *memory = NULL;

    if (n == 0)
        n = 1;
    if (p->used < UM_POOL_ROOM && n <= SIZE_MAX / size)
        memory = um_get(&p->alloc, n * size);
    if (!memory) {
        p->failed = true;
        return NULL;
    }
    p->got[p->used].memory = memory;
    p->got[p->used++].len = n * size;
    return memory;
}

void um_pool_fini(um_pool *p)
{
    while (p->used > 0) {
        p->used--;
        um_put(&p->alloc, p->got[p->used].memory, p->got[p->used].len);
    }
}
