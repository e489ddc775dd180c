/*
 * flows.h - the heavy flows of a stream of packets, by name, in one pass and
 * in memory that is fixed beforehand.
 *
 * Experimental: this header may change in any release.
 *
 * A multistage filter with conservative update and shielding (Estan and
 * Varghese 2002; section 8.1 of the survey by Broder and Mitzenmacher), and a
 * bounded table of keys. A flow whose count in the filter reaches the entry
 * level gets an entry, and is counted exactly from then on.
 *
 *     umbel_flows_params p = UMBEL_FLOWS_PARAMS_INIT;
 *     p.threshold = 1000000;
 *     umbel_flows_open(&p, &flows, &err);
 *     umbel_flows_add(flows, packets, n);
 *     umbel_flows_sort(flows);
 *     for (i = 0; umbel_flows_row(flows, &i, &flow);)
 *         ...
 *     umbel_flows_begin(flows);                   the next interval
 *
 * Every flow that reaches the threshold is a row, unless umbel_flows_counts
 * reports unnamed flows. A row's true bytes and packets lie within its bounds.
 */
#ifndef UMBEL_EXPERIMENTAL_FLOWS_H
#define UMBEL_EXPERIMENTAL_FLOWS_H

#include <umbel/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of its --memory that umbel packets flows keeps for the ports of
 * fragments; the rest is umbel_flows_params.memory. */
#define UMBEL_FLOWS_FRAGMENTS 65536

/* Longest key: a 5-tuple of IPv6 has 37 bytes. */
#define UMBEL_FLOW_KEY 39

/* A packet, or several of the same flow at once. Bytes of the key behind its
 * length must be 0. */
typedef struct umbel_flow_packet {
    uint8_t len; /* of the key: 1 to UMBEL_FLOW_KEY */
    uint8_t key[UMBEL_FLOW_KEY];
    uint32_t bytes;
    uint32_t packets;
} umbel_flow_packet;

typedef struct umbel_flows_params {
    size_t size;
    uint64_t memory;    /* bytes, all of it; 0: 1 MiB */
    uint64_t threshold; /* bytes, or packets */
    bool by_packets;    /* the threshold counts packets */
    uint64_t seed;      /* secret, if strangers choose the keys */
} umbel_flows_params;
#ifdef __cplusplus
#define UMBEL_FLOWS_PARAMS_INIT                                                \
    {                                                                          \
        sizeof(umbel_flows_params), 0, 0, false, 0                             \
    }
#else
#define UMBEL_FLOWS_PARAMS_INIT                                                \
    {                                                                          \
        .size = sizeof(umbel_flows_params)                                     \
    }
#endif

/* A flow. The key lives until the next call. */
typedef struct umbel_flow {
    const uint8_t *key;
    size_t len;
    uint64_t bytes, bytes_low;     /* at most and at least */
    uint64_t packets, packets_low; /* at most and at least */
} umbel_flow;

/* Counts of the interval. */
typedef struct umbel_flows_counts {
    uint64_t packets, bytes;
    uint64_t unnamed; /* flows that seemed to reach the threshold, but found no
                         entry; estimated within a few percent, never 0 if
                         there are any */
    uint64_t entries; /* in use */
} umbel_flows_counts;

typedef struct umbel_flows umbel_flows;

/* Opens an empty table. E_RANGE for a threshold of 0 or less than 64 KiB. */
UMBEL_API umbel_status umbel_flows_open(const umbel_flows_params *params,
                                        umbel_flows **out, umbel_error *err);
/* NULL is accepted. */
UMBEL_API void umbel_flows_close(umbel_flows *f);

/* Counts n packets. */
UMBEL_API void umbel_flows_add(umbel_flows *f, const umbel_flow_packet *packets,
                               size_t n);

/* Sorts the rows by their bound in the threshold's unit, the highest first. */
UMBEL_API void umbel_flows_sort(umbel_flows *f);
/* Finds the next flow that may have reached the threshold, from entry *i on;
 * start with 0. Returns false after the last. */
UMBEL_API bool umbel_flows_row(const umbel_flows *f, size_t *i,
                               umbel_flow *flow);
/* Finds the flow with this key; false if it has no entry. */
UMBEL_API bool umbel_flows_find(const umbel_flows *f,
                                const umbel_flow_packet *key, umbel_flow *flow);

UMBEL_API void umbel_flows_count(const umbel_flows *f, umbel_flows_counts *out);

/*
 * Begins an interval: every count is 0. Flows that reached the threshold keep
 * their entries, so that in the new interval they are counted exactly.
 */
UMBEL_API void umbel_flows_begin(umbel_flows *f);

/* What a given memory is divided into, and what it achieves. */
typedef struct umbel_flows_plan {
    uint64_t memory;       /* bytes in use */
    uint64_t entries;      /* flows that can be named */
    uint32_t stages;       /* of the filter */
    uint64_t cells;        /* of each stage */
    uint64_t heavy;        /* flows that can reach the threshold, at most */
    double overestimate;   /* no flow is overestimated by more, in 99 % of
                              intervals or more; never more than the traffic */
    double falsely_listed; /* expected flows below half the threshold that are
                              listed, at most */
} umbel_flows_plan;

/*
 * Plans for intervals with that much traffic (in the threshold's unit) of that
 * many flows. With memory 0, finds the least memory whose table holds twice the
 * heavy flows, and which lists at most 0.01 false flows in expectation.
 */
UMBEL_API umbel_status umbel_flows_plan_for(const umbel_flows_params *params,
                                            uint64_t traffic, uint64_t flows,
                                            umbel_flows_plan *out,
                                            umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
