/*
 * type.h - the data type umbel-flt: one filter of any kind.
 */
#ifndef UM_MODULE_TYPE_H
#define UM_MODULE_TYPE_H

#include "module/runtime/api.h"
#include "module/runtime/body.h"

/* A data type of the server; load.c registers it. */
typedef struct um_module_type {
    const char *name; /* nine characters */
    int encoding;     /* of its RDB payload, 0 to 1023 */
    um_type_methods methods;
    um_type **type; /* receives it */
} um_module_type;

extern const um_module_type um_module_filter_type;
extern um_type *um_filter_type;

/* Loads that were refused: bad bytes, over a limit, or not admitted. */
extern _Atomic uint64_t um_refused_loads;

#endif
