/*
 * pair.h - a second thread that waits awake, for timing.
 *
 * Work of a tenth of a millisecond would mostly measure how long a sleeping
 * thread takes to get up. The second thread of a pair does not sleep.
 */
#ifndef UM_BENCH_PAIR_H
#define UM_BENCH_PAIR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct um_pair um_pair;

typedef void um_pair_work(void *ctx, size_t from, size_t n);

/* NULL when there is no thread to be had. */
um_pair *um_pair_open(void);
/* work(ctx, ..) for one half of from .. from + n - 1 here, the other there. */
void um_pair_run(um_pair *p, um_pair_work *work, void *ctx, size_t from,
                 size_t n);
/* NULL is fine. */
void um_pair_close(um_pair *p);

#endif
