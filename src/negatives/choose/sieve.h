/*
 * sieve.h - a small table that most numbers not put into it fall through.
 */
#ifndef UM_OPS_SIEVE_H
#define UM_OPS_SIEVE_H

#include "base/alloc.h"

typedef struct um_sieve {
    uint64_t *word;
    unsigned shift;
} um_sieve;

enum { UM_SIEVE_BITS = 16, UM_SIEVE_LEAST = 10 };

/* Makes room for n numbers; false without memory, which the pool owns. */
static inline bool um_sieve_init(um_sieve *s, um_pool *pool, size_t n)
{
    unsigned log = UM_SIEVE_LEAST;

    while (log < 48 && (uint64_t)1 << log < (uint64_t)UM_SIEVE_BITS * n)
        log++;
    s->shift = 64 - (log - 6);
    s->word = um_pool_get(pool, (size_t)1 << (log - 6), sizeof *s->word);
    return s->word != NULL;
}

/* Two bits of one word, which the upper bits of the product choose. */
static inline uint64_t um_sieve_mask(uint64_t product)
{
    return (uint64_t)1 << (product >> 8 & 63) | (uint64_t)1
                                                    << (product >> 14 & 63);
}

static inline void um_sieve_append(um_sieve *s, uint64_t x)
{
    uint64_t product = x * UINT64_C(0x9E3779B97F4A7C15);

    s->word[product >> s->shift] |= um_sieve_mask(product);
}

/* True for every number that was put, and for one in 50 others or fewer. */
static inline bool um_sieve_holds(const um_sieve *s, uint64_t x)
{
    uint64_t product = x * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mask = um_sieve_mask(product);

    return (s->word[product >> s->shift] & mask) == mask;
}

#endif
