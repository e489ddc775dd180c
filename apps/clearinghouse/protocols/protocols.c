/*
 * fronts.c - the table of fronts.
 */
#include "clearinghouse/protocols/protocol.h"

#include "base/error.h"
#include "store/store.h"

#include <string.h>

static const um_protocol *const fronts[] = {
    &um_protocol_pyzor, &um_protocol_http,  &um_protocol_dccifd,
    &um_protocol_scan,  &um_protocol_razor, &um_protocol_milter,
    &um_protocol_fuzzy,
};

const um_protocol *um_protocol_row(size_t i)
{
    return i < UM_COUNT(fronts) ? fronts[i] : NULL;
}

const um_protocol *um_protocol_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(fronts); i++)
        if (strcmp(fronts[i]->name, name) == 0)
            return fronts[i];
    return NULL;
}

/* Finds the front of list i, and its number there. */
static const um_protocol *find_list(size_t i, unsigned *number)
{
    for (size_t f = 0; f < UM_COUNT(fronts); f++)
        for (*number = 0; fronts[f]->lists[*number]; ++*number)
            if (i-- == 0)
                return fronts[f];
    return NULL;
}

const char *um_protocol_list(size_t i)
{
    unsigned number;
    const um_protocol *f = find_list(i, &number);

    return f ? f->lists[number] : NULL;
}

const um_protocol *um_protocol_of_list(size_t i)
{
    unsigned number;

    return find_list(i, &number);
}

bool um_protocol_list_revokes(size_t i)
{
    unsigned number;
    const um_protocol *f = find_list(i, &number);

    return f && f->revokes && number == f->revokes;
}

unsigned um_protocol_list_times(size_t i)
{
    unsigned number;
    const um_protocol *f = find_list(i, &number);

    return f && f->times && number < UM_RECENT_COLUMNS ? number + 1 : 0;
}

size_t um_protocol_list_find(const char *name)
{
    size_t i = 0;

    while (um_protocol_list(i) && strcmp(um_protocol_list(i), name) != 0)
        i++;
    return i;
}
