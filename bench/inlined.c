/*
 * inlined.c - inlined queries without special instructions.
 */
#include "bench/inlined.h"

#include <umbel/inline.h>

void um_bench_inlined_plain(const umbel_view *view, const void *keys,
                            size_t len, size_t n, bool *hit)
{
    um_bench_inlined_loop(*view, keys, len, n, hit);
}

void um_bench_hashed_plain(const umbel_view *view, const void *keys, size_t len,
                           size_t n, bool *hit)
{
    if (len == 8)
        um_bench_hashed_loop(*view, keys, 8, n, hit);
    else
        um_bench_hashed_loop(*view, keys, 16, n, hit);
}
