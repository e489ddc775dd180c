/*
 * section.h - a section of a filter in few bytes.
 *
 * One of six ways, chosen by rule from the cells, so that cells have one code:
 *
 *   0 plain    the cells as they are
 *   1 bits     cells of one bit, any density: bytes under a model of a single
 *              number, the chance of a one
 *   2 gaps     few cells that are not zero: where they are (below)
 *   3 values   wider cells: how often each value occurs (below)
 *   4 holes    few bits that are zero: where they are
 *   5 adaptive any small section: decisions learnt on the way (internal.h)
 */
#ifndef UM_CODING_SECTION_H
#define UM_CODING_SECTION_H

#include "base/bits.h"
#include "base/bytes.h"

#include <stddef.h>

/* --- cells of 1 to 64 bits, as they stand in a section ---------------------
 *
 * Cell i takes the bits from i * bits on, lowest first. Memory reaches to a
 * whole word, and is zero behind the last cell.
 */

typedef struct um_packed {
    uint8_t *at; /* NULL: all are zero, or */
    uint64_t n;
    unsigned bits;
    bool ones; /* ... all are one: of one bit only */
} um_packed;

/* The largest that a cell can be. */
static inline uint64_t um_packed_max(const um_packed *c)
{
    return ~(uint64_t)0 >> (-c->bits & 63);
}

static inline uint64_t um_packed_bytes(const um_packed *c)
{
    return (c->n * c->bits + 7) / 8;
}

static inline uint64_t um_packed_get(const um_packed *c, uint64_t i)
{
    return c->at ? um_get_field(c->at, i * c->bits, c->bits, um_packed_max(c))
                 : 0;
}

static inline void um_packed_set(const um_packed *c, uint64_t i, uint64_t value)
{
    um_set_field(c->at, i * c->bits, c->bits, um_packed_max(c), value);
}

/* The n cells before cell end, the last first: much sooner than one by one. */
void um_packed_before(const um_packed *c, uint64_t end, size_t n,
                      uint64_t *out);

/* The n cells from cell i on become values, which fit. */
void um_packed_set_many(const um_packed *c, uint64_t i, const uint64_t *values,
                        size_t n);

/* Words that cells of one bit take; word w of them, zero behind the last. */
static inline uint64_t um_packed_words(const um_packed *c)
{
    return (c->n + 63) / 64;
}

static inline uint64_t um_packed_valid(const um_packed *c, uint64_t w)
{
    uint64_t left = c->n - 64 * w;
    return left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
}

static inline uint64_t um_packed_word(const um_packed *c, uint64_t w)
{
    return c->at ? um_load64(c->at + 8 * w) : -(uint64_t)c->ones;
}

/* --- streams of numbers, by how often each occurs --------------------------
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
 *   tokens    rANS (internal.h)
 */

enum { UM_VALUES_PIECE = 1024 }; /* numbers that are passed at a time */

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

/* --- the code of a section ------------------------------------------------ */

/* Bytes beside those of the cells that um_code_encode may need meanwhile. */
enum { UM_CODE_SPACE = 4096 };

/* No code is longer. */
static inline uint64_t um_code_max(const um_packed *cells)
{
    return 1 + um_packed_bytes(cells);
}

/* The rule; on the wire. That of files of version 1 knows no adaptive code. */
typedef enum um_code_version {
    UM_CODE_V1 = 1,
    UM_CODE_NOW = 2
} um_code_version;

/* Counts how often each value occurs. */
void um_code_count(const um_packed *cells, um_values_count *out);

/* Returns the length of the code. Takes as much work as coding. */
uint64_t um_code_len(const um_packed *cells, um_code_version version);

/* Codes into out, of um_code_max + UM_CODE_SPACE bytes; returns the length. */
size_t um_code_encode(const um_packed *cells, um_code_version version,
                      uint8_t *out);

/*
 * Decode all of bytes into cells, which are zero. False when they are not what
 * um_code_encode writes; nothing but the cells was touched.
 */
bool um_code_decode(const uint8_t *bytes, size_t len, um_code_version version,
                    const um_packed *cells);

/* --- cells, given the cells that were there before -------------------------
 *
 * Cells that held the same before are alike, so each old value has streams of
 * its own: where, as the number of such cells between two that changed, and,
 * for cells of more than one bit, what became of them. For bits that comes near
 * the sum over old values v of m_v H(flips_v / m_v), which is the least that
 * flips at random take. With all alike before (old->at is NULL) these are the
 * cells that are not so, and there is one context.
 *
 * For each context in order: where, a stream of values; and what.
 */

/*
 * Append to w what makes now of old, which has the same number and width; a
 * writer without memory counts, as um_values_encode. old->at may be NULL.
 */
bool um_changes_encode(um_writer *w, const um_packed *old, const um_packed *now,
                       uint64_t *len);

/*
 * Read it; now holds what old does. False when it is not what the encoder
 * writes; now may then hold anything, and nothing outside of it was touched.
 */
bool um_changes_decode(um_reader *r, const um_packed *old,
                       const um_packed *now);

#endif
