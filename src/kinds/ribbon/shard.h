/*
 * shard.h - computes the slots of a shard from its keys: eliminate, bump,
 * solve.
 */
#ifndef UM_KINDS_RIBBON_SHARD_H
#define UM_KINDS_RIBBON_SHARD_H

#include "kinds/ribbon/level.h"

enum { UM_RIBBON_LANES = 3 }; /* shards filled alternately */

/* An equation, stored at the slot of its first coefficient. */
typedef struct um_ribbon_equation {
    uint64_t c, v; /* c = 0: free */
} um_ribbon_equation;

typedef struct um_ribbon_shard {
    const um_ribbon_layer *layer;
    um_ribbon_item *items; /* its keys; bumped ones are moved to the front */
    size_t n, bumped;
    uint64_t first, end; /* its starts */
    /* Rows for its slots, plus the width of a row. */
    um_ribbon_equation *rows;
    uint64_t *ons; /* wide layers: the second halves of rows */
    size_t piece;  /* which of the reused pieces it is */
} um_ribbon_shard;

static inline uint64_t um_ribbon_start(const um_ribbon_layer *l,
                                       const um_ribbon_item *x)
{
    return um_scale(x->lo, l->starts);
}

/*
 * Inserts an equation. *at becomes its slot, or UM_RIBBON_NOWHERE if others
 * imply it. Returns false if others contradict it.
 */
#define UM_RIBBON_NOWHERE UINT64_MAX
bool um_ribbon_insert(um_ribbon_equation *rows, uint64_t slot, uint64_t c,
                      uint64_t v, uint64_t *at);

/* Fills n shards, up to UM_RIBBON_LANES, whose rows are zeroed. */
void um_ribbon_eliminate(um_ribbon_shard s[], size_t n);
/* Solves a filled shard: writes its words. */
void um_ribbon_solve(const um_ribbon_shard *s);

#endif
