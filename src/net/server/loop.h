/*
 * loop.h - one thread that waits for descriptors, timers and signals (libuv).
 *
 * Callbacks run one after the other and never inside each other. A turn is: all
 * that became ready, then the timers that are due, then the hooks of the turn's
 * end, then waiting. Whatever was opened on a loop may be closed at any time,
 * also by its own callback, which is not called again.
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

/* Also makes the process ignore SIGPIPE: libuv writes to connections that the
 * client may have closed. */
umbel_status um_loop_open(um_loop **out, umbel_error *err);

/* Closes the loop and everything that is still open on it, without a callback.
 * NULL is fine. */
void um_loop_close(um_loop *l);

/* Runs turns until um_loop_stop, or until nothing is left to wait for. */
void um_loop_run(um_loop *l);

/* Ends um_loop_run after this turn. */
void um_loop_stop(um_loop *l);

/* Milliseconds that only grow, read at the beginning of the turn. */
uint64_t um_loop_now(const um_loop *l);

/* Calls tick after ms milliseconds, and then every repeat ms; 0: once. */
umbel_status um_timer_open(um_loop *l, uint64_t ms, uint64_t repeat,
                           void (*tick)(void *ctx), void *ctx, um_timer **out,
                           umbel_error *err);
/* Starts it anew with other times. */
void um_timer_set(um_timer *t, uint64_t ms, uint64_t repeat);
void um_timer_stop(um_timer *t);
void um_timer_close(um_timer *t);

/* Calls got for each SIGTERM, SIGHUP ...; several may arrive as one. */
umbel_status um_signal_open(um_loop *l, int number,
                            void (*got)(void *ctx, int number), void *ctx,
                            um_signal **out, umbel_error *err);
void um_signal_close(um_signal *s);

/*
 * Calls ready whenever fd is readable or writable, as events ask: again each
 * turn as long as it stays so. An error makes it both. The descriptor stays
 * the caller's, who closes it after um_watch_close.
 */
umbel_status um_watch_open(um_loop *l, int fd, unsigned events,
                           void (*ready)(void *ctx, unsigned events), void *ctx,
                           um_watch **out, umbel_error *err);
/* Asks for other events; 0: none for now. */
void um_watch_events(um_watch *w, unsigned events);
void um_watch_close(um_watch *w);

/* Calls end at the end of each turn, before the loop waits. */
umbel_status um_hook_open(um_loop *l, void (*end)(void *ctx), void *ctx,
                          um_hook **out, umbel_error *err);
void um_hook_close(um_hook *h);

/* The uv_loop_t, for files of src/net. */
struct uv_loop_s *um_loop_uv(um_loop *l);

/* Sets *err from libuv's code, and returns the status. */
umbel_status um_fail_uv(umbel_error *err, int code, const char *what);

#endif
