/*
 * inlined.h - loops around umbel_view_query, and around the hashing that it
 * needs at least, compiled for two processors.
 */
#ifndef UM_BENCH_INLINED_H
#define UM_BENCH_INLINED_H

#include <umbel/inline.h>

/* Queries n keys of len bytes, 8 or 16; each answer goes to *hit. */
typedef void um_bench_inlined(const umbel_view *view, const void *keys,
                              size_t len, size_t n, bool *hit);

um_bench_inlined um_bench_inlined_plain, um_bench_inlined_avx2;
/* Only hashes the keys and computes their blocks, without reading them. */
um_bench_inlined um_bench_hashed_plain, um_bench_hashed_avx2;

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

static inline void um_bench_hashed_loop(umbel_view v, const void *keys,
                                        size_t len, size_t n, bool *hit)
{
    const uint8_t *key = (const uint8_t *)keys;
    const size_t width = len == 8 ? 8 : 16;

    for (size_t i = 0; i < n; i++) {
        uint64_t lo = umbel_inline_hash(&v, key + i * width, width);
        const uint8_t *block = umbel_inline_block(&v, lo, 64);
        *(volatile bool *)hit = umbel_inline_remix(lo) == (uintptr_t)block;
    }
}

#endif
