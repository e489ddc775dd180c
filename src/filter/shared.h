/*
 * shared.h - filters that threads add to and query together.
 */
#ifndef UM_FILTER_SHARED_H
#define UM_FILTER_SHARED_H

#include "base/batch.h"
#include "filter/handle.h"

enum { UM_SHARED_BATCH = 4 * UM_BATCH }; /* keys that are sorted by lock */

/* Returns the number of keys that are added inside the gate at once. */
static inline size_t um_next_shared(size_t left)
{
    return left < UM_SHARED_BATCH ? left : UM_SHARED_BATCH;
}

/* Returns true if the row's own functions serve a shared filter, too: blocks
 * are read by vectors, and written under the lock of the block. */
bool um_row_shares(const um_fast *row);

/* Counts keys in the slot of the thread. */
void um_count_shared(um_gate_pass pass, size_t n);

/* Adds up to UM_SHARED_BATCH keys by a row that shares; returns how many were
 * new. */
size_t um_add_locked(umbel_filter *f, const umbel_digest *d, size_t n,
                     bool *fresh);

/* As umbel_add, for a row that shares. */
um_add_key um_add_one_locked;

#endif
