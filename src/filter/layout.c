/*
 * layout.c - an addressing made ready for a size, and how it folds.
 */
#include "filter/addressing.h"

void um_layout_init(um_layout *l, const um_addressing *row, uint64_t cells,
                    uint32_t hashes, uint64_t seed)
{
    *l = (um_layout){.row = row,
                     .cells = cells,
                     .hashes = hashes,
                     .seed = seed,
                     .blocks = 1,
                     .lanes = 1,
                     .width = cells,
                     .throws = hashes};
    if (row->prepare)
        row->prepare(l);
}

uint64_t um_granule(const um_addressing *row, uint32_t hashes)
{
    if (row->granule)
        return row->granule(hashes);
    return hashes >= 1 && hashes <= UM_MAX_HASHES ? row->block : 0;
}

uint64_t um_limit(const um_addressing *row, uint32_t hashes)
{
    return row->limit ? row->limit(hashes) : UM_MAX_CELLS;
}

uint64_t um_fold_parts(const um_layout *l)
{
    return l->row->block > 1 ? l->cells / l->row->block : l->width;
}

uint64_t um_fold_cell(const um_layout *l, uint64_t by, uint64_t cell)
{
    uint64_t unit = l->row->block;

    if (l->row->fold == UM_FOLD_PARTS)
        return cell % (l->cells / by);
    return cell / unit / by * unit + cell % unit;
}
