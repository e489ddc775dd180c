/*
 * world.c - generates the synthetic internet.
 *
 * A core of routers grows by preferential attachment. Its links are chains of a
 * geometric number of hops. Last-hop routers are attached to core routers, some
 * to two, and some behind another last hop; destinations are attached to these.
 * Monitors reach the core through a few private hops. An address belongs to a
 * directed link, because routers answer from the interface on which a probe
 * arrived. In the fitted world there are also access routers between the core
 * and last hops, and some of them answer from the interface towards the
 * monitor: many addresses are on the routes of few traces. Routes are shortest
 * paths; links of last hops are too costly for transit.
 *
 * Between the two cycles some destinations move to a new last hop, some get an
 * additional router before them, and some core links get a new weight. The
 * shares below were tuned by hand so that an exact list has about the results
 * of the paper's list: 8,006 stops, 0.7812 / 0.0936 / 0.1251.
 */
#include "papers/rbf/case-study/world.h"

#include "base/buffer.h"
#include "papers/rbf/case-study/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BEHIND = 0.055;   /* share of last hops behind another */
static const double DUAL = 0.3;       /* last hops with two core routers */
static const double MOVED = 0.125;    /* share of destinations that move */
static const double INSERTED = 0.045; /* destinations with a new router */
static const double REWEIGHED = 0.05; /* core links with a new weight */

enum { LAST_HOPS = 6650, NONE = -1 };

const world_shape world_shapes[WORLDS] = {
    [PLAIN_WORLD] = {"plain", 3000, 1.5, 0, 0, 3, 3},
    [FITTED_WORLD] = {"fitted", 3000, 0.65, 0.68, 0.3, 4, 3},
};

/* Routers between the core and a last hop. The first `shared` of them have one
 * address each, the others one for each monitor. */
typedef struct access {
    uint32_t shared, by_monitor, address;
} access;

typedef struct last_hop {
    uint32_t core[2]; /* where it is attached; equal if only to one */
    access access[2];
    uint32_t address[2];
    double cost[2];
    int behind; /* another last hop, or NONE */
} last_hop;

typedef struct monitor {
    uint32_t core;
    uint32_t hops, address; /* private hops, with consecutive addresses */
} monitor;

/* Where a destination is attached: to last, possibly behind an additional
 * router. */
typedef struct place {
    uint32_t last;
    bool inserted;
    uint32_t address; /* of the inserted router */
} place;

typedef struct growth {
    const world_shape *shape;
    core_graph core;
    last_hop *last; /* LAST_HOPS, then one for each destination that moved */
    size_t nlast;
    monitor monitor[MONITORS];
    place *place; /* by destination */
    um_rng *rng;
} growth;

static double uniform(um_rng *rng)
{
    return (double)(um_random(rng) >> 11) * 0x1p-53;
}

static bool by_chance(um_rng *rng, double p)
{
    return uniform(rng) < p;
}

/* --- the first cycle ------------------------------------------------------ */

static uint32_t some_core(growth *g)
{
    return (uint32_t)um_random_below(g->rng, g->core.routers);
}

static access create_access(growth *g)
{
    access a = {.address = g->core.addresses};

    if (g->shape->access > 0)
        for (uint32_t n = core_geometric(g->rng, g->shape->access); n > 0; n--)
            ++*(by_chance(g->rng, g->shape->by_monitor) ? &a.by_monitor
                                                        : &a.shared);
    g->core.addresses += a.shared + a.by_monitor * MONITORS;
    return a;
}

static void hang(growth *g, last_hop *l, double dual)
{
    l->behind = NONE;
    l->core[0] = l->core[1] = some_core(g);
    if (by_chance(g->rng, dual))
        l->core[1] = some_core(g);
    for (size_t i = 0; i < 2; i++) {
        bool same = i && l->core[1] == l->core[0];
        l->address[i] = same ? l->address[0] : g->core.addresses++;
        l->access[i] = same ? l->access[0] : create_access(g);
        l->cost[i] = uniform(g->rng);
    }
}

/* Attaches all last hops; some are behind an earlier one that is attached to
 * the core. */
static void hang_all(growth *g)
{
    for (g->nlast = 0; g->nlast < LAST_HOPS; g->nlast++) {
        last_hop *l = &g->last[g->nlast];
        hang(g, l, DUAL);
        if (!g->nlast || !by_chance(g->rng, BEHIND))
            continue;
        l->behind = (int)um_random_below(g->rng, g->nlast);
        if (g->last[l->behind].behind != NONE)
            l->behind = g->last[l->behind].behind;
    }
}

/* Attaches the destinations: at least one to every last hop, the rest at
 * random. */
static void settle_destinations(growth *g)
{
    for (uint32_t d = 0; d < DESTINATIONS; d++)
        g->place[d].last =
            d < LAST_HOPS ? d : (uint32_t)um_random_below(g->rng, LAST_HOPS);
}

static void place_monitors(growth *g)
{
    for (size_t i = 0; i < MONITORS; i++) {
        monitor *m = &g->monitor[i];
        m->core = some_core(g);
        m->hops = (uint32_t)(g->shape->private_min +
                             um_random_below(g->rng, g->shape->private_span));
        m->address = g->core.addresses;
        g->core.addresses += m->hops;
    }
}

/* --- changes before the second cycle -------------------------------------- */

static void change(growth *g)
{
    core_reweigh(&g->core, REWEIGHED, g->rng);
    for (uint32_t d = 0; d < DESTINATIONS; d++) {
        place *p = &g->place[d];
        double dice = uniform(g->rng);
        if (dice < MOVED) {
            p->last = (uint32_t)g->nlast;
            hang(g, &g->last[g->nlast++], 0);
        } else if (dice < MOVED + INSERTED) {
            p->inserted = true;
            p->address = g->core.addresses++;
        }
    }
}

/* --- routes --------------------------------------------------------------- */

static void add_hop(world *w, routes *r, uint32_t address)
{
    w->bad |= !um_array_reserve(&r->hop, &r->cap, r->n + 1, sizeof *r->hop);
    if (!w->bad)
        r->hop[r->n++] = address;
}

static void add_core_path(world *w, routes *r, const core_tree *t, uint32_t to)
{
    uint32_t path[MAX_CORE];
    size_t n = 0;

    for (uint32_t at = to; t->link[at] >= 0; at = t->from[at])
        path[n++] = at;
    while (n-- > 0) {
        uint32_t first, hops = core_hops(t, path[n], &first);
        for (uint32_t i = 0; i < hops; i++)
            add_hop(w, r, first + i);
    }
}

static void add_access(world *w, routes *r, const access *a, uint32_t from)
{
    for (uint32_t i = 0; i < a->shared; i++)
        add_hop(w, r, a->address + i);
    for (uint32_t i = 0; i < a->by_monitor; i++)
        add_hop(w, r, a->address + a->shared + i * MONITORS + from);
}

/* Adds the path to a last hop, over the nearer of its core routers. */
static void add_last_hop(world *w, routes *r, const growth *g,
                         const core_tree *t, uint32_t last, uint32_t from)
{
    const last_hop *l = &g->last[last];

    if (l->behind != NONE) {
        add_last_hop(w, r, g, t, (uint32_t)l->behind, from);
        add_hop(w, r, l->address[0]);
        return;
    }
    size_t side = t->distance[l->core[1]] + l->cost[1] <
                  t->distance[l->core[0]] + l->cost[0];
    add_core_path(w, r, t, l->core[side]);
    add_access(w, r, &l->access[side], from);
    add_hop(w, r, l->address[side]);
}

static void trace_all(world *w, routes *r, const growth *g)
{
    core_tree tree;

    r->start = calloc(TRACES + 1, sizeof *r->start);
    w->bad |= !r->start;
    for (uint32_t i = 0; !w->bad && i < MONITORS; i++) {
        const monitor *m = &g->monitor[i];
        core_shortest(&g->core, m->core, &tree);
        for (uint32_t d = 0; d < DESTINATIONS; d++) {
            const place *p = &g->place[d];
            for (uint32_t j = 0; j < m->hops; j++)
                add_hop(w, r, m->address + j);
            add_last_hop(w, r, g, &tree, p->last, i);
            if (p->inserted)
                add_hop(w, r, p->address);
            r->start[(size_t)i * DESTINATIONS + d + 1] = (uint32_t)r->n;
        }
    }
}

/* --- counts of the routes ------------------------------------------------- */

static void count_learned(world *w)
{
    const routes *r = &w->learn;

    w->through = calloc(w->addresses, sizeof *w->through);
    w->ending = calloc(w->addresses, sizeof *w->ending);
    w->stop = calloc(w->addresses, sizeof *w->stop);
    w->bad |= !w->through || !w->ending || !w->stop;
    for (size_t i = 0; !w->bad && i < r->n; i++)
        w->through[r->hop[i]]++;
    for (size_t t = 0; !w->bad && t < TRACES; t++) {
        uint32_t last = r->hop[r->start[t + 1] - 1];
        w->ending[last]++;
        w->stops += !w->stop[last];
        w->stop[last] = true;
    }
}

static void count_probed(world *w)
{
    const routes *r = &w->probe;

    w->passed = calloc(w->addresses, sizeof *w->passed);
    w->bad |= !w->passed;
    for (size_t t = 0; !w->bad && t < TRACES; t++)
        for (uint32_t i = r->start[t]; i + 1 < r->start[t + 1]; i++)
            w->passed[r->hop[i]]++;
}

static bool grow(world *w, growth *g)
{
    if (!core_grow(&g->core, g->shape->core, g->shape->chain, g->rng))
        return false;
    hang_all(g);
    settle_destinations(g);
    place_monitors(g);
    trace_all(w, &w->learn, g);
    change(g);
    trace_all(w, &w->probe, g);
    w->addresses = g->core.addresses;
    return !w->bad;
}

bool world_make(world *w, const world_shape *shape, um_rng *rng)
{
    growth g = {.shape = shape, .rng = rng};

    memset(w, 0, sizeof *w);
    g.last = calloc(LAST_HOPS + DESTINATIONS, sizeof *g.last);
    g.place = calloc(DESTINATIONS, sizeof *g.place);
    bool fine = g.last && g.place && grow(w, &g);
    if (fine) {
        count_learned(w);
        count_probed(w);
    }
    core_fini(&g.core);
    free(g.last);
    free(g.place);
    return fine && !w->bad;
}

static void routes_fini(routes *r)
{
    free(r->start);
    free(r->hop);
}

void world_fini(world *w)
{
    routes_fini(&w->learn);
    routes_fini(&w->probe);
    free(w->through);
    free(w->ending);
    free(w->passed);
    free(w->stop);
    memset(w, 0, sizeof *w);
}
