/*
 * draw.c - random numbers, and which settings a target draws.
 */
#include "papers/forgeries/forge.h"

#include <math.h>
#include <string.h>

bool draws(const target *t, const char *setting)
{
    const char *at = t->settings;
    size_t len = strlen(setting);

    while ((at = strstr(at, setting)) && !(at[-1] == ' ' && at[len] == ' '))
        at += len;
    return at != NULL;
}

uint64_t between(um_rng *rng, uint64_t low, uint64_t high)
{
    return low + um_random_below(rng, high - low + 1);
}

double unit(um_rng *rng)
{
    return ldexp((double)um_random(rng), -64);
}
