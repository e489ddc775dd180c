/*
 * ways.h - representations of the red stop set: one row each.
 */
#ifndef UM_CASE_WAYS_H
#define UM_CASE_WAYS_H

#include "papers/rbf/case-study/world.h"

#include <umbel/experimental.h>
#include <umbel/umbel.h>

/* Which addresses a filter should not match: the set B of the paper. */
typedef enum negatives {
    /* Every address that a trace of the probing cycle passes before its own
     * penultimate node, weighted by these traces. Members of the stop set are
     * included: the list itself stops short at them. */
    OF_PROBING,
    /* Addresses outside the stop set that were met in the learning cycle,
     * weighted by its traces. */
    OF_LEARNING,
    NEGATIVES
} negatives;

typedef struct way {
    const char *id;   /* in names of values */
    const char *name; /* in figures */
    uint32_t hashes;
    const char *method; /* of retouching, or NULL */
    double beta;        /* share of false positives, heaviest first */
    double cost;        /* instead: stop when a step loses more */
    uint64_t groups;    /* 0 for none */
    negatives never;
} way;

/* Keys with weights. */
typedef struct weighted {
    umbel_digest *key;
    double *weight;
    size_t n;
} weighted;

/* Digests of all addresses, and the lists that filters are built from. */
typedef struct notebook {
    const world *w;
    uint64_t seed;     /* of the hash */
    umbel_digest *all; /* by address */
    weighted members;  /* the red stop set; weight: traces that end there */
    weighted never[NEGATIVES];
} notebook;

umbel_status notebook_init(notebook *n, const world *w, uint64_t seed,
                           umbel_error *err);
void notebook_fini(notebook *n);

/* Sets match[a] to whether a filter of that many bits, built that way, matches
 * address a. */
umbel_status write_down(const notebook *n, const way *how, uint64_t bits,
                        bool *match, umbel_error *err);

#endif
