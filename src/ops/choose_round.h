/*
 * choose_round.h - one round of moving members away from unwanted keys.
 *
 * A round works on the members that stand on cells of unwanted keys that match,
 * and keeps only these. All others stay where they are.
 */
#ifndef UM_OPS_CHOOSE_ROUND_H
#define UM_OPS_CHOOSE_ROUND_H

#include "ops/negative_index.h"

/* What a new cell costs, in mean weights of an unwanted key. */
#define UM_CELL_COST 0.01

/* A member's byte: its group, and in the upper half the first choice. */
enum { UM_NO_CHOICE = 0xff };

typedef struct um_choices {
    const um_layout *layout;
    const umbel_alloc *alloc;
    uint32_t groups;
    const uint8_t *base; /* cells that are in use for good */
    uint8_t *bits;       /* cells in use */
    size_t len;          /* of both, in bytes */
    uint8_t *group;      /* of each member */
    const umbel_digest *never;
    const double *weight; /* 0: the key does not count */
    size_t nnever;
    double cell_cost;

    /* During a round: */
    um_pool pool;
    um_cell_map hot;        /* cells of keys that match */
    umbel_digest *member;   /* that stand on one of them */
    size_t *number, n, cap; /* of these members */
} um_choices;

static inline void um_set_choice(um_choices *x, size_t i, uint32_t group)
{
    x->group[i] = (uint8_t)(group | group << 4);
}

static inline bool um_was_moved(uint8_t choice)
{
    return (choice & 0xf) != choice >> 4;
}

/*
 * Begins a round if from 1 to most patterns of unwanted keys match, and gives
 * their number; otherwise 0. Release it with um_round_fini in any case.
 */
umbel_status um_round_begin(um_choices *x, size_t most, size_t *matching,
                            umbel_error *err);
/* Takes the next n members, from number `at` on. */
umbel_status um_round_collect(um_choices *x, size_t at, const umbel_digest *d,
                              size_t n, umbel_error *err);
/* Chooses for the members that were taken: freely, or moves as few as
 * possible. */
umbel_status um_round_choose(um_choices *x, bool freely, umbel_error *err);
void um_round_fini(um_choices *x);

#endif
