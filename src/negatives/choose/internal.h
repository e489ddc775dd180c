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
 * A small table that most numbers not put into it fall through.
 */

typedef struct um_prefilter {
    uint64_t *word;
    unsigned shift;
} um_prefilter;

enum { UM_PREFILTER_BITS = 16, UM_PREFILTER_LEAST = 10 };

/* Makes room for n numbers; false without memory, which the pool owns. */
static inline bool um_prefilter_init(um_prefilter *s, um_pool *pool, size_t n)
{
    unsigned log = UM_PREFILTER_LEAST;

    while (log < 48 && (uint64_t)1 << log < (uint64_t)UM_PREFILTER_BITS * n)
        log++;
    s->shift = 64 - (log - 6);
    s->word = um_pool_get(pool, (size_t)1 << (log - 6), sizeof *s->word);
    return s->word != NULL;
}

/* Two bits of one word, which the upper bits of the product choose. */
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
 * The group by which each member uses the fewest new cells.
 *
 * Four bits for each cell count the members on it, so that a member can be
 * taken out and chosen for again. A cell with 15 stays in use.
 */

/* Cells that are kept together: a block, or 64 cells without blocks. The lowest
 * bits of their counts come first, as words, then the others. */
enum { UM_BLOCK_WORDS = 8, UM_COUNT_BITS = 4, UM_PLACE_AHEAD = 16 };

typedef struct um_placing um_placing;
typedef void um_place_fn(const um_placing *p, const umbel_digest *d, size_t n,
                         uint8_t *group, bool again, uint8_t *bits);

struct um_placing {
    const um_layout *layout;
    uint32_t groups;
    uint32_t words; /* of a unit */
    bool counted;   /* or there is one bit for each, in the filter's */
    uint64_t *count;
    um_place_fn *place;
};

/*
 * Cells that are set in bits, an array of whole words, stay in use. Uncounted
 * cells are set there, too; counts take other memory, which the pool owns.
 * Returns false without it.
 */
bool um_placing_init(um_placing *p, um_pool *pool, const um_layout *l,
                     uint32_t groups, bool counted, uint8_t *bits);

/*
 * Chooses for n members, one after the other, and writes their groups. Again,
 * when cells are counted: each is taken out of its present group first, and in
 * the last pass its cells are set in bits; NULL: not the last.
 */
static inline void um_place_members(const um_placing *p, const umbel_digest *d,
                                    size_t n, uint8_t *group, bool again,
                                    uint8_t *bits)
{
    p->place(p, d, n, group, again, bits);
}

/* Adds members to the counts of some cells of a word, or takes them out;
 * stride: words from a bit of the counts to the next. */
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

/* For blocked512: the definition, and the same with other instructions. */
um_place_fn um_place_blocks, um_place_blocks_avx2;

/*
 * One round of moving members away from unwanted keys.
 *
 * A round works on the members that stand on cells of unwanted keys that match,
 * and keeps only these. All others stay where they are.
 */

/* What a new cell costs, in mean weights of an unwanted key. */
#define UM_CELL_COST 0.01

/* A member's byte: its group, and in the upper half the first choice. */
enum { UM_NO_CHOICE = 0xff };

/* Some cells, and a prefilter of their blocks, or of themselves, by which
 * almost all members are found not to stand on them. */
typedef struct um_near_cells {
    um_cell_index cells;
    um_prefilter prefilter;
} um_near_cells;

typedef struct um_choices {
    const um_layout *layout;
    const umbel_alloc *alloc;
    uint32_t groups;
    const uint8_t *base; /* cells that are in use for good */
    uint8_t *bits;       /* cells in use */
    size_t len;          /* of both, in bytes */
    uint8_t *group;      /* of each member */
    const umbel_digest *never;
    const double *weight; /* 0: the key does not count */
    size_t nnever;
    double cell_cost;
    bool by_block; /* the block of a digest follows from lo alone */

    /* During a round: */
    um_pool pool;
    bool *matches;          /* of each unwanted key */
    um_near_cells hot;      /* cells of keys that match */
    umbel_digest *member;   /* that stand on one of them */
    size_t *number, n, cap; /* of these members */
    umbel_digest *near;     /* chosen by others in their blocks, if by_block */
    size_t nnear, near_cap;
    um_near_cells own; /* cells that members in question stand on */
    bool *kept;        /* by slot of own: another member does, too */
    size_t passed;     /* of these members, by um_round_others */
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
 * Begins a round if from 1 to most patterns of unwanted keys match, and gives
 * their number; otherwise 0. Release it with um_round_fini in any case.
 */
umbel_status um_round_begin(um_choices *x, size_t most, size_t *matching,
                            umbel_error *err);
/* Takes the next n members, from number `at` on: finds those in question. */
umbel_status um_round_collect(um_choices *x, size_t at, const umbel_digest *d,
                              size_t n, umbel_error *err);
/* Finds the cells that stay in use when members in question are taken out;
 * unless by_block, all members are taken once more for that. Then takes them
 * out. */
umbel_status um_round_part(um_choices *x, umbel_error *err);
void um_round_others(um_choices *x, size_t at, const umbel_digest *d, size_t n);
void um_round_consume_out(um_choices *x);
/* Chooses for the members that were taken: freely, or moves as few as
 * possible. */
umbel_status um_round_choose(um_choices *x, bool freely, umbel_error *err);
void um_round_fini(um_choices *x);

/*
 * One call of umbel_choose: what its parts share.
 */

/* A step of the work on n members, in their order, from number `at` on. */
typedef struct choosing choosing;
typedef umbel_status choose_step(choosing *c, size_t at, const umbel_digest *d,
                                 size_t n, umbel_error *err);

/* One call of umbel_choose. */
struct choosing {
    umbel_filter *f, *plain; /* plain: the same with one group */
    const um_digest_source *members;
    const umbel_key_list *never;
    const umbel_choose_params *params;
    const uint8_t *like; /* cells; or NULL */
    unsigned threads;
    bool *member; /* of never; or NULL */

    um_pool pool;
    double *weight; /* 0 for unwanted keys that are left out: */
    bool *out;      /* members, and those that stood before */
    um_digest_set unwanted;
    um_choices choices;
    um_prefilter listed; /* digests of unwanted keys */
    um_placing placing;
    uint32_t passes, improving; /* in which all members are chosen again */
    uint64_t fresh;             /* members that were new */

    uint64_t first_sum; /* of digests, when they are read again: choose.c */
    umbel_choose_result bill;
};

/* Runs two things that do not depend on each other, in two threads if there are
 * any and the members are in memory. Returns the failure of the first, if any.
 */
typedef umbel_status choose_side(choosing *c, umbel_error *err);

/* Makes the first choice of all members, c->improving times again. */
choose_side um_place_all;
/* Finds members among the unwanted keys, and what one group would do. */
choose_side um_survey;

#endif
