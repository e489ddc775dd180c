/*
 * metrics.h - writes metrics in the text format of Prometheus.
 */
#ifndef UM_NET_METRICS_H
#define UM_NET_METRICS_H

#include <stdio.h>

/* Writes the lines before the samples of a metric; type is "counter" or
 * "gauge". */
void um_metric_head(FILE *out, const char *name, const char *type,
                    const char *help);

/*
 * A sample with labels:
 *
 *     um_metric_begin(out, "umbel_hits_total", "protocol", "pyzor");
 *     putc(',', out);
 *     um_metric_label(out, "op", "check");
 *     um_metric_value(out, 7);
 */
void um_metric_begin(FILE *out, const char *name, const char *label,
                     const char *value);
void um_metric_label(FILE *out, const char *name, const char *value);
void um_metric_value(FILE *out, double x);

#endif
