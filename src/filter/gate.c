/*
 * gate.c - lets threads change something together, or one read it at rest.
 *
 * A thread writes that it is inside, then reads whether the gate is closed; the
 * thread that closes it writes so, then reads whether one is inside. One of the
 * two sees the other, if each write is visible before the read. An atomic
 * addition does that, and costs a single add to a filter 6 % each. So a thread
 * with a slot of its own writes plainly, and the one that closes the gate makes
 * the kernel fence all threads (membarrier on Linux).
 */
#define _GNU_SOURCE /* syscall, MAP_ANONYMOUS */

#include "filter/gate.h"

#include "base/error.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>

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

/* A thread that held a lock at a fork does not exist in the child, which finds
 * zeros on these pages: no lock is taken. */
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

/* --- threads that enter --- */

/* A thread that ended leaves its slot to one that gets the same identity. */
static um_gate_pass pass_for(um_gate *g, um_gate_slot *slot, uint64_t self)
{
    uint64_t nobody = 0;
    bool first = g->barrier && __atomic_compare_exchange_n(
                                   &slot->owner, &nobody, self, false,
                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED);

    return first || nobody == self ? (um_gate_pass){&slot->own, true}
                                   : (um_gate_pass){&slot->others, false};
}

/* A gate that was closed at a fork stays so in the child, where its keeper does
 * not exist, and where nobody else can close it: it is passed. */
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

enum { PATIENCE = 100 }; /* looks at a lock before the processor is given up */

/* Looks before it tries: others may read the line meanwhile. */
void um_gate_wait(um_gate_lock *lock)
{
    int looks = 0;

    do
        while (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED))
            if (++looks >= PATIENCE)
                sched_yield(); /* its holder may wait for this core */
    while (__atomic_test_and_set(&lock->taken, __ATOMIC_ACQUIRE));
}

/* --- the thread that closes it --- */

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
