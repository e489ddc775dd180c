/*
 * registry.c - look up kinds of filter.
 */
#include "base/error.h"
#include "kinds/rows.h"

#include <string.h>

#define ROW(name) &um_kind_##name,
static const um_kind *const table[] = {UM_KINDS(ROW)};

const um_kind *um_kind_row(size_t i)
{
    return i < UM_COUNT(table) ? table[i] : NULL;
}

const um_kind *um_kind_find(const char *name)
{
    if (!name)
        return table[0];
    for (size_t i = 0; i < UM_COUNT(table); i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}
