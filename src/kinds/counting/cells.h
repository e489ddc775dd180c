/*
 * cells.h - an array of cells of 1 to 32, or 64, bits; and a table for larger
 * counts.
 *
 * Cell i takes the bits from i * width on. Words are read and written whole:
 * sections end at a multiple of 64 bytes, so none reaches past its section.
 */
#ifndef UM_KINDS_CELLS_H
#define UM_KINDS_CELLS_H

#include "base/bits.h"

#include <stddef.h>

typedef struct um_cells {
    uint8_t *at;
    uint32_t width;
    uint64_t max; /* 2^width - 1 */
    /* Cells that are processed together: as many as a word holds. */
    uint32_t lanes;
    uint64_t in_word, highest; /* masks: of all these cells; of the highest bit
                                  of each */
} um_cells;

static inline um_cells um_cells_of(void *memory, uint32_t width)
{
    uint64_t max = UINT64_MAX >> (64 - width);
    uint32_t lanes = 64 / width;
    uint64_t in_word = UINT64_MAX >> (64 - lanes * width);

    return (um_cells){memory, width,   max,
                      lanes,  in_word, in_word / max << (width - 1)};
}

/* Returns a + b, saturated at max; a is at most max. */
static inline uint64_t um_grown(uint64_t a, uint64_t b, uint64_t max)
{
    return b >= max - a ? max : a + b;
}

static inline uint64_t um_cell(const um_cells *c, uint64_t i)
{
    return um_get_field(c->at, i * c->width, c->width, c->max);
}

static inline void um_set_cell(const um_cells *c, uint64_t i, uint64_t value)
{
    um_set_field(c->at, i * c->width, c->width, c->max, value);
}

/* Counts the used cells among n, starting at cell `from`; cells is a
 * um_cells. */
uint64_t um_cells_used_in(const void *cells, uint64_t from, uint64_t n);
/* Counts the used cells among n; with other, those used in either array. */
uint64_t um_cells_used(const um_cells *c, const um_cells *other, uint64_t n);
/* Sets the bits of the used cells. */
void um_cells_copy_bits(const um_cells *c, uint64_t n, uint8_t *bits);

/*
 * A table of exact counts for the few frequent keys (kind tally).
 *
 * Its size is fixed at creation. Slots are 64-bit words, eight to a bucket, a
 * bucket to a cache line:
 *
 *   63........32  31.........0
 *   fingerprint   count; 0: the slot is empty
 *
 * A key's home is the bucket at the high half of lo * buckets; its fingerprint
 * is the low half of lo, so bucket and fingerprint together are nearly the
 * whole of it. A key gets the first empty slot, starting at its home, in at
 * most REACH buckets, wrapping around. Nothing is ever removed, so a search
 * ends at an empty slot, and a key that found no slot finds none later.
 *
 * Two keys are confused when they share a fingerprint within reach: for a key
 * that is not in the table, with a probability of about 15 in 2^32.
 *
 * Own table: see bench_mechanisms.
 */

enum {
    UM_HEAVY_BUCKET = 8, /* slots; on the wire */
    /*
     * Maximum number of buckets searched; on the wire. At load 0.8 the
     * probability of a run of x full buckets is about e^(-0.18 x), so no key
     * goes that far. It bounds the cost of a forged table.
     */
    UM_HEAVY_REACH = 256
};

typedef struct um_heavy {
    uint8_t *at;
    uint64_t buckets; /* at least 1 */
} um_heavy;

/* Returns the number of slots for n keys: load 0.8, plus two buckets. */
static inline uint64_t um_heavy_slots(uint64_t keys)
{
    uint64_t slots = keys * 5 / 4 + (uint64_t)3 * UM_HEAVY_BUCKET - 1;
    return slots / UM_HEAVY_BUCKET * UM_HEAVY_BUCKET;
}

static inline uint64_t um_heavy_count(const uint8_t *slot)
{
    return um_load64(slot) & UINT32_MAX;
}

static inline void um_heavy_set(uint8_t *slot, uint64_t lo, uint64_t count)
{
    um_store64(slot, lo << 32 | (count & UINT32_MAX));
}

/* Prefetches the home of a key. */
static inline void um_heavy_fetch(const um_heavy *t, uint64_t lo)
{
    __builtin_prefetch(t->at + um_scale(lo, t->buckets) * UM_LINE);
}

/*
 * Returns the slot of the key, or the empty one where it can be stored; NULL:
 * neither.
 */
static inline uint8_t *um_heavy_find(const um_heavy *t, uint64_t lo)
{
    uint64_t bucket = um_scale(lo, t->buckets);

    for (uint64_t i = 0; i < UM_HEAVY_REACH && i < t->buckets; i++) {
        uint8_t *slot = t->at + bucket * UM_LINE;
        for (int j = 0; j < UM_HEAVY_BUCKET; j++, slot += 8) {
            uint64_t x = um_load64(slot);
            if ((x & UINT32_MAX) == 0 || x >> 32 == (lo & UINT32_MAX))
                return slot;
        }
        bucket = bucket + 1 < t->buckets ? bucket + 1 : 0;
    }
    return NULL;
}

#endif
