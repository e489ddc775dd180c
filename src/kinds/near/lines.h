/*
 * near_lines.h - the index of kind near: from a key to numbers of records.
 *
 * Lines are those of kind table: tags of 8 bits, then numbers. A key probes
 * random lines until one is not full. Entries never move, and numbers only
 * grow.
 */
#ifndef UM_KINDS_NEAR_LINES_H
#define UM_KINDS_NEAR_LINES_H

#include "base/hash.h"
#include "filter/addressing/classic.h"

enum {
    UM_NEAR_TAG_BITS = 8,
    UM_NEAR_VOICES = 16, /* entries of one key that are heard, at most */
    UM_NEAR_KEYS = 32    /* keys that are looked for at once */
};

typedef struct um_near_lines {
    uint8_t *at;
    uint64_t n, mails;    /* mails: numbers are below */
    unsigned slots, bits; /* bits: of a number */
} um_near_lines;

/* How numbers below that many are stored. */
unsigned um_near_bits(uint64_t mails);
unsigned um_near_slots(uint64_t mails);
um_near_lines um_near_lines_of(void *memory, uint64_t lines, uint64_t mails);

/* What is looked for: tags has the tag in every byte. */
typedef struct um_probe {
    uint64_t x, step, tags;
} um_probe;

static inline um_probe um_probe_of(uint64_t lo, uint64_t hi)
{
    return (um_probe){
        lo, hi, (1 + ((hi >> 32) * 255 >> 32)) * UINT64_C(0x0101010101010101)};
}

static inline uint8_t *um_near_line(const um_near_lines *t, const um_probe *p)
{
    return t->at + um_scale(p->x, t->n) * UM_LINE;
}

/* An entry with the right tag. */
typedef struct um_voice {
    uint8_t *line;
    uint64_t number;
    uint8_t slot;
} um_voice;

typedef struct um_voices {
    unsigned n;
    um_voice at[UM_NEAR_VOICES];
} um_voices;

/* Finds the voices of n keys, UM_NEAR_KEYS at most; their probes are used up.
 */
void um_near_hear(const um_near_lines *t, um_probe *p, unsigned n,
                  um_voices *out);
/* Gives a key an entry, where there is room. Without room it has none. */
void um_near_add_entry(const um_near_lines *t, um_probe p, uint64_t number);
/* Makes an entry lead to another, later record. */
void um_near_move_entry(const um_near_lines *t, const um_voice *v,
                        uint64_t number);

#endif
