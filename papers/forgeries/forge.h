/*
 * forge.h - filters of a maker who knows everything, made to pass admission.
 */
#ifndef UM_FORGERIES_FORGE_H
#define UM_FORGERIES_FORGE_H

#include "base/rng.h"

#include <umbel/umbel.h>

/* What is forged: a kind on an addressing. */
typedef struct target {
    const char *kind, *addressing;
    uint64_t groups; /* of bloom; 0: one */
} target;

extern const target targets[];
enum { TARGETS = 20 };

/* The error that the receiver allows. */
#define BUDGET 0.001

/*
 * Makes a filter of random shape whose cells were chosen by one of the designs
 * below, as many as the budget seems to allow. *out is the caller's.
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
 * Seeds and sizes are chosen, too: powers of 2, small multiples of them, any.
 * Counters hold anything, full ones included. The second generation of aging
 * has the cells that the first has not. A head says nothing of its keys, or the
 * number that explains the cells. Ribbons have random sizes of all parts, and
 * slots that are random, one, or sparse.
 */
umbel_status forge(const target *t, um_rng *rng, umbel_filter **out,
                   umbel_error *err);

#endif
