/*
 * grow.h - the core of the synthetic internet: a graph, and shortest paths.
 */
#ifndef UM_CASE_GROW_H
#define UM_CASE_GROW_H

#include "base/rng.h"

enum { MAX_CORE = 14000, CORE_LINKS = 2 * MAX_CORE };

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
} core_graph;

/* Shortest paths from one router to all. */
typedef struct core_tree {
    const core_graph *graph;
    double distance[MAX_CORE];
    int link[MAX_CORE]; /* over which it is reached; -1 for the root */
    uint32_t from[MAX_CORE];
} core_tree;

/* Grows a graph of that many routers; false without memory. core_fini accepts a
 * zeroed graph. */
bool core_grow(core_graph *g, uint32_t routers, um_rng *rng);
void core_fini(core_graph *g);
/* Gives a share of the links a new weight. */
void core_reweigh(core_graph *g, double share, um_rng *rng);
void core_shortest(const core_graph *g, uint32_t root, core_tree *out);
/* Returns the hops of the link over which `to` is reached, and sets *first to
 * the first of its addresses. */
uint32_t core_hops(const core_tree *t, uint32_t to, uint32_t *first);

#endif
