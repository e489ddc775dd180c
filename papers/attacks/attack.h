/*
 * attack.h - what an enemy does to a filter, and what that costs its owner.
 */
#ifndef UM_ATTACKS_ATTACK_H
#define UM_ATTACKS_ATTACK_H

#include "papers/attacks/lab.h"

#include <umbel/base.h>

enum {
    QUERIES = 20000,
    TARGETS = BITS / 32,
    POLLUTERS = BITS / 16, /* keys that pollute */
    TRIES = 256,           /* candidates for each of them */
    MEMBERS = BITS / 256,  /* of the filter that is attacked by erasure */
    ERASERS = 110,         /* keys that erase */
    POOL = 20000,          /* candidates for each of them */
    ERASE_STEP = 10,
    ERASE_POINTS = ERASERS / ERASE_STEP + 1
};

typedef struct attack {
    const char *name;
    const char *cost; /* what its number is a share of */
    double asked;     /* number of these keys in a round */
    double stopped;   /* a share below this means it was stopped */
    umbel_status (*run)(lab *l, um_rng *rng, double *cost, umbel_error *err);
} attack;

/* All attacks except erasure, whose number is the last one of attack_erase. */

extern const attack attacks[];
enum { ATTACKS = 8 };
extern const attack attack_erasing;

/* Measures the share of random keys that is accepted with this share of
 * ones. */
umbel_status attack_content(lab *l, double ones, um_rng *rng, double *share,
                            umbel_error *err);

/* Measures the members lost after 0, 10, .. ERASERS chosen insertions. */
umbel_status attack_erase(lab *l, um_rng *rng, double lost[ERASE_POINTS],
                          umbel_error *err);

#endif
