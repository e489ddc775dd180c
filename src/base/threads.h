/*
 * threads.h - work for several threads: a pipeline, and a gate.
 */
#ifndef UM_BASE_THREADS_H
#define UM_BASE_THREADS_H

#include "base/bits.h"

#include <umbel/base.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* --- threads that work on a stream of pieces and keep its order ----------- */

/*
 * A piece is filled (one at a time, in order), worked on (many at a time, in no
 * order) and drained (one at a time, in the order of filling). Threads have no
 * fixed role: a free thread takes the most urgent step. So n threads keep n
 * cores busy whichever step is the slow one, and a single thread does the same
 * steps in the same order.
 *
 * Drained pieces are filled again, so their number bounds the memory, however
 * long the stream is.
 */

enum { UM_MAX_THREADS = 256, UM_MAX_PIECES = 64 };

typedef struct um_pipeline {
    unsigned threads;    /* including the caller's; 0 and 1: only that */
    void *const *pieces; /* 1 to UM_MAX_PIECES of them */
    size_t npieces;
    void *ctx;

    /* Fills a piece; returns false if there was nothing left, and is then not
     * called again. */
    bool (*fill)(void *ctx, void *piece);
    void (*work)(void *ctx, void *piece);
    /* Drains a piece. Returning false stops the pipeline: no step is started,
     * running ones are waited for. */
    bool (*drain)(void *ctx, void *piece);
} um_pipeline;

/*
 * Runs until every piece is drained, or drain returns false. A step sees the
 * writes of earlier steps on the same piece; fills also see those of earlier
 * fills, drains those of earlier drains. Uses fewer threads if they cannot be
 * created.
 */
void um_pipeline_run(const um_pipeline *crew);

/* Returns the number of cores this process may use, 1 to UM_MAX_THREADS. */
unsigned um_cores(void);

/*
 * The gate: threads change something together, or one reads it at rest.
 */

/*
 * Threads enter and leave at almost no cost. A thread that closes the gate
 * waits until all threads inside have left, and blocks those that want to
 * enter.
 */

enum { UM_GATE_SLOTS = 32 };

/* The first thread that uses a slot owns it; others update it atomically. */
typedef struct um_gate_slot {
    _Alignas(UM_LINE) uint64_t owner; /* 0: free */
    uint64_t own, others;             /* threads inside */
    uint64_t own_added, others_added; /* keys that they added */
    uint64_t own_new, others_new;     /* 1: the last key they added was new */
} um_gate_slot;

/* A lock for threads inside the gate. Each has its own cache line, so that
 * taking one does not slow down the others. */
enum { UM_GATE_LOCKS = 32 };
typedef struct um_gate_lock {
    _Alignas(UM_LINE) bool taken;
} um_gate_lock;

typedef struct um_gate {
    um_gate_slot slot[UM_GATE_SLOTS];
    um_gate_lock *lock; /* UM_GATE_LOCKS of them; all are free after a fork */
    bool closed;
    bool barrier;           /* the kernel can fence all threads at once */
    pthread_mutex_t keeper; /* held while the gate is closed */
    pid_t process;          /* that created it */
} um_gate;

/* A thread inside the gate: the counter it uses, and whether it owns that. */
typedef struct um_gate_pass {
    uint64_t *inside;
    bool alone;
} um_gate_pass;

/* Initializes g, which is zeroed. Returns false if there is no mutex or
 * memory. */
bool um_gate_init(um_gate *g);
void um_gate_fini(um_gate *g);

/* Registers a thread as inside; if it returns false, the gate is closed and the
 * thread must leave. */
static inline bool um_gate_try(um_gate *g, um_gate_pass pass)
{
    if (pass.alone) {
        __atomic_store_n(pass.inside, *pass.inside + 1, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* orders the compiler only */
    } else {
        __atomic_fetch_add(pass.inside, 1, __ATOMIC_SEQ_CST);
    }
    return !__atomic_load_n(&g->closed, __ATOMIC_SEQ_CST);
}

static inline void um_gate_leave(um_gate_pass pass)
{
    if (pass.alone)
        __atomic_store_n(pass.inside, *pass.inside - 1, __ATOMIC_RELEASE);
    else
        __atomic_fetch_sub(pass.inside, 1, __ATOMIC_RELEASE);
}

/* Returns the counter of added keys for this thread. */
static inline uint64_t *um_gate_added(um_gate_pass pass)
{
    return pass.inside + 2; /* own_added for own, others_added for others */
}

/* Returns the flag for whether the last key added by this thread was new: a
 * prediction for the next one. */
static inline uint64_t *um_gate_last_new(um_gate_pass pass)
{
    return pass.inside + 4; /* own_new for own, others_new for others */
}

/* Acquires a lock; spins if it is taken. */
void um_gate_wait(um_gate_lock *lock);
static inline void um_gate_acquire(um_gate_lock *lock)
{
    if (__atomic_test_and_set(&lock->taken, __ATOMIC_ACQUIRE))
        um_gate_wait(lock);
}

static inline void um_gate_pass_back(um_gate_lock *lock)
{
    __atomic_clear(&lock->taken, __ATOMIC_RELEASE);
}

um_gate_pass um_gate_enter_slowly(um_gate *g, um_gate_slot *slot,
                                  uint64_t self);

/* Enters the gate; waits while it is closed. */
static inline um_gate_pass um_gate_enter(um_gate *g)
{
    uint64_t self = (uintptr_t)pthread_self();
    uint64_t spread = self * UINT64_C(0x9E3779B97F4A7C15);
    um_gate_slot *slot = &g->slot[(spread >> 32) % UM_GATE_SLOTS];
    um_gate_pass pass = {&slot->own, true};

    if (__atomic_load_n(&slot->owner, __ATOMIC_RELAXED) == self) {
        if (um_gate_try(g, pass))
            return pass;
        um_gate_leave(pass);
    }
    return um_gate_enter_slowly(g, slot, self);
}

/* Closes the gate. E_UNSUPPORTED in a child of the process that created it,
 * where it stays open: threads that were inside at the fork never leave. E_IO
 * if the kernel refuses to fence the threads. */
umbel_status um_gate_close(um_gate *g, umbel_error *err);
void um_gate_open(um_gate *g);

#endif
