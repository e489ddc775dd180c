/*
 * rows.h - the kinds, for their table.
 */
#ifndef UM_KINDS_ROWS_H
#define UM_KINDS_ROWS_H

#include "filter/kind.h"

extern const um_kind um_kind_bloom;

#endif
