/*
 * forge.h - forges filters that pass admission, as an enemy who knows
 * everything.
 */
#ifndef UM_FORGERIES_FORGE_H
#define UM_FORGERIES_FORGE_H

#include "base/rng.h"

#include <umbel/umbel.h>

typedef struct target target;

/*
 * Creates a filter. Its shape, with all settings, and its cells are chosen by
 * one of the designs of README.md, with as many cells in use as the target's
 * budget seems to allow. The caller closes *out.
 */
typedef umbel_status forge_fn(const target *t, um_rng *rng, umbel_filter **out,
                              umbel_error *err);

/* What is forged. Every kind that admission accepts has a target, and every one
 * of its settings is drawn by a target (tests/unit/papers/forgeries.c). */
struct target {
    const char *name; /* as in expected.csv */
    const char *kind;
    const char *addressing; /* NULL: any that the kind accepts */
    const char *settings; /* names of the settings drawn, each between spaces */
    double budget;        /* the error that the receiver allows */
    forge_fn *forge;
};

extern const target targets[];
enum { TARGETS = 27 };
#define BUDGET 0.001

/* levels.c: levels of slots. */
forge_fn forge_ribbon;
/* entries.c: buckets, lines, records. */
forge_fn forge_entries, forge_near;
/* Writes the different prints in a filter of kind near, and returns their
 * number. Digests with other prints do not match. */
size_t near_prints(const umbel_filter *f, uint32_t *out);
/* Returns a random digest among those with one of n prints, which are n of 2^24
 * of all digests. */
umbel_digest near_stranger(const uint32_t *print, size_t n, um_rng *rng);

/* draw.c. Returns true if the target draws that setting. */
bool draws(const target *t, const char *setting);
/* Return a random number from low to high, and from 0 to 1. */
uint64_t between(um_rng *rng, uint64_t low, uint64_t high);
double unit(um_rng *rng);

#endif
