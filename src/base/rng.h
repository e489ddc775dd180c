/*
 * rng.h - reproducible random numbers (SplitMix64, Steele et al. 2014).
 */
#ifndef UM_BASE_RNG_H
#define UM_BASE_RNG_H

#include "base/bits.h"

typedef struct um_rng {
    uint64_t state; /* any seed is valid */
} um_rng;

/*
 * Mixes x by a bijection that maps 0 to 0. On the wire: part of the definition
 * of a digest.
 */
static inline uint64_t um_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

static inline uint64_t um_random(um_rng *r)
{
    return um_mix(r->state += 0x9E3779B97F4A7C15);
}

/* Returns a uniform number in 0 .. n-1. */
static inline uint64_t um_random_below(um_rng *r, uint64_t n)
{
    return um_scale(um_random(r), n);
}

#endif
