/*
 * replay.c - where traces stop, and what is not seen because of it.
 */
#include "papers/rbf-case-study/replay.h"

#include <stdlib.h>
#include <string.h>

bool discovery_init(discovery *d, const world *w)
{
    d->node = calloc(w->addresses, sizeof *d->node);
    d->link = calloc(w->links, sizeof *d->link);
    return d->node && d->link;
}

void discovery_fini(discovery *d)
{
    free(d->node);
    free(d->link);
}

/* Walk one trace up to its stop; gives the hop, or its end. */
static uint32_t walk(const routes *r, size_t trace, const bool *match,
                     discovery *seen)
{
    uint32_t end = r->start[trace + 1];

    for (uint32_t i = r->start[trace]; i < end; i++) {
        seen->node[r->hop[i]] = true;
        seen->link[r->link[i]] = true;
        if (match[r->hop[i]])
            return i;
    }
    return end;
}

static void count_stops(const world *w, const bool *match, discovery *seen,
                        outcome *out)
{
    const routes *r = &w->probe;

    *out = (outcome){0};
    memset(seen->node, 0, w->addresses * sizeof *seen->node);
    memset(seen->link, 0, w->links * sizeof *seen->link);
    for (size_t t = 0; t < TRACES; t++) {
        uint32_t stop = walk(r, t, match, seen), end = r->start[t + 1];
        if (stop == end)
            out->collision += 1.0 / TRACES;
        else if (stop + 1 < end)
            out->shorter += 1.0 / TRACES;
        else if (w->stop[r->hop[stop]])
            out->genuine += 1.0 / TRACES;
        else
            out->lucky += 1.0 / TRACES;
    }
}

/* The share of what is set in `all` that is not set in `some`. */
static double missed(const bool *all, const bool *some, size_t n)
{
    size_t there = 0, gone = 0;

    for (size_t i = 0; i < n; i++) {
        there += all[i];
        gone += all[i] && !some[i];
    }
    return (double)gone / (double)there;
}

void replay(const world *w, const bool *match, const discovery *list,
            discovery *scratch, outcome *out)
{
    count_stops(w, match, scratch, out);
    out->nodes_missed = missed(list->node, scratch->node, w->addresses);
    out->links_missed = missed(list->link, scratch->link, w->links);
}

void replay_list(const world *w, discovery *list, outcome *out)
{
    count_stops(w, w->stop, list, out);
}
