/*
 * redisbloom.h - sizes and cells of RedisBloom's filters (BF.* commands).
 */
#ifndef UM_ADDRESSING_REDISBLOOM_H
#define UM_ADDRESSING_REDISBLOOM_H

#include <umbel/base.h>

/* Returns the bits per item that an error takes. */
double um_redisbloom_bits_per_item(double error);
/* Returns the hashes for that number of bits per item. */
double um_redisbloom_hashes(double bits_per_item);
/* Returns the bits of a filter, a multiple of 64. */
double um_redisbloom_bits(double capacity, double bits_per_item);

/* Returns the i-th cell of a digest; sums wrap at 2^64, as theirs. */
static inline uint64_t um_redisbloom_cell(umbel_digest d, uint32_t i,
                                          uint64_t cells)
{
    return (d.lo + i * d.hi) % cells;
}

#endif
