/*
 * alloc.h - memory through the caller's allocator.
 */
#ifndef UM_BASE_ALLOC_H
#define UM_BASE_ALLOC_H

#include <umbel/base.h>

/* *given, or the C library's when given is NULL. */
umbel_alloc um_alloc_or_default(const umbel_alloc *given);

/* Ask for large pages below memory, where there are any; or for usual ones. */
void um_use_huge_pages(void *memory, size_t len, bool huge);

/* Zeroed memory, aligned to 64 bytes; NULL when there is none. len > 0. */
void *um_get(const umbel_alloc *a, size_t len);
/* NULL is fine. */
void um_put(const umbel_alloc *a, void *memory, size_t len);

/*
 * For memory of the caller's allocator, which moves its blocks (to defragment):
 * returns the block that um_get's memory lies in; and puts memory of len bytes
 * in line again after the block went from old to block.
 */
void *um_block_of(void *memory);
void *um_realign(void *memory, const void *old, void *block, size_t len);

/* um_get and um_put for small objects, aligned to 16 bytes as by malloc: no
 * room is lost to alignment. */
void *um_get_object(const umbel_alloc *a, size_t len);
void um_free_object(const umbel_alloc *a, void *memory, size_t len);

/*
 * The same, aligned to 64 bytes where the allocator does that by itself, as
 * most do for such lengths; else *padded, and with room to begin at such a
 * place.
 */
void *um_get_lined(const umbel_alloc *a, size_t len, bool *padded);
/* Frees memory that is padded; um_free_object frees other memory. */
void um_free_lined(const umbel_alloc *a, void *memory, size_t len);

/*
 * Memory that is given back all at once, for work that needs several arrays:
 * ask for all of them, look at failed once, and release them with one call,
 * whether the work succeeded or not.
 */
enum { UM_POOL_ROOM = 48 };

typedef struct um_pool {
    umbel_alloc alloc;
    size_t used;
    struct {
        void *memory;
        size_t len;
    } got[UM_POOL_ROOM];
    bool failed; /* a request found no memory, or no room in got */
} um_pool;

/* Begins an empty pool. A zeroed one is empty, too, and may be released. */
void um_pool_init(um_pool *p, const umbel_alloc *alloc);

/* Returns n zeroed objects of that size, at least one, or NULL. */
void *um_pool_get(um_pool *p, size_t n, size_t size);

/* Gives everything back. */
void um_pool_fini(um_pool *p);

#endif
