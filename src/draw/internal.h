/*
 * internal.h - an axis of a chart: its range, position and ticks (axis.c).
 */
#ifndef UM_DRAW_INTERNAL_H
#define UM_DRAW_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

enum { UM_MAX_TICKS = 64 };

typedef struct um_axis {
    bool log;
    double low, high; /* of the data, or of their logarithms */
    double from, to;  /* position in the picture */
    double tick[UM_MAX_TICKS];
    size_t nticks;
} um_axis;

/* Starts an axis between two positions in the picture, without data yet. */
void um_axis_init(um_axis *a, bool log, double from, double to);
/* Returns true if v can be shown on the axis: it is a number of at most 1e300,
 * and positive if the axis is logarithmic. */
bool um_axis_takes(const um_axis *a, double v);
/* Extends the range to include v, if v can be shown on the axis. */
void um_axis_include(um_axis *a, double v);
/* Rounds the range outwards and chooses the ticks. Call it last. */
void um_axis_settle(um_axis *a);
/* Returns the position of v in the picture. */
double um_axis_at(const um_axis *a, double v);

#endif
