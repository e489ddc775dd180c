/*
 * values.h - streams of numbers, by how often each occurs.
 *
 * A number below 16 is its own token; a larger one gives its highest three bits
 * to the token and the rest to a string of bits: 256 tokens for 64 bits. The
 * tokens are coded under their own frequencies, which the stream carries. Gaps
 * of random positions lose 0.07 % to that, small counts nothing.
 *
 *   count     varint
 *   the rest only if count > 0:
 *   model     number of tokens - 1, then frequencies: varints; after a zero
 *             the number of further zeros
 *   length    of the string of bits, in bits: varint
 *   bits      of all numbers in order, lowest first, zeros to a whole byte
 *   tokens    rans.h
 */
#ifndef UM_CODING_VALUES_H
#define UM_CODING_VALUES_H

#include "base/bytes.h"
#include "coding/rans.h"

enum { UM_VALUES_PIECE = UM_RANS_PIECE };

/*
 * Numbers, the last first. before gives at most UM_VALUES_PIECE that stand
 * before those it has given; 0: there are no more, and it starts again.
 */
typedef struct um_values_from {
    size_t (*before)(void *self, uint64_t out[UM_VALUES_PIECE]);
    void *self;
} um_values_from;

/* Takes numbers in order; false when they cannot be. */
typedef struct um_values_to {
    bool (*take)(void *self, const uint64_t *values, size_t n);
    void *self;
} um_values_to;

/* Numbers by their tokens: those below 16 have their own. */
typedef struct um_values_count {
    uint64_t n;
    uint64_t bits; /* outside of tokens */
    uint64_t token[256];
} um_values_count;

void um_values_count_all(const um_values_from *from, um_values_count *out);

/*
 * Append to w what from has, as counted. A writer without memory (at and end
 * NULL) counts. *len grows by the bytes it takes; false when there is no room,
 * or from did not give what was counted.
 */
bool um_values_encode(um_writer *w, const um_values_from *from,
                      const um_values_count *count, uint64_t *len);

/*
 * Read a stream of at most most numbers; false when it is not what the encoder
 * writes, or to refused. *seen counts what came.
 */
bool um_values_decode(um_reader *r, uint64_t most, const um_values_to *to,
                      um_values_count *seen);

/* Numbers of 7 bits a byte, lowest first, no longer than they must be. */
void um_write_varint(um_writer *w, uint64_t x);
uint64_t um_get_varint(um_reader *r);

#endif
