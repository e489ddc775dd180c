/*
 * inlined.c - inlined queries without special instructions.
 */
#include "bench/inlined.h"

void um_bench_inlined_plain(const umbel_view *view, const void *keys,
                            size_t len, size_t n, bool *hit)
{
    um_bench_inlined_loop(*view, keys, len, n, hit);
}
