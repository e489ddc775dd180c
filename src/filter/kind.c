/*
 * kind.c - looks up kinds, addressings and fast paths, and lays out the payload
 * of a shape.
 */
#include "filter/kind.h"

#include <umbel/build.h>
#include <umbel/counting.h>

#include <string.h>

/* Returns row i of a table from the function, or NULL past the end. */
#define ROW_AT(table, i)                                                       \
    do {                                                                       \
        for (size_t at_ = 0; (table)[at_]; at_++)                              \
            if (at_ == (i))                                                    \
                return (table)[at_];                                           \
        return NULL;                                                           \
    } while (0)

/* Returns the row with this name from the function, or NULL. */
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

const um_addressing *um_kind_addressing(const um_kind *kind, const char *name)
{
    if (kind->fixed_addressing)
        return strcmp(kind->fixed_addressing->name, name) == 0
                   ? kind->fixed_addressing
                   : NULL;
    return um_addressing_find(name);
}

size_t um_count_settings(const um_kind *kind)
{
    size_t n = 0;
    while (kind->settings && kind->settings[n].name)
        n++;
    return n;
}

const char *um_unusual_setting(const um_shape *s)
{
    for (size_t i = 0; i < um_count_settings(s->kind); i++)
        if (s->setting[i] != s->kind->settings[i].standard)
            return s->kind->settings[i].name;
    return NULL;
}

size_t um_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    size_t n = s->kind->sections(s, out);

    if (s->attached)
        out[n++] = (um_section){.cells = s->attached, .cell_bits = 8};
    return n;
}

bool um_payload_len(const um_shape *s, size_t *len)
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = um_sections(s, section);
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += um_section_space(&section[i]);
    *len = (size_t)sum;
    return sum <= SIZE_MAX / 4;
}

/* --- the tables for programs ---------------------------------------------- */

static bool name_row(const char *name, const char *summary,
                     const char **out_name, const char **out_summary)
{
    *out_name = name;
    if (out_summary)
        *out_summary = summary;
    return true;
}

bool umbel_kind_at(size_t i, const char **name, const char **summary)
{
    const um_kind *row = um_kind_row(i);
    return row && name_row(row->name, row->summary, name, summary);
}

bool umbel_addressing_at(size_t i, const char **name, const char **summary)
{
    const um_addressing *row = um_addressing_row(i);
    return row && name_row(row->name, row->summary, name, summary);
}

bool umbel_hash_at(size_t i, const char **name, const char **summary,
                   bool *keyed)
{
    const um_hash *row = um_hash_row(i);

    if (row && keyed)
        *keyed = row->keyed;
    return row && name_row(row->name, row->summary, name, summary);
}

bool umbel_is_growing(const char *kind)
{
    const um_kind *row = kind ? um_kind_find(kind) : NULL;
    return row && row->growing;
}

bool umbel_kind_setting(const char *kind, size_t i, umbel_setting_info *out)
{
    const um_kind *row = um_kind_find(kind);

    if (!row || i >= um_count_settings(row))
        return false;
    *out = row->settings[i];
    return true;
}

bool umbel_is_static(const char *kind)
{
    const um_kind *row = kind ? um_kind_find(kind) : NULL;
    return row && row->built;
}

bool umbel_is_counting(const char *kind)
{
    const um_kind *row = kind ? um_kind_find(kind) : NULL;
    return row && row->counting;
}
