/*
 * store.h - split storage of counters (spam paper, end of section IV).
 *
 * The base filter has s + 1 bits per cell: the low bits of the count, and a
 * flag that is set if more bits are in a table. The base is divided into N
 * chunks of 256 cells, each with its own table, so that an entry needs only the
 * number of the cell within its chunk: 8 bits.
 */
#ifndef UM_SPAM_STORE_H
#define UM_SPAM_STORE_H

#include <umbel/umbel.h>

typedef struct um_split {
    unsigned low;   /* s: bits of a count in the base, without the flag */
    uint8_t *base;  /* flag above the low bits */
    uint8_t *index; /* of the tables: number of the cell within its chunk */
    bool *taken;    /* whether a slot of a table is used */
    uint32_t *high;
    uint64_t used;
    uint64_t lookups; /* in the table, so far */
} um_split;

enum { SPLIT_CHUNK = 256 };

/* Creates a store for n cells. A chunk has a slot for each of its cells, so
 * that all may overflow; run.c computes the sizes of tables that are just large
 * enough. */
umbel_status um_split_init(um_split *s, unsigned low, uint64_t n,
                           umbel_error *err);
void um_split_fini(um_split *s);

uint32_t um_split_get(um_split *s, uint32_t cell);
void um_split_append(um_split *s, uint32_t cell, uint32_t value);
/* Adds the counts of n cells of another server. */
void um_split_merge(um_split *into, um_split *from, uint32_t n);

#endif
