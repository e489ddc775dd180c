/*
 * counting_columns.c - which of many counting filters may hold a key: a row for
 * each cell, a bit in it for each filter where the cell is not 0.
 */
#include "kinds/counting/counting.h"

static uint64_t len(const void *self, unsigned width)
{
    const um_counting *c = self;

    return (c->layout->cells * width / 8 + 7) / 8 * 8;
}

/* Units of 64 cells lie in whole words. */
static void mark(const void *self, const um_columns *to, unsigned column,
                 size_t offset, size_t bytes)
{
    const um_counting *c = self;
    uint64_t from = (uint64_t)offset * 8 / c->cells.width;
    uint64_t end = (uint64_t)(offset + bytes) * 8 / c->cells.width;

    end = end < c->layout->cells ? end : c->layout->cells;
    for (uint64_t i = from; i < end; i++)
        if (um_cell(&c->cells, i))
            um_columns_set(to, i, column);
}

static uint64_t columns_of(const um_columns *c, const uint64_t *pos, uint32_t n)
{
    uint64_t all = ~UINT64_C(0);

    for (uint32_t j = 0; j < n; j++)
        all &= um_columns_row(c, pos[j]);
    return all;
}

static void find(const void *self, const um_columns *to, const umbel_digest *d,
                 size_t n, uint64_t *mask)
{
    const um_layout *l = ((const um_counting *)self)->layout;
    uint64_t pos[UM_EACH_POSITIONS];
    size_t hashes = l->hashes;

    for (size_t done = 0, some; done < n; done += some) {
        some = um_each_batch(self, l, NULL, d + done, n - done, pos);
        for (size_t i = 0; i < some * hashes; i++)
            __builtin_prefetch(to->at + pos[i] * (to->width / 8));
        for (size_t i = 0; i < some; i++)
            mask[done + i] = columns_of(to, pos + i * hashes, l->hashes);
    }
}

const um_row_columns um_counting_columns = {len, mark, find};
