/*
 * world.h - a synthetic internet, and routes traced through it twice.
 *
 * The paper replays routes that skitter traced in January 2006, which we do not
 * have. This world has the same number of monitors and destinations, about the
 * same red stop set, and about the same rates for an exact list.
 */
#ifndef UM_CASE_WORLD_H
#define UM_CASE_WORLD_H

#include "base/rng.h"

#include <umbel/base.h>

enum { MONITORS = 10, DESTINATIONS = 10000, TRACES = 100000 };

/* Routes: trace t passes the addresses hop[start[t]] .. hop[start[t+1]-1]. The
 * last is the penultimate node; the destination itself is not included. */
typedef struct routes {
    uint32_t *start, *hop;
    size_t n, cap; /* hops */
} routes;

typedef struct world {
    routes learn, probe;        /* the first cycle, and the second */
    uint32_t addresses;         /* in both */
    uint32_t *through, *ending; /* traces of the first cycle, by address */
    bool *stop;                 /* the red stop set: penultimate nodes */
    size_t stops;
    bool bad; /* out of memory */
} world;

/* The cores of the two internets: the first was tuned to the paper's list; the
 * second has more routers, so that traces of a monitor meet later. */
enum { TUNED_CORE = 3000, WIDE_CORE = 14000 };

/* Generates a world with that many routers in its core; false without memory.
 * Release with world_fini in any case. */
bool world_make(world *w, uint32_t core, um_rng *rng);
void world_fini(world *w);

#endif
