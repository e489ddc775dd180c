/*
 * layout.c - an addressing made ready for a size, and how it folds.
 */
#include "filter/addressing.h"

void um_one_lane(um_layout *l)
{
    l->blocks = 1;
    l->lanes = 1;
    l->width = l->cells;
    l->throws = l->hashes;
}

void um_layout_init(um_layout *l, const um_addressing *row, uint64_t cells,
                    uint32_t hashes, uint64_t seed)
{
    *l =
        (um_layout){.row = row, .cells = cells, .hashes = hashes, .seed = seed};
    row->prepare(l);
}

uint64_t um_fold_parts(const um_layout *l)
{
    return l->row->fold_unit > 1 ? l->cells / l->row->fold_unit : l->width;
}

uint64_t um_fold_cell(const um_layout *l, uint64_t by, uint64_t cell)
{
    uint64_t unit = l->row->fold_unit;

    if (l->row->fold == UM_FOLD_PARTS)
        return cell % (l->cells / by);
    return cell / unit / by * unit + cell % unit;
}
