/*
 * ways.h - representations of the red stop set: one row each.
 */
#ifndef UM_CASE_WAYS_H
#define UM_CASE_WAYS_H

#include "papers/rbf/case-study/world.h"

#include <umbel/experimental.h>
#include <umbel/umbel.h>

typedef struct way {
    const char *id;   /* in names of values */
    const char *name; /* in figures */
    uint32_t hashes;
    const char *method; /* of retouching, or NULL */
    double beta;        /* share of false positives, heaviest first */
    double cost;        /* instead: stop when a step loses more */
    uint64_t groups;    /* 0 for none */
} way;

/* Digests of all addresses, and where each was met in the learning cycle. */
typedef struct notebook {
    const world *w;
    uint64_t seed;         /* of the hash */
    umbel_digest *all;     /* by address */
    umbel_digest *members; /* the red stop set; ending: traces that end there */
    double *ending;
    umbel_digest *others; /* other addresses; through: traces passing */
    double *through;
    size_t nmembers, nothers;
} notebook;

umbel_status notebook_init(notebook *n, const world *w, uint64_t seed,
                           umbel_error *err);
void notebook_fini(notebook *n);

/* Sets match[a] to whether a filter of that many bits, built that way, matches
 * address a. */
umbel_status write_down(const notebook *n, const way *how, uint64_t bits,
                        bool *match, umbel_error *err);

#endif
