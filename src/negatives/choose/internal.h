/*
 * internal.h - the state of one call of umbel_choose.
 */
#ifndef UM_NEGATIVES_CHOOSE_INTERNAL_H
#define UM_NEGATIVES_CHOOSE_INTERNAL_H

#include "base/alloc.h"
#include "base/error.h"
#include "filter/addressing/hash_groups.h"
#include "negatives/cell_index.h"
#include "negatives/choose/choose.h"
#include "query/digest_set.h"

/*
 * A small table that rejects most numbers that were not added.
 */

typedef struct um_prefilter {
    uint64_t *word;
    unsigned shift;
} um_prefilter;

enum { UM_PREFILTER_BITS = 16, UM_PREFILTER_LEAST = 10 };

/* Allocates a table for n numbers; returns false if memory runs out. The pool
 * owns it. */
static inline bool um_prefilter_init(um_prefilter *s, um_pool *pool, size_t n)
{
    unsigned log = UM_PREFILTER_LEAST;

    while (log < 48 && (uint64_t)1 << log < (uint64_t)UM_PREFILTER_BITS * n)
        log++;
    s->shift = 64 - (log - 6);
    s->word = um_pool_get(pool, (size_t)1 << (log - 6), sizeof *s->word);
    return s->word != NULL;
}

/* Returns a mask of two bits of one word; the upper bits of the product choose
 * the word. */
static inline uint64_t um_prefilter_mask(uint64_t product)
{
    return (uint64_t)1 << (product >> 8 & 63) | (uint64_t)1
                                                    << (product >> 14 & 63);
}

static inline void um_prefilter_add(um_prefilter *s, uint64_t x)
{
    uint64_t product = x * UINT64_C(0x9E3779B97F4A7C15);

    s->word[product >> s->shift] |= um_prefilter_mask(product);
}

/*
 * Returns true for every number that was added, and for at most 1 in 50 others.
 */
static inline bool um_prefilter_holds(const um_prefilter *s, uint64_t x)
{
    uint64_t product = x * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mask = um_prefilter_mask(product);

    return (s->word[product >> s->shift] & mask) == mask;
}

/*
 * Chooses the group by which each member uses the fewest new cells.
 *
 * Four bits per cell count the members on it, so that a member can be removed
 * and chosen again. A cell with count 15 stays in use.
 */

/* Counts are stored in units: a block, or 64 cells without blocks. The lowest
 * bits of the counts of a unit come first, as words, then the higher bits. */
enum { UM_BLOCK_WORDS = 8, UM_COUNT_BITS = 4, UM_PLACE_AHEAD = 16 };

typedef struct um_placing um_placing;
typedef void um_place_fn(const um_placing *p, const umbel_digest *d, size_t n,
                         uint8_t *group, bool again, uint8_t *bits);

struct um_placing {
    const um_layout *layout;
    uint32_t groups;
    uint32_t words; /* of a unit */
    bool counted;   /* false: one bit per cell, in the filter's bits */
    uint64_t *count;
    um_place_fn *place;
};

/*
 * Initialises *p. Cells that are set in bits, an array of whole words, stay in
 * use. Uncounted cells are set there, too; counts take other memory, which the
 * pool owns. Returns false if memory runs out.
 */
bool um_placing_init(um_placing *p, um_pool *pool, const um_layout *l,
                     uint32_t groups, bool counted, uint8_t *bits);

/*
 * Chooses the groups of n members, one after the other. If again is set, for
 * counted cells, each member is first removed from its current group; in the
 * last pass its cells are also set in bits, which is NULL in others.
 */
static inline void um_place_members(const um_placing *p, const umbel_digest *d,
                                    size_t n, uint8_t *group, bool again,
                                    uint8_t *bits)
{
    p->place(p, d, n, group, again, bits);
}

/* Increments or decrements the counts of some cells of a word; stride is the
 * distance in words from one bit of the counts to the next. */
static inline void um_count_up(uint64_t *word, size_t stride, uint64_t cells)
{
    uint64_t full = word[0];

    for (size_t i = 1; i < UM_COUNT_BITS; i++)
        full &= word[i * stride];
    cells &= ~full;
    for (size_t i = 0; i < UM_COUNT_BITS; i++) {
        uint64_t carry = word[i * stride] & cells;
        word[i * stride] ^= cells;
        cells = carry;
    }
}

static inline void um_count_down(uint64_t *word, size_t stride, uint64_t cells)
{
    uint64_t full = word[0];

    for (size_t i = 1; i < UM_COUNT_BITS; i++)
        full &= word[i * stride];
    cells &= ~full;
    for (size_t i = 0; i < UM_COUNT_BITS; i++) {
        uint64_t borrow = ~word[i * stride] & cells;
        word[i * stride] ^= cells;
        cells = borrow;
    }
}

static inline uint64_t um_counted(const uint64_t *word, size_t stride)
{
    uint64_t used = word[0];

    for (size_t i = 1; i < UM_COUNT_BITS; i++)
        used |= word[i * stride];
    return used;
}

/* Implementations for blocked512: portable, and with AVX2. */
um_place_fn um_place_blocks, um_place_blocks_avx2;

/*
 * One round of moving members away from negatives.
 *
 * A round considers the members on cells of negatives that match, and stores
 * only these. All others stay where they are.
 */

/* Cost of a new cell, relative to the mean weight of a negative. */
#define UM_CELL_COST 0.01

/* A member's byte: its group, and in the upper half its first group. */
enum { UM_NO_CHOICE = 0xff };

/* A set of cells, and a prefilter of their blocks, or of the cells themselves,
 * which rejects almost all members. */
typedef struct um_near_cells {
    um_cell_index cells;
    um_prefilter prefilter;
} um_near_cells;

typedef struct um_choices {
    const um_layout *layout;
    const umbel_alloc *alloc;
    uint32_t groups;
    const uint8_t *base; /* cells in use before */
    uint8_t *bits;       /* cells in use */
    size_t len;          /* of both, in bytes */
    uint8_t *group;      /* of each member */
    const umbel_digest *never;
    const double *weight; /* 0: the negative does not count */
    size_t nnever;
    double cell_cost;
    bool by_block; /* the block of a digest follows from lo alone */

    /* State of the current round. */
    um_pool pool;
    bool *matches;          /* per negative */
    um_near_cells hot;      /* cells of negatives that match */
    umbel_digest *member;   /* members on one of them */
    size_t *number, n, cap; /* of these members */
    umbel_digest *near; /* digests by group of other members in their blocks, if
                           by_block */
    size_t nnear, near_cap;
    um_near_cells own; /* cells of these members */
    bool *kept;        /* by slot of own: used by another member, too */
    size_t passed;     /* number of these members seen by um_round_others */
} um_choices;

static inline void um_set_choice(um_choices *x, size_t i, uint32_t group)
{
    x->group[i] = (uint8_t)(group | group << 4);
}

/* Returns true if all cells of a pattern are in use. */
static inline bool um_is_covered(const um_choices *x, const uint64_t *pos)
{
    for (uint32_t j = 0; j < x->layout->hashes; j++)
        if (!um_bit(x->bits, pos[j]))
            return false;
    return true;
}

static inline bool um_was_moved(uint8_t choice)
{
    return (choice & 0xf) != choice >> 4;
}

/*
 * Begins a round if 1 to `most` patterns of negatives match, and sets *matching
 * to their number; otherwise to 0. Always release it with um_round_fini.
 */
umbel_status um_round_begin(um_choices *x, size_t most, size_t *matching,
                            umbel_error *err);
/* Collects the affected members among the next n, from number `at` on. */
umbel_status um_round_collect(um_choices *x, size_t at, const umbel_digest *d,
                              size_t n, umbel_error *err);
/* um_round_part finds the cells that stay in use if the affected members are
 * removed; unless by_block, all members must then be passed to um_round_others.
 * um_round_consume_out removes them. */
umbel_status um_round_part(um_choices *x, umbel_error *err);
void um_round_others(um_choices *x, size_t at, const umbel_digest *d, size_t n);
void um_round_consume_out(um_choices *x);
/* Chooses groups for the removed members: freely, or moving as few as
 * possible. */
umbel_status um_round_choose(um_choices *x, bool freely, umbel_error *err);
void um_round_fini(um_choices *x);

/*
 * The state shared by the parts of umbel_choose.
 */

/* A step: handles n members, in order, from number `at` on. */
typedef struct choosing choosing;
typedef umbel_status choose_step(choosing *c, size_t at, const umbel_digest *d,
                                 size_t n, umbel_error *err);

/* One call of umbel_choose. */
struct choosing {
    umbel_filter *f, *plain; /* plain: with one group */
    const um_digest_source *members;
    const umbel_key_list *never;
    const umbel_choose_params *params;
    const uint8_t *like; /* cells of the older filter; may be NULL */
    unsigned threads;
    bool *member; /* per key of never; may be NULL */

    um_pool pool;
    double *weight; /* 0 for negatives that are left out */
    bool *out;      /* left out: members, and duplicates */
    um_digest_set unwanted;
    um_choices choices;
    um_prefilter listed; /* digests of negatives */
    um_placing placing;
    uint32_t passes, improving; /* passes that choose again for all members */
    uint64_t fresh;             /* new members */

    uint64_t first_sum; /* sum of the digests of the first pass: choose.c */
    umbel_choose_result bill;
};

/* Two independent tasks run in two threads, if there are two and the members
 * are in memory. */
typedef umbel_status choose_side(choosing *c, umbel_error *err);

/* Places all members, and c->improving times again. */
choose_side um_place_all;
/* Finds members among the negatives, and measures a filter with one group. */
choose_side um_survey;

#endif
