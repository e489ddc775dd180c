/*
 * tracer.h - many traces at once, as a state machine: answers and time in,
 * probes and finished traces out. No socket, no clock, no file.
 *
 * A trace waits for the answer to one probe before it sends the next, because
 * the sets decide hop by hop; thousands of traces are under way instead.
 */
#ifndef UM_STOPSET_TRACER_H
#define UM_STOPSET_TRACER_H

#include "stopset/formats/trace.h"
#include "stopset/tracer/probe.h"

#include <umbel/base.h>

typedef struct ss_tracer ss_tracer;

/* Times are microseconds of any clock that only goes forward. */
typedef struct ss_tracer_config {
    ss_policy policy; /* first, max_ttl and gap_limit are not 0 */
    uint8_t attempts; /* probes at a silent hop */
    uint32_t window;  /* traces under way at once */
    uint64_t wait;    /* for an answer */
    double rate;      /* probes a second */
    double refresh;   /* share of traces that ignores the sets */
    uint64_t seed;    /* which ones */

    void *ctx;
    /* Gives the next destination; false: there are no more. */
    bool (*next)(void *ctx, ss_addr *dst);
    /* Says which sets have a node; all are false before. NULL: no sets. */
    void (*ask)(void *ctx, ss_addr hop, ss_addr dst, ss_reply *reply);
    /* Takes a finished trace, valid during the call, and its probes. Its
     * start is a time of the tracer's clock. */
    void (*finished)(void *ctx, const ss_trace *t, unsigned probes);
} ss_tracer_config;

typedef struct ss_tracer_counts {
    uint64_t traces, probes, replies;
    uint64_t destination_probes; /* that the destination answered */
    uint64_t stopped_red, stopped_global, stopped_local;
    uint64_t reached;
    uint64_t silent;  /* traces that no hop answered */
    uint64_t strange; /* late beyond use, repeated, or of no trace under way */
} ss_tracer_counts;

/* E_NOMEM, E_RANGE. config is copied; what it points to is kept. */
umbel_status ss_tracer_open(const ss_tracer_config *config, ss_tracer **out,
                            umbel_error *err);
void ss_tracer_close(ss_tracer *t);

/* Gives a probe that is due now; false: none is. Call until it is false. */
bool ss_tracer_send(ss_tracer *t, uint64_t now, ss_probe *out);
/* The probe that was given last could not be sent: it counts as silence. */
void ss_tracer_unsent(ss_tracer *t);
void ss_tracer_answer(ss_tracer *t, uint64_t now, const ss_answer *answer);

/* Returns the time when something is due next; UINT64_MAX if all is done. */
uint64_t ss_tracer_due(const ss_tracer *t);
/* Begins no more traces, and hands out those under way as HALTED. */
void ss_tracer_halt(ss_tracer *t);
const ss_tracer_counts *ss_tracer_counted(const ss_tracer *t);

#endif
