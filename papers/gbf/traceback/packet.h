/*
 * packet.h - a filter that a packet carries: who starts it how, who inserts
 * himself, and what a victim finds in it.
 */
#ifndef UM_TRACEBACK_PACKET_H
#define UM_TRACEBACK_PACKET_H

#include "papers/gbf/model/simulate.h"
#include "papers/gbf/traceback/graph.h"

#include <umbel/experimental/generalized.h>

enum { BITS = 256, ASKED = 64 };

/* A kind of filter; k0 = 0 is a standard one. */
typedef struct way {
    const char *name;
    unsigned k0, k1;
    bool distinct; /* else as the paper defines it */
} way;

/* The bits that an attacker sends out. */
typedef struct start {
    const char *name;
    double ones; /* an exact share; below 0: the worst there is for the way */
    bool random; /* each bit one with that probability instead */
} start;

/* What became of a packet. */
typedef struct trace {
    double tests;    /* of routers that are not on the path */
    double branches; /* of these, those that were accepted, and so followed */
    double expected; /* the same, by the zeros that arrived */
    double asked;    /* accepted of ASKED others, followed or not */
    double missed;   /* routers of the path that the filter denies */
    double found;    /* 1 when the source was reached */
    /* The same when cells of routers that were found count as wildcards, and
     * when one inverted cell is forgiven (footnote 1). */
    double wild_branches, wild_found;
    double one_branches, one_found;
    bool lost[HOPS]; /* whether it denies the nearest, and so on */
} trace;

/* The share of zeros that the attacker sends. */
double start_zeros(const start *s, const way *w);
/* The filter after n routers, for the equations. */
um_gbf way_model(const way *w, const start *s);

/* Send a packet along path, and trace it back. */
umbel_status packet_trace(const graph *g, const uint16_t path[HOPS],
                          const way *w, const start *s, um_rng *rng, trace *out,
                          umbel_error *err);

#endif
