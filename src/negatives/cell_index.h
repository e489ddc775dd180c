/*
 * cell_index.h - an index of a few cells of a large filter.
 */
#ifndef UM_OPS_CELL_MAP_H
#define UM_OPS_CELL_MAP_H

#include "base/alloc.h"
#include "base/bits.h"
#include "base/hash.h"
#include "base/map.h"

/*
 * A table with open addressing or, if that is not larger, a slot for each cell
 * of the filter. The index of a cell is its slot.
 */
typedef struct um_cell_index {
    uint64_t *slot; /* 1 + the cell; 0: free */
    size_t nslots;  /* a power of two, and at least half of them free */
    bool direct;    /* cell i has slot i */
} um_cell_index;

/* Allocates an index for up to n cells of a filter; returns false if memory
 * runs out. The pool owns the table. */
static inline bool um_cell_index_init(um_cell_index *m, um_pool *pool, size_t n,
                                      uint64_t cells)
{
    m->nslots = um_map_cap(n, 16);
    m->direct = cells <= m->nslots;
    if (m->direct)
        m->nslots = (size_t)cells;
    m->slot = um_pool_get(pool, m->nslots, sizeof *m->slot);
    return m->slot != NULL;
}

static inline bool um_cell_is_free(const void *slot)
{
    return *(const uint64_t *)slot == 0;
}

static inline bool um_cell_is(const void *ctx, const void *slot,
                              const void *cell)
{
    (void)ctx;
    return *(const uint64_t *)slot == *(const uint64_t *)cell + 1;
}

/* Returns the slot of a cell, or the free slot where it would go. */
static inline size_t um_cell_place(const um_cell_index *m, uint64_t cell)
{
    static const um_map_rule rule = {sizeof *m->slot, um_cell_is_free,
                                     um_cell_is, NULL};

    if (m->direct)
        return (size_t)cell;
    const uint64_t *slot =
        um_map_find(&rule, NULL, m->slot, m->nslots, um_remix(cell), &cell);
    return (size_t)(slot - m->slot);
}

static inline void um_cell_add(um_cell_index *m, uint64_t cell)
{
    m->slot[um_cell_place(m, cell)] = cell + 1;
}

static inline bool um_cell_known(const um_cell_index *m, uint64_t cell)
{
    return m->slot[um_cell_place(m, cell)] != 0;
}

#endif
