/*
 * pool.h - memory that is given back all at once.
 *
 * For work that needs several arrays: ask for all of them, look at failed once,
 * and release them with one call, whether the work succeeded or not.
 */
#ifndef UM_BASE_POOL_H
#define UM_BASE_POOL_H

#include <umbel/base.h>

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
