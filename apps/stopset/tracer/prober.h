/*
 * prober.h - whatever sends probes and hears answers: sockets of ours, or a
 * running scamper.
 */
#ifndef UM_STOPSET_PROBER_H
#define UM_STOPSET_PROBER_H

#include "stopset/tracer/probe.h"

#include <umbel/base.h>

typedef void ss_deliver(void *ctx, const ss_answer *answer);

typedef struct ss_prober {
    void *self;
    /* E_IO, with the system's reason: no route to the destination, perhaps. */
    umbel_status (*send)(void *self, const ss_probe *p, umbel_error *err);
    /*
     * Waits at most that many microseconds, and delivers the answers that came.
     * E_IO: there will be no more.
     */
    umbel_status (*wait)(void *self, uint64_t timeout, ss_deliver *deliver,
                         void *ctx, umbel_error *err);
    void (*close)(void *self);
} ss_prober;

#endif
