/*
 * pair.h - a second thread that busy-waits, for timing.
 *
 * With work of a tenth of a millisecond, one would mostly measure how long a
 * sleeping thread takes to wake up. The second thread of a pair does not sleep.
 */
#ifndef UM_BENCH_PAIR_H
#define UM_BENCH_PAIR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct um_pair um_pair;

typedef void um_pair_work(void *ctx, size_t from, size_t n);

/* Starts the second thread; NULL if that fails. */
um_pair *um_pair_open(void);
/* Calls work(ctx, ..) for one half of from .. from + n - 1 here, and for the
 * other half in the second thread. */
void um_pair_run(um_pair *p, um_pair_work *work, void *ctx, size_t from,
                 size_t n);
/* Accepts NULL. */
void um_pair_close(um_pair *p);

#endif
