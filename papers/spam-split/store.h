/*
 * store.h - split storage of counters (spam paper, end of section IV).
 *
 * A base filter of s + 1 bits a cell: the low bits of the count, and a flag
 * that tells that more bits are in a table, found by the number of the cell.
 * Dividing the base into chunks with a table each shortens the numbers, not the
 * work, so one table does for the model; sizes are computed (run.c).
 */
#ifndef UM_SPAM_STORE_H
#define UM_SPAM_STORE_H

#include <umbel/umbel.h>

typedef struct um_split {
    unsigned low;   /* s: bits of a count in the base, without the flag */
    uint8_t *base;  /* flag above the low bits */
    uint32_t *cell; /* of the table: number + 1, 0 when empty */
    uint32_t *high;
    uint64_t slots, used;
    uint64_t lookups; /* in the table, so far */
} um_split;

/* For n cells, of which at most half may overflow. */
umbel_status um_split_init(um_split *s, unsigned low, uint64_t n,
                           umbel_error *err);
void um_split_fini(um_split *s);

uint32_t um_split_get(um_split *s, uint32_t cell);
/* False when the table is full. */
bool um_split_put(um_split *s, uint32_t cell, uint32_t value);
/* Adds the counts of n cells of another server. False when the table is full.
 */
bool um_split_merge(um_split *into, um_split *from, uint32_t n);

#endif
