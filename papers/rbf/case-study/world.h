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
    uint32_t *passed; /* traces of the second cycle that pass the address before
                         their penultimate node */
    bool *stop;       /* the red stop set: penultimate nodes */
    size_t stops;
    bool bad; /* out of memory */
} world;

/* What an internet is like. */
typedef struct world_shape {
    const char *name;  /* for --world */
    uint32_t core;     /* routers */
    double chain;      /* routers inside a core link, on average */
    double access;     /* routers between the core and a last hop, on average */
    double by_monitor; /* share of these that reply from an address per
                          monitor */
    uint32_t private_min, private_span; /* hops between a monitor and the core:
                                           at least, and how many numbers */
} world_shape;

/* The first was tuned to the paper's stop set and list only, the second was
 * also fitted to the rates of its text. */
enum { PLAIN_WORLD, FITTED_WORLD, WORLDS };
extern const world_shape world_shapes[WORLDS];

/* Generates a world; false without memory. Release with world_fini in any
 * case. */
bool world_make(world *w, const world_shape *shape, um_rng *rng);
void world_fini(world *w);

#endif
