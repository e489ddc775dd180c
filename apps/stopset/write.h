/*
 * write.h - traces as files that others read.
 */
#ifndef UM_STOPSET_WRITE_H
#define UM_STOPSET_WRITE_H

#include "stopset/trace.h"

#include <stdio.h>

/* Writes a trace as scamper's JSON, a line. */
void ss_trace_write_json(const ss_trace *t, FILE *out);

#endif
