/*
 * choose_place.h - the group by which each member uses the fewest new cells.
 *
 * Four bits for each cell count the members on it, so that a member can be
 * taken out and chosen for again. A cell with 15 stays in use.
 */
#ifndef UM_OPS_CHOOSE_PLACE_H
#define UM_OPS_CHOOSE_PLACE_H

#include "base/alloc.h"
#include "filter/addressing/groups.h"

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

#endif
