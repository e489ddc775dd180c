/*
 * negative_index.c - an index from cells to the patterns of unwanted keys.
 *
 * Entries (cell, pattern) lie in buckets: by cell where that takes no more room
 * than the entries, else by a mix of the cell, so that a large filter with few
 * unwanted keys stays cheap.
 */
#include "ops/negative_index.h"

#include "base/error.h"

#include <inttypes.h>

enum { MOST = UINT8_MAX, SPARSE = 4 };

/*
 * A key that lacks one cell to match counts for this much of its weight. It
 * keeps members from coming so near that later ones cannot help it: less than a
 * thousandth leaves more keys matching, more than a fiftieth uses more cells.
 */
#define NEAR 0.005

static double weight_of(const um_negative_index *c, size_t key)
{
    return c->weight ? c->weight[key] : 1;
}

static size_t bucket_of(const um_negative_index *c, uint64_t cell)
{
    if (c->nbuckets == c->layout->cells)
        return (size_t)cell;
    return (size_t)um_scale(um_group_mix(cell), c->nbuckets);
}

/* The different cells among n that are not in use for good. */
static uint32_t own_cells(const um_negative_index *c, uint64_t *pos, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++) {
        bool known = c->count[pos[i]] == MOST;
        for (uint32_t j = 0; j < kept && !known; j++)
            known = pos[j] == pos[i];
        if (!known)
            pos[kept++] = pos[i];
    }
    return kept;
}

/* Count the entries of a pattern into their buckets, or put them there. */
static void enter(um_negative_index *c, const uint64_t *pos, uint32_t n,
                  uint32_t pattern, bool put)
{
    for (uint32_t j = 0; j < n; j++) {
        size_t *at = &c->bucket[bucket_of(c, pos[j])];
        if (put)
            c->entry[--*at] = (um_negative_entry){pos[j], pattern};
        else
            ++*at;
    }
}

static void enter_all(um_negative_index *c, const umbel_digest *never, bool put)
{
    uint32_t hashes = c->layout->hashes;
    uint64_t pos[UM_GROUPED_CELLS];

    for (size_t i = 0; i < c->nkeys; i++) {
        um_group_cells(c->layout, c->groups, never[i], pos);
        for (uint32_t g = 0; g < c->groups; g++) {
            uint64_t *cells = pos + (size_t)g * hashes;
            uint32_t pattern = (uint32_t)(i * c->groups + g);
            uint32_t own = own_cells(c, cells, hashes);
            enter(c, cells, own, pattern, put);
            c->missing[pattern] = (uint8_t)own;
            c->covered[i] = (uint8_t)(c->covered[i] + (put && own == 0));
        }
    }
}

/* Counts become ends; putting entries moves them down to the beginnings. */
static void sum_buckets(um_negative_index *c)
{
    size_t sum = 0;

    for (size_t i = 0; i <= c->nbuckets; i++)
        sum += c->bucket[i], c->bucket[i] = sum;
}

/* Fills near[i], the weight of a key by a pattern that lacks i cells. */
static void set_near(um_negative_index *c)
{
    c->near[0] = 1;
    for (size_t i = 1; i < UM_COUNT(c->near); i++)
        c->near[i] = c->near[i - 1] * NEAR;
}

/* Cells that f has already are never taken out. */
static void take_cells(um_negative_index *c, const uint8_t *bits)
{
    memcpy(c->bits, bits, c->bits_len);
    for (uint64_t i = 0; i < c->layout->cells; i++)
        if (um_bit(bits, i))
            c->count[i] = MOST;
}

static bool get_memory(um_negative_index *c)
{
    um_pool *p = &c->pool;

    c->count = um_pool_get(p, (size_t)c->layout->cells, sizeof *c->count);
    c->bits = um_pool_get(p, c->bits_len, sizeof *c->bits);
    c->missing = um_pool_get(p, c->nkeys * c->groups, sizeof *c->missing);
    c->covered = um_pool_get(p, c->nkeys, sizeof *c->covered);
    c->entry = um_pool_get(p, c->nentries, sizeof *c->entry);
    c->bucket = um_pool_get(p, c->nbuckets + 1, sizeof *c->bucket);
    return !p->failed;
}

umbel_status um_negative_index_init(um_negative_index *c, const umbel_filter *f,
                                    const umbel_digest *never,
                                    const double *weight, size_t nnever,
                                    umbel_error *err)
{
    const um_layout *l = &f->layout;
    const um_row_bits *row = f->shape.kind->bits;

    *c = (um_negative_index){.layout = l,
                             .groups = row->groups(f->self),
                             .bits_len = (size_t)((l->cells + 7) / 8),
                             .nkeys = nnever,
                             .weight = weight};
    if (nnever > UINT32_MAX / c->groups)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%zu unwanted keys are too many: 2^32 with %" PRIu32
                       " groups",
                       nnever, c->groups);
    um_pool_init(&c->pool, &f->alloc);
    c->nentries = nnever * c->groups * l->hashes;
    c->nentries += c->nentries == 0;
    c->nbuckets =
        l->cells / SPARSE <= c->nentries ? (size_t)l->cells : c->nentries;
    if (!get_memory(c))
        return um_fail(err, UMBEL_E_NOMEM,
                       "no memory to weigh %zu unwanted keys", nnever);
    set_near(c);
    take_cells(c, row->cells(f->self));
    enter_all(c, never, false);
    sum_buckets(c);
    enter_all(c, never, true);
    return UMBEL_OK;
}

void um_negative_index_fini(um_negative_index *c)
{
    um_pool_fini(&c->pool);
}

/* Puts a cell into use; returns what um_negative_index_add returns. */
static double use(um_negative_index *c, uint64_t cell)
{
    size_t bucket = bucket_of(c, cell);
    double weight = 0;

    um_set_bit(c->bits, cell);
    for (size_t i = c->bucket[bucket]; i < c->bucket[bucket + 1]; i++) {
        uint32_t pattern = c->entry[i].pattern, key = pattern / c->groups;
        if (c->entry[i].cell != cell)
            continue;
        uint8_t left = --c->missing[pattern];
        if (c->covered[key] == 0)
            weight += weight_of(c, key) * (c->near[left] - c->near[left + 1]);
        if (left == 0)
            c->covered[key]++;
    }
    return weight;
}

static void disuse(um_negative_index *c, uint64_t cell)
{
    size_t bucket = bucket_of(c, cell);

    c->bits[cell >> 3] &= (uint8_t) ~(1u << (cell & 7));
    for (size_t i = c->bucket[bucket]; i < c->bucket[bucket + 1]; i++) {
        const um_negative_entry *e = &c->entry[i];
        if (e->cell == cell && c->missing[e->pattern]++ == 0)
            c->covered[e->pattern / c->groups]--;
    }
}

double um_negative_index_add(um_negative_index *c, const uint64_t *pos)
{
    double weight = 0;

    for (uint32_t j = 0; j < c->layout->hashes; j++) {
        uint8_t *count = &c->count[pos[j]];
        if (*count == 0)
            weight += use(c, pos[j]);
        if (*count < MOST)
            ++*count;
    }
    return weight;
}

void um_negative_index_remove(um_negative_index *c, const uint64_t *pos)
{
    for (uint32_t j = 0; j < c->layout->hashes; j++) {
        uint8_t *count = &c->count[pos[j]];
        if (*count < MOST && --*count == 0)
            disuse(c, pos[j]);
    }
}
