/*
 * grow.c - preferential attachment, and Dijkstra's algorithm.
 */
#include "papers/rbf/case-study/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BIASED = 0.85; /* share that prefer large degrees */

static double uniform(um_rng *rng)
{
    return (double)(um_random(rng) >> 11) * 0x1p-53;
}

uint32_t core_geometric(um_rng *rng, double mean)
{
    uint32_t n = 0;

    while (uniform(rng) < mean / (1 + mean) && n < 63)
        n++;
    return n;
}

static double fresh_weight(const core_link *l, um_rng *rng)
{
    return 1 + l->hops / 2.0 + uniform(rng);
}

static void join(core_graph *g, uint32_t a, uint32_t b, um_rng *rng)
{
    core_link *l = &g->link[g->nlinks++];

    *l = (core_link){.end = {a, b}, .hops = 1 + core_geometric(rng, g->chain)};
    for (size_t side = 0; side < 2; side++) {
        l->address[side] = g->addresses;
        g->addresses += l->hops;
        g->degree[l->end[side]]++;
    }
    l->weight = fresh_weight(l, rng);
}

/* Returns a random end of a random link, which is a router with probability
 * proportional to its degree, or a uniformly random router. */
static uint32_t partner(const core_graph *g, uint32_t routers, um_rng *rng)
{
    if (g->nlinks && uniform(rng) < BIASED) {
        const core_link *l = &g->link[um_random_below(rng, g->nlinks)];
        return l->end[um_random_below(rng, 2)];
    }
    return (uint32_t)um_random_below(rng, routers);
}

static void list_links(core_graph *g)
{
    uint32_t *next = g->lists;

    for (uint32_t i = 0; i < g->routers; i++) {
        g->at[i] = next;
        next += g->degree[i];
        g->degree[i] = 0;
    }
    for (uint32_t i = 0; i < g->nlinks; i++)
        for (size_t side = 0; side < 2; side++) {
            uint32_t end = g->link[i].end[side];
            g->at[end][g->degree[end]++] = i;
        }
}

bool core_grow(core_graph *g, uint32_t routers, double chain, um_rng *rng)
{
    memset(g, 0, sizeof *g);
    g->routers = routers;
    g->chain = chain;
    for (uint32_t i = 1; i < routers; i++) {
        uint64_t links = 1 + um_random_below(rng, 2);
        for (uint64_t j = 0; j < links; j++) {
            uint32_t to;
            do
                to = partner(g, i, rng);
            while (to == i); /* the end of its own first link may be drawn */
            join(g, i, to, rng);
        }
    }
    g->lists = malloc(2 * g->nlinks * sizeof *g->lists);
    if (g->lists)
        list_links(g);
    return g->lists != NULL;
}

void core_fini(core_graph *g)
{
    free(g->lists);
    g->lists = NULL;
}

void core_reweigh(core_graph *g, double share, um_rng *rng)
{
    for (size_t i = 0; i < g->nlinks; i++)
        if (uniform(rng) < share)
            g->link[i].weight = fresh_weight(&g->link[i], rng);
}

static uint32_t other_end(const core_link *l, uint32_t end)
{
    return l->end[l->end[0] == end];
}

/* Returns the nearest router that is not done; MAX_CORE if all are. */
static uint32_t nearest(const core_tree *t, const bool *done)
{
    uint32_t best = MAX_CORE;

    for (uint32_t i = 0; i < t->graph->routers; i++)
        if (!done[i] &&
            (best == MAX_CORE || t->distance[i] < t->distance[best]))
            best = i;
    return best;
}

/* Finds shortest paths with Dijkstra's algorithm. For a few thousand routers a
 * heap would be longer, but not noticeably faster. */
void core_shortest(const core_graph *g, uint32_t root, core_tree *out)
{
    bool done[MAX_CORE] = {false};
    uint32_t at;

    out->graph = g;
    for (size_t i = 0; i < g->routers; i++) {
        out->distance[i] = INFINITY;
        out->link[i] = -1;
    }
    out->distance[root] = 0;
    while ((at = nearest(out, done)) != MAX_CORE) {
        done[at] = true;
        for (uint32_t i = 0; i < g->degree[at]; i++) {
            uint32_t link = g->at[at][i];
            uint32_t to = other_end(&g->link[link], at);
            double d = out->distance[at] + g->link[link].weight;
            if (d < out->distance[to]) {
                out->distance[to] = d;
                out->link[to] = (int)link;
                out->from[to] = at;
            }
        }
    }
}

uint32_t core_hops(const core_tree *t, uint32_t to, uint32_t *first)
{
    const core_link *l = &t->graph->link[t->link[to]];

    *first = l->address[l->end[0] == to]; /* the direction that ends there */
    return l->hops;
}
