/*
 * batch.h - how many keys are digested at a time.
 *
 * Functions that take any number of keys work on one batch after the other:
 * the digests of a batch stay in the first cache. Tests that must cross the
 * boundary between batches use 3 * UM_BATCH - 1 keys.
 */
#ifndef UM_BASE_BATCH_H
#define UM_BASE_BATCH_H

#include <stddef.h>

enum {
    UM_BATCH = 256,
    UM_VECTOR_STEP = 8 /* eights of keys that a vector loop has under way */
};

/* Returns the number of keys in the next batch when left keys remain. */
static inline size_t um_next_batch(size_t left)
{
    return left < UM_BATCH ? left : UM_BATCH;
}

#endif
