/*
 * locked_add.c - filters that threads add to and query concurrently.
 *
 * A kind has functions for that, which change words atomically. Eight atomic
 * operations per key cost more than all the rest, so with a fast path blocks
 * are written differently: under a lock, by plain vectors. A batch is sorted by
 * lock, so that a lock is taken once for many keys; threads start at different
 * locks. Queries take no lock. They read blocks by vectors while these are
 * written; bits are only ever set, so a query sees each word as it was or as it
 * becomes.
 *
 * That assumes that the processor reads and writes an aligned word of 64 bits
 * at once, even within a vector, and does not reorder reads: x86-64 guarantees
 * both, and only x86-64 has rows with vectors. ThreadSanitizer does not know
 * that, so under it, as on other processors, the kind's atomic functions are
 * used, and their races would be found.
 */
#include "base/bits.h"
#include "base/hash.h"
#include "filter/handle.h"

#if defined(__SANITIZE_THREAD__)
#define ATOMICS_ONLY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ATOMICS_ONLY 1
#endif
#endif

bool um_row_shares(const um_fast *row)
{
#ifdef ATOMICS_ONLY
    (void)row;
    return false;
#else
    return row && row->set_hash[0];
#endif
}

/* Adds to a counter of the thread's own: threads would contend for a common
 * one. */
void um_count_shared(um_gate_pass pass, size_t n)
{
    uint64_t *added = um_gate_added(pass);

    if (n == 0)
        return;
    if (pass.alone)
        __atomic_store_n(added, *added + n, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(added, n, __ATOMIC_RELAXED);
}

/* --- keys under locks ----------------------------------------------------- */

/* Returns the lock of a key. Two blocks of 256 cells share a cache line, and so
 * a lock. */
UM_INLINE size_t lock_of(const umbel_filter *f, uint64_t lo)
{
    return (size_t)(um_scale(lo, f->layout.blocks) >> 1) % UM_GATE_LOCKS;
}

/* A batch sorted by lock. */
typedef struct sorted {
    umbel_digest d[UM_SHARED_BATCH];
    uint16_t from[UM_SHARED_BATCH]; /* the key's index in the batch */
    uint16_t start[UM_GATE_LOCKS + 1];
} sorted;

static void sort_by_lock(const umbel_filter *f, const umbel_digest *d, size_t n,
                         sorted *out)
{
    uint8_t lock[UM_SHARED_BATCH];
    uint16_t next[UM_GATE_LOCKS] = {0};

    for (size_t i = 0; i < n; i++)
        next[lock[i] = (uint8_t)lock_of(f, d[i].lo)]++;
    out->start[0] = 0;
    for (size_t i = 0; i < UM_GATE_LOCKS; i++) {
        out->start[i + 1] = (uint16_t)(out->start[i] + next[i]);
        next[i] = out->start[i];
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t at = next[lock[i]]++;
        out->d[at] = d[i];
        out->from[at] = (uint16_t)i;
    }
}

static size_t add_sorted(umbel_filter *f, const sorted *s, size_t first,
                         bool *fresh)
{
    bool is_new[UM_SHARED_BATCH];
    size_t added = 0;

    for (size_t j = 0; j < UM_GATE_LOCKS; j++) {
        size_t l = (first + j) % UM_GATE_LOCKS;
        size_t from = s->start[l], n = s->start[l + 1] - from;
        if (n == 0)
            continue;
        um_gate_acquire(&f->gate->lock[l]);
        added +=
            f->fast->add(f->self, s->d + from, n, fresh ? &is_new[from] : NULL);
        um_gate_pass_back(&f->gate->lock[l]);
    }
    for (size_t i = 0; fresh && i < s->start[UM_GATE_LOCKS]; i++)
        fresh[s->from[i]] = is_new[i];
    return added;
}

/* Returns the first lock of this thread, from which it cycles through all
 * locks. */
static size_t first_lock(void)
{
    uint64_t self = (uintptr_t)pthread_self();
    return (size_t)(self * UINT64_C(0x9E3779B97F4A7C15) >> 40) % UM_GATE_LOCKS;
}

/*
 * Returns true if most keys of a sample match already. In a filter in use most
 * do, and skipping them keeps their cache lines unwritten and shared by all
 * cores.
 */
static bool most_match(const umbel_filter *f, const umbel_digest *d, size_t n)
{
    enum { SAMPLE = 16 };
    bool hit[SAMPLE];
    size_t hits = 0;

    n = n < SAMPLE ? n : SAMPLE;
    f->fast->query(f->self, d, n, hit);
    for (size_t i = 0; i < n; i++)
        hits += hit[i];
    return 2 * hits > n;
}

static size_t add_missing(umbel_filter *f, const umbel_digest *d, size_t n,
                          bool *fresh)
{
    bool hit[UM_SHARED_BATCH];
    size_t added = 0;

    f->fast->query(f->self, d, n, hit);
    for (size_t i = 0; i < n; i++) {
        bool is_new = false;
        if (!hit[i]) {
            um_gate_lock *lock = &f->gate->lock[lock_of(f, d[i].lo)];
            um_gate_acquire(lock);
            f->fast->add(f->self, &d[i], 1, &is_new);
            um_gate_pass_back(lock);
        }
        added += is_new;
        if (fresh)
            fresh[i] = is_new;
    }
    return added;
}

size_t um_add_locked(umbel_filter *f, const umbel_digest *d, size_t n,
                     bool *fresh)
{
    sorted s;

    if (most_match(f, d, n))
        return add_missing(f, d, n, fresh);
    sort_by_lock(f, d, n, &s);
    return add_sorted(f, &s, first_lock(), fresh);
}

UM_INLINE uint64_t hash_of(const umbel_filter *f, const void *key, size_t len)
{
    return len == 8 ? um_xxh3_8(um_load64(key), f->hasher.flip)
                    : um_xxh3(key, len, f->hasher.seed);
}

/* Prefetches the cache lines of the lock and of the key's block for writing,
 * both at once instead of one after the other. */
UM_INLINE void fetch_to_write(const umbel_filter *f, uint64_t lo,
                              const um_gate_lock *lock)
{
    size_t at = um_scale(lo, f->layout.blocks) * f->layout.row->block / 8;

    __builtin_prefetch(lock, 1);
    __builtin_prefetch(f->payload + at, 1);
}

/* Adds a key. One that matches needs no lock; but after a new key another new
 * one is likely, so then the query is skipped. */
umbel_status um_add_one_locked(umbel_filter *f, const void *key, size_t len,
                               bool *fresh, umbel_error *err)
{
    size_t words = f->layout.hashes > 8;

    if (f->owner == UM_MAPPED)
        return um_check_writable(f, err);
    uint64_t lo = hash_of(f, key, len);
    um_gate_lock *lock = &f->gate->lock[lock_of(f, lo)];
    um_gate_pass pass = um_gate_enter(f->gate);
    bool was_new = __atomic_load_n(um_gate_last_new(pass), __ATOMIC_RELAXED);
    bool is_new = was_new;
    if (was_new)
        fetch_to_write(f, lo, lock);
    else
        is_new = !f->fast->has_hash[words](f, lo);
    if (is_new) {
        um_gate_acquire(lock);
        is_new = f->fast->set_hash[words](f, lo);
        um_gate_pass_back(lock);
        um_count_shared(pass, is_new);
    }
    if (is_new != was_new)
        __atomic_store_n(um_gate_last_new(pass), is_new, __ATOMIC_RELAXED);
    um_gate_leave(pass);
    if (fresh)
        *fresh = is_new;
    return UMBEL_OK;
}
