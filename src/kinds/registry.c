/*
 * registry.c - all kinds of filter.
 */
#include "base/error.h"
#include "kinds/rows.h"

#include <string.h>

static const um_kind *const table[] = {
    &um_kind_bloom,
};

const um_kind *um_kind_row(size_t i)
{
    return i < UM_COUNT(table) ? table[i] : NULL;
}

const um_kind *um_kind_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(table); i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}
