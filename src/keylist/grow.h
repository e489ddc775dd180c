/*
 * grow.h - arrays that grow.
 */
#ifndef UM_KEYS_GROW_H
#define UM_KEYS_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Resizes *array, a pointer to any type, to cap elements of size bytes. Returns
 * false, and leaves it as it is, if there is no memory. */
static inline bool um_grow(void *array, size_t cap, size_t size)
{
    void *old, *larger;

    memcpy(&old, array, sizeof old);
    larger = cap <= SIZE_MAX / size ? realloc(old, cap * size) : NULL;
    if (larger)
        memcpy(array, &larger, sizeof larger);
    return larger != NULL;
}

#endif
