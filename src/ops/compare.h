/*
 * compare.h - the rows behind umbel_compare_strategies.
 */
#ifndef UM_OPS_COMPARE_H
#define UM_OPS_COMPARE_H

#include "ops/digest_index.h"

#include <umbel/experimental/compare.h>

typedef struct um_scene {
    umbel_params params; /* without a size */
    uint64_t bytes;
    const umbel_key_list *members, *never;
    uint64_t capacity;            /* members to make room for */
    const umbel_filter *like;     /* the edition before; or NULL */
    um_digest_index held, listed; /* of members and never */
    umbel_alloc alloc;
} um_scene;

/* What a way made. */
typedef struct um_made {
    umbel_filter *filter, *second; /* second: NULL, or exceptions */
} um_made;

typedef struct um_strategy_row {
    const char *name, *summary;
    bool readers_change;
    uint32_t groups;
    /* What is in *out is to be closed even when this fails. */
    umbel_status (*make)(const um_scene *s, um_made *out, umbel_error *err);
} um_strategy_row;

/* Ends with a NULL name. */
extern const um_strategy_row um_strategies[];
/* A filter of the members alone. */
extern const um_strategy_row um_no_strategy;

#endif
