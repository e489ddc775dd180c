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

/* Rates the divisors of a number by what they leave: halves are worth most. */
static uint64_t rate_divisors(uint64_t parts)
{
    enum { LARGEST = 60, UNIT = 720720 };
    uint64_t rating = 0;

    for (uint64_t d = 2; d <= LARGEST; d++)
        if (parts % d == 0)
            rating += UNIT / d;
    return rating;
}

/* 360 numbers in a row contain one with all divisors up to 6. */
uint64_t um_foldable_parts(uint64_t parts)
{
    uint64_t room = parts / 200 < 360 ? parts / 200 : 360;
    uint64_t best = parts, best_rating = rate_divisors(parts);

    for (uint64_t i = 1; i <= room; i++) {
        uint64_t rating = rate_divisors(parts + i);
        if (rating > best_rating)
            best = parts + i, best_rating = rating;
    }
    return best;
}

uint64_t um_fold_cell(const um_layout *l, uint64_t by, uint64_t cell)
{
    uint64_t unit = l->row->block;

    if (l->row->fold == UM_FOLD_PARTS)
        return cell % (l->cells / by);
    return cell / unit / by * unit + cell % unit;
}
