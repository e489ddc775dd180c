/*
 * clock.h - the time, read once per iteration of the server's loop.
 */
#ifndef UM_CLEARINGHOUSE_CLOCK_H
#define UM_CLEARINGHOUSE_CLOCK_H

#include "net/server/loop.h"

/* Set by the server, read by all others. */
typedef struct um_clock {
    uint64_t now;     /* seconds since 1970 */
    um_loop *loop;    /* NULL until it is open */
    uint64_t started; /* in milliseconds, as from um_clock_ms */
} um_clock;

/* Returns the time of a monotonic clock in milliseconds. */
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
