/*
 * rows.h - the kinds of filter. A new one is a line here.
 */
#ifndef UM_KINDS_ROWS_H
#define UM_KINDS_ROWS_H

#include "filter/kind.h"

/* In the order of --help. X(name) stands for the row um_kind_name. */
#define UM_KINDS(X)                                                            \
    X(bloom)                                                                   \
    X(scalable)                                                                \
    X(aging)                                                                   \
    X(counting)                                                                \
    X(tally)                                                                   \
    X(countmin)                                                                \
    X(generalized)                                                             \
    X(ribbon)                                                                  \
    X(table)

#define UM_KIND_DECLARE(name) extern const um_kind um_kind_##name;
UM_KINDS(UM_KIND_DECLARE)

/* Kinds of one program, or of another's files: found by name, and in no list
 * that people choose from. */
#define UM_INNER_KINDS(X) X(near) X(chain)
UM_INNER_KINDS(UM_KIND_DECLARE)

#endif
