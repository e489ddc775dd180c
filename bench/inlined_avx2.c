/*
 * inlined_avx2.c - inlined queries, as compiled by a user with AVX2.
 */
#include "bench/inlined.h"

#include <umbel/inline.h>

void um_bench_inlined_avx2(const umbel_view *view, const void *keys, size_t len,
                           size_t n, bool *hit)
{
    um_bench_inlined_loop(*view, keys, len, n, hit);
}

void um_bench_hashed_avx2(const umbel_view *view, const void *keys, size_t len,
                          size_t n, bool *hit)
{
    if (len == 8)
        um_bench_hashed_loop(*view, keys, 8, n, hit);
    else
        um_bench_hashed_loop(*view, keys, 16, n, hit);
}
