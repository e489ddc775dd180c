/*
 * bloom.c - one bit a cell (Bloom 1970).
 *
 * A key sets its cells; a query asks whether all of them are set. Nothing that
 * went in is ever denied, and a key that did not go in matches with a chance
 * that follows from the cells. One section: cells x 1 bit, cell i at bit i%8
 * of byte i/8.
 *
 * Union is OR. AND keeps every key of both, and false ones: its error lies
 * between that of the true intersection and that of either side. Keys cannot be
 * taken out again; where that is needed, count.
 *
 * Setting groups: a key may use one of this many digests
 * (filter/addressing/groups.h).
 */
#include "kinds/bloom/bloom.h"

#include "base/error.h"
#include "filter/addressing/groups.h"
#include "filter/fast.h"
#include "kinds/blocked/each.h"
#include "kinds/blocked/lanes.h"
#include "kinds/rows.h"

#include <math.h>

enum { GROUPS = UM_BLOOM_GROUPS };

static const umbel_setting_info settings[] = {
    [GROUPS] = {"groups", "digests a key may go by: a choice when it is added",
                1, UM_MAX_HASH_GROUPS, 1},
    {NULL, NULL, 0, 0, 0}};

/* What others read has no groups; and a choice wants cells that are random,
 * which those of a weak hash are not. */
static umbel_status check(const um_shape *s, umbel_error *err)
{
    if (s->addressing->foreign && s->setting[GROUPS] > 1)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "addressing %s is as others have it, without groups: "
                       "leave groups out, or choose another addressing",
                       s->addressing->name);
    return UMBEL_OK;
}

size_t um_bloom_sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = (um_section){.cells = s->cells, .cell_bits = 1};
    return 1;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    um_bloom *b = self;

    *b = (um_bloom){.layout = l,
                    .bits = memory[0],
                    .groups = (uint32_t)s->setting[GROUPS],
                    .lanes = um_lanes_at(l)};
    if (b->groups > 1) {
        um_shape one_group = *s;
        one_group.setting[GROUPS] = 1;
        b->fast = um_fast_pick(&one_group, l);
    }
}

UM_INLINE bool set_all(void *self, um_each_key key)
{
    uint8_t *bits = ((um_bloom *)self)->bits;
    uint32_t hashes = ((um_bloom *)self)->layout->hashes;
    bool fresh = false;

    for (uint32_t j = 0; j < hashes; j++)
        fresh |= um_set_bit(bits, key.pos[j]);
    return fresh;
}

UM_INLINE bool all_set(const void *self, const uint64_t *pos)
{
    const um_bloom *b = self;

    for (uint32_t j = 0; j < b->layout->hashes; j++)
        if (!um_bit(b->bits, pos[j]))
            return false;
    return true;
}

/* With groups, a key looks at several blocks. */
static bool local(const um_shape *s)
{
    return s->setting[GROUPS] == 1;
}

static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    const um_bloom *b = self;

    (void)amounts;
    if (b->groups > 1)
        return um_groups_add(b, d, n, fresh);
    return um_each_add(self, b->layout, NULL, set_all, d, NULL, n, fresh);
}

static void query_group(const void *self, const umbel_digest *d, size_t n,
                        bool *hit)
{
    const um_bloom *b = self;
    um_each_query(self, b->layout, NULL, all_set, d, n, hit);
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    const um_bloom *b = self;

    if (b->groups == 1)
        query_group(b, d, n, hit);
    else
        um_groups_query(b, b->fast ? b->fast->query : query_group, d, n, hit);
}

static umbel_status merge_bits(void *self, const void *from, umbel_merge_op op,
                               umbel_error *err)
{
    if (op == UMBEL_AND && ((um_bloom *)self)->groups > 1)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "filters with groups have no intersection: a key of "
                       "both may stand in another group there, and would be "
                       "denied");
    uint8_t *to = ((um_bloom *)self)->bits;
    const uint8_t *bits = ((const um_bloom *)from)->bits;
    size_t len = (size_t)((((const um_bloom *)from)->layout->cells + 7) / 8);

    if (op == UMBEL_OR)
        for (size_t i = 0; i < len; i++)
            to[i] |= bits[i];
    else
        for (size_t i = 0; i < len; i++)
            to[i] &= bits[i];
    return UMBEL_OK;
}

static void fold_bits(const um_bloom *to, const um_bloom *from, uint64_t by,
                      uint64_t cell, uint64_t word)
{
    for (; word; word &= word - 1) {
        uint64_t bit = cell + (uint64_t)__builtin_ctzll(word);
        um_set_bit(to->bits, um_fold_cell(from->layout, by, bit));
    }
}

/* Word by word; where whole words stay together (blocks) they move as such. */
static void fold(void *self, const void *from, uint64_t by)
{
    const um_bloom *to = self, *b = from;
    bool whole = b->layout->row->block % 64 == 0;

    for (uint64_t cell = 0; cell < b->layout->cells; cell += 64) {
        uint64_t word = um_load64(b->bits + cell / 8);
        if (!word)
            continue;
        if (!whole) {
            fold_bits(to, b, by, cell, word);
            continue;
        }
        uint8_t *at = to->bits + um_fold_cell(b->layout, by, cell) / 8;
        um_store64(at, um_load64(at) | word);
    }
}

static double error(const um_shape *s, const um_layout *l, double keys)
{
    return um_groups_error(l, (uint32_t)s->setting[GROUPS], keys);
}

/* Returns the share of a lane's cells in use, as throws meet them, and adds
 * these to *in_block. */
static double lane_fill(const um_layout *l, um_used_in *used, const void *cells,
                        uint64_t from, uint64_t *in_block)
{
    uint64_t hot = um_model_hot(l);
    uint64_t used_hot = hot ? used(cells, from, hot) : 0;
    uint64_t rest = used(cells, from + hot, l->width - hot);

    *in_block += used_hot + rest;
    return um_model_hit(l, used_hot, used_hot + rest);
}

/* The same for lanes of 64 bits whose cells are alike, which many filters have
 * millions of. */
static double word_fill(const uint8_t *bits, uint64_t from, uint64_t *in_block)
{
    uint64_t n = um_ones(um_load64(bits + from / 8));

    *in_block += n;
    return (double)n / 64;
}

/*
 * Chance that a key landing in this block matches: over the lanes where its
 * extra hashes may start, the product of the lanes' fills. Adds its cells in
 * use to *in_block.
 */
UM_INLINE double block_error(const um_layout *l, um_used_in *used,
                             const void *cells, uint64_t block, bool words,
                             uint64_t *in_block)
{
    uint32_t lanes = l->lanes;
    double fill[2 * UM_MAX_HASHES], everywhere = 1, sum = 0; /* lanes twice */

    for (uint32_t i = 0; i < lanes; i++) {
        uint64_t from = (block * lanes + i) * l->width;
        fill[i] = fill[lanes + i] =
            words ? word_fill(cells, from, in_block)
                  : lane_fill(l, used, cells, from, in_block);
        for (uint32_t t = 0; t < l->throws; t++)
            everywhere *= fill[i];
    }
    if (l->extra == 0)
        return everywhere;
    for (uint32_t start = 0; start < lanes; start++) {
        double product = 1;
        for (uint32_t i = 0; i < l->extra; i++)
            product *= fill[start + i];
        sum += product;
    }
    return everywhere * sum / lanes;
}

UM_INLINE um_bits_look look_at_blocks(const um_layout *l, um_used_in *used,
                                      const void *cells, bool words)
{
    um_bits_look found = {.used = 0};

    for (uint64_t i = 0; i < l->blocks; i++) {
        uint64_t in_block = 0;
        found.error += block_error(l, used, cells, i, words, &in_block);
        found.used += in_block;
        if (in_block > found.in_block)
            found.in_block = in_block, found.fullest = i;
    }
    found.error /= (double)l->blocks;
    return found;
}

void um_bloom_look(const um_layout *l, um_used_in *used, const void *cells,
                   um_bits_look *out)
{
    bool words = used == um_bits_used_in && l->width == 64 && !um_range(l);
    um_bits_look found = words ? look_at_blocks(l, used, cells, true)
                               : look_at_blocks(l, used, cells, false);

    if (um_classes(l, NULL))
        found.error = um_classes_chance(l, used, cells);
    *out = found;
}

double um_bloom_chance(const um_layout *l, um_used_in *used, const void *cells)
{
    um_bits_look found;

    if (um_classes(l, NULL))
        return um_classes_chance(l, used, cells);
    um_bloom_look(l, used, cells, &found);
    return found.error;
}

uint64_t um_bits_used_in(const void *bits, uint64_t from, uint64_t n)
{
    return um_popcount(bits, from, n);
}

static void look(const void *self, um_bits_look *out)
{
    const um_bloom *b = self;

    um_bloom_look(b->layout, um_bits_used_in, b->bits, out);
    out->error = um_groups_any(out->error, b->groups);
}

static double predict(const void *self)
{
    um_bits_look found;

    look(self, &found);
    return found.error;
}

static uint64_t used(const void *self, const void *other)
{
    const um_bloom *b = self;

    if (!other)
        return um_popcount(b->bits, 0, b->layout->cells);
    return um_popcount_or(b->bits, ((const um_bloom *)other)->bits,
                          b->layout->cells);
}

static uint8_t *cells_of(void *self)
{
    return ((um_bloom *)self)->bits;
}

static uint32_t groups_of(const void *self)
{
    return ((const um_bloom *)self)->groups;
}

static double keys(const void *self, uint64_t used_cells)
{
    const um_bloom *b = self;
    return b->groups > 1 ? um_groups_keys(b->layout, b->groups, used_cells)
                         : NAN;
}

static const um_row_bits bits = {.used = used,
                                 .look = look,
                                 .cells = cells_of,
                                 .groups = groups_of,
                                 .keys = keys};

static const um_row_merge merge = {.ops = 1u << UMBEL_OR | 1u << UMBEL_AND,
                                   .cells = merge_bits};

const um_kind um_kind_bloom = {
    .name = "bloom",
    .summary = "a set, one bit per cell; merges and folds",
    .settings = settings,
    .self_len = sizeof(um_bloom),
    .check = check,
    .sections = um_bloom_sections,
    .attach = attach,
    .local = local,
    .add = add,
    .query = query,
    .fold = fold,
    .error = error,
    .predict = predict,
    .shared = &um_bloom_shared,
    .bits = &bits,
    .merge = &merge,
    .paged = &um_paged_cells,
};
