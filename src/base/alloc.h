/*
 * alloc.h - memory through the caller's allocator.
 */
#ifndef UM_BASE_ALLOC_H
#define UM_BASE_ALLOC_H

#include <umbel/base.h>

/* *given, or the C library's when given is NULL. */
umbel_alloc um_alloc_or_default(const umbel_alloc *given);

/* Ask for large pages below memory, where there are any. */
void um_use_huge_pages(void *memory, size_t len);

/* Zeroed memory, aligned to 64 bytes; NULL when there is none. len > 0. */
void *um_get(const umbel_alloc *a, size_t len);
/* NULL is fine. */
void um_put(const umbel_alloc *a, void *memory, size_t len);

#endif
