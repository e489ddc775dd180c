/*
 * table.c - looks up reproductions.
 */
#include "papers/frame/rows.h"

#include "base/error.h"

#include <string.h>

#define ROW(name) &um_paper_##name,
static const um_paper *const table[] = {UM_PAPERS(ROW)};

const um_paper *um_paper_row(size_t i)
{
    return i < UM_COUNT(table) ? table[i] : NULL;
}

const um_paper *um_paper_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(table); i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}
