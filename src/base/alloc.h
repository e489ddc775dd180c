/*
 * alloc.h - memory through the caller's allocator.
 */
#ifndef UM_BASE_ALLOC_H
#define UM_BASE_ALLOC_H

#include <umbel/base.h>

/* Returns *given, or the C library's allocator when given is NULL. */
umbel_alloc um_alloc_or_default(const umbel_alloc *given);

/* Asks the kernel for huge pages behind memory, or for ordinary ones. */
void um_use_huge_pages(void *memory, size_t len, bool huge);

/* Returns the size of the pages by which memory of um_get begins to take space,
 * each when it is first written; 0 if all of it takes space at once. */
size_t um_lazy_page(const umbel_alloc *a, size_t len);

/* Returns zeroed memory, aligned to 64 bytes; NULL when out of memory. len >
 * 0. */
void *um_get(const umbel_alloc *a, size_t len);
/* Frees memory that um_get returned. NULL is accepted. */
void um_put(const umbel_alloc *a, void *memory, size_t len);

/*
 * For allocators that move blocks to defragment. um_block_of returns the block
 * that contains memory from um_get. um_realign restores the alignment of len
 * bytes of memory after its block moved from old to block, and returns its new
 * address.
 */
void *um_block_of(void *memory);
void *um_realign(void *memory, const void *old, void *block, size_t len);

/* Like um_get and um_put, for small objects: aligned to 16 bytes as by malloc,
 * without padding. */
void *um_get_object(const umbel_alloc *a, size_t len);
void um_free_object(const umbel_alloc *a, void *memory, size_t len);

/*
 * Like um_get_object, but aligned to 64 bytes if the allocator happens to do
 * that, as most do for such lengths; otherwise sets *padded and returns a block
 * with enough extra space to align within it.
 */
void *um_get_lined(const umbel_alloc *a, size_t len, bool *padded);
/* Frees padded memory of um_get_lined; if it is not padded, use
 * um_free_object. */
void um_free_lined(const umbel_alloc *a, void *memory, size_t len);

/*
 * Memory that is freed all at once, for work that needs several arrays: request
 * all of them, check failed once, and free them with one call, whether the work
 * succeeded or not.
 */
enum { UM_POOL_ROOM = 48 };

typedef struct um_pool {
    umbel_alloc alloc;
    size_t used;
    struct {
        void *memory;
        size_t len;
    } got[UM_POOL_ROOM];
    bool failed; /* a request found no memory, or no slot in got */
} um_pool;

/* Initializes an empty pool. A zeroed pool is also empty, and may be freed. */
void um_pool_init(um_pool *p, const umbel_alloc *alloc);

/* Returns n zeroed objects of this size, at least one, or NULL. */
void *um_pool_get(um_pool *p, size_t n, size_t size);

/* Frees everything. */
void um_pool_fini(um_pool *p);

#endif
