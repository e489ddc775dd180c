/*
 * loop.h - one thread that waits for descriptors, timers and signals (libuv).
 *
 * Callbacks run one after the other and are never nested. An iteration handles
 * descriptors that became ready, then timers that are due, then calls the
 * hooks, then waits. Anything opened on a loop may be closed at any time, even
 * by its own callback; the callback is not called again.
 */
#ifndef UM_NET_LOOP_H
#define UM_NET_LOOP_H

#include <umbel/base.h>

typedef struct um_loop um_loop;
typedef struct um_timer um_timer;
typedef struct um_signal um_signal;
typedef struct um_watch um_watch;
typedef struct um_hook um_hook;

/* Events of a descriptor. */
enum { UM_READABLE = 1, UM_WRITABLE = 2 };

/* Opens a loop. Makes the process ignore SIGPIPE, because libuv writes to
 * connections that the client may have closed. */
umbel_status um_loop_open(um_loop **out, umbel_error *err);

/* Closes the loop and everything that is still open on it, without callbacks.
 * NULL is accepted. */
void um_loop_close(um_loop *l);

/* Runs iterations until um_loop_stop, or until nothing is left to wait for. */
void um_loop_run(um_loop *l);

/* Ends um_loop_run after this iteration. */
void um_loop_stop(um_loop *l);

/* Returns monotonic milliseconds, read at the beginning of the iteration. */
uint64_t um_loop_now(const um_loop *l);

/* Calls tick after ms milliseconds, and then every repeat ms; 0: once. */
umbel_status um_timer_open(um_loop *l, uint64_t ms, uint64_t repeat,
                           void (*tick)(void *ctx), void *ctx, um_timer **out,
                           umbel_error *err);
/* Restarts the timer with these times. */
void um_timer_set(um_timer *t, uint64_t ms, uint64_t repeat);
void um_timer_stop(um_timer *t);
void um_timer_close(um_timer *t);

/* Calls got for each signal `number` (SIGTERM, SIGHUP); several may be merged
 * into one. */
umbel_status um_signal_open(um_loop *l, int number,
                            void (*got)(void *ctx, int number), void *ctx,
                            um_signal **out, umbel_error *err);
void um_signal_close(um_signal *s);

/*
 * Calls ready in each iteration in which fd is readable or writable, depending
 * on events. After an error it is both. The caller owns the descriptor, and
 * closes it after um_watch_close.
 */
umbel_status um_watch_open(um_loop *l, int fd, unsigned events,
                           void (*ready)(void *ctx, unsigned events), void *ctx,
                           um_watch **out, umbel_error *err);
/* Changes the events; 0 pauses the watch. */
void um_watch_events(um_watch *w, unsigned events);
void um_watch_close(um_watch *w);

/* Calls end at the end of each iteration, before the loop waits. */
umbel_status um_hook_open(um_loop *l, void (*end)(void *ctx), void *ctx,
                          um_hook **out, umbel_error *err);
void um_hook_close(um_hook *h);

#endif
