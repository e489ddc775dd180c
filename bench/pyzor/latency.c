/*
 * latency.c - a histogram with buckets of equal relative width.
 */
#include "bench/pyzor/load.h"

static unsigned bucket_of(uint64_t ns)
{
    if (ns < 32)
        return (unsigned)ns;
    unsigned top = 63 - (unsigned)__builtin_clzll(ns);

    return (top - 4) * 32 + (unsigned)(ns >> (top - 5) & 31);
}

static uint64_t bucket_end(unsigned bucket)
{
    if (bucket < 32)
        return bucket;
    return (UINT64_C(33) + bucket % 32) << (bucket / 32 - 1);
}

void um_latency_add(um_latency *l, uint64_t ns)
{
    l->n[bucket_of(ns)]++;
    l->total++;
    l->max = ns > l->max ? ns : l->max;
}

uint64_t um_latency_quantile(const um_latency *l, double share)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < UM_LATENCY_BUCKETS; i++) {
        seen += l->n[i];
        if (l->total && (double)seen >= share * (double)l->total)
            return bucket_end(i) < l->max ? bucket_end(i) : l->max;
    }
    return l->max;
}
