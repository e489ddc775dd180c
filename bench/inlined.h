/*
 * inlined.h - a loop around umbel_view_query, compiled for two processors.
 */
#ifndef UM_BENCH_INLINED_H
#define UM_BENCH_INLINED_H

#include <umbel/inline.h>

/* Queries n keys of len bytes, 8 or 16; each answer goes to *hit. */
typedef void um_bench_inlined(const umbel_view *view, const void *keys,
                              size_t len, size_t n, bool *hit);

um_bench_inlined um_bench_inlined_plain, um_bench_inlined_avx2;

static inline void um_bench_inlined_loop(umbel_view v, const void *keys,
                                         size_t len, size_t n, bool *hit)
{
    const uint8_t *key = (const uint8_t *)keys;

    if (len == 8)
        for (size_t i = 0; i < n; i++)
            *(volatile bool *)hit = umbel_view_query(&v, key + i * 8, 8);
    else
        for (size_t i = 0; i < n; i++)
            *(volatile bool *)hit = umbel_view_query(&v, key + i * 16, 16);
}

#endif
