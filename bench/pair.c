/*
 * pair.c - two threads, synchronised by two counters.
 *
 * Each stays on its own core: on a busy machine both might otherwise share one,
 * and the second would seem useless.
 */
#define _GNU_SOURCE /* affinities */
#include "bench/pair.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct um_pair {
    pthread_t thread;
    unsigned asked, done; /* rounds; equal if there is nothing to do */
    um_pair_work *work;   /* NULL to stop */
    void *ctx;
    size_t from, n;
    cpu_set_t before; /* cores of the caller */
};

/* Sets *out to the i-th core that the caller may use; false if there is
 * none. */
static bool core_at(const cpu_set_t *all, int i, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET((size_t)core, all) && i-- == 0) {
            CPU_SET((size_t)core, out);
            return true;
        }
    return false;
}

/* Asks for separate cores, for better timing; a refusal does not matter. */
static void part(um_pair *p)
{
    cpu_set_t here, there;

    if (core_at(&p->before, 0, &here) && core_at(&p->before, 1, &there)) {
        pthread_setaffinity_np(pthread_self(), sizeof here, &here);
        pthread_setaffinity_np(p->thread, sizeof there, &there);
    }
}

/* Waits until *at differs from was. Yields after a while: if cores are few,
 * others need this one. */
static void wait_while(const unsigned *at, unsigned was)
{
    enum { AWAKE = 2000 };

    for (unsigned i = 0; __atomic_load_n(at, __ATOMIC_ACQUIRE) == was; i++)
        if (i >= AWAKE)
            sched_yield();
}

static void *serve(void *arg)
{
    um_pair *p = arg;

    for (unsigned round = 0;; round++) {
        wait_while(&p->asked, round);
        if (!p->work)
            return NULL;
        p->work(p->ctx, p->from, p->n);
        __atomic_store_n(&p->done, round + 1, __ATOMIC_RELEASE);
    }
}

um_pair *um_pair_open(void)
{
    um_pair *p = calloc(1, sizeof *p);

    if (!p || pthread_create(&p->thread, NULL, serve, p) != 0) {
        free(p);
        return NULL;
    }
    pthread_getaffinity_np(pthread_self(), sizeof p->before, &p->before);
    part(p);
    return p;
}

static void ask(um_pair *p, um_pair_work *work)
{
    p->work = work;
    __atomic_store_n(&p->asked, p->asked + 1, __ATOMIC_RELEASE);
}

void um_pair_run(um_pair *p, um_pair_work *work, void *ctx, size_t from,
                 size_t n)
{
    size_t half = n / 2;

    p->ctx = ctx;
    p->from = from + half;
    p->n = n - half;
    ask(p, work);
    work(ctx, from, half);
    wait_while(&p->done, p->asked - 1);
}

void um_pair_close(um_pair *p)
{
    if (!p)
        return;
    ask(p, NULL);
    pthread_join(p->thread, NULL);
    pthread_setaffinity_np(pthread_self(), sizeof p->before, &p->before);
    free(p);
}
