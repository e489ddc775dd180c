/*
 * threads.c - work for several threads: a pipeline, and a gate.
 */
#define _GNU_SOURCE /* sched_getaffinity, syscall, MAP_ANONYMOUS */
#include "base/threads.h"

#include "base/error.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#endif

/* --- a pipeline: one lock, three counters --------------------------------- */

/*
 * Pieces form a ring: piece number i is at place i % npieces. The counters hold
 * how many were ever filled, taken for work, and drained:
 *
 *     drained <= taken <= filled <= drained + npieces
 *
 * Steps run without the lock. Draining has priority because it frees a place,
 * then filling because it creates work.
 */

typedef struct crew {
    const um_pipeline *job;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, taken, drained;
    bool filling, draining;     /* a thread is doing it */
    bool ended, stopped;        /* nothing left to fill | nothing more to
                                   begin */
    bool worked[UM_MAX_PIECES]; /* for each place: work is done */
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

/* The steps. They are called with the lock held, and release it while they
 * run. */

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

/* Runs the pipeline in the calling thread, with one piece. */
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
        return 1; /* more cores than the set holds: the user can give a
                     number */
    int n = CPU_COUNT(&set);
    if (n < 1)
        return 1;
    return n < UM_MAX_THREADS ? (unsigned)n : UM_MAX_THREADS;
}

/*
 * The gate: threads change something together, or one reads it at rest.
 */

/*
 * An entering thread writes that it is inside, then reads whether the gate is
 * closed; the closing thread writes that it is closed, then reads whether any
 * thread is inside. At least one sees the other, provided each write is visible
 * before the read that follows it. An atomic addition ensures that, but makes
 * adding a single key 6 % slower each time. So a thread with a slot of its own
 * writes plainly, and the closing thread makes the kernel fence all threads
 * (membarrier on Linux).
 */

#ifdef __linux__

static bool fence_all(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}
#else
enum {
    MEMBARRIER_CMD_PRIVATE_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED
};

static bool fence_all(int command)
{
    (void)command;
    return false;
}
#endif

enum { LOCKS_LEN = UM_GATE_LOCKS * sizeof(um_gate_lock) };

/* Maps the locks. After a fork the child finds these pages zeroed, so no lock
 * is held by a thread that does not exist there. */
static bool create_locks(um_gate *g)
{
    void *pages = mmap(NULL, LOCKS_LEN, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return false;
#ifdef MADV_WIPEONFORK
    madvise(pages, LOCKS_LEN, MADV_WIPEONFORK);
#endif
    g->lock = pages;
    return true;
}

bool um_gate_init(um_gate *g)
{
    if (!create_locks(g))
        return false;
    g->barrier = fence_all(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    g->process = getpid();
    if (pthread_mutex_init(&g->keeper, NULL) == 0)
        return true;
    munmap(g->lock, LOCKS_LEN);
    return false;
}

void um_gate_fini(um_gate *g)
{
    pthread_mutex_destroy(&g->keeper);
    munmap(g->lock, LOCKS_LEN);
}

/* --- threads that enter --------------------------------------------------- */

/* Assigns the slot to this thread if it is free. A thread that ended leaves its
 * slot to a later thread with the same identity. */
static um_gate_pass pass_for(um_gate *g, um_gate_slot *slot, uint64_t self)
{
    uint64_t nobody = 0;
    bool first = g->barrier && __atomic_compare_exchange_n(
                                   &slot->owner, &nobody, self, false,
                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED);

    return first || nobody == self ? (um_gate_pass){&slot->own, true}
                                   : (um_gate_pass){&slot->others, false};
}

/* Waits until the gate opens. A gate that was closed at a fork stays closed in
 * the child, where the thread that closed it does not exist: the child ignores
 * it. */
um_gate_pass um_gate_enter_slowly(um_gate *g, um_gate_slot *slot, uint64_t self)
{
    um_gate_pass pass = pass_for(g, slot, self);

    while (!um_gate_try(g, pass) && getpid() == g->process) {
        um_gate_leave(pass);
        pthread_mutex_lock(&g->keeper);
        pthread_mutex_unlock(&g->keeper);
    }
    return pass;
}

enum { PATIENCE = 100 }; /* spins on a lock before yielding the processor */

/* Reads before it writes, so that other cores can keep the cache line. */
void um_gate_wait(um_gate_lock *lock)
{
    int looks = 0;

    do
        while (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED))
            if (++looks >= PATIENCE)
                sched_yield(); /* the holder may need this core */
    while (__atomic_test_and_set(&lock->taken, __ATOMIC_ACQUIRE));
}

/* --- the thread that closes it -------------------------------------------- */

static void wait_until_left(const uint64_t *inside)
{
    while (__atomic_load_n(inside, __ATOMIC_SEQ_CST))
        sched_yield();
}

umbel_status um_gate_close(um_gate *g, umbel_error *err)
{
    if (getpid() != g->process)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "the filter was shared before fork(): take the snapshot "
                       "in the parent, before it forks");
    pthread_mutex_lock(&g->keeper);
    __atomic_store_n(&g->closed, true, __ATOMIC_SEQ_CST);
    if (g->barrier && !fence_all(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
        um_set_errno(err, "the kernel refuses membarrier, which a snapshot of "
                          "a shared filter needs");
        um_gate_open(g);
        return UMBEL_E_IO;
    }
    for (size_t i = 0; i < UM_GATE_SLOTS; i++) {
        wait_until_left(&g->slot[i].own);
        wait_until_left(&g->slot[i].others);
    }
    return UMBEL_OK;
}

void um_gate_open(um_gate *g)
{
    __atomic_store_n(&g->closed, false, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&g->keeper);
}
