/*
 * tables.h - the rows that stand above this directory.
 *
 * Kinds and addressings include this directory, not the other way round. This
 * one symbol brings their tables here; kinds/registry.c defines it.
 */
#ifndef UM_FILTER_TABLES_H
#define UM_FILTER_TABLES_H

#include "filter/fast.h"

/* Each ends with NULL. */
typedef struct um_table_set {
    const um_kind *const *kinds;       /* the default kind first */
    const um_kind *const *inner_kinds; /* of one program: only by name */
    const um_addressing *const *addressings;
    const um_fast *const *fast; /* best first */
} um_table_set;

extern const um_table_set um_tables;

#endif
