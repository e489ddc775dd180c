/*
 * simulate.h - the filter as the paper defines it, and a round of its
 * simulation (section 4).
 */
#ifndef UM_GBF_SIMULATE_H
#define UM_GBF_SIMULATE_H

#include "base/rng.h"
#include "papers/gbf/model/model.h"

#include <umbel/keys.h>

enum { GBF_MAX_FUNCTIONS = 400 };

/* Fills m bits, rounded up to a multiple of 64, with zeros of probability p0,
 * accurate to 2^-24. */
void um_gbf_fill(uint8_t *bits, uint32_t m, double p0, um_rng *rng);
/* Returns the number of bytes for m bits. */
size_t um_gbf_bytes(uint32_t m);

/* Inserts or queries an element with k0 + k1 places, those of the g first. */
void um_gbf_insert(uint8_t *bits, const uint32_t *place, unsigned k0,
                   unsigned k1);
bool um_gbf_has(const uint8_t *bits, const uint32_t *place, unsigned k0,
                unsigned k1);
/* Draws places; all are different if distinct. */
void um_gbf_places(um_rng *rng, uint32_t m, unsigned k, bool distinct,
                   uint32_t *place);

/* The results of a round. */
typedef struct um_gbf_found {
    double plain_fp, fp; /* share of the queries accepted */
    double fn;           /* share of the elements not recognised */
} um_gbf_found;

/* Memory of a round, for cases of up to this many bits and elements. */
typedef struct um_gbf_space {
    uint8_t *bits, *plain;
    uint32_t *element;
    umbel_digest *digest;
    bool *lost; /* by element, in the order of insertion */
} um_gbf_space;

umbel_status um_gbf_space_init(um_gbf_space *s, uint32_t m, uint32_t n,
                               umbel_error *err);
void um_gbf_space_fini(um_gbf_space *s);

/*
 * Draws functions ((cx + d) mod 2,100,000,011) mod m, a start, and elements
 * from the lower half of the numbers; inserts the elements; queries them and
 * this many numbers of the upper half. Does the same with a standard filter of
 * the k1 functions that set, with the same start.
 */
um_gbf_found um_gbf_simulate(const um_gbf *g, uint32_t queries, um_gbf_space *s,
                             um_rng *rng);

#endif
