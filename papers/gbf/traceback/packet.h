/*
 * packet.h - the filter in a packet: its initial bits, the routers that insert
 * themselves, and what a victim finds in it.
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
    bool distinct; /* otherwise as the paper defines it */
} way;

/* The bits that an attacker sends. */
typedef struct start {
    const char *name;
    double ones; /* exact share; below 0 for the worst case */
    bool random; /* each bit is one with that probability instead */
} start;

/* The results of tracing a packet. */
typedef struct trace {
    double tests;    /* of routers that are not on the path */
    double branches; /* false routers that were accepted, and so followed */
    double expected; /* the same, computed from the zeros that arrived */
    double asked;    /* accepted of ASKED other routers */
    double missed;   /* routers of the path that do not match */
    double found;    /* 1 when the source was reached */
    /* The same if cells of routers found before count as wildcards, and if one
     * inverted cell is tolerated (footnote 1). */
    double wild_branches, wild_found;
    double one_branches, one_found;
    bool lost[HOPS]; /* whether the nearest router is missed, and so on */
} trace;

/* Returns the share of zeros that the attacker sends. */
double start_zeros(const start *s, const way *w);
/* Returns the filter after n routers, for the equations. */
um_gbf way_model(const way *w, const start *s);

/* Sends a packet along path, and traces it back. */
umbel_status packet_trace(const graph *g, const uint16_t path[HOPS],
                          const way *w, const start *s, um_rng *rng, trace *out,
                          umbel_error *err);

#endif
