/*
 * fronts.c - the table of fronts.
 */
#include "clearinghouse/protocols/front.h"

#include "base/error.h"
#include "store/recent.h"

#include <string.h>

static const um_front *const fronts[] = {
    &um_front_pyzor, &um_front_http,   &um_front_dccifd, &um_front_scan,
    &um_front_razor, &um_front_milter, &um_front_fuzzy,
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

/* Finds the front of list i, and its number there. */
static const um_front *find_list(size_t i, unsigned *number)
{
    for (size_t f = 0; f < UM_COUNT(fronts); f++)
        for (*number = 0; fronts[f]->lists[*number]; ++*number)
            if (i-- == 0)
                return fronts[f];
    return NULL;
}

const char *um_front_list(size_t i)
{
    unsigned number;
    const um_front *f = find_list(i, &number);

    return f ? f->lists[number] : NULL;
}

const um_front *um_front_of_list(size_t i)
{
    unsigned number;

    return find_list(i, &number);
}

bool um_front_list_revokes(size_t i)
{
    unsigned number;
    const um_front *f = find_list(i, &number);

    return f && f->revokes && number == f->revokes;
}

unsigned um_front_list_times(size_t i)
{
    unsigned number;
    const um_front *f = find_list(i, &number);

    return f && f->times && number < UM_RECENT_COLUMNS ? number + 1 : 0;
}

size_t um_front_list_find(const char *name)
{
    size_t i = 0;

    while (um_front_list(i) && strcmp(um_front_list(i), name) != 0)
        i++;
    return i;
}
