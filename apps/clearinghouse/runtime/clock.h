/*
 * clock.h - the time, as the server reads it once in each iteration of its
 * loop.
 */
#ifndef UM_CLEARINGHOUSE_CLOCK_H
#define UM_CLEARINGHOUSE_CLOCK_H

#include "net/server/loop.h"

/* The server sets it; all others read. */
typedef struct um_clock {
    uint64_t now;     /* seconds since 1970 */
    um_loop *loop;    /* NULL before the loop is open */
    uint64_t started; /* milliseconds, as um_clock_ms counts them */
} um_clock;

/* Returns milliseconds that only grow. */
static inline uint64_t um_clock_ms(const um_clock *c)
{
    return um_loop_now(c->loop);
}

/* Returns the seconds since the start. */
static inline uint64_t um_clock_uptime(const um_clock *c)
{
    return (um_clock_ms(c) - c->started) / 1000;
}

#endif
