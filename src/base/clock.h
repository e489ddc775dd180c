/*
 * clock.h - seconds that only ever grow, for what took how long.
 */
#ifndef UM_BASE_CLOCK_H
#define UM_BASE_CLOCK_H

#include <time.h>

static inline double um_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
