/*
 * axis.c - ranges of round numbers.
 */
#include "draw/internal.h"

#include <math.h>

/* The difference of two such numbers does not overflow. */
#define LARGEST 1e300

void um_axis_init(um_axis *a, bool log, double from, double to)
{
    *a = (um_axis){
        .log = log, .low = INFINITY, .high = -INFINITY, .from = from, .to = to};
}

bool um_axis_takes(const um_axis *a, double v)
{
    return fabs(v) <= LARGEST && (!a->log || v > 0);
}

void um_axis_include(um_axis *a, double v)
{
    if (!um_axis_takes(a, v))
        return;
    a->low = fmin(a->low, v);
    a->high = fmax(a->high, v);
}

double um_axis_at(const um_axis *a, double v)
{
    if (a->log)
        v = log10(v);
    return a->from + (v - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* Returns the smallest of 1, 2, 5 times a power of ten that is at least x. */
static double nice_step(double x)
{
    double unit = pow(10, floor(log10(x)));
    double times = x / unit;

    return unit * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void add_tick(um_axis *a, double value)
{
    if (a->nticks < UM_MAX_TICKS)
        a->tick[a->nticks++] = value;
}

/* Chooses the range and ticks of a linear axis. Zero is shown unless the data
 * are far from it. Values so close together that rounding would lose their
 * difference get a range of their own size. */
static void settle_linear(um_axis *a)
{
    if (a->low > 0 && a->low < 0.6 * a->high)
        a->low = 0;
    double least = fmax(fabs(a->low), fabs(a->high)) * 1e-9;
    if (a->high - a->low <= least)
        a->high = a->low + fmax(1, 8 * least);
    double step = nice_step((a->high - a->low) / 8);
    double first = floor(a->low / step + 1e-9);
    double last = ceil(a->high / step - 1e-9);
    a->low = first * step;
    a->high = last * step;
    for (int i = 0; first + i <= last; i++)
        add_tick(a, (first + i) * step);
}

/* Chooses whole decades and ticks of a logarithmic axis; if there are many
 * decades, only some get a tick. */
static void settle_log(um_axis *a)
{
    a->low = floor(log10(a->low) + 1e-9);
    a->high = ceil(log10(a->high) - 1e-9);
    if (a->high <= a->low)
        a->high = a->low + 1;
    int decades = (int)(a->high - a->low);
    for (int i = 0; i <= decades; i += 1 + decades / 10)
        add_tick(a, pow(10, a->low + i));
}

void um_axis_settle(um_axis *a)
{
    if (!(a->low <= a->high)) { /* no data */
        a->low = a->log ? 1 : 0;
        a->high = 1;
    }
    if (a->log)
        settle_log(a);
    else
        settle_linear(a);
}
