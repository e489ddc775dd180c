/*
 * level.h - a map from keys to values, stored as the solution of equations.
 *
 * A key determines a row of 64 coefficients and the slot where it starts. The
 * solution is an array of slots, each with several columns of bits; the value
 * of a key is the parity of the slots that its row selects, column by column. A
 * level stores the values of its keys in hardly more than one slot per key, and
 * returns a random value for any other key.
 *
 *   layer 0   slots for some 4 % fewer keys than there are, in buckets of 128
 *             starts. Two bits a bucket say how many starts at its beginning
 *             have no place there: their keys are bumped to the next layer
 *   layer 1   ... the same for bumped keys, at a start hashed anew
 *   tail      what is left, with hardly more slots than keys, and a salt with
 *             which all have a place
 *
 * After every SHARD starts there are 64 extra slots, so that shards are
 * independent and threads can solve them in parallel.
 *
 * Wide layers have rows of 128 coefficients and buckets of 512 starts: fewer
 * slots stay empty, and fewer bits record what was bumped, but a key reads half
 * as much again.
 *
 * Keys in partitions: slots get wider in steps of one column, and every key
 * belongs to the starts of one width. Its hash is scaled to their share of the
 * layer, so that keys of all widths are in one matrix.
 */
#ifndef UM_KINDS_RIBBON_LEVEL_H
#define UM_KINDS_RIBBON_LEVEL_H

#include "base/bits.h"

#include <umbel/base.h>

/* All of these are on the wire. */
enum {
    UM_RIBBON_WIDTH = 64, /* coefficients of a row */
    UM_RIBBON_BUCKET_BITS = 7,
    UM_RIBBON_BUCKET = 1 << UM_RIBBON_BUCKET_BITS,
    UM_RIBBON_WIDE = 128, /* ... in wide layers */
    UM_RIBBON_WIDE_BUCKET_BITS = 9,
    UM_RIBBON_WIDE_BUCKET = 1 << UM_RIBBON_WIDE_BUCKET_BITS,
    UM_RIBBON_LAYERS = 2,
    UM_RIBBON_SHARD_BITS = 19, /* log2 of the starts of a shard */
    UM_RIBBON_SALTS = 80,
    UM_RIBBON_UNIFORM_SALTS = 16, /* below this salt, starts of the tail are
                                     uniform */
    UM_RIBBON_REACH = 32, /* otherwise: extra weight of the first and last
                             start */
    UM_RIBBON_FINE = 1 << 16,
    UM_RIBBON_MAX_TAIL = 1500, /* up to this many keys there is only a tail:
                                  umbel's choice */
    UM_RIBBON_STEPS = 12,      /* beyond the finer column */
    UM_RIBBON_MAX_COLUMNS = 64 /* including the finer one, and steps */
};
#define UM_RIBBON_MAX_BUCKETS ((uint64_t)1 << 35)

/* Slots per key, measured: 0.1 % of them stay empty. */
#define UM_RIBBON_SLOTS 1.001

/*
 * The width of slots. `finer` 65536ths of the starts, those at the end of each
 * layer, have one more column, which allows any mean error.
 */
typedef struct um_ribbon_form {
    uint32_t columns;
    uint32_t finer;
} um_ribbon_form;

typedef struct um_ribbon_sizes {
    uint64_t buckets[UM_RIBBON_LAYERS]; /* 0: no such layer */
    uint64_t tail;                      /* slots */
    uint64_t salt;                      /* of the tail */
    /* Shares of the starts, in 65536ths, that have 2, 3, ... extra columns;
     * descending, the first at most finer. */
    uint16_t steps[UM_RIBBON_STEPS];
    bool wide; /* for layers; the tail is never wide */
} um_ribbon_sizes;

typedef struct um_ribbon_layer {
    uint64_t starts; /* 0: the layer is empty, all keys go on */
    uint64_t split;  /* starts from here on have one more column */
    uint64_t split_group;
    uint32_t columns;
    bool wide;
    uint8_t bucket_bits; /* log2 of the starts per bucket */
    uint32_t gap;        /* extra slots after a shard: the length of a row */
    uint64_t gone; /* number of starts without a place, 16 bits for each code of
                      a bucket */
    uint32_t nsteps; /* used entries of the following: first start, and first
                        group */
    uint64_t step[UM_RIBBON_STEPS], step_group[UM_RIBBON_STEPS];
    uint8_t *words; /* groups of 64 slots, a word per column */
    uint8_t *bumps; /* two bits per bucket */
} um_ribbon_layer;

/* A level prepared for use: the addresses of its parts. */
typedef struct um_ribbon_level {
    um_ribbon_form form;
    um_ribbon_layer layer[UM_RIBBON_LAYERS];
    uint64_t tail, salt;
    uint64_t tail_starts; /* the first and the last have extra weight: */
    uint32_t tail_reach;  /* this many more each */
    uint32_t tail_columns;
    uint8_t *tail_bits;  /* column by column */
    uint64_t tail_bytes; /* including readable bytes after it */
    uint64_t bytes;      /* of the whole level, a multiple of 8 */
} um_ribbon_level;

/* Lays a level out in memory. memory may be NULL: then only bytes is valid. */
void um_ribbon_lay(um_ribbon_level *l, const um_ribbon_form *form,
                   const um_ribbon_sizes *sizes, uint8_t *memory);

/* Returns true if sizes can be laid out without overflow. */
bool um_ribbon_can(const um_ribbon_form *form, const um_ribbon_sizes *sizes);

static inline bool um_ribbon_is_empty(const um_ribbon_sizes *s)
{
    return !s->buckets[0] && !s->buckets[1] && !s->tail;
}

/* --- hashing -------------------------------------------------------------- */

#define UM_RIBBON_STEP UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t um_ribbon_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

/* Rehashes for the next layer; in the tail, by salt + 1 times the step. */
static inline uint64_t um_ribbon_next(uint64_t x, uint64_t salt)
{
    return um_ribbon_mix(x + UM_RIBBON_STEP * (salt + 1));
}

static inline uint64_t um_ribbon_row(uint64_t x, uint64_t hi)
{
    return um_ribbon_mix(x ^ hi);
}

/* --- addresses ------------------------------------------------------------ */

static inline uint64_t um_ribbon_slot(const um_ribbon_layer *l, uint64_t start)
{
    return start + (start >> UM_RIBBON_SHARD_BITS) * l->gap;
}

/* Return the words that steps add before a group, and the number of steps up to
 * a start, or group. */
uint64_t um_ribbon_step_words(const um_ribbon_layer *l, uint64_t group);
uint32_t um_ribbon_steps_at(const um_ribbon_layer *l, uint64_t start);
uint32_t um_ribbon_steps_in(const um_ribbon_layer *l, uint64_t group);

/* Returns the number of words before a group of 64 slots. */
static inline uint64_t um_ribbon_words(const um_ribbon_layer *l, uint64_t group)
{
    uint64_t finer = group > l->split_group ? group - l->split_group : 0;
    uint64_t steps = l->nsteps ? um_ribbon_step_words(l, group) : 0;

    return group * l->columns + finer + steps;
}

/* Return the columns of the keys at a start, and the words of a group. */
static inline uint32_t um_ribbon_columns_at(const um_ribbon_layer *l,
                                            uint64_t start)
{
    return l->columns + (start >= l->split) +
           (l->nsteps ? um_ribbon_steps_at(l, start) : 0);
}

static inline uint32_t um_ribbon_columns_in(const um_ribbon_layer *l,
                                            uint64_t group)
{
    return l->columns + (group >= l->split_group) +
           (l->nsteps ? um_ribbon_steps_in(l, group) : 0);
}

/* The share of a layer, in 65536ths, for the starts of keys of one width. */
typedef struct um_ribbon_share {
    uint32_t from, width;
} um_ribbon_share;

static inline uint64_t um_ribbon_remap(uint64_t x, const um_ribbon_share *share)
{
    if (share->width == UM_RIBBON_FINE)
        return x;
    return ((uint64_t)share->from << 48) +
           um_scale(x, (uint64_t)share->width << 48);
}

/* Returns the share of keys with `more` extra columns. */
um_ribbon_share um_ribbon_share_of(const um_ribbon_form *form,
                                   const uint16_t steps[UM_RIBBON_STEPS],
                                   uint32_t more);
/* Returns the maximum number of extra columns. */
uint32_t um_ribbon_max_more(const um_ribbon_form *form,
                            const uint16_t steps[UM_RIBBON_STEPS]);

/* Returns the number of starts at the beginning of a bucket that have no place,
 * from its two bits. */
static inline uint32_t um_ribbon_bumped(const um_ribbon_layer *l, uint32_t code)
{
    return (uint32_t)(l->gone >> 16 * code & 0xFFFF);
}

static inline uint32_t um_ribbon_bucket(const um_ribbon_layer *l)
{
    return (uint32_t)1 << l->bucket_bits;
}

static inline uint32_t um_ribbon_code(const um_ribbon_layer *l, uint64_t bucket)
{
    return (uint32_t)l->bumps[bucket >> 2] >> 2 * (bucket & 3) & 3;
}

/* --- queries -------------------------------------------------------------- */

/* The place of a key's value. */
typedef struct um_ribbon_place {
    const uint8_t *at, *next; /* words of its group, and of the next */
    uint64_t low, high;       /* its row, shifted to its position in these
                                 words */
    uint32_t columns;
    uint32_t salted; /* in the tail: low is the start, high the row */
    bool wide;       /* the row continues in a third group: */
    const uint8_t *third;
    uint64_t top;
} um_ribbon_place;

void um_ribbon_place_tail(const um_ribbon_level *l, uint64_t x, uint64_t hi,
                          um_ribbon_place *out);
uint64_t um_ribbon_get_tail(const um_ribbon_level *l, const um_ribbon_place *p);
/* Returns true if the columns starting at `from` equal the bits of print. */
bool um_ribbon_tail_agrees(const um_ribbon_level *l, const um_ribbon_place *p,
                           uint64_t print, uint32_t from);

/* Returns the second half of a row of 128 coefficients. */
static inline uint64_t um_ribbon_row_on(uint64_t row)
{
    return um_ribbon_mix(row + UM_RIBBON_STEP);
}

/* Extends a place in a wide layer by the second half of its row. */
static inline void um_ribbon_widen(const um_ribbon_layer *l, uint64_t slot,
                                   uint64_t on, um_ribbon_place *p)
{
    uint64_t shift = slot & 63;

    p->third = p->next + 8 * (uint64_t)um_ribbon_columns_in(l, (slot >> 6) + 1);
    p->high |= on << shift;
    p->top = on >> 1 >> (63 - shift);
}

static inline void um_ribbon_place_in(const um_ribbon_layer *l, uint64_t start,
                                      uint64_t row, um_ribbon_place *out)
{
    uint64_t slot = um_ribbon_slot(l, start), group = slot >> 6,
             shift = slot & 63;
    uint64_t words = um_ribbon_words(l, group);
    uint64_t stride = um_ribbon_columns_in(l, group);

    out->at = l->words + words * 8;
    out->next = out->at + stride * 8;
    out->low = row << shift;
    out->high = row >> 1 >> (63 - shift);
    out->columns = um_ribbon_columns_at(l, start);
    out->salted = 0;
    out->wide = l->wide;
    if (l->wide)
        um_ribbon_widen(l, slot, um_ribbon_row_on(row), out);
}

/* Finds the place of a key in a share, for keys in partitions; share NULL:
 * anywhere. */
static inline void um_ribbon_find_in(const um_ribbon_level *l,
                                     const um_ribbon_share *share, uint64_t x,
                                     uint64_t hi, um_ribbon_place *out)
{
    if (share)
        x = um_ribbon_remap(x, share);
    for (int i = 0; i < UM_RIBBON_LAYERS; i++) {
        const um_ribbon_layer *layer = &l->layer[i];
        uint64_t start = um_scale(x, layer->starts);
        uint32_t at = (uint32_t)start & (um_ribbon_bucket(layer) - 1);
        if (layer->starts &&
            at >= um_ribbon_bumped(
                      layer,
                      um_ribbon_code(layer, start >> layer->bucket_bits))) {
            um_ribbon_place_in(layer, start, um_ribbon_row(x, hi) | 1, out);
            return;
        }
        if (layer->starts)
            x = um_ribbon_next(x, 0);
        if (layer->starts && share)
            x = um_ribbon_remap(x, share);
    }
    um_ribbon_place_tail(l, x, hi, out);
}

static inline void um_ribbon_find(const um_ribbon_level *l, uint64_t x,
                                  uint64_t hi, um_ribbon_place *out)
{
    um_ribbon_find_in(l, NULL, x, hi, out);
}

/* Prefetches the cache lines from .. end - 1. */
static inline void um_fetch_lines(const uint8_t *from, const uint8_t *end)
{
    for (; from < end; from += UM_LINE)
        __builtin_prefetch(from);
    __builtin_prefetch(end - 1);
}

/* Prefetches the slots of a place, unless it is in the tail. */
static inline void um_ribbon_fetch(const um_ribbon_place *p)
{
    const uint8_t *last = p->wide ? p->third : p->next;

    if (!p->salted && p->columns)
        um_fetch_lines(p->at, last + 8 * (size_t)p->columns);
}

static inline uint32_t um_ribbon_parity(uint64_t x)
{
    return (uint32_t)__builtin_parityll(x);
}

static inline uint64_t um_ribbon_mask(uint32_t columns)
{
    return columns < 64 ? ((uint64_t)1 << columns) - 1 : UINT64_MAX;
}

/* Does the same as um_ribbon_some in wide layers. */
uint64_t um_ribbon_some_wide(const um_ribbon_place *p, uint32_t from,
                             uint32_t n);

/* Returns columns from .. from + n - 1, the first as bit 0; not for the
 * tail. */
static inline uint64_t um_ribbon_some(const um_ribbon_place *p, uint32_t from,
                                      uint32_t n)
{
    const uint8_t *at = p->at + 8 * (size_t)from;
    const uint8_t *next = p->next + 8 * (size_t)from;
    uint64_t value = 0;

    if (p->wide)
        return um_ribbon_some_wide(p, from, n);
    for (uint32_t j = 0; j < n; j++) {
        uint64_t x = (um_load64(at + 8 * (size_t)j) & p->low) ^
                     (um_load64(next + 8 * (size_t)j) & p->high);
        value |= (uint64_t)um_ribbon_parity(x) << j;
    }
    return value;
}

/* Returns the value, bit j from column j. */
static inline uint64_t um_ribbon_get(const um_ribbon_level *l,
                                     const um_ribbon_place *p)
{
    return p->salted ? um_ribbon_get_tail(l, p)
                     : um_ribbon_some(p, 0, p->columns);
}

/*
 * Computes the probability of each value for a key that is not in the level.
 * It follows from the slots, whatever they are. The level has at most
 * UM_RIBBON_WEIGHED columns, and no finer ones. one_slot: x and hi of a key are
 * equal, as in an index of partitions; then rows in the first layer consist of
 * their first slot only.
 */
enum { UM_RIBBON_WEIGHED = 5 };
void um_ribbon_chances(const um_ribbon_level *l, bool one_slot,
                       double chance[1 << UM_RIBBON_WEIGHED]);
/* Returns the probability of a 1 in a level of one column. */
double um_ribbon_chance_of_one(const um_ribbon_level *l);

/* --- building ------------------------------------------------------------- */

/*
 * A key and its value; bits beyond the columns are ignored. With partitions, lo
 * is remapped to the key's share, and the highest byte of the value is its
 * number of extra columns.
 */
typedef struct um_ribbon_item {
    uint64_t lo, hi, value;
} um_ribbon_item;

enum { UM_RIBBON_MORE_SHIFT = 56 };

/*
 * Sorts items and removes duplicates. *clash: a key with two values, or NULL.
 */
void um_ribbon_sort(um_ribbon_item *items, size_t *n, unsigned threads,
                    const um_ribbon_item **clash);

/*
 * Creates the level of sorted items, which are modified. sizes->wide selects
 * wide layers; the rest of sizes is an output. The caller owns *memory, of *len
 * bytes; NULL when there are no items. The result is the same for any number of
 * threads.
 */
umbel_status um_ribbon_create(um_ribbon_item *items, size_t n,
                              const um_ribbon_form *form, unsigned threads,
                              const umbel_alloc *alloc, um_ribbon_sizes *sizes,
                              uint8_t **memory, size_t *len, umbel_error *err);
/* Does the same for items in partitions, with the steps in sizes. */
umbel_status um_ribbon_create_steps(um_ribbon_item *items, size_t n,
                                    const um_ribbon_form *form,
                                    unsigned threads, const umbel_alloc *alloc,
                                    um_ribbon_sizes *sizes, uint8_t **memory,
                                    size_t *len, umbel_error *err);

/*
 * Building from items that are not all in memory: layer by layer, and the tail.
 */
enum {
    UM_RIBBON_SMALL = 1 << 17, /* up to this many keys, several sizes are tried:
                                  um_ribbon_create builds these */
    UM_RIBBON_PIECES = 16      /* shards in flight, at most */
};

typedef struct um_ribbon_feed {
    void *ctx;
    /*
     * Returns the next items of a layer, sorted, that start before end. They
     * may be changed until the same piece is requested again. False: failed.
     */
    bool (*take)(void *ctx, const um_ribbon_layer *l, uint64_t end,
                 size_t piece, um_ribbon_item **items, size_t *n);
    /* Receives a bumped item, rehashed for the next layer. */
    bool (*bump)(void *ctx, const um_ribbon_item *x);
    /* Called when all words of the starts from first to before end are
     * written. */
    void (*done)(void *ctx, const um_ribbon_layer *l, uint64_t first,
                 uint64_t end);
} um_ribbon_feed;

/* Rows of a tail during the build; freed with um_put. */
typedef struct um_ribbon_tail {
    void *rows;
    size_t len;
} um_ribbon_tail;

/* Returns the number of buckets of a layer for n keys. */
uint64_t um_ribbon_buckets_for(size_t n, bool wide);
/* Returns the memory of a shard in flight, without its items. */
size_t um_ribbon_rows_len(uint64_t starts, bool wide);
/* Fills a layer, laid out in zeroed memory, by threads, with `pieces` shards in
 * flight. If feed fails, stops, and the caller reports the failure. */
umbel_status um_ribbon_fill_layer(const um_ribbon_layer *l,
                                  const um_ribbon_feed *feed, unsigned threads,
                                  size_t pieces, const umbel_alloc *alloc,
                                  umbel_error *err);
/* Sizes and fills a tail; the caller owns *out, also after a failure. */
umbel_status um_ribbon_fill_tail(um_ribbon_item *items, size_t n,
                                 const um_ribbon_form *form,
                                 const umbel_alloc *alloc,
                                 um_ribbon_sizes *sizes, um_ribbon_tail *out,
                                 umbel_error *err);
void um_ribbon_solve_tail(const um_ribbon_level *l, const um_ribbon_tail *tail);

/* Estimates the number of bits of a level with this many keys. */
double um_ribbon_guess(double keys, const um_ribbon_form *form);

#endif
