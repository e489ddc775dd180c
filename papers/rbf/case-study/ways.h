/*
 * ways.h - how the red stop set is written down: one row a way.
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
    const char *method; /* of retouching; NULL: none */
    double beta;        /* share of the false positives, heaviest first */
    double cost;        /* instead: stop when a step loses more than it gains */
    uint64_t groups;    /* 0: none */
} way;

/* Digests of all addresses, and which were met where in the learning round. */
typedef struct notebook {
    const world *w;
    uint64_t seed;         /* of the hash */
    umbel_digest *all;     /* by address */
    umbel_digest *members; /* the red stop set, with traces that end there */
    double *ending;
    umbel_digest *others; /* met, but not in the set; with traces through */
    double *through;
    size_t nmembers, nothers;
} notebook;

umbel_status notebook_init(notebook *n, const world *w, uint64_t seed,
                           umbel_error *err);
void notebook_fini(notebook *n);

/* match[a] tells whether a filter of that many bits, made that way, matches
 * address a. */
umbel_status write_down(const notebook *n, const way *how, uint64_t bits,
                        bool *match, umbel_error *err);

#endif
