/*
 * graph.h - routers, their links, and their distances from the victim.
 *
 * The network is synthetic, grown router by router, because the paper has no
 * map with routes. It has paths of a dozen hops, and some cross links.
 */
#ifndef UM_TRACEBACK_GRAPH_H
#define UM_TRACEBACK_GRAPH_H

#include "base/rng.h"

enum {
    ROUTERS = 1000,
    VICTIM = 0, /* a node of the graph, but not a router */
    NODES = ROUTERS + 1,
    MAX_LINKS = 2 * ROUTERS,
    HOPS = 12 /* routers on the path of every packet */
};

typedef struct graph {
    uint16_t first[NODES + 1]; /* neighbours of i: link[first[i]] .. */
    uint16_t link[2 * MAX_LINKS];
    uint16_t towards[NODES]; /* the next hop on a shortest path to the victim */
    uint16_t hops[NODES];
    uint16_t far[NODES]; /* routers that are HOPS away, at least one */
    size_t nfar;
} graph;

void graph_make(graph *g, um_rng *rng);
/* Finds the routers of a packet's path, starting with its source, which is HOPS
 * away. */
void graph_path(const graph *g, uint16_t source, uint16_t path[HOPS]);

#endif
