/*
 * section.h - compressed sections of a filter.
 *
 * One of six codings, chosen by the cells alone, so that each section has
 * exactly one code:
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
#include "base/buffer.h"
#include "base/bytes.h"

#include <stddef.h>

/* --- cells of 1 to 64 bits, packed in a section ----------------------------
 *
 * Cell i takes the bits from i * bits on, lowest first. Memory extends to a
 * whole word, and is zero after the last cell.
 */

typedef struct um_packed {
    uint8_t *at; /* NULL: all cells are zero, or */
    uint64_t n;
    unsigned bits;
    bool ones; /* ... all are one, for cells of one bit */
} um_packed;

/* Returns the largest value of a cell. */
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

/* Unpacks the n cells before cell end, last first: much faster than one by
 * one. */
void um_packed_before(const um_packed *c, uint64_t end, size_t n,
                      uint64_t *out);

/* Sets the n cells from cell i on to values, which must fit. */
void um_packed_set_many(const um_packed *c, uint64_t i, const uint64_t *values,
                        size_t n);

/* Return the number of words that cells of one bit take, and word w of them,
 * which is zero after the last cell. */
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

/* --- streams of numbers, by their frequencies ------------------------------
 *
 * A number below 16 is its own token; of a larger one, the token holds the
 * length and the highest three bits, and a string of bits the rest: 256 tokens
 * for 64 bits. The tokens are coded under their own frequencies, which the
 * stream carries. Gaps of random positions lose 0.07 % by that, small counts
 * nothing.
 *
 *   count     varint
 *   the rest only if count > 0:
 *   model     number of tokens - 1, then frequencies: varints; after a zero
 *             the number of further zeros
 *   length    of the string of bits, in bits: varint
 *   bits      of all numbers in order, lowest first, zeros to a whole byte
 *   tokens    rANS (internal.h)
 */

enum { UM_VALUES_PIECE = 1024 }; /* numbers passed at a time */

/*
 * A source of numbers, last first. before returns at most UM_VALUES_PIECE
 * numbers preceding those it returned last; 0 means there are no more, and the
 * next call starts again.
 */
typedef struct um_values_from {
    size_t (*before)(void *self, uint64_t out[UM_VALUES_PIECE]);
    void *self;
} um_values_from;

/* A sink for numbers in order; take returns false if they are impossible. */
typedef struct um_values_to {
    bool (*take)(void *self, const uint64_t *values, size_t n);
    void *self;
} um_values_to;

/* Numbers counted by token. */
typedef struct um_values_count {
    uint64_t n;
    uint64_t bits; /* outside of tokens */
    uint64_t token[256];
} um_values_count;

void um_values_count_all(const um_values_from *from, um_values_count *out);

/*
 * Appends the numbers of from to w, given their counts. A writer without memory
 * (at and end NULL) only counts. Adds the length to *len; returns false when
 * out of space, or if the numbers do not match the counts.
 */
bool um_values_encode(um_writer *w, const um_values_from *from,
                      const um_values_count *count, uint64_t *len);

/*
 * Reads a stream of at most `most` numbers; false if it is not what the encoder
 * writes, or `to` refused. *seen counts the numbers.
 */
bool um_values_decode(um_reader *r, uint64_t most, const um_values_to *to,
                      um_values_count *seen);

/* Write and read numbers in 7 bits per byte, lowest first, in the shortest
 * form. */
void um_write_varint(um_writer *w, uint64_t x);
uint64_t um_get_varint(um_reader *r);

/* Append a number to a buffer. */
void um_append_varint(um_buffer *b, uint64_t x);
void um_append_u64(um_buffer *b, uint64_t x);

/* --- the code of a section ------------------------------------------------ */

/* Extra space that um_code_encode may need while it runs. */
enum { UM_CODE_SPACE = 4096 };

/* Returns the maximum length of a code. */
static inline uint64_t um_code_max(const um_packed *cells)
{
    return 1 + um_packed_bytes(cells);
}

/* The rule that chooses a coding; on the wire. Version 1 has no adaptive
 * coding. */
typedef enum um_code_version {
    UM_CODE_V1 = 1,
    UM_CODE_NOW = 2
} um_code_version;

/* Counts how often each value occurs. */
void um_code_count(const um_packed *cells, um_values_count *out);

/* Returns the length of the code. Costs as much as coding. */
uint64_t um_code_len(const um_packed *cells, um_code_version version);

/* Codes into out, of um_code_max + UM_CODE_SPACE bytes; returns the length. */
size_t um_code_encode(const um_packed *cells, um_code_version version,
                      uint8_t *out);

/*
 * Decodes all of bytes into cells, which are zero. Returns false if they are
 * not what um_code_encode writes; the cells are then undefined.
 */
bool um_code_decode(const uint8_t *bytes, size_t len, um_code_version version,
                    const um_packed *cells);

/* --- cells, given their old content ----------------------------------------
 *
 * Cells with the same old value behave alike, so each old value is a context
 * with its own streams: the positions, as the number of cells of the context
 * between two that changed, and, for cells of more than one bit, the new
 * values. For bits that comes near the sum over old values v of m_v H(flips_v /
 * m_v), the minimum for random flips. If all old cells are equal (old->at is
 * NULL), the positions are those of the cells that differ, and there is one
 * context.
 *
 * For each context in order: positions, a stream of values; then new values.
 */

/*
 * Appends the changes from old to now, which has the same number and width of
 * cells, to w; a writer without memory only counts, as in um_values_encode.
 * old->at may be NULL.
 */
bool um_changes_encode(um_writer *w, const um_packed *old, const um_packed *now,
                       uint64_t *len);

/*
 * Applies the changes in r to now, which holds a copy of old. Returns false if
 * they are not what the encoder writes; now is then undefined.
 */
bool um_changes_decode(um_reader *r, const um_packed *old,
                       const um_packed *now);

#endif
