/*
 * internal.h - an axis of a chart: what it spans, where it lies, its ticks
 * (axis.c).
 */
#ifndef UM_DRAW_INTERNAL_H
#define UM_DRAW_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

enum { UM_MAX_TICKS = 64 };

typedef struct um_axis {
    bool log;
    double low, high; /* of the data, or of their logarithms */
    double from, to;  /* in the picture */
    double tick[UM_MAX_TICKS];
    size_t nticks;
} um_axis;

/* Starts an axis from one place of the picture to another, for no data yet. */
void um_axis_init(um_axis *a, bool log, double from, double to);
/* Returns true if v has a place on the axis: it is a number of at most
 * 1e300, and positive if the axis is logarithmic. */
bool um_axis_takes(const um_axis *a, double v);
/* Widens the range so that it includes v, if v has a place on the axis. */
void um_axis_include(um_axis *a, double v);
/* Rounds the range outwards and chooses the ticks; the last step. */
void um_axis_settle(um_axis *a);
/* Returns where v lies in the picture. */
double um_axis_at(const um_axis *a, double v);

#endif
