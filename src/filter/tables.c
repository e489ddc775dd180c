/*
 * tables.c - looks up kinds, addressings and fast paths.
 */
#include "filter/tables.h"

#include <string.h>

/* Returns row i of a table, or NULL where it is not as long. */
#define ROW_AT(table, i)                                                       \
    do {                                                                       \
        for (size_t at_ = 0; (table)[at_]; at_++)                              \
            if (at_ == (i))                                                    \
                return (table)[at_];                                           \
        return NULL;                                                           \
    } while (0)

/* Returns the row of that name, or NULL. */
#define ROW_NAMED(table, what)                                                 \
    do {                                                                       \
        for (size_t at_ = 0; (table)[at_]; at_++)                              \
            if (strcmp((table)[at_]->name, what) == 0)                         \
                return (table)[at_];                                           \
        return NULL;                                                           \
    } while (0)

const um_kind *um_kind_row(size_t i)
{
    ROW_AT(um_tables.kinds, i);
}

static const um_kind *find_inner(const char *name)
{
    ROW_NAMED(um_tables.inner_kinds, name);
}

static const um_kind *find_kind(const char *name)
{
    ROW_NAMED(um_tables.kinds, name);
}

const um_kind *um_kind_find(const char *name)
{
    if (!name)
        return um_tables.kinds[0];
    const um_kind *row = find_kind(name);
    return row ? row : find_inner(name);
}

const um_addressing *um_addressing_row(size_t i)
{
    ROW_AT(um_tables.addressings, i);
}

const um_addressing *um_addressing_find(const char *name)
{
    ROW_NAMED(um_tables.addressings, name);
}

const um_fast *um_fast_row(size_t i)
{
    ROW_AT(um_tables.fast, i);
}

bool um_fast_takes(const um_fast *row, const um_shape *s)
{
    return row->takes ? row->takes(s) : !um_unusual_setting(s);
}

static bool serves(const um_fast *row, const um_shape *s, const um_layout *l)
{
    return strcmp(row->kind, s->kind->name) == 0 &&
           strcmp(row->addressing, s->addressing->name) == 0 &&
           um_fast_takes(row, s) && row->usable(l);
}

const um_fast *um_fast_pick(const um_shape *s, const um_layout *l)
{
    if (!s->kind->query || !(s->kind->add || s->kind->built))
        return NULL; /* what it cannot do stays so */
    for (const um_fast *const *row = um_tables.fast; *row; row++)
        if (serves(*row, s, l))
            return *row;
    return NULL;
}
