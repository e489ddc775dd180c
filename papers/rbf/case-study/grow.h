/*
 * grow.h - the core of the synthetic internet: a graph, and shortest paths.
 */
#ifndef UM_CASE_GROW_H
#define UM_CASE_GROW_H

#include "base/rng.h"

enum { MAX_CORE = 3000, CORE_LINKS = 2 * MAX_CORE };

typedef struct core_link {
    uint32_t end[2];
    uint32_t hops;       /* in a chain; an address per hop and direction */
    uint32_t address[2]; /* the first address of each direction */
    double weight;
} core_link;

typedef struct core_graph {
    core_link link[CORE_LINKS];
    size_t nlinks;
    uint32_t routers;
    uint32_t degree[MAX_CORE];
    uint32_t *at[MAX_CORE]; /* links of a router; all in `lists` */
    uint32_t *lists;
    uint32_t addresses; /* assigned so far */
    double chain;       /* routers inside a link, on average */
} core_graph;

/* Shortest paths from one router to all. */
typedef struct core_tree {
    const core_graph *graph;
    double distance[MAX_CORE];
    int link[MAX_CORE]; /* over which it is reached; -1 for the root */
    uint32_t from[MAX_CORE];
} core_tree;

/* Returns a number from the geometric distribution with that mean, at most
 * 63. */
uint32_t core_geometric(um_rng *rng, double mean);

/* Grows a graph of that many routers, at most MAX_CORE, with chains of that
 * length; false without memory. core_fini accepts a zeroed graph. */
bool core_grow(core_graph *g, uint32_t routers, double chain, um_rng *rng);
void core_fini(core_graph *g);
/* Gives a share of the links a new weight. */
void core_reweigh(core_graph *g, double share, um_rng *rng);
void core_shortest(const core_graph *g, uint32_t root, core_tree *out);
/* Returns the hops of the link over which `to` is reached, and sets *first to
 * the first of its addresses. */
uint32_t core_hops(const core_tree *t, uint32_t to, uint32_t *first);

#endif
