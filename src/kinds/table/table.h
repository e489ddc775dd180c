/*
 * table.h - a handle's part of kind table, and how a line is read.
 */
#ifndef UM_KINDS_TABLE_H
#define UM_KINDS_TABLE_H

#include "filter/kind.h"
#include "kinds/blocked/cells.h"

enum {
    UM_TABLE_REACH = 64 /* lines that a key probes at most; on the wire */
};

#define UM_BYTE_ONES UINT64_C(0x0101010101010101)
#define UM_BYTE_TOPS UINT64_C(0x8080808080808080)

/* How a line is divided. */
typedef struct um_table_form {
    uint32_t slots;
    uint32_t print_bits; /* behind the tag */
    uint32_t rest_bits;  /* with the count */
} um_table_form;

typedef struct um_table {
    const uint64_t *added; /* the handle's number of keys */
    uint8_t *at;
    uint64_t lines, room; /* room: keys that it takes */
    uint64_t refused;     /* keys of the last add */
    um_table_form form;
    uint64_t rest_max, print_max, count_max;
    uint64_t slot_tops[2]; /* the top bits of tags, in the line's two words */
} um_table;

/* What a key is looked for by. */
typedef struct um_table_key {
    uint64_t tags;  /* its tag in every byte */
    uint64_t print; /* the rest of its fingerprint */
} um_table_key;

static inline um_table_key um_table_key_of(const um_table *t, uint64_t hi)
{
    return (um_table_key){(1 + ((hi >> 32) * 255 >> 32)) * UM_BYTE_ONES,
                          hi & t->print_max};
}

static inline uint8_t *um_table_line(const um_table *t, uint64_t x)
{
    return t->at + um_scale(x, t->lines) * UM_LINE;
}

/* The top bits of bytes that are 0. Above the first such byte a byte of 1 may
 * be among them. */
static inline uint64_t um_zero_bytes(uint64_t word)
{
    return (word - UM_BYTE_ONES) & ~word & UM_BYTE_TOPS;
}

/* Fingerprint and count of a slot. */
static inline uint64_t um_table_rest(const um_table *t, const uint8_t *line,
                                     uint32_t i)
{
    uint64_t bit = (uint64_t)UM_ENTRY_TAG_BITS * t->form.slots +
                   (uint64_t)i * t->form.rest_bits;
    return um_get_field(line, bit, t->form.rest_bits, t->rest_max);
}

extern const um_row_columns um_table_columns; /* table_columns.c */
extern const um_row_sums um_table_sums;       /* table_sums.c */

#endif
