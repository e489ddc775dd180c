/*
 * fronts.c - the table of fronts.
 */
#include "clearinghouse/front.h"

#include "base/error.h"
#include "store/recent.h"

#include <string.h>

static const um_front *const fronts[] = {
    &um_front_pyzor,
    &um_front_http,
};

const um_front *um_front_row(size_t i)
{
    return i < UM_COUNT(fronts) ? fronts[i] : NULL;
}

const um_front *um_front_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(fronts); i++)
        if (strcmp(fronts[i]->name, name) == 0)
            return fronts[i];
    return NULL;
}

const char *um_front_list(size_t i)
{
    for (size_t f = 0; f < UM_COUNT(fronts); f++)
        for (size_t j = 0; fronts[f]->lists[j]; j++)
            if (i-- == 0)
                return fronts[f]->lists[j];
    return NULL;
}

unsigned um_front_list_times(size_t i)
{
    for (size_t f = 0; f < UM_COUNT(fronts); f++)
        for (unsigned j = 0; fronts[f]->lists[j]; j++)
            if (i-- == 0)
                return fronts[f]->times && j < UM_RECENT_COLUMNS ? j + 1 : 0;
    return 0;
}

size_t um_front_list_find(const char *name)
{
    size_t i = 0;

    while (um_front_list(i) && strcmp(um_front_list(i), name) != 0)
        i++;
    return i;
}
