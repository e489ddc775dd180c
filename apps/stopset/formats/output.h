/*
 * output.h - writes traces in scamper's formats: one row per format.
 */
#ifndef UM_STOPSET_OUTPUT_H
#define UM_STOPSET_OUTPUT_H

#include "stopset/formats/trace.h"

#include <stdio.h>

/*
 * What all traces of a run have in common. Readers take what stands in a trace
 * for a fact, and what is missing in warts for 0, so numbers are written if and
 * only if they are known.
 */
typedef struct ss_run_facts {
    bool udp; /* otherwise ICMP */
    ss_policy policy;
    uint8_t attempts;
    uint8_t wait; /* seconds, rounded up */
    /* Of IPv4 and IPv6: bytes of a probe's IP packet, if its trace does not
     * know them; 0 if unknown. Ports of UDP. */
    uint16_t probe_size[2], sport[2], dport;
    uint64_t start; /* seconds since 1970 */
} ss_run_facts;

typedef struct ss_output_format {
    const char *name;
    void (*begin)(FILE *out, const ss_run_facts *run);
    void (*trace)(FILE *out, const ss_run_facts *run, const ss_trace *t,
                  unsigned probes);
    void (*end)(FILE *out, const ss_run_facts *run, uint64_t now);
} ss_output_format;

extern const ss_output_format ss_output_json, ss_output_warts;

/* Writes a trace of an unknown run in scamper's JSON, as one line. */
void ss_trace_write_json(const ss_trace *t, FILE *out);

/* Returns the format of that name, or NULL. */
const ss_output_format *ss_output_find(const char *name);

#endif
