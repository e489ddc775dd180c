/*
 * negative_index.c - an index from cells to the patterns of unwanted keys.
 */
#include "negatives/choose/negative_index.h"

#include "base/error.h"

#include <inttypes.h>

/* Cells missing to a pattern that the members cannot cover. */
enum { OUT_OF_REACH = UINT8_MAX };

/*
 * A key that lacks one cell to match counts for this much of its weight. It
 * keeps members from coming so near that later ones cannot help it: less than a
 * thousandth leaves more keys matching, more than a fiftieth uses more cells.
 */
#define NEAR 0.005

/* Fills near[i], the weight of a key by a pattern that lacks i cells. */
static void set_near(um_negative_index *c)
{
    c->near[0] = 1;
    for (size_t i = 1; i < UM_COUNT(c->near); i++)
        c->near[i] = c->near[i - 1] * NEAR;
}

/* Returns the block of a blocked addressing: all cells of a group are in it. */
static uint64_t block_of(const um_negatives *of, umbel_digest d, uint32_t g)
{
    return um_scale(um_group_digest(d, g).lo, of->layout->blocks);
}

/* Returns true if no cell of the key is one of the members'. */
static bool is_far(const um_negative_index *c, size_t i)
{
    for (uint32_t g = 0; g < c->of.groups; g++)
        if (c->of.layout->blocks == 1 ||
            um_sieve_holds(&c->blocks, block_of(&c->of, c->of.never[i], g)))
            return false;
    return true;
}

static bool write_cells(um_negative_index *c)
{
    const um_negatives *of = &c->of;
    size_t each = (size_t)of->groups * of->layout->hashes, most = of->n * each;
    uint64_t pos[UM_GROUPED_CELLS];

    if (most > of->layout->cells)
        most = (size_t)of->layout->cells;
    if (!um_cell_map_init(&c->cells, &c->pool, most, of->layout->cells) ||
        !um_sieve_init(&c->blocks, &c->pool, of->n * of->groups))
        return false;
    for (size_t i = 0; i < of->n; i++) {
        um_group_cells(of->layout, of->groups, of->members[i], pos);
        for (size_t j = 0; j < each; j++)
            if (!um_bit(of->bits, pos[j]))
                um_cell_append(&c->cells, pos[j]);
        for (uint32_t g = 0; g < of->groups && of->layout->blocks > 1; g++)
            um_sieve_append(&c->blocks, block_of(of, of->members[i], g));
    }
    c->count = um_pool_get(&c->pool, c->cells.nslots, sizeof *c->count);
    c->bucket = um_pool_get(&c->pool, c->cells.nslots + 1, sizeof *c->bucket);
    return !c->pool.failed;
}

/*
 * Turns the cells of a pattern into the slots of those that are missing, each
 * once; returns their number, or OUT_OF_REACH.
 */
static uint8_t find_missing(const um_negative_index *c, uint64_t *pos)
{
    uint8_t n = 0;

    for (uint32_t i = 0; i < c->of.layout->hashes; i++) {
        if (um_bit(c->of.bits, pos[i]))
            continue;
        uint64_t slot = um_cell_place(&c->cells, pos[i]);
        bool known = false;
        if (!c->cells.slot[slot])
            return OUT_OF_REACH;
        for (uint8_t j = 0; j < n && !known; j++)
            known = pos[j] == slot;
        if (!known)
            pos[n++] = slot;
    }
    return n;
}

/* Counts the entries of a pattern into their buckets, or puts them there. */
static void enter_pattern(um_negative_index *c, const uint64_t *slot, uint8_t n,
                          uint32_t pattern, bool put)
{
    for (uint8_t j = 0; j < n; j++) {
        size_t *at = &c->bucket[slot[j]];
        if (put)
            c->entry[--*at] = pattern;
        else
            ++*at;
    }
}

/* Returns true if the key can match. Only then the next one has another
 * number. */
static bool enter_key(um_negative_index *c, size_t i, size_t key, bool put)
{
    uint64_t pos[UM_GROUPED_CELLS];
    bool within_reach = false;

    um_group_cells(c->of.layout, c->of.groups, c->of.never[i], pos);
    for (uint32_t g = 0; g < c->of.groups; g++) {
        uint64_t *cells = pos + (size_t)g * c->of.layout->hashes;
        uint8_t missing = find_missing(c, cells);
        uint32_t pattern = (uint32_t)(key * c->of.groups + g);
        if (put) {
            c->missing[pattern] = missing;
            c->covered[key] = (uint8_t)(c->covered[key] + (missing == 0));
        }
        if (missing == OUT_OF_REACH)
            continue;
        within_reach = true;
        enter_pattern(c, cells, missing, pattern, put);
    }
    return within_reach;
}

static void enter_all(um_negative_index *c, bool put)
{
    size_t key = 0;

    for (size_t i = 0; i < c->of.nnever; i++)
        if (c->of.weight[i] > 0 && !is_far(c, i) && enter_key(c, i, key, put)) {
            if (put) {
                c->weight[key] = c->of.weight[i];
                c->number[key] = i;
            }
            key++;
        }
    c->nkeys = key;
}

/* Counts become ends; putting entries moves them down to the beginnings. */
static size_t sum_buckets(um_negative_index *c)
{
    size_t sum = 0;

    for (size_t i = 0; i <= c->cells.nslots; i++)
        sum += c->bucket[i], c->bucket[i] = sum;
    return sum;
}

static bool index_keys(um_negative_index *c)
{
    um_pool *p = &c->pool;

    enter_all(c, false);
    c->entry = um_pool_get(p, sum_buckets(c), sizeof *c->entry);
    c->weight = um_pool_get(p, c->nkeys, sizeof *c->weight);
    c->number = um_pool_get(p, c->nkeys, sizeof *c->number);
    /* One more, for keys behind the last that can match. */
    c->missing = um_pool_get(p, (c->nkeys + 1) * c->of.groups, 1);
    c->covered = um_pool_get(p, c->nkeys + 1, sizeof *c->covered);
    if (p->failed)
        return false;
    enter_all(c, true);
    return true;
}

umbel_status um_negative_index_init(um_negative_index *c,
                                    const um_negatives *of,
                                    const umbel_alloc *alloc, umbel_error *err)
{
    *c = (um_negative_index){.of = *of};
    if (of->nnever > UINT32_MAX / of->groups)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%zu unwanted keys are too many: 2^32 with %" PRIu32
                       " groups",
                       of->nnever, of->groups);
    um_pool_init(&c->pool, alloc);
    set_near(c);
    if (!write_cells(c) || !index_keys(c))
        return um_fail(err, UMBEL_E_NOMEM,
                       "no memory to weigh %zu unwanted keys", of->nnever);
    return UMBEL_OK;
}

void um_negative_index_fini(um_negative_index *c)
{
    um_pool_fini(&c->pool);
}

/* Puts a cell into use; returns what um_negative_index_add returns. */
static double use(um_negative_index *c, uint64_t cell, size_t slot)
{
    double weight = 0;

    um_set_bit(c->of.bits, cell);
    for (size_t i = c->bucket[slot]; i < c->bucket[slot + 1]; i++) {
        uint32_t pattern = c->entry[i], key = pattern / c->of.groups;
        uint8_t left = --c->missing[pattern];
        if (c->covered[key] == 0)
            weight += c->weight[key] * (c->near[left] - c->near[left + 1]);
        if (left == 0)
            c->covered[key]++;
    }
    return weight;
}

static void disuse(um_negative_index *c, uint64_t cell, size_t slot)
{
    c->of.bits[cell >> 3] &= (uint8_t) ~(1u << (cell & 7));
    for (size_t i = c->bucket[slot]; i < c->bucket[slot + 1]; i++) {
        uint32_t pattern = c->entry[i];
        if (c->missing[pattern]++ == 0)
            c->covered[pattern / c->of.groups]--;
    }
}

double um_negative_index_add(um_negative_index *c, const uint64_t *pos)
{
    double weight = 0;

    for (uint32_t j = 0; j < c->of.layout->hashes; j++) {
        size_t slot = um_cell_place(&c->cells, pos[j]);
        if (c->cells.slot[slot] && c->count[slot]++ == 0)
            weight += use(c, pos[j], slot);
    }
    return weight;
}

void um_negative_index_remove(um_negative_index *c, const uint64_t *pos)
{
    for (uint32_t j = 0; j < c->of.layout->hashes; j++) {
        size_t slot = um_cell_place(&c->cells, pos[j]);
        if (c->cells.slot[slot] && --c->count[slot] == 0)
            disuse(c, pos[j], slot);
    }
}
