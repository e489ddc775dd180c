/*
 * graph.c - grows a network of routers, and counts hops.
 */
#include "papers/gbf/traceback/graph.h"

#include <string.h>

typedef struct links {
    uint16_t from[MAX_LINKS], to[MAX_LINKS];
    size_t n;
} links;

static void add_link(links *l, size_t a, size_t b)
{
    l->from[l->n] = (uint16_t)a;
    l->to[l->n++] = (uint16_t)b;
}

/*
 * Grows the network. A new router is linked to one of the newer two thirds,
 * which makes paths long; every third one has a second link, to a router of
 * about the same age.
 */
static void grow(links *l, um_rng *rng)
{
    l->n = 0;
    for (size_t i = 1; i < NODES; i++) {
        size_t oldest = i / 3;
        add_link(l, i, oldest + um_random_below(rng, i - oldest));
        if (i % 3 == 0 && i > 16)
            add_link(l, i, i - 1 - um_random_below(rng, 16));
    }
}

static void sort_by_node(graph *g, const links *l)
{
    uint16_t at[NODES];

    memset(g->first, 0, sizeof g->first);
    for (size_t i = 0; i < l->n; i++) {
        g->first[l->from[i] + 1]++;
        g->first[l->to[i] + 1]++;
    }
    for (size_t i = 0; i < NODES; i++) {
        g->first[i + 1] = (uint16_t)(g->first[i + 1] + g->first[i]);
        at[i] = g->first[i];
    }
    for (size_t i = 0; i < l->n; i++) {
        g->link[at[l->from[i]]++] = l->to[i];
        g->link[at[l->to[i]]++] = l->from[i];
    }
}

/* Counts hops from the victim, breadth first. */
static void count_hops(graph *g)
{
    uint16_t queue[NODES];
    size_t head = 0, tail = 0;

    memset(g->hops, 0xFF, sizeof g->hops);
    g->hops[VICTIM] = 0;
    queue[tail++] = VICTIM;
    while (head < tail) {
        uint16_t at = queue[head++];
        for (size_t i = g->first[at]; i < g->first[at + 1]; i++) {
            uint16_t next = g->link[i];
            if (g->hops[next] != UINT16_MAX)
                continue;
            g->hops[next] = (uint16_t)(g->hops[at] + 1);
            g->towards[next] = at;
            queue[tail++] = next;
        }
    }
}

static void draw(graph *g, um_rng *rng)
{
    links l;

    grow(&l, rng);
    memset(g, 0, sizeof *g);
    sort_by_node(g, &l);
    count_hops(g);
    for (size_t i = 1; i < NODES; i++)
        if (g->hops[i] == HOPS)
            g->far[g->nfar++] = (uint16_t)i;
}

/* Draws networks until one has a path of HOPS hops; most do. */
void graph_make(graph *g, um_rng *rng)
{
    do
        draw(g, rng);
    while (g->nfar == 0);
}

void graph_path(const graph *g, uint16_t source, uint16_t path[HOPS])
{
    for (size_t i = 0; i < HOPS; i++) {
        path[i] = source;
        source = g->towards[source];
    }
}
