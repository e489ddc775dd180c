/*
 * signature.h - 160-bit signatures, and their cells.
 *
 * A signature is the SHA-1 of a message. Its cells are chunks of it modulo m;
 * or a chunk in each of k parts of the filter (the paper's partial solution);
 * or equation 2 with a prime above every signature, 2^160 + 7:
 *
 *   h(x) = ((c x + d) mod p) mod m,   0 < c < p, 0 <= d < p
 *
 * A digest of the library has 128 bits, so none of its addressings can compute
 * these.
 */
#ifndef UM_SPAM_SIGNATURE_H
#define UM_SPAM_SIGNATURE_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>

enum { SIGNATURE_BITS = 160, SIGNATURE_WORDS = 5, SIGNATURE_MAX = 32 };

/* A number up to 2^160 + 6: words from the lowest, and the bit 2^160. */
typedef struct um_wide {
    uint32_t word[SIGNATURE_WORDS + 1];
} um_wide;

/* Returns the SHA-1 of the eight bytes of a message, as a number. */
um_wide um_signature_of(uint64_t message);
/* Draws a number below p; never 0 if positive. */
um_wide um_wide_draw(um_rng *rng, bool positive);
/* Returns (c x + d) mod p, or x mod m; m is not 0 and below 2^48. */
um_wide um_wide_linear(const um_wide *c, const um_wide *x, const um_wide *d);
uint64_t um_wide_mod(const um_wide *x, uint64_t m);
/* Returns the i-th of k chunks of 160 / k bits, from the top; k divides 160, k
 * >= 4. */
uint64_t um_wide_chunk(const um_wide *x, uint32_t i, uint32_t k);

#endif
