/*
 * cpu.h - the instruction sets that the processor has and may use, for files
 * that use AVX2 or AVX-512.
 *
 * The environment variable UMBEL_CPU (plain, avx2 or avx512) limits the
 * instructions that fast paths use, for tests and measurements. Answers and
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

/* Returns the limit that UMBEL_CPU sets; no limit if it is unset or unknown. */
um_cpu_level um_cpu_allowed(void);
/* Returns the highest level that this processor supports. */
um_cpu_level um_cpu_found(void);
/* Returns the name of a level, as in UMBEL_CPU. */
const char *um_cpu_name(um_cpu_level level);
/* Checks UMBEL_CPU: E_UNKNOWN if no level has this name, E_UNSUPPORTED if this
 * processor does not support it. */
umbel_status um_cpu_check(umbel_error *err);

/*
 * Return true if the processor supports what files named _avx2 or _avx512 are
 * compiled for. Not inline: the callers may be compiled for instructions that
 * the processor lacks, and inlined code would use them as well.
 */
bool um_has_avx2(void);
bool um_has_avx512(void);
/* Return true if it supports them and UMBEL_CPU allows them. */
bool um_use_avx2(void);
bool um_use_avx512(void);

/*
 * Returns a monotonic time in seconds, for measuring durations.
 */

static inline double um_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
