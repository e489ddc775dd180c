/*
 * cpu.h - what the processor can do, and may: for files that use AVX2 or
 * AVX-512.
 *
 * The environment variable UMBEL_CPU takes instructions away, for tests and for
 * measuring: plain, avx2 or avx512 is the most that fast paths use. Answers and
 * files are the same.
 */
#ifndef UM_BASE_CPU_H
#define UM_BASE_CPU_H

#include <umbel/base.h>

typedef enum um_cpu_level {
    UM_CPU_PLAIN,
    UM_CPU_AVX2,
    UM_CPU_AVX512
} um_cpu_level;

/* Returns the most that UMBEL_CPU allows; anything if it is unset or unknown.
 */
um_cpu_level um_cpu_allowed(void);
/* Returns the most that this processor has. */
um_cpu_level um_cpu_found(void);
/* Returns the name of a level, as in UMBEL_CPU. */
const char *um_cpu_name(um_cpu_level level);
/* E_UNKNOWN if UMBEL_CPU has no such name, E_UNSUPPORTED if this processor does
 * not have it. */
umbel_status um_cpu_check(umbel_error *err);

#ifdef __x86_64__

#include <immintrin.h> /* where tests emulate it, what it has, too */
#include <stdbool.h>

/* Returns true if it has what files named _avx2 are compiled for. */
static inline bool um_has_avx2(void)
{
    /* NOLINTNEXTLINE(misc-redundant-expression): two names, not one */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

/* Returns true if it has the parts of AVX-512 that the fast paths use. */
static inline bool um_has_avx512(void)
{
    bool f = __builtin_cpu_supports("avx512f");
    bool dq = __builtin_cpu_supports("avx512dq");
    bool bw = __builtin_cpu_supports("avx512bw");
    bool vl = __builtin_cpu_supports("avx512vl");

    return um_has_avx2() && f && dq && bw && vl;
}

/* The same, if they may be used. */
static inline bool um_use_avx2(void)
{
    return um_has_avx2() && um_cpu_allowed() >= UM_CPU_AVX2;
}

static inline bool um_use_avx512(void)
{
    return um_has_avx512() && um_cpu_allowed() >= UM_CPU_AVX512;
}

#endif

#endif
