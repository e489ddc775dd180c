/*
 * status_graph.h - the last hour of a front, drawn as SVG.
 */
#ifndef UM_CLEARINGHOUSE_STATUS_GRAPH_H
#define UM_CLEARINGHOUSE_STATUS_GRAPH_H

#include "clearinghouse/runtime/statistics.h"

#include <stdio.h>

/* Writes a figure: bars of requests per minute, with what they stand for. */
void um_status_print_graph(FILE *out, const um_service_stats *f);

#endif
