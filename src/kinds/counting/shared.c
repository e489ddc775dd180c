/*
 * counting_shared.c - counts for threads that add and ask together.
 *
 * Cells only grow, by compare-and-swap of the 64-bit word that holds them, and
 * stick at their maximum; loads are relaxed. So a cell never loses what another
 * thread put into it. Cells that lie across two words cannot be had that way:
 * widths that do not divide 64 are refused.
 *
 * Plain: each cell grows by the amount, in any order.
 *
 * Refined: a key's cells are raised to their least plus the amount. Two threads
 * with one key must not start from the same least, or one of them is lost; so a
 * key is added under a lock that its digest chooses. Keys with other locks may
 * share cells with it, but only raise them. So when a key came n times all its
 * cells are n or more, at any moment: the least was n or more at the beginning
 * of the next add, which raises all of them past it.
 *
 * Nothing is taken out while others add: removing wants the filter alone.
 *
 * A word is little-endian, as in the file: its bits are those of cells.h.
 */
#include "kinds/counting/counting.h"

#include "base/error.h"

#include <inttypes.h>

static umbel_status may_share(const um_shape *s, umbel_error *err)
{
    um_section section[UM_MAX_SECTIONS];

    s->kind->sections(s, section);
    uint32_t width = section[0].cell_bits;
    if (64 % width)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "cells of %" PRIu32 " bits cannot be shared: some lie "
                       "across two words, which no thread can change at once; "
                       "take a width that divides 64",
                       width);
    return UMBEL_OK;
}

/* --- one cell ------------------------------------------------------------ */

/* The payload is aligned to 64 bytes, and its room is a multiple of that. */
static uint64_t *word_of(const um_cells *c, uint64_t i)
{
    return (uint64_t *)(void *)c->at + i * c->width / 64;
}

static uint64_t load(const um_cells *c, uint64_t i)
{
    uint64_t word = um_le64(__atomic_load_n(word_of(c, i), __ATOMIC_RELAXED));

    return word >> i * c->width % 64 & c->max;
}

/* In a word as loaded, cell i becomes y. */
static uint64_t with(const um_cells *c, uint64_t word, uint64_t i, uint64_t y)
{
    uint64_t shift = i * c->width % 64;

    return um_le64((um_le64(word) & ~(c->max << shift)) | y << shift);
}

/*
 * Grows the cell by amount, and to at_least; returns what it held. Between
 * loading and swapping others may change its neighbours in the word, too: then
 * it starts again.
 */
static uint64_t grow(const um_cells *c, uint64_t i, uint64_t amount,
                     uint64_t at_least)
{
    uint64_t *word = word_of(c, i), shift = i * c->width % 64, x, y;
    uint64_t was = __atomic_load_n(word, __ATOMIC_RELAXED);

    do {
        x = um_le64(was) >> shift & c->max;
        y = um_grown(x, amount, c->max);
        y = y > at_least ? y : at_least;
    } while (y != x &&
             !__atomic_compare_exchange_n(word, &was, with(c, was, i, y), true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return x;
}

/* --- one key ------------------------------------------------------------- */

static uint64_t least(const um_cells *c, const uint64_t *pos, uint32_t n)
{
    uint64_t min = c->max;

    for (uint32_t j = 0; j < n; j++) {
        uint64_t x = load(c, pos[j]);
        min = x < min ? x : min;
    }
    return min;
}

/* Of threads that add one key at once at least one finds a cell at zero. */
static bool add_plain(const um_cells *c, const uint64_t *pos, uint32_t n,
                      uint64_t amount)
{
    bool zero = false;

    for (uint32_t j = 0; j < n; j++)
        zero |= grow(c, pos[j], amount, 0) == 0;
    return zero && amount > 0;
}

static bool add_refined(um_counting *c, umbel_digest d, const uint64_t *pos,
                        uint32_t n, uint64_t amount)
{
    um_gate_lock *lock = &c->lock[(d.lo ^ d.hi) % UM_GATE_LOCKS];

    um_gate_consume(lock);
    uint64_t min = least(&c->cells, pos, n);
    uint64_t target = um_grown(min, amount, c->cells.max);
    for (uint32_t j = 0; j < n; j++)
        grow(&c->cells, pos[j], 0, target);
    um_gate_pass_back(lock);
    return min == 0 && amount > 0;
}

UM_INLINE bool add_one(void *self, um_each_key key)
{
    um_counting *c = self;
    uint32_t cells = um_counting_unite(c, key.pos);

    return c->refined ? add_refined(c, key.digest, key.pos, cells, key.amount)
                      : add_plain(&c->cells, key.pos, cells, key.amount);
}

UM_INLINE uint64_t count_one(const void *self, const uint64_t *pos)
{
    const um_counting *c = self;
    return least(&c->cells, pos, c->layout->hashes);
}

UM_INLINE bool query_one(const void *self, const uint64_t *pos)
{
    return count_one(self, pos) > 0;
}

/* --- many keys ----------------------------------------------------------- */

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    const um_counting *c = self;
    return um_each_add(self, c->layout, um_counting_locate, add_one, d, amounts,
                       n, fresh);
}

static void count(const void *self, const umbel_digest *d, size_t n,
                  uint64_t *out)
{
    const um_counting *c = self;
    um_each_count(self, c->layout, um_counting_locate, count_one, d, n, out);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    const um_counting *c = self;
    um_each_query(self, c->layout, um_counting_locate, query_one, d, n, hit);
}

static void use_locks(void *self, um_gate_lock *locks)
{
    um_counting *c = self;
    c->lock = locks;
}

const um_row_shared um_counting_shared = {.may_share = may_share,
                                          .use_locks = use_locks,
                                          .add = add,
                                          .query = query,
                                          .count = count};
