/*
 * address_index.h - numbers addresses, or pairs of numbers, in order of first
 * appearance.
 */
#ifndef UM_STOPSET_ADDRESS_INDEX_H
#define UM_STOPSET_ADDRESS_INDEX_H

#include "stopset/formats/trace.h"

/* Starts zeroed. */
typedef struct ss_index {
    ss_addr *key; /* n of them, in order */
    uint32_t n, cap;
    uint32_t *slot; /* 1 + the number of a key; 0 if free */
    size_t nslots;  /* a power of two */
} ss_index;

#define SS_NO_NUMBER UINT32_MAX

void ss_index_fini(ss_index *x);
/* Returns the number of a key, which is added if it is new; SS_NO_NUMBER
 * without memory. */
uint32_t ss_index_add(ss_index *x, ss_addr key);
/* Returns the number of a key, or SS_NO_NUMBER. */
uint32_t ss_index_find(const ss_index *x, ss_addr key);

/* Makes a key of two numbers. */
static inline ss_addr ss_pair(uint32_t a, uint32_t b)
{
    return (ss_addr){a, b};
}

#endif
