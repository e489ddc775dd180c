/*
 * replay.h - trace the second cycle again with a stopping rule.
 */
#ifndef UM_CASE_REPLAY_H
#define UM_CASE_REPLAY_H

#include "papers/rbf-case-study/world.h"

/* Shares of the traces, and of what the list would have discovered. */
typedef struct outcome {
    double genuine; /* stopped at the penultimate node, which is in the set */
    double lucky;   /* ... which is not: a false positive in the right place */
    double shorter; /* stopped before */
    double collision; /* went through to the destination */
    double nodes_missed, links_missed;
} outcome;

enum { OUTCOME = 6 }; /* numbers in it */

/* What an exact list discovers; the measure of what others miss. */
typedef struct discovery {
    bool *node, *link;
} discovery;

/* match[a] tells whether a trace stops at address a. */
void replay(const world *w, const bool *match, const discovery *list,
            discovery *scratch, outcome *out);
/* The same for the exact list itself. Fills *list. */
void replay_list(const world *w, discovery *list, outcome *out);

/* False when memory runs out; discovery_fini accepts that. */
bool discovery_init(discovery *d, const world *w);
void discovery_fini(discovery *d);

#endif
