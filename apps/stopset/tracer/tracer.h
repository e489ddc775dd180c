/*
 * tracer.h - runs many traces at once, as a state machine: answers and times go
 * in, probes and finished traces come out. It uses no socket, clock or file.
 *
 * A trace waits for the answer to one probe before it sends the next, because
 * the sets decide hop by hop; instead, thousands of traces run at once.
 */
#ifndef UM_STOPSET_TRACER_H
#define UM_STOPSET_TRACER_H

#include "stopset/formats/trace.h"
#include "stopset/tracer/probe.h"

#include <umbel/base.h>

typedef struct ss_tracer ss_tracer;

/* Times are in microseconds of any monotonic clock. */
typedef struct ss_tracer_config {
    ss_policy policy; /* first, max_ttl and gap_limit are not 0 */
    uint8_t attempts; /* probes at a silent hop */
    uint32_t window;  /* traces in progress at once */
    uint64_t wait;    /* for an answer */
    double rate;      /* probes a second */
    double refresh;   /* share of traces that ignores the sets */
    uint64_t seed;    /* selects them */

    void *ctx;
    /* Returns the next destination; false if there are no more. */
    bool (*next)(void *ctx, ss_addr *dst);
    /* Sets the members of *reply for sets that contain a node; all are false
     * before. NULL if there are no sets. */
    void (*ask)(void *ctx, ss_addr hop, ss_addr dst, ss_reply *reply);
    /* Receives a finished trace, valid during the call, and the number of its
     * probes. Its start is a time of the tracer's clock. */
    void (*finished)(void *ctx, const ss_trace *t, unsigned probes);
} ss_tracer_config;

typedef struct ss_tracer_counts {
    uint64_t traces, probes, replies;
    uint64_t destination_probes; /* that the destination answered */
    uint64_t stopped_red, stopped_global, stopped_local;
    uint64_t reached;
    uint64_t silent;  /* traces that no hop answered */
    uint64_t strange; /* too late, repeated, or for no trace in progress */
} ss_tracer_counts;

/* Creates a tracer; fails with E_NOMEM or E_RANGE. config is copied, but not
 * what it points to. */
umbel_status ss_tracer_open(const ss_tracer_config *config, ss_tracer **out,
                            umbel_error *err);
void ss_tracer_close(ss_tracer *t);

/* Stores the next probe that is due; returns false if none is. Call it until it
 * returns false. */
bool ss_tracer_send(ss_tracer *t, uint64_t now, ss_probe *out);
/* Reports that the last probe could not be sent; it counts as unanswered. */
void ss_tracer_unsent(ss_tracer *t);
void ss_tracer_answer(ss_tracer *t, uint64_t now, const ss_answer *answer);

/* Returns when something is due next; UINT64_MAX if all is done. */
uint64_t ss_tracer_due(const ss_tracer *t);
/* Starts no more traces, and finishes those in progress as HALTED. */
void ss_tracer_halt(ss_tracer *t);
const ss_tracer_counts *ss_tracer_counted(const ss_tracer *t);

#endif
