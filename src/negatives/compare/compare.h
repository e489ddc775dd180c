/*
 * compare.h - the rows behind umbel_compare_strategies.
 *
 * To add a way: a file strategy_x.c with its row, a line below and one in the
 * table of strategies.c, the command that builds it in
 * cli/commands/plan_commands.c, its test and its words.
 */
#ifndef UM_OPS_COMPARE_H
#define UM_OPS_COMPARE_H

#include "query/digest_index.h"

#include <umbel/experimental/compare.h>
#include <umbel/experimental/exact.h>

typedef struct um_scene {
    umbel_params params; /* without a size */
    uint64_t bytes;
    const umbel_key_list *members, *never;
    uint64_t capacity;            /* members to make room for */
    const umbel_filter *like;     /* the edition before; or NULL */
    um_digest_index held, listed; /* of members and never */
    umbel_exact_class *classes;   /* of never, by descending weight */
    size_t nclasses;
    size_t *by_weight; /* entries of never, the heaviest first; NULL: as they
                          are */
    umbel_alloc alloc;
} um_scene;

/* What a way made. */
typedef struct um_made {
    umbel_filter *filter, *second; /* second: NULL, or exceptions */
    uint64_t second_lines;         /* see umbel_strategy */
} um_made;

typedef struct um_strategy_row {
    const char *name, *summary;
    const char *addressing; /* tried unless another is given; or NULL */
    bool readers_change;
    uint32_t groups;
    bool slow; /* a bloom filter that takes minutes where lists are long */
    /* What is in *out is to be closed even when this fails. */
    umbel_status (*make)(const um_scene *s, um_made *out, umbel_error *err);
} um_strategy_row;

extern const um_strategy_row um_strategy_retouch, um_strategy_retouch_classic;
extern const um_strategy_row um_strategy_groups, um_strategy_groups_classic;
extern const um_strategy_row um_strategy_exceptions,
    um_strategy_exceptions_classic;
extern const um_strategy_row um_strategy_ribbon, um_strategy_plain_ribbon;

/* Ends with NULL. */
extern const um_strategy_row *const um_strategies[];
/* A filter of the members alone. */
extern const um_strategy_row um_no_strategy;

/* Creates an empty bloom filter for keys in at most bytes. */
umbel_status um_strategy_bloom(const um_scene *s, uint64_t bytes, uint64_t keys,
                               uint32_t groups, umbel_filter **out,
                               umbel_error *err);
/* Makes a plain one of the members. */
umbel_status um_strategy_plain(const um_scene *s, uint64_t bytes, um_made *out,
                               umbel_error *err);

/* Makes and measures one way, with or without its next edition. */
umbel_status um_strategy_try(const um_scene *s, const um_strategy_row *row,
                             bool next, umbel_strategy *out, umbel_error *err);
/* Returns one key in how many a sample would take; 1: this way needs none; 0:
 * it takes minutes, and too few members for a sample. */
uint64_t um_strategy_sample(const um_scene *s, const um_strategy_row *row);
/* Estimates one way from such a sample (compare_sample.c). */
umbel_status um_strategy_estimate(const um_scene *s, const um_strategy_row *row,
                                  uint64_t every, umbel_strategy *out,
                                  umbel_error *err);

#endif
