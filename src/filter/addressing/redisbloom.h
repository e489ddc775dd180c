/*
 * redisbloom.h - sizes and cells of RedisBloom's filters (BF.* commands).
 */
#ifndef UM_ADDRESSING_REDISBLOOM_H
#define UM_ADDRESSING_REDISBLOOM_H

#include <umbel/base.h>

/* Returns the number of bits per item for an error rate. */
double um_redisbloom_bits_per_item(double error);
/* Returns the number of hashes for this many bits per item. */
double um_redisbloom_hashes(double bits_per_item);
/* Returns the number of bits of a filter, a multiple of 64. */
double um_redisbloom_bits(double capacity, double bits_per_item);

/* Returns a number of bits per item that gives this many hashes. */
static inline double um_redisbloom_per_item(uint32_t hashes)
{
    return (hashes - 0.5) / 0.693147180559945;
}

/*
 * Encodes how a filter grows as a number for the head; part of the format. 0 is
 * RedisBloom's encoding of a filter that does not grow: expansion 2, fixed.
 */
static inline uint64_t um_redisbloom_growth(uint32_t expansion, bool fixed)
{
    return ((uint64_t)expansion << 1 | fixed) ^ 5;
}

static inline uint32_t um_redisbloom_expansion(uint64_t growth)
{
    return (uint32_t)((growth ^ 5) >> 1);
}

static inline bool um_redisbloom_is_fixed(uint64_t growth)
{
    return (growth ^ 5) & 1;
}

/* Returns the i-th cell of a digest; sums wrap at 2^64, as in RedisBloom. */
static inline uint64_t um_redisbloom_cell(umbel_digest d, uint32_t i,
                                          uint64_t cells)
{
    return (d.lo + i * d.hi) % cells;
}

#endif
