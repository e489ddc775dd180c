/*
 * internal.h - the interface between compare.c and strategies.c.
 *
 * A new strategy needs a function and a row in strategies.c, the command that
 * builds it in cli/commands/plan_compare.c, a test and documentation.
 */
#ifndef UM_NEGATIVES_COMPARE_INTERNAL_H
#define UM_NEGATIVES_COMPARE_INTERNAL_H

#include "query/digest_set.h"

#include <umbel/experimental/compare.h>
#include <umbel/experimental/exact.h>

/* The input of every strategy. */
typedef struct um_strategy_input {
    umbel_params params; /* without a size */
    uint64_t bytes;      /* limit of the file, or of both files together */
    const umbel_key_list *members, *never;
    uint64_t capacity;          /* members to size the filter for */
    const umbel_filter *like;   /* the previous edition; may be NULL */
    um_digest_set held, listed; /* of members and never */
    umbel_exact_class *classes; /* of never, by descending weight */
    size_t nclasses;
    size_t *by_weight; /* entries of never, the heaviest first; NULL: in the
                          order of the list */
    umbel_alloc alloc;
} um_strategy_input;

/* The result of a strategy. */
typedef struct um_strategy_result {
    umbel_filter *filter, *second; /* second: NULL, or exceptions */
    uint64_t second_lines;         /* see umbel_strategy */
} um_strategy_result;

typedef struct um_strategy {
    const char *name, *summary;
    const char *classic;    /* name on addressing classic; NULL: not tried */
    const char *addressing; /* NULL: that of the input */
    uint32_t groups;
    bool readers_change;
    bool slow; /* takes minutes where lists are long */
    /* Builds the strategy. The caller closes the filters in *out, even after a
     * failure. */
    umbel_status (*build)(const um_strategy_input *in, um_strategy_result *out,
                          umbel_error *err);
} um_strategy;

/* Copies strategy i to *out: each row, followed by the same on classic if it
 * has that name. Returns false when i is past the end. */
bool um_strategy_get(size_t i, um_strategy *out);
/* A Bloom filter of the members that ignores the negatives. */
extern const um_strategy um_plain_strategy;

#endif
