/*
 * forge.h - forges filters that pass admission, as an enemy who knows
 * everything.
 */
#ifndef UM_FORGERIES_FORGE_H
#define UM_FORGERIES_FORGE_H

#include "base/rng.h"

#include <umbel/umbel.h>

/* What is forged: a kind with an addressing. */
typedef struct target {
    const char *kind, *addressing;
    uint64_t groups; /* of bloom; 0 means one */
} target;

extern const target targets[];
enum { TARGETS = 20 };

/* The error rate that the receiver allows. */
#define BUDGET 0.001

/*
 * Creates a filter of random shape whose cells are chosen by one of the designs
 * below, as many as the budget seems to allow. The caller closes *out.
 *
 *   at random
 *   full blocks      from the first cell on
 *   lanes            by their place in a block: some lanes are full
 *   closed sets      by residues to a small modulus, whole classes first
 *   waves            by the phase of a multiple of the cell's number
 *   digits           by two digits of the cell's number as DCSO's walk sees it
 *   shifts           multiples of a number, which shifts by it keep to
 *   chosen keys      those of many that need the fewest new cells
 *
 * Seeds and sizes are varied, too: powers of 2, small multiples of them, or any
 * number. Counters have any value up to the maximum. The second generation of
 * aging has the cells that the first lacks. The header has no number of keys,
 * or the one that explains the cells. Ribbons have parts of random sizes, and
 * slots that are random, all ones, or sparse.
 */
umbel_status forge(const target *t, um_rng *rng, umbel_filter **out,
                   umbel_error *err);

#endif
