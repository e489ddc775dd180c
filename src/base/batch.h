/*
 * batch.h - the number of keys digested at a time, and lists of keys.
 *
 * Functions that take any number of keys work on one batch after the other: the
 * digests of a batch stay in the L1 cache. Tests that must cross the boundary
 * between batches use 3 * UM_BATCH - 1 keys.
 */
#ifndef UM_BASE_BATCH_H
#define UM_BASE_BATCH_H

#include "base/error.h"

#include <stddef.h>
#include <umbel/keys.h>

enum {
    UM_BATCH = 256,
    UM_VECTOR_STEP = 8 /* groups of eight keys in flight in a vector loop */
};

/* Returns the number of keys in the next batch when left keys remain. */
static inline size_t um_next_batch(size_t left)
{
    return left < UM_BATCH ? left : UM_BATCH;
}

/*
 * Helpers for calls that take a list of keys.
 */

/* Refuses a list that was not initialized. */
static inline umbel_status um_check_key_list(const umbel_key_list *k,
                                             umbel_error *err)
{
    /* This is the first version of the struct; later ones will be larger. */
    if (k->size < sizeof *k)
        return um_fail(err, UMBEL_E_RANGE,
                       "the list's size is not set: start from UMBEL_KEY_LIST");
    return UMBEL_OK;
}

/* Returns the weight of entry i. */
static inline double um_list_weight(const umbel_key_list *k, size_t i)
{
    return k->weights ? k->weights[i] : 1;
}

#endif
