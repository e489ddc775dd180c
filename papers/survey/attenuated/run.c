/*
 * run.c - survey-attenuated: arrays of filters by distance (section 6.2): each
 * edge of an overlay has a filter of the files that are d hops behind it.
 *
 * Filters of one distance are merged (OR) from those of the neighbours; a
 * search follows the edge that matches at the least distance.
 */
#include "base/error.h"
#include "papers/survey/filters.h"

#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES = 120,
    LINKS = 2, /* that a node creates when it joins */
    EDGES = 2 * LINKS * NODES,
    FILES = 8, /* per node */
    DEPTH = 3,
    BITS = 8192,
    HASHES = 6,
    SEARCHES = 400
};
enum { FOUND, SHORTEST, WIDTH };

typedef struct overlay {
    uint16_t from[EDGES], to[EDGES];
    size_t nedges;
    uint64_t file[NODES][FILES];
    umbel_filter *filter[DEPTH][EDGES]; /* files behind the edge, by distance */
    uint8_t hops[NODES][NODES];
} overlay;

static void link_nodes(overlay *o, size_t a, size_t b)
{
    o->from[o->nedges] = (uint16_t)a;
    o->to[o->nedges++] = (uint16_t)b;
    o->from[o->nedges] = (uint16_t)b;
    o->to[o->nedges++] = (uint16_t)a;
}

static void measure_hops(overlay *o)
{
    memset(o->hops, UINT8_MAX, sizeof o->hops);
    for (size_t i = 0; i < NODES; i++)
        o->hops[i][i] = 0;
    for (size_t round = 0; round < NODES; round++)
        for (size_t e = 0; e < o->nedges; e++)
            for (size_t i = 0; i < NODES; i++) {
                uint8_t through = o->hops[i][o->from[e]];
                if (through < UINT8_MAX && through + 1 < o->hops[i][o->to[e]])
                    o->hops[i][o->to[e]] = (uint8_t)(through + 1);
            }
}

static void grow(overlay *o, um_rng *rng)
{
    for (size_t i = 1; i < NODES; i++)
        for (size_t j = 0; j < LINKS; j++)
            link_nodes(o, i, um_random_below(rng, i));
    for (size_t i = 0; i < NODES; i++)
        um_survey_draw(rng, o->file[i], FILES);
    measure_hops(o);
}

/* Fills the filter of an edge. At distance 1 it has the files of the node at
 * the end; at larger ones, what that node's other edges have at one less. */
static umbel_status fill_edge(overlay *o, size_t depth, size_t e, uint64_t seed,
                              umbel_error *err)
{
    umbel_filter **f = &o->filter[depth][e];
    umbel_status status =
        um_survey_open("bloom", BITS, HASHES, NULL, seed, f, err);

    if (status == UMBEL_OK && depth == 0)
        status = umbel_add_fixed(*f, o->file[o->to[e]], sizeof(uint64_t), FILES,
                                 NULL, err);
    for (size_t i = 0; status == UMBEL_OK && depth && i < o->nedges; i++)
        if (o->from[i] == o->to[e] && o->to[i] != o->from[e])
            status = umbel_merge(*f, o->filter[depth - 1][i], UMBEL_OR, err);
    return status;
}

static umbel_status fill(overlay *o, uint64_t seed, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t d = 0; d < DEPTH; d++)
        for (size_t e = 0; status == UMBEL_OK && e < o->nedges; e++)
            status = fill_edge(o, d, e, seed, err);
    return status;
}

/* Finds the edge of the node that matches at the smallest distance; EDGES if
 * none. */
static umbel_status best_edge(const overlay *o, size_t node, uint64_t key,
                              size_t *best, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    *best = EDGES;
    for (size_t d = 0; d < DEPTH && *best == EDGES; d++)
        for (size_t e = 0; status == UMBEL_OK && e < o->nedges; e++) {
            bool hit = false;
            if (o->from[e] != node || *best != EDGES)
                continue;
            status = umbel_query_fixed(o->filter[d][e], &key, sizeof key, 1,
                                       &hit, err);
            if (hit)
                *best = e;
        }
    return status;
}

/* Searches for a file that is 1 to DEPTH hops away. */
static umbel_status search(const overlay *o, um_rng *rng, double *out,
                           umbel_error *err)
{
    size_t here, there, at, steps = 0;

    do {
        here = um_random_below(rng, NODES);
        there = um_random_below(rng, NODES);
    } while (o->hops[here][there] < 1 || o->hops[here][there] > DEPTH);
    uint64_t key = o->file[there][um_random_below(rng, FILES)];
    for (at = here; at != there && steps <= (size_t)2 * DEPTH; steps++) {
        size_t edge;
        umbel_status status = best_edge(o, at, key, &edge, err);
        if (status != UMBEL_OK)
            return status;
        if (edge == EDGES)
            break;
        at = o->to[edge];
    }
    out[FOUND] += at == there ? 1. / SEARCHES : 0;
    out[SHORTEST] +=
        at == there && steps == o->hops[here][there] ? 1. / SEARCHES : 0;
    return UMBEL_OK;
}

static umbel_status run_round(um_round *r, double *out, umbel_error *err)
{
    overlay *o = calloc(1, sizeof *o);
    umbel_status status;

    out[FOUND] = out[SHORTEST] = 0;
    if (!o)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the overlay");
    grow(o, &r->rng);
    status = fill(o, um_random(&r->rng), err);
    for (size_t i = 0; status == UMBEL_OK && i < SEARCHES; i++)
        status = search(o, &r->rng, out, err);
    for (size_t d = 0; d < DEPTH; d++)
        for (size_t e = 0; e < o->nedges; e++)
            umbel_close(o->filter[d][e]);
    free(o);
    return status;
}

static void conclude(um_study *s)
{
    um_check_value(s, "files within 3 hops that are found",
                   um_column(s, FOUND).value, NAN);
    um_check_value(s, "found by a shortest path", um_column(s, SHORTEST).value,
                   NAN);
    um_record_note(&s->record,
                   "An array is several filters of kind bloom, made by "
                   "umbel merge: an attenuated filter needs no kind of its "
                   "own. What is missing is due to false positives at a "
                   "smaller distance, after which the search goes astray; the "
                   "survey names a more expensive algorithm for that case.");
}

const um_paper um_paper_survey_attenuated = {
    .name = "survey-attenuated",
    .source = SURVEY_SOURCE "section 6.2",
    .claim = "attenuated filters find files within d hops, likely the shortest "
             "way",
    .rounds = 20,
    .width = WIDTH,
    .round = run_round,
    .conclude = conclude,
};
