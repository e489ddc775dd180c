/*
 * trace.h - one traced route, whatever wrote it down.
 */
#ifndef UM_STOPSET_TRACE_H
#define UM_STOPSET_TRACE_H

#include "stopset/tracer/address.h"

enum {
    SS_MAX_TTL = 255,
    SS_MAX_REPLIES = 4096, /* of a trace; one with more is skipped */
    SS_MAX_ADDRESSES = SS_MAX_REPLIES + 64
};

/* Why a trace ended. The names stand in traces and are scamper's where it has
 * the same. */
#define SS_STOP_LIST(X)                                                        \
    X(NONE)                                                                    \
    X(COMPLETED)                                                               \
    X(UNREACH)                                                                 \
    X(ICMP)                                                                    \
    X(LOOP)                                                                    \
    X(GAPLIMIT)                                                                \
    X(ERROR)                                                                   \
    X(HOPLIMIT)                                                                \
    X(GSS)                                                                     \
    X(HALTED)                                                                  \
    X(RED)                                                                     \
    X(OTHER)

#define SS_STOP_ENUM(name) SS_STOP_##name,
typedef enum ss_stop { SS_STOP_LIST(SS_STOP_ENUM) SS_STOPS } ss_stop;

/* Returns the name: "COMPLETED". */
const char *ss_stop_name(ss_stop stop);
/* Returns the stop of that name, or SS_STOP_OTHER. */
ss_stop ss_stop_find(const char *name, size_t len);

/* A reply. */
typedef struct ss_hop {
    ss_addr addr;
    uint32_t rtt;    /* microseconds; 0: not known */
    uint8_t ttl;     /* of the probe */
    uint8_t attempt; /* from 0 */
    uint8_t icmp_type, icmp_code;
} ss_hop;

typedef struct ss_trace {
    ss_addr monitor; /* who traced: src, or a probe of RIPE Atlas */
    ss_addr src, dst;
    uint64_t start; /* seconds since 1970; 0: not known */
    ss_stop stop;
    uint8_t first, last; /* TTLs that were probed: no smaller, no larger */
    uint8_t probed[32];  /* a bit for each TTL that was probed */
    ss_hop *hop;         /* in the order of the file */
    size_t nhops;
} ss_trace;

/* Memory for a trace, used again for the next one. Zeroed: empty. */
typedef struct ss_trace_room {
    ss_trace trace;
    ss_hop hop[SS_MAX_REPLIES];
    ss_addr address[SS_MAX_ADDRESSES]; /* for readers */
} ss_trace_room;

/* Empties it, and returns the trace. */
ss_trace *ss_trace_begin(ss_trace_room *room);
/* Appends a reply. False: there are too many. */
bool ss_trace_add(ss_trace *t, const ss_hop *hop);
/* Notes that these TTLs were probed, whether or not a reply came. */
void ss_trace_probed(ss_trace *t, unsigned from, unsigned to);

/* Returns the smallest TTL at which the destination replied; 0: it did not. */
uint8_t ss_trace_reached(const ss_trace *t);

#endif
