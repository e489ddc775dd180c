/*
 * generalized.h - the generalized filter inside a handle, and its cells.
 */
#ifndef UM_KINDS_GENERALIZED_H
#define UM_KINDS_GENERALIZED_H

#include "filter/kind.h"

enum { UM_RESET, UM_SET, UM_START, UM_COLLIDE }; /* indices of its settings */

/* The setting start counts billionths. */
#define UM_START_ALL UINT64_C(1000000000)

typedef struct um_generalized {
    const um_layout *layout;
    uint8_t *bits;
    uint32_t reset, set;   /* functions that clear a cell, that set one */
    uint64_t start;        /* share of ones before the first key */
    const uint64_t *added; /* the handle's number of keys */
    bool collide;          /* cells of a key may coincide, as in the paper */
} um_generalized;

/*
 * How a key's cells are distributed: over `lanes` equal parts of a block, with
 * the same number of cells of each role in every part.
 */
typedef struct um_roles {
    uint64_t blocks;
    uint64_t cells; /* of a block */
    uint32_t lanes; /* parts of a block */
    uint32_t reset, set;
} um_roles;

um_roles um_roles_of(const um_layout *l, uint32_t reset, uint32_t set);

/*
 * Computes the cells of digests: pos[i * hashes] .. are the reset cells of
 * digest i, then the set ones. With both roles all are distinct; with only one
 * they are the addressing's own.
 */
void um_role_cells(const um_layout *l, uint32_t reset, uint32_t set,
                   const umbel_digest *d, size_t n, uint64_t *pos);

/* Computes distinct cells anywhere in `cells` cells, as on addressing
 * classic. */
void um_free_cells(uint64_t cells, uint32_t hashes, umbel_digest d,
                   uint64_t *pos);

/* Computes cells that may coincide, like the paper's functions. */
void um_colliding_cells(uint64_t cells, uint32_t hashes, umbel_digest d,
                        uint64_t *pos);

/* Returns true if vectors can be used: cells come in four or eight pairs. */
static inline bool um_in_pairs(const um_shape *s)
{
    uint64_t k = s->setting[UM_RESET];
    return s->setting[UM_SET] == k && (k == 4 || k == 8);
}

/*
 * Returns a bound that includes the effect of coinciding pairs in lanes: see
 * generalized.c.
 */
double um_pair_bound(uint64_t width, uint32_t lanes);

/*
 * Formulas for the cells above; those of the paper are for functions that may
 * coincide (umbel/experimental/generalized.h). ones is the share of ones before
 * the first key.
 */
/* Returns the probability that distinct cells, of n with z zeros, are as they
 * should be. */
double um_distinct_chance(double z, double n, uint32_t reset, uint32_t set);
double um_roles_bound(const um_roles *r);
double um_roles_fp(const um_roles *r, double ones, double keys);
/* Returns the probability that a key no longer matches after `later` others. */
double um_roles_fn(const um_roles *r, double later);

#endif
