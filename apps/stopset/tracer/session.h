/*
 * session.h - a run of the tracer: the clock, a prober, the sets, the output.
 */
#ifndef UM_STOPSET_SESSION_H
#define UM_STOPSET_SESSION_H

#include "stopset/formats/output.h"
#include "stopset/tracer/live.h"
#include "stopset/tracer/prober.h"
#include "stopset/tracer/targets.h"
#include "stopset/tracer/tracer.h"

#include <signal.h>

typedef struct ss_session {
    /* Given. */
    const ss_tracer_config *config; /* limits and rates; callbacks are ours */
    const ss_prober *prober;
    const ss_targets *targets;
    ss_live *live;
    const ss_output_format *format;
    const ss_run_facts *facts;
    FILE *out;
    const volatile sig_atomic_t *interrupted;
    /* Told in a sentence, while the run goes on: a set could not be read. */
    void (*note)(const char *text);

    /* Results. */
    ss_tracer_counts counts;
    uint64_t refused; /* destinations that the system does not send to */
    uint32_t begun;   /* of the targets, in their order */

    /* Its own. */
    ss_tracer *tracer;
    umbel_status failed;
    umbel_error error;
    uint64_t looked; /* when the sets' files were looked at last */
} ss_session;

/* Traces all targets, or until it is interrupted. */
umbel_status ss_session_run(ss_session *s, umbel_error *err);

#endif
