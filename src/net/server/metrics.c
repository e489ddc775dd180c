/*
 * metrics.c - writes metrics in the text format of Prometheus.
 */
#include "net/server/metrics.h"

void um_metric_head(FILE *out, const char *name, const char *type,
                    const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Names are ours, but three characters must be escaped in values. */
void um_metric_label(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=\"", name);
    for (; *value; value++)
        if (*value == '\n')
            fputs("\\n", out);
        else
            fprintf(out, *value == '"' || *value == '\\' ? "\\%c" : "%c",
                    *value);
    putc('"', out);
}

void um_metric_begin(FILE *out, const char *name, const char *label,
                     const char *value)
{
    fprintf(out, "%s{", name);
    um_metric_label(out, label, value);
}

void um_metric_value(FILE *out, double x)
{
    fprintf(out, "} %.16g\n", x);
}
