/*
 * place_blocks.h - places members on blocked512, with masks of a whole block.
 *
 * The body of um_place_blocks, which is compiled for any processor and for
 * AVX2, where its loops over eight words become vectors. Only counting the bits
 * of a block is different there.
 */
#ifndef UM_OPS_CHOOSE_BLOCKS_H
#define UM_OPS_CHOOSE_BLOCKS_H

#include "base/bits.h"
#include "filter/addressing/addressing.h"
#include "negatives/choose/internal.h"

/* Half a block, the size of an AVX2 register. */
enum { UM_HALF = UM_BLOCK_WORDS / 2 };
typedef uint64_t um_half __attribute__((vector_size(8 * UM_HALF)));

/* The cells of a digest in its block, computed as in
 * filter/addressing/addressing.c. */
typedef union um_block_mask {
    um_half half[2];
    uint64_t word[UM_BLOCK_WORDS];
} um_block_mask;

/* Adds the next cell of each used lane. */
UM_INLINE void um_add_cells(um_half *m, const uint64_t *used, uint64_t word,
                            const um_half *shifts)
{
    um_half first, words = {word, word, word, word};

    memcpy(&first, used, sizeof first);
    *m |= first << (words >> *shifts & 63);
}

UM_INLINE void um_create_mask(const um_layout *l, umbel_digest d,
                              um_block_mask *m)
{
    static const uint64_t all[UM_HALF] = {1, 1, 1, 1};
    const um_half low = {58, 52, 46, 40}, high = {34, 28, 22, 16};
    um_half x = {0}, y = {0};
    uint64_t word = d.hi;

    for (uint32_t left = l->throws; left; left--) {
        um_add_cells(&x, all, word, &low);
        um_add_cells(&y, all, word, &high);
        word = um_remix(word + d.lo);
    }
    if (l->extra) {
        const uint64_t *used = &um_lanes64[um_lanes_at(l) - (word & 7)];
        um_add_cells(&x, used, word, &low);
        um_add_cells(&y, used + UM_HALF, word, &high);
    }
    m->half[0] = x;
    m->half[1] = y;
}

UM_INLINE uint64_t um_used_word(const uint64_t *block, uint32_t i, bool counted)
{
    return counted ? um_counted(block + i, UM_BLOCK_WORDS) : block[i];
}

/* Returns the cost of a group, as um_group_cost, except that a cell that a key
 * has twice counts once. */
UM_INLINE uint64_t um_cost_plain(const uint64_t *block, const um_block_mask *m,
                                 bool counted)
{
    uint64_t clear = 0, used = 0;

    for (uint32_t i = 0; i < UM_BLOCK_WORDS; i++) {
        uint64_t in_use = um_used_word(block, i, counted);
        clear += (uint64_t)__builtin_popcountll(m->word[i] & ~in_use);
        used += (uint64_t)__builtin_popcountll(in_use);
    }
    used += clear;
    return clear * used * used;
}

UM_INLINE void um_write_in(uint64_t *block, const um_block_mask *m,
                           bool counted)
{
    for (uint32_t i = 0; !counted && i < UM_BLOCK_WORDS; i++)
        block[i] |= m->word[i];
    for (uint32_t i = 0; counted && i < UM_BLOCK_WORDS; i++)
        um_count_up(block + i, UM_BLOCK_WORDS, m->word[i]);
}

/* Sets the cells in a block of the filter itself. */
UM_INLINE void um_write_bits(uint8_t *bits, const um_block_mask *m)
{
    for (uint32_t i = 0; i < UM_BLOCK_WORDS; i++)
        um_store64(bits + (size_t)8 * i,
                   um_load64(bits + (size_t)8 * i) | m->word[i]);
}

UM_INLINE void um_consume_out(uint64_t *block, const um_block_mask *m)
{
    for (uint32_t i = 0; i < UM_BLOCK_WORDS; i++)
        um_count_down(block + i, UM_BLOCK_WORDS, m->word[i]);
}

/* The cells of a member in each group. */
typedef struct um_place_option {
    um_block_mask mask[UM_MAX_HASH_GROUPS];
    uint64_t *block[UM_MAX_HASH_GROUPS];
    uint64_t number[UM_MAX_HASH_GROUPS]; /* of these blocks */
} um_place_option;

typedef uint64_t um_cost_fn(const uint64_t *block, const um_block_mask *m,
                            bool counted);

/* Parameters known at compile time. */
typedef struct um_place_config {
    um_cost_fn *cost;
    uint32_t groups;
    bool counted, again;
    uint8_t *bits; /* as um_place_members takes them */
} um_place_config;

UM_INLINE uint32_t um_place_one(const um_place_option *o, uint32_t now,
                                um_place_config how)
{
    uint64_t least = UINT64_MAX;
    uint32_t best = 0;

    if (how.again)
        um_consume_out(o->block[now], &o->mask[now]);
    for (uint32_t g = 0; g < how.groups; g++) {
        uint64_t cost = how.cost(o->block[g], &o->mask[g], how.counted);
        best = cost < least ? g : best; /* branchless: unpredictable */
        least = cost < least ? cost : least;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): one at least */
    um_write_in(o->block[best], &o->mask[best], how.counted);
    if (how.bits)
        um_write_bits(how.bits + o->number[best] * UM_LINE, &o->mask[best]);
    return best;
}

/* Prefetches the blocks of a member, and computes its cells in advance. */
UM_INLINE void um_place_ahead(const um_placing *p, umbel_digest d,
                              um_place_option *o, um_place_config how)
{
    size_t stride = (size_t)UM_BLOCK_WORDS * (how.counted ? UM_COUNT_BITS : 1);

    for (uint32_t g = 0; g < how.groups; g++) {
        umbel_digest x = um_group_digest(d, g);
        uint64_t number = um_scale(x.lo, p->layout->blocks);
        uint64_t *b = p->count + number * stride;
        for (size_t i = 0; i < stride; i += UM_BLOCK_WORDS)
            __builtin_prefetch(b + i, 1);
        if (how.bits)
            __builtin_prefetch(how.bits + number * UM_LINE, 1);
        um_create_mask(p->layout, x, &o->mask[g]);
        for (uint32_t i = 0; !how.counted && i < UM_BLOCK_WORDS; i++)
            o->mask[g].word[i] = um_le64(o->mask[g].word[i]); /* as bits */
        o->block[g] = b;
        o->number[g] = number;
    }
}

UM_INLINE void um_place_some(const um_placing *p, const umbel_digest *d,
                             size_t n, uint8_t *group, um_place_config how)
{
    um_place_option o[UM_PLACE_AHEAD];

    for (size_t i = 0; i < n && i < UM_PLACE_AHEAD; i++)
        um_place_ahead(p, d[i], &o[i], how);
    for (size_t i = 0; i < n; i++) {
        um_place_option *at = &o[i % UM_PLACE_AHEAD];
        uint32_t best = um_place_one(at, group[i] & 0xf, how);
        group[i] = (uint8_t)(best | best << 4);
        if (i + UM_PLACE_AHEAD < n)
            um_place_ahead(p, d[i + UM_PLACE_AHEAD], at, how);
    }
}

/* Places members; compiled separately for two groups, the usual number. */
UM_INLINE void um_place_blocked(um_cost_fn *cost, const um_placing *p,
                                const umbel_digest *d, size_t n, uint8_t *group,
                                bool again, uint8_t *bits)
{
    um_place_config how = {cost, p->groups, p->counted, again, bits};

    if (how.groups != 2)
        um_place_some(p, d, n, group, how);
    else if (!how.counted)
        um_place_some(p, d, n, group,
                      (um_place_config){cost, 2, false, false, NULL});
    else if (!again)
        um_place_some(p, d, n, group,
                      (um_place_config){cost, 2, true, false, NULL});
    else
        um_place_some(p, d, n, group,
                      (um_place_config){cost, 2, true, true, bits});
}

#endif
