/*
 * pipeline.h - threads that work on a stream of pieces and keep its order.
 *
 * A piece is filled (one at a time, in order), worked on (many at a time, in no
 * order) and drained (one at a time, in the order of filling). No thread has a
 * part of its own: a free thread takes the most urgent step. So n threads
 * keep n cores busy whichever step is the slow one, and one thread does the
 * same steps in the same order by itself.
 *
 * Pieces go round: those that were drained are filled again, so as many as
 * there are bound the memory, however long the stream is.
 */
#ifndef UM_BASE_PIPELINE_H
#define UM_BASE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

enum { UM_MAX_THREADS = 256, UM_MAX_PIECES = 64 };

typedef struct um_pipeline {
    unsigned threads;    /* with the caller's; 0 and 1: that alone */
    void *const *pieces; /* 1 to UM_MAX_PIECES of them */
    size_t npieces;
    void *ctx;

    /* Returns true if there was a next one; after false it is not called. */
    bool (*fill)(void *ctx, void *piece);
    void (*work)(void *ctx, void *piece);
    /* False stops: nothing is begun any more, what runs is waited for. */
    bool (*drain)(void *ctx, void *piece);
} um_pipeline;

/*
 * Until every piece is drained, or a drain stops it. What a step wrote is seen
 * by the steps that follow on the same piece, by later fills (of a fill) and by
 * later drains (of a drain). When threads are not to be had, fewer do it.
 */
void um_pipeline_run(const um_pipeline *crew);

/* Cores that this process may use; at least 1, at most UM_MAX_THREADS. */
unsigned um_cores(void);

#endif
