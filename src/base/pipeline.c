/*
 * pipeline.c - one lock, three counters.
 *
 * Pieces lie in a ring, and piece number i in place i % npieces. The counters
 * tell how many were ever filled, taken up for work, and drained:
 *
 *     drained <= taken <= filled <= drained + npieces
 *
 * Steps run without the lock. Draining comes first because it frees a place,
 * then filling because all others live from it.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/pipeline.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

typedef struct crew {
    const um_pipeline *job;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, taken, drained;
    bool filling, draining;     /* a thread is doing it */
    bool ended, stopped;        /* no more to fill | nothing more to begin */
    bool worked[UM_MAX_PIECES]; /* of each place */
} crew;

static size_t place(const crew *c, uint64_t number)
{
    return (size_t)(number % c->job->npieces);
}

static bool can_drain(const crew *c)
{
    return !c->draining && c->drained < c->taken &&
           c->worked[place(c, c->drained)];
}

static bool can_fill(const crew *c)
{
    return !c->filling && !c->ended && c->filled < c->drained + c->job->npieces;
}

static bool can_work(const crew *c)
{
    return c->taken < c->filled;
}

static bool over(const crew *c)
{
    return c->stopped || (c->ended && c->drained == c->filled);
}

/* The steps: called with the lock, which they let go meanwhile. */

static void drain(crew *c)
{
    size_t at = place(c, c->drained);

    c->draining = true;
    pthread_mutex_unlock(&c->lock);
    bool go_on = c->job->drain(c->job->ctx, c->job->pieces[at]);
    pthread_mutex_lock(&c->lock);
    c->draining = false;
    c->worked[at] = false;
    c->drained++;
    c->stopped |= !go_on;
}

static void fill(crew *c)
{
    size_t at = place(c, c->filled);

    c->filling = true;
    pthread_mutex_unlock(&c->lock);
    bool more = c->job->fill(c->job->ctx, c->job->pieces[at]);
    pthread_mutex_lock(&c->lock);
    c->filling = false;
    c->filled += more;
    c->ended |= !more;
}

static void work(crew *c)
{
    size_t at = place(c, c->taken++);

    pthread_mutex_unlock(&c->lock);
    c->job->work(c->job->ctx, c->job->pieces[at]);
    pthread_mutex_lock(&c->lock);
    c->worked[at] = true;
}

static void *serve(void *arg)
{
    crew *c = arg;

    pthread_mutex_lock(&c->lock);
    while (!over(c)) {
        if (can_drain(c))
            drain(c);
        else if (can_fill(c))
            fill(c);
        else if (can_work(c))
            work(c);
        else {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* The ring of one piece needs no threads. */
static void run_alone(const um_pipeline *job)
{
    void *piece = job->pieces[0];
    bool go_on = true;

    while (go_on && job->fill(job->ctx, piece)) {
        job->work(job->ctx, piece);
        go_on = job->drain(job->ctx, piece);
    }
}

static void run_together(crew *c, pthread_t *thread)
{
    unsigned n = 0;

    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    while (n + 1 < c->job->threads && n < UM_MAX_THREADS &&
           pthread_create(&thread[n], NULL, serve, c) == 0)
        n++;
    serve(c);
    while (n)
        pthread_join(thread[--n], NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
}

void um_pipeline_run(const um_pipeline *job)
{
    pthread_t thread[UM_MAX_THREADS];
    crew c = {.job = job};

    if (job->threads > 1)
        run_together(&c, thread);
    else
        run_alone(job);
}

unsigned um_cores(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1; /* more than the set has room for: say it with a number */
    int n = CPU_COUNT(&set);
    if (n < 1)
        return 1;
    return n < UM_MAX_THREADS ? (unsigned)n : UM_MAX_THREADS;
}
