/*
 * place.c - counts of four bits per cell, and the placement of members for any
 * addressing.
 */
#include "negatives/choose/internal.h"

#include "base/bits.h"
#include "base/cpu.h"
#include "negatives/choose/place_blocks.h"

enum { WORD = 64, STAYS = (1 << UM_COUNT_BITS) - 1 };

/* --- single cells --------------------------------------------------------- */

/* Returns the word with the lowest bit of a cell's count. */
static uint64_t *word_of(const um_placing *p, uint64_t cell)
{
    uint64_t word = cell / WORD;

    if (!p->counted)
        return &p->count[word];
    if (p->words == 1)
        return &p->count[UM_COUNT_BITS * word];
    return &p->count[word / p->words * UM_COUNT_BITS * p->words +
                     word % p->words];
}

static uint64_t used_word(const um_placing *p, uint64_t cell)
{
    const uint64_t *w = word_of(p, cell);

    return p->counted ? um_counted(w, p->words) : um_le64(w[0]);
}

static void add_cell(const um_placing *p, uint64_t cell)
{
    uint64_t *w = word_of(p, cell), bit = (uint64_t)1 << cell % WORD;

    if (p->counted)
        um_count_up(w, p->words, bit);
    else
        *w |= um_le64(bit);
}

static void remove_cell(const um_placing *p, uint64_t cell)
{
    um_count_down(word_of(p, cell), p->words, (uint64_t)1 << cell % WORD);
}

static uint64_t used_in_block(const um_placing *p, uint64_t cell)
{
    uint64_t size = p->layout->cells / p->layout->blocks, used = 0;
    uint64_t first = cell / size * size;

    for (uint64_t i = 0; i < size; i += WORD)
        used += (uint64_t)__builtin_popcountll(used_word(p, first + i));
    return used;
}

/* Returns the cost of a group, as um_group_cost. */
static uint64_t cost_of(const um_placing *p, const uint64_t *pos)
{
    uint64_t clear = 0;

    for (uint32_t j = 0; j < p->layout->hashes; j++)
        clear += ~used_word(p, pos[j]) >> pos[j] % WORD & 1;
    if (p->layout->blocks == 1 || clear == 0)
        return clear;
    uint64_t used = used_in_block(p, pos[0]) + clear;
    return clear * used * used;
}

static uint32_t cheapest(const um_placing *p, const uint64_t *pos)
{
    uint64_t least = UINT64_MAX;
    uint32_t best = 0;

    for (uint32_t g = 0; g < p->groups && least; g++) {
        uint64_t cost = cost_of(p, pos + (size_t)g * p->layout->hashes);
        if (cost < least)
            least = cost, best = g;
    }
    return best;
}

/* --- any addressing ------------------------------------------------------- */

static void place_ahead(const um_placing *p, umbel_digest d, uint64_t *pos)
{
    size_t each = (size_t)p->groups * p->layout->hashes;

    um_group_cells(p->layout, p->groups, d, pos);
    for (size_t j = 0; j < each; j++)
        __builtin_prefetch(word_of(p, pos[j]), 1);
}

static void place_any(const um_placing *p, const umbel_digest *d, size_t n,
                      uint8_t *group, bool again, uint8_t *bits)
{
    uint64_t pos[UM_PLACE_AHEAD][UM_GROUPED_CELLS];
    uint32_t hashes = p->layout->hashes;

    for (size_t i = 0; i < n && i < UM_PLACE_AHEAD; i++)
        place_ahead(p, d[i], pos[i]);
    for (size_t i = 0; i < n; i++) {
        uint64_t *at = pos[i % UM_PLACE_AHEAD];
        const uint64_t *now = at + (size_t)(group[i] & 0xf) * hashes;
        for (uint32_t j = 0; again && j < hashes; j++)
            remove_cell(p, now[j]);
        uint32_t best = cheapest(p, at);
        const uint64_t *cells = at + (size_t)best * hashes;
        for (uint32_t j = 0; j < hashes; j++)
            add_cell(p, cells[j]);
        for (uint32_t j = 0; bits && j < hashes; j++)
            um_set_bit(bits, cells[j]);
        group[i] = (uint8_t)(best | best << 4);
        if (i + UM_PLACE_AHEAD < n)
            place_ahead(p, d[i + UM_PLACE_AHEAD], at);
    }
}

void um_place_blocks(const um_placing *p, const umbel_digest *d, size_t n,
                     uint8_t *group, bool again, uint8_t *bits)
{
    um_place_blocked(um_cost_plain, p, d, n, group, again, bits);
}

static um_place_fn *pick(const um_layout *l)
{
    if (l->cells / l->blocks != (uint64_t)UM_BLOCK_WORDS * WORD ||
        l->lanes != 8)
        return place_any;
#ifdef UM_HAVE_X86
    if (um_use_avx2())
        return um_place_blocks_avx2;
#endif
    return um_place_blocks;
}

/* --- the counts ----------------------------------------------------------- */

static void pin_cells(const um_placing *p, const uint8_t *bits)
{
    for (uint64_t i = 0; i < p->layout->cells; i += 8)
        for (uint64_t j = i; bits[i / 8] && j < i + 8; j++)
            for (int n = 0; um_bit(bits, j) && n < STAYS; n++)
                add_cell(p, j);
}

bool um_placing_init(um_placing *p, um_pool *pool, const um_layout *l,
                     uint32_t groups, bool counted, uint8_t *bits)
{
    uint64_t size = l->cells / l->blocks;
    uint64_t words = (l->cells + WORD - 1) / WORD;

    *p = (um_placing){.layout = l,
                      .groups = groups,
                      .words = 1,
                      .counted = counted,
                      .count = (uint64_t *)(void *)bits,
                      .place = pick(l)};
    if (l->blocks > 1 && size % WORD == 0)
        p->words = (uint32_t)(size / WORD);
    if (!counted)
        return bits != NULL;
    p->count =
        um_pool_get(pool, (size_t)words, UM_COUNT_BITS * sizeof *p->count);
    if (!p->count)
        return false;
    pin_cells(p, bits);
    return true;
}
