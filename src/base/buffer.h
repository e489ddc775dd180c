/*
 * buffer.h - arrays and byte buffers that grow.
 *
 * Space grows by half, so that n appends copy O(n) bytes and at most a third
 * of the memory is unused.
 */
#ifndef UM_BASE_BUFFER_H
#define UM_BASE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Resizes *array, where array points to a pointer to any type, to n elements of
 * size bytes. Returns false and leaves *array unchanged when out of memory.
 */
static inline bool um_array_resize(void *array, size_t n, size_t size)
{
    void *old, *larger;

    memcpy(&old, array, sizeof old);
    /* Allocate even for an empty array: NULL means out of memory. */
    larger = n <= SIZE_MAX / size ? realloc(old, n ? n * size : 1) : NULL;
    if (larger)
        memcpy(array, &larger, sizeof larger);
    return larger != NULL;
}

/* Returns the next capacity above cap that holds n elements. */
static inline size_t um_next_cap(size_t cap, size_t n)
{
    size_t next = cap + cap / 2 + 16;

    return next > n ? next : n;
}

/* Makes *array hold at least n elements, and updates *cap. Fails like
 * um_array_resize. */
static inline bool um_array_reserve(void *array, size_t *cap, size_t n,
                                    size_t size)
{
    size_t next = um_next_cap(*cap, n);

    if (n <= *cap)
        return true;
    if (!um_array_resize(array, next, size))
        return false;
    *cap = next;
    return true;
}

/* A byte buffer that grows at its end. A zeroed one is empty. */
typedef struct um_buffer {
    uint8_t *data;
    size_t len, cap;
    bool failed; /* something was not appended because memory ran out */
} um_buffer;

/* Returns space for len bytes after the last one; NULL when out of memory, and
 * then failed is set. */
static inline uint8_t *um_buffer_reserve(um_buffer *b, size_t len)
{
    if ((!b->data || b->cap - b->len < len) &&
        (b->failed || len > SIZE_MAX - b->len ||
         !um_array_reserve(&b->data, &b->cap, b->len + (len ? len : 1), 1))) {
        b->failed = true;
        return NULL;
    }
    return b->data + b->len;
}

static inline void um_buffer_append(um_buffer *b, const void *data, size_t len)
{
    uint8_t *at = len ? um_buffer_reserve(b, len) : NULL;

    if (!at)
        return;
    memcpy(at, data, len);
    b->len += len;
}

/* Removes the first len bytes. */
static inline void um_buffer_discard(um_buffer *b, size_t len)
{
    b->len -= len;
    if (b->len)
        memmove(b->data, b->data + len, b->len);
}

static inline void um_buffer_fini(um_buffer *b)
{
    free(b->data);
    *b = (um_buffer){.len = 0};
}

/* Empties the buffer; frees its memory if that is more than max bytes. */
static inline void um_buffer_clear(um_buffer *b, size_t max)
{
    b->len = 0;
    b->failed = false;
    if (b->cap > max)
        um_buffer_fini(b);
}

#endif
