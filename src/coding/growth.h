/*
 * growth.h - what a page of entries became, given what it was.
 *
 * For people who hold the old page. Entries only grow, so for each that changed
 * there is a gap since the last one, the fingerprint if it is new, and by how
 * much its count grew. All numbers are learnt on the way (binary.h), over all
 * pages of one code: a single change takes some bytes, many come near their
 * entropy. Gaps skip bits that are set, since these cannot grow.
 */
#ifndef UM_CODING_GROWTH_H
#define UM_CODING_GROWTH_H

#include "base/bytes.h"
#include "coding/entries.h"

typedef struct um_growth um_growth;

/* A page before and after; both have n entries and whole words of memory. */
typedef struct um_growth_page {
    const um_entry_form *form;
    unsigned section; /* pages of one section share what was learnt; below 8 */
    uint64_t number;  /* of the page; they ascend within a code */
    const uint8_t *old;
    uint8_t *now;
    uint64_t n;
    uint64_t changed; /* out: entries */
    uint64_t fresh;   /* out: of them free before */
} um_growth_page;

/* The bytes that a code needs beside its result; any alignment of 16. */
size_t um_growth_size(void);

/* Begin a code: into w, or all that r has. */
void um_growth_encoder(um_growth *g, um_writer *w);
bool um_growth_decoder(um_growth *g, um_reader *r);

/* Bytes written so far. */
uint64_t um_growth_len(const um_growth *g);

/* Appends a page. now is not less than old in any entry, and differs. */
void um_growth_append(um_growth *g, um_growth_page *p);
/* Ends the code. */
void um_growth_end(um_growth *g);

/*
 * The number of the next page, at most most; false: the code ends, or is
 * damaged, which um_growth_ended tells apart.
 */
bool um_growth_next(um_growth *g, uint64_t most, uint64_t *number);
/* Reads it: now holds what old does. False when no encoder writes that. */
bool um_growth_get(um_growth *g, um_growth_page *p);
bool um_growth_ended(const um_growth *g);

/* Returns true if each entry of now is at least that of old, and all bits that
 * are no part of an entry, or of a free one, are 0. Counts as
 * um_growth_page. */
bool um_growth_check(um_growth_page *p);

/* Finds the first entry that differs, from *at on; false: all are equal. */
bool um_growth_differs(const um_growth_page *p, uint64_t *at);

#endif
