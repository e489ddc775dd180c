/*
 * cpu.c - the instruction sets that the processor has and may use.
 */
#define _GNU_SOURCE /* secure_getenv */

#include "base/cpu.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {[UM_CPU_PLAIN] = "plain",
                                    [UM_CPU_AVX2] = "avx2",
                                    [UM_CPU_AVX512] = "avx512"};

static const char *asked_for(void)
{
    const char *name = secure_getenv("UMBEL_CPU");
    return name && *name ? name : NULL;
}

/* Returns false if no level has that name. */
static bool find_level(const char *name, um_cpu_level *out)
{
    for (size_t i = 0; i < UM_COUNT(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (um_cpu_level)i;
            return true;
        }
    return false;
}

um_cpu_level um_cpu_allowed(void)
{
    const char *name = asked_for();
    um_cpu_level level = UM_CPU_AVX512;

    if (name)
        find_level(name, &level);
    return level;
}

#ifdef __x86_64__
bool um_has_avx2(void)
{
    /* NOLINTNEXTLINE(misc-redundant-expression): two names, not one */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

bool um_has_avx512(void)
{
    bool f = __builtin_cpu_supports("avx512f");
    bool dq = __builtin_cpu_supports("avx512dq");
    bool bw = __builtin_cpu_supports("avx512bw");
    bool vl = __builtin_cpu_supports("avx512vl");

    return um_has_avx2() && f && dq && bw && vl;
}
#else
bool um_has_avx2(void)
{
    return false;
}

bool um_has_avx512(void)
{
    return false;
}
#endif

bool um_use_avx2(void)
{
    return um_has_avx2() && um_cpu_allowed() >= UM_CPU_AVX2;
}

bool um_use_avx512(void)
{
    return um_has_avx512() && um_cpu_allowed() >= UM_CPU_AVX512;
}

um_cpu_level um_cpu_found(void)
{
    if (um_has_avx512())
        return UM_CPU_AVX512;
    return um_has_avx2() ? UM_CPU_AVX2 : UM_CPU_PLAIN;
}

const char *um_cpu_name(um_cpu_level level)
{
    return names[level];
}

umbel_status um_cpu_check(umbel_error *err)
{
    const char *name = asked_for();
    um_cpu_level level;

    if (!name)
        return UMBEL_OK;
    if (!find_level(name, &level))
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "UMBEL_CPU is \"%.40s\": set it to plain, avx2 or "
                       "avx512, or unset it",
                       name);
    if (level > um_cpu_found())
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "UMBEL_CPU is %s, which this processor does not have: "
                       "set it to %s, or unset it",
                       name, names[um_cpu_found()]);
    return UMBEL_OK;
}
