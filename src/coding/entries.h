/*
 * entries.h - sections of entries whose counts only grow.
 *
 * Cells that are bits or counters hold only a count. Other entries also hold a
 * fingerprint, which is present when the count is not 0 and never changes. A
 * free entry is all zeros.
 */
#ifndef UM_CODING_ENTRIES_H
#define UM_CODING_ENTRIES_H

#include "base/bits.h"
#include "base/bytes.h"

#include <stddef.h>

/* The memory layout of a section's entries. */
typedef enum um_entry_layout {
    UM_ENTRY_CELLS, /* counts of count_bits each, contiguous */
    UM_ENTRY_WORDS, /* 64 bits: count_bits of count, then the fingerprint */
    UM_ENTRY_LINES  /* lines of 64 bytes: per_line tags of 8 bits, 0 if free;
                       then, per_line times, the rest of the fingerprint and the
                       count - 1 */
} um_entry_layout;

typedef struct um_entry_form {
    uint64_t n; /* entries of the section */
    um_entry_layout layout;
    unsigned count_bits; /* 1 to 64 */
    unsigned print_bits; /* including the tag */
    unsigned per_line;
} um_entry_form;

typedef struct um_entry_value {
    uint64_t print, count;
} um_entry_value;

enum { UM_ENTRY_TAG_BITS = 8 };

static inline uint64_t um_low_bits(unsigned n)
{
    return n ? ~(uint64_t)0 >> (64 - n) : 0;
}

static inline uint64_t um_entry_max(const um_entry_form *f)
{
    uint64_t max = um_low_bits(f->count_bits);
    return f->layout == UM_ENTRY_LINES ? max + 1 : max;
}

/* Return the number of entries that fill whole words, and their size in
 * bytes. */
static inline uint64_t um_entry_unit(const um_entry_form *f)
{
    return f->layout == UM_ENTRY_CELLS   ? 64
           : f->layout == UM_ENTRY_WORDS ? 1
                                         : f->per_line;
}

static inline size_t um_entry_unit_bytes(const um_entry_form *f)
{
    return f->layout == UM_ENTRY_CELLS   ? (size_t)8 * f->count_bits
           : f->layout == UM_ENTRY_WORDS ? 8
                                         : UM_LINE;
}

/* Returns the bytes that n entries take, in whole words. */
static inline size_t um_entry_bytes(const um_entry_form *f, uint64_t n)
{
    if (f->layout == UM_ENTRY_CELLS)
        return (size_t)((n * f->count_bits + 63) / 64 * 8);
    return (size_t)((n + um_entry_unit(f) - 1) / um_entry_unit(f)) *
           um_entry_unit_bytes(f);
}

static inline unsigned um_entry_rest_bits(const um_entry_form *f)
{
    return f->print_bits - UM_ENTRY_TAG_BITS + f->count_bits;
}

/* Reads a slot of a line; um_entry_get needs a division to find it. */
static inline um_entry_value um_line_get(const um_entry_form *f,
                                         const uint8_t *line, unsigned slot)
{
    unsigned rest = um_entry_rest_bits(f), own = rest - f->count_bits;
    uint64_t x = um_get_field(
        line, (uint64_t)UM_ENTRY_TAG_BITS * f->per_line + (uint64_t)slot * rest,
        rest, um_low_bits(rest));

    if (!line[slot])
        return (um_entry_value){0, 0};
    return (um_entry_value){line[slot] | (x & um_low_bits(own))
                                             << UM_ENTRY_TAG_BITS,
                            (x >> own) + 1};
}

static inline void um_line_set(const um_entry_form *f, uint8_t *line,
                               unsigned slot, um_entry_value v)
{
    unsigned rest = um_entry_rest_bits(f), own = rest - f->count_bits;
    uint64_t x = v.print >> UM_ENTRY_TAG_BITS | (v.count - 1) << own;

    um_set_field(
        line, (uint64_t)UM_ENTRY_TAG_BITS * f->per_line + (uint64_t)slot * rest,
        rest, um_low_bits(rest), v.count ? x : 0);
    line[slot] = v.count ? (uint8_t)v.print : 0;
}

static inline um_entry_value um_entry_get(const um_entry_form *f,
                                          const uint8_t *at, uint64_t i)
{
    if (f->layout == UM_ENTRY_CELLS)
        return (um_entry_value){0, um_get_field(at, i * f->count_bits,
                                                f->count_bits,
                                                um_low_bits(f->count_bits))};
    if (f->layout == UM_ENTRY_WORDS) {
        uint64_t x = um_load64(at + 8 * i);
        return (um_entry_value){x >> f->count_bits,
                                x & um_low_bits(f->count_bits)};
    }
    return um_line_get(f, at + i / f->per_line * UM_LINE,
                       (unsigned)(i % f->per_line));
}

/* Writes entry i. A count of 0 frees it. */
static inline void um_entry_set(const um_entry_form *f, uint8_t *at, uint64_t i,
                                um_entry_value v)
{
    if (f->layout == UM_ENTRY_CELLS)
        um_set_field(at, i * f->count_bits, f->count_bits,
                     um_low_bits(f->count_bits), v.count);
    else if (f->layout == UM_ENTRY_WORDS)
        um_store64(at + 8 * i,
                   v.count ? v.print << f->count_bits | v.count : 0);
    else
        um_line_set(f, at + i / f->per_line * UM_LINE,
                    (unsigned)(i % f->per_line), v);
}

/* --- the code of a page, given its old content -----------------------------
 *
 * For receivers that have the old page. Entries only grow, so each changed
 * entry is coded as the gap since the last one, the fingerprint if it is new,
 * and the increase of its count. All probabilities are adaptive (internal.h),
 * over all pages of one code: a single change takes a few bytes, many come near
 * their entropy. Gaps skip bits that are set, since these cannot grow.
 */

typedef struct um_growth um_growth;

/* A page before and after; both have n entries and memory in whole words. */
typedef struct um_growth_page {
    const um_entry_form *form;
    unsigned section; /* below 8; pages of one section share their adaptive
                         model */
    uint64_t number;  /* of the page; ascending within a code */
    const uint8_t *old;
    uint8_t *now;
    uint64_t n;
    uint64_t changed; /* out: entries */
    uint64_t fresh;   /* out: those of them that were free before */
} um_growth_page;

/* Returns the size of a um_growth, which needs an alignment of 16. */
size_t um_growth_size(void);

/* Begin a code: encode into w, or decode all of r. */
void um_growth_encoder(um_growth *g, um_writer *w);
bool um_growth_decoder(um_growth *g, um_reader *r);

/* Returns the number of bytes written so far. */
uint64_t um_growth_len(const um_growth *g);

/* Appends a page. No entry of now is less than in old, and some differ. */
void um_growth_append(um_growth *g, um_growth_page *p);
/* Ends the code. */
void um_growth_end(um_growth *g);

/*
 * Reads the number of the next page, at most `most`. Returns false if the code
 * ends or is damaged; um_growth_ended distinguishes the two.
 */
bool um_growth_next(um_growth *g, uint64_t most, uint64_t *number);
/* Decodes the page into now, which holds a copy of old. Returns false if no
 * encoder writes this. */
bool um_growth_get(um_growth *g, um_growth_page *p);
bool um_growth_ended(const um_growth *g);

/* Returns true if no entry of now is less than in old, and all bits outside
 * entries and in free entries are 0. Sets changed and fresh. */
bool um_growth_check(um_growth_page *p);

/* Finds the first entry that differs, starting at *at; false if all are
 * equal. */
bool um_growth_differs(const um_growth_page *p, uint64_t *at);

#endif
