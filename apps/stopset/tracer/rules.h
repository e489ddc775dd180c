/*
 * rules.h - where a trace goes on, and where it stops.
 *
 * The only place that decides. The tracer, the driver of scamper and replay ask
 * it hop by hop, so that the same sets stop the same trace at the same hop.
 * It knows no packets, no files and no clock.
 *
 *     red set     forwards from the first hop; stop at a node that is in the
 *                 set: it lies one hop before a destination.
 *     Doubletree  forwards from the first hop; stop at a node that is in the
 *                 global set, where others have gone on. Then backwards from
 *                 the hop before the first; stop at a node that is in the
 *                 local set, where this monitor comes from anyway.
 *
 * A trace is a walk: ask for the next TTL, probe it, hand in what came.
 */
#ifndef UM_STOPSET_RULES_H
#define UM_STOPSET_RULES_H

#include "stopset/tracer/trace.h"

/* What holds for all traces of a run. Zeroed: forwards from TTL 1 to 255, and
 * no gap is too long. */
typedef struct ss_policy {
    uint8_t first;     /* TTL to begin at; 0: 1 */
    uint8_t max_ttl;   /* 0: 255 */
    uint8_t gap_limit; /* silent hops in a row that end a trace; 0: none do */
    bool backwards;    /* then go backwards from the hop before the first */
} ss_policy;

/* What a probe brought. Where sets are not used their answers are false. */
typedef struct ss_reply {
    bool silent;      /* nothing, however often it was tried */
    bool destination; /* the destination itself replied */
    bool unreachable; /* a router said that the way ends there */
    bool seen;        /* this node replied earlier in this trace, forwards */
    bool red, global; /* (node, destination) is in the set */
    bool local;       /* the node is in the monitor's own set */
} ss_reply;

typedef struct ss_walk {
    ss_policy policy;
    uint8_t ttl;     /* to probe next; 0: the walk is over */
    uint8_t gap;     /* silent hops in a row */
    bool back;       /* going backwards */
    ss_stop stop;    /* why it stopped forwards */
    uint8_t at;      /* TTL where it stopped forwards */
    uint8_t back_at; /* TTL where the local set stopped it; 0: it did not */
} ss_walk;

void ss_walk_begin(ss_walk *w, const ss_policy *policy);
/* Takes the reply to the probe of w->ttl, and chooses the next one. */
void ss_walk_take(ss_walk *w, const ss_reply *reply);

#endif
