/*
 * graph.h - routers, their links, and who is how far from the victim.
 *
 * A synthetic network, grown router by router, since no map with routes comes
 * with the paper: long enough for paths of a dozen hops, with some links
 * across.
 */
#ifndef UM_TRACEBACK_GRAPH_H
#define UM_TRACEBACK_GRAPH_H

#include "base/rng.h"

enum {
    ROUTERS = 1000,
    VICTIM = 0, /* a node of the graph, but no router */
    NODES = ROUTERS + 1,
    MAX_LINKS = 2 * ROUTERS,
    HOPS = 12 /* routers on the way of every packet */
};

typedef struct graph {
    uint16_t first[NODES + 1]; /* neighbours of i: link[first[i]] .. */
    uint16_t link[2 * MAX_LINKS];
    uint16_t towards[NODES]; /* the next hop to the victim, on a shortest way */
    uint16_t hops[NODES];
    uint16_t far[NODES]; /* routers that are HOPS away: one at least */
    size_t nfar;
} graph;

void graph_make(graph *g, um_rng *rng);
/* The routers of a packet's path, first its source; it is HOPS away. */
void graph_path(const graph *g, uint16_t source, uint16_t path[HOPS]);

#endif
