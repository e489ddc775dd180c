/*
 * key_list.h - what the calls that take a list of keys have in common.
 */
#ifndef UM_BASE_KEY_LIST_H
#define UM_BASE_KEY_LIST_H

#include "base/error.h"

#include <umbel/keys.h>

/* Refuses a list that was not initialized. */
static inline umbel_status um_check_key_list(const umbel_key_list *k,
                                             umbel_error *err)
{
    /* The first version: later ones will read what size says is there. */
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
