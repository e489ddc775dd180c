/*
 * table.c - look up addressings, and what works on each alike.
 */
#include "addressing/rows.h"
#include "base/error.h"

#include <string.h>

#define ROW(name) &um_addressing_##name,
static const um_addressing *const table[] = {UM_ADDRESSINGS(ROW)};

const um_addressing *um_addressing_row(size_t i)
{
    return i < UM_COUNT(table) ? table[i] : NULL;
}

const um_addressing *um_addressing_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(table); i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

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
