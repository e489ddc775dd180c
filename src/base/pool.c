/*
 * pool.c - memory that is given back all at once.
 */
#include "base/pool.h"

#include "base/alloc.h"

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
