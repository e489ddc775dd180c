/*
 * bloom.h - a bloom filter's part of a handle, for kinds that hold some.
 */
#ifndef UM_KINDS_BLOOM_H
#define UM_KINDS_BLOOM_H

#include "filter/kind.h"

typedef struct um_bloom {
    const um_layout *layout;
    uint8_t *bits;
} um_bloom;

#endif
