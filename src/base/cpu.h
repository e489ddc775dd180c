/*
 * cpu.h - the instruction sets that the processor has and may use, for files
 * that use AVX2 or AVX-512.
 *
 * The environment variable UMBEL_CPU takes instructions away, for tests and for
 * measuring: plain, avx2 or avx512 is the most that fast paths use. Answers and
 * files are the same.
 */
#ifndef UM_BASE_CPU_H
#define UM_BASE_CPU_H

#include <umbel/base.h>

#include <stdbool.h>
#include <time.h>

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

/*
 * Returns true if it has what files named _avx2 are compiled for; and the parts
 * of AVX-512 that the others use. None of this is inlined: those who ask are
 * compiled for instructions that may not be there, and so would the answer be.
 */
bool um_has_avx2(void);
bool um_has_avx512(void);
/* The same, if they may be used. */
bool um_use_avx2(void);
bool um_use_avx512(void);

/*
 * seconds that only ever grow, for what took how long.
 */

static inline double um_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
