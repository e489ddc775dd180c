/*
 * cpu.h - what the processor can do: for files that use AVX-512.
 */
#ifndef UM_BASE_CPU_H
#define UM_BASE_CPU_H

#include <immintrin.h> /* where tests emulate it, what it has, too */
#include <stdbool.h>

/* Returns true if it has the parts of AVX-512 that the fast paths use. */
static inline bool um_has_avx512(void)
{
    bool f = __builtin_cpu_supports("avx512f");
    bool dq = __builtin_cpu_supports("avx512dq");
    bool bw = __builtin_cpu_supports("avx512bw");
    bool vl = __builtin_cpu_supports("avx512vl");

    return f && dq && bw && vl;
}

#endif
