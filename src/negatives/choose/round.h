/*
 * choose_round.h - one round of moving members away from unwanted keys.
 *
 * A round works on the members that stand on cells of unwanted keys that match,
 * and keeps only these. All others stay where they are.
 */
#ifndef UM_OPS_CHOOSE_ROUND_H
#define UM_OPS_CHOOSE_ROUND_H

#include "negatives/choose/negative_index.h"
#include "negatives/choose/sieve.h"

/* What a new cell costs, in mean weights of an unwanted key. */
#define UM_CELL_COST 0.01

/* A member's byte: its group, and in the upper half the first choice. */
enum { UM_NO_CHOICE = 0xff };

/* Some cells, and a sieve of their blocks, or of themselves, by which almost
 * all members are found not to stand on them. */
typedef struct um_near_cells {
    um_cell_map cells;
    um_sieve sieve;
} um_near_cells;

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
    bool by_block; /* the block of a digest follows from lo alone */

    /* During a round: */
    um_pool pool;
    bool *matches;          /* of each unwanted key */
    um_near_cells hot;      /* cells of keys that match */
    umbel_digest *member;   /* that stand on one of them */
    size_t *number, n, cap; /* of these members */
    umbel_digest *near;     /* chosen by others in their blocks, if by_block */
    size_t nnear, near_cap;
    um_near_cells own; /* cells that members in question stand on */
    bool *kept;        /* by slot of own: another member does, too */
    size_t passed;     /* of these members, by um_round_others */
} um_choices;

static inline void um_set_choice(um_choices *x, size_t i, uint32_t group)
{
    x->group[i] = (uint8_t)(group | group << 4);
}

/* Returns true if all cells of a pattern are in use. */
static inline bool um_is_covered(const um_choices *x, const uint64_t *pos)
{
    for (uint32_t j = 0; j < x->layout->hashes; j++)
        if (!um_bit(x->bits, pos[j]))
            return false;
    return true;
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
/* Takes the next n members, from number `at` on: finds those in question. */
umbel_status um_round_collect(um_choices *x, size_t at, const umbel_digest *d,
                              size_t n, umbel_error *err);
/* Finds the cells that stay in use when members in question are taken out;
 * unless by_block, all members are taken once more for that. Then takes them
 * out. */
umbel_status um_round_part(um_choices *x, umbel_error *err);
void um_round_others(um_choices *x, size_t at, const umbel_digest *d, size_t n);
void um_round_consume_out(um_choices *x);
/* Chooses for the members that were taken: freely, or moves as few as
 * possible. */
umbel_status um_round_choose(um_choices *x, bool freely, umbel_error *err);
void um_round_fini(um_choices *x);

#endif
