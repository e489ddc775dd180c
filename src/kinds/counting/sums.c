/*
 * counting_sums.c - what many counting filters count together, at most: a sum
 * for each cell.
 */
#include "kinds/counting/counting.h"

#include <string.h>

static uint64_t len(const void *self)
{
    return ((const um_counting *)self)->layout->cells;
}

/* Adds by how much cells grew, from `from` up to before end. was: their old
 * values, of which the first is that of cell first; NULL: zeros. */
static void add_cells(const um_cells *now, const um_cells *was, uint64_t first,
                      uint64_t from, uint64_t end, const um_sums *to)
{
    for (uint64_t i = from; i < end; i++) {
        uint64_t x = um_cell(now, i), old = was ? um_cell(was, i - first) : 0;
        if (x > old)
            um_sums_grow(to->at + i, x - old);
    }
}

/* 64 cells lie in whole words: those that have not changed are passed over
 * together. */
static void add(const void *self, const um_sums *to, const uint8_t *old,
                size_t offset, size_t bytes)
{
    static const uint8_t zeros[8 * 64];
    const um_counting *c = self;
    uint32_t width = c->cells.width;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is only read */
    um_cells was = um_cells_of((void *)(uintptr_t)old, width);
    uint64_t first = (uint64_t)offset * 8 / width;

    for (size_t done = 0, some; done < bytes; done += some) {
        some =
            bytes - done < 8 * (size_t)width ? bytes - done : 8 * (size_t)width;
        uint64_t from = first + (uint64_t)done * 8 / width;
        uint64_t end = from + (uint64_t)some * 8 / width;
        if (memcmp(c->cells.at + offset + done, old ? old + done : zeros,
                   some) == 0)
            continue;
        end = end < c->layout->cells ? end : c->layout->cells;
        add_cells(&c->cells, old ? &was : NULL, first, from, end, to);
    }
}

static uint8_t least_of(const um_sums *from, const uint64_t *pos, uint32_t n)
{
    uint8_t least = UM_SUMS_MOST;

    for (uint32_t j = 0; j < n; j++)
        least = from->at[pos[j]] < least ? from->at[pos[j]] : least;
    return least;
}

static void bound(const void *self, const um_sums *from, const umbel_digest *d,
                  size_t n, uint8_t *most)
{
    const um_layout *l = ((const um_counting *)self)->layout;
    uint64_t pos[UM_EACH_POSITIONS];
    size_t hashes = l->hashes;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(self, l, NULL, d + done, n - done, pos);
        for (size_t i = 0; i < some * hashes; i++)
            __builtin_prefetch(from->at + pos[i]);
        for (size_t i = 0; i < some; i++)
            most[done + i] = least_of(from, pos + i * hashes, l->hashes);
    }
}

const um_row_sums um_counting_sums = {len, add, bound};
