/*
 * round.c - one round of moving members away from negatives.
 *
 * Each affected member is removed and placed where the weight of the negatives
 * that match as a result, plus a small cost for every new cell, is least.
 */

#include "base/alloc.h"
#include "base/error.h"
#include "negatives/choose/internal.h"
#include "query/digest_set.h"

#include <inttypes.h>
#include <math.h>

/*
 * An index of the negatives that match while members are moved from group to
 * group.
 *
 * Every group of a negative is a pattern, a set of distinct cells. A pattern is
 * covered if all of them are in use, and a negative matches if one of its
 * patterns is covered. Only cells that the given members may use are counted,
 * and only negatives that these can cause to match are stored, so the index of
 * a large filter with few such members is small.
 */

/* The input of the index. */
typedef struct negatives {
    const um_layout *layout;
    uint32_t groups;
    uint8_t *bits;               /* the cells in use; kept up to date */
    const umbel_digest *members; /* that will be added and removed */
    size_t n;
    const umbel_digest *never;
    const double *weight; /* 0: the negative does not count */
    size_t nnever;
} negatives;

typedef struct negative_index {
    um_pool pool;
    negatives of;
    um_cell_index cells; /* cells of members, except those used by others */
    uint32_t *count;     /* members on each */
    double near[UM_MAX_HASHES + 2]; /* weight, by number of missing cells */

    um_prefilter blocks; /* with such cells; for blocked addressings */
    size_t nkeys;        /* negatives that may match */
    size_t *number;      /* index of each in the list */
    double *weight;      /* of each */
    uint8_t *missing;    /* per pattern: cells not in use */
    uint8_t *covered;    /* per negative: covered patterns */

    uint32_t *entry; /* patterns, grouped by cell */
    size_t *bucket;  /* start of each cell's group; one more than cells */
} negative_index;

/* Value of `missing` for a pattern that the members cannot cover. */
enum { OUT_OF_REACH = UINT8_MAX };

/*
 * A negative that is one cell short of matching counts for this part of its
 * weight. This keeps members from coming so close that later ones have no
 * choice: less than a thousandth leaves more negatives matching, more than a
 * fiftieth uses more cells.
 */
#define NEAR 0.005

/* Sets near[i] to the factor for a pattern with i missing cells. */
static void set_near(negative_index *c)
{
    c->near[0] = 1;
    for (size_t i = 1; i < UM_COUNT(c->near); i++)
        c->near[i] = c->near[i - 1] * NEAR;
}

/* Returns the block of a group in a blocked addressing, which contains all its
 * cells. */
static uint64_t block_of(const negatives *of, umbel_digest d, uint32_t g)
{
    return um_scale(um_group_digest(d, g).lo, of->layout->blocks);
}

/* Returns true if the negative has no cell in common with the members. */
static bool is_far(const negative_index *c, size_t i)
{
    for (uint32_t g = 0; g < c->of.groups; g++)
        if (c->of.layout->blocks == 1 ||
            um_prefilter_holds(&c->blocks, block_of(&c->of, c->of.never[i], g)))
            return false;
    return true;
}

static bool index_cells(negative_index *c)
{
    const negatives *of = &c->of;
    size_t each = (size_t)of->groups * of->layout->hashes, most = of->n * each;
    uint64_t pos[UM_GROUPED_CELLS];

    if (most > of->layout->cells)
        most = (size_t)of->layout->cells;
    if (!um_cell_index_init(&c->cells, &c->pool, most, of->layout->cells) ||
        !um_prefilter_init(&c->blocks, &c->pool, of->n * of->groups))
        return false;
    for (size_t i = 0; i < of->n; i++) {
        um_group_cells(of->layout, of->groups, of->members[i], pos);
        for (size_t j = 0; j < each; j++)
            if (!um_bit(of->bits, pos[j]))
                um_cell_add(&c->cells, pos[j]);
        for (uint32_t g = 0; g < of->groups && of->layout->blocks > 1; g++)
            um_prefilter_add(&c->blocks, block_of(of, of->members[i], g));
    }
    c->count = um_pool_get(&c->pool, c->cells.nslots, sizeof *c->count);
    c->bucket = um_pool_get(&c->pool, c->cells.nslots + 1, sizeof *c->bucket);
    return !c->pool.failed;
}

/*
 * Replaces the cells of a pattern by the slots of the missing ones, each once;
 * returns their number, or OUT_OF_REACH.
 */
static uint8_t find_missing(const negative_index *c, uint64_t *pos)
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

/* Counts the entries of a pattern in their buckets or, if put is set, stores
 * them. */
static void enter_pattern(negative_index *c, const uint64_t *slot, uint8_t n,
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

/* Enters a negative as number `key`. Returns true if it can match; otherwise
 * the next one gets the same number. */
static bool enter_key(negative_index *c, size_t i, size_t key, bool put)
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

static void enter_all(negative_index *c, bool put)
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

/* Turns the counts into ends of buckets; storing entries moves these down to
 * the beginnings. */
static size_t sum_buckets(negative_index *c)
{
    size_t sum = 0;

    for (size_t i = 0; i <= c->cells.nslots; i++)
        sum += c->bucket[i], c->bucket[i] = sum;
    return sum;
}

static bool index_keys(negative_index *c)
{
    um_pool *p = &c->pool;

    enter_all(c, false);
    c->entry = um_pool_get(p, sum_buckets(c), sizeof *c->entry);
    c->weight = um_pool_get(p, c->nkeys, sizeof *c->weight);
    c->number = um_pool_get(p, c->nkeys, sizeof *c->number);
    /* One more, for negatives after the last one that can match. */
    c->missing = um_pool_get(p, (c->nkeys + 1) * c->of.groups, 1);
    c->covered = um_pool_get(p, c->nkeys + 1, sizeof *c->covered);
    if (p->failed)
        return false;
    enter_all(c, true);
    return true;
}

/* Creates the index, without any member added. Release with
 * negative_index_fini, even after a failure. */
static umbel_status negative_index_init(negative_index *c, const negatives *of,
                                        const umbel_alloc *alloc,
                                        umbel_error *err)
{
    *c = (negative_index){.of = *of};
    if (of->nnever > UINT32_MAX / of->groups)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%zu unwanted keys are too many: 2^32 with %" PRIu32
                       " groups",
                       of->nnever, of->groups);
    um_pool_init(&c->pool, alloc);
    set_near(c);
    if (!index_cells(c) || !index_keys(c))
        return um_fail(err, UMBEL_E_NOMEM,
                       "no memory to weigh %zu unwanted keys", of->nnever);
    return UMBEL_OK;
}

static void negative_index_fini(negative_index *c)
{
    um_pool_fini(&c->pool);
}

/* Marks a cell as used; returns as negative_index_add. */
static double use(negative_index *c, uint64_t cell, size_t slot)
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

static void disuse(negative_index *c, uint64_t cell, size_t slot)
{
    c->of.bits[cell >> 3] &= (uint8_t) ~(1u << (cell & 7));
    for (size_t i = c->bucket[slot]; i < c->bucket[slot + 1]; i++) {
        uint32_t pattern = c->entry[i];
        if (c->missing[pattern]++ == 0)
            c->covered[pattern / c->of.groups]--;
    }
}

/*
 * Adds a member with these cells; returns the weight of the negatives that
 * match as a result, plus a little for those that came closer to matching.
 */
static double negative_index_add(negative_index *c, const uint64_t *pos)
{
    double weight = 0;

    for (uint32_t j = 0; j < c->of.layout->hashes; j++) {
        size_t slot = um_cell_place(&c->cells, pos[j]);
        if (c->cells.slot[slot] && c->count[slot]++ == 0)
            weight += use(c, pos[j], slot);
    }
    return weight;
}

/* Removes a member with these cells. */
static void negative_index_remove(negative_index *c, const uint64_t *pos)
{
    for (uint32_t j = 0; j < c->of.layout->hashes; j++) {
        size_t slot = um_cell_place(&c->cells, pos[j]);
        if (c->cells.slot[slot] && --c->count[slot] == 0)
            disuse(c, pos[j], slot);
    }
}

/*
 * Finds the affected members of a round: those on cells of negatives that
 * match.
 *
 * Almost no member is near such a negative. A prefilter of blocks, or of cells,
 * rejects the others without accessing the filter.
 */

enum { FIRST_ROOM = 256 };

static umbel_status no_memory(const um_choices *x, umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM,
                   "no memory for more than %zu members near unwanted keys",
                   x->n);
}

/* --- sets of cells -------------------------------------------------------- */

static bool init_near(um_near_cells *c, um_choices *x, size_t n)
{
    return um_cell_index_init(&c->cells, &x->pool, n, x->layout->cells) &&
           um_prefilter_init(&c->prefilter, &x->pool, n);
}

/* Adds a cell; the prefilter stores its block, or without blocks the cell
 * itself. */
static void index_near(um_near_cells *c, const um_layout *l, uint64_t cell)
{
    um_cell_add(&c->cells, cell);
    um_prefilter_add(&c->prefilter,
                     l->row->block > 1 ? cell / l->row->block : cell);
}

/*
 * Computes the cells of a member, and returns true if they may be in the set.
 * In a blocked addressing, most members are rejected by their block alone,
 * which is fast.
 */
static bool may_be_near(const um_near_cells *c, const um_choices *x,
                        umbel_digest d, uint64_t *pos)
{
    const um_layout *l = x->layout;

    if (x->by_block &&
        !um_prefilter_holds(&c->prefilter, um_scale(d.lo, l->blocks)))
        return false;
    l->row->positions(l, &d, 1, pos);
    for (uint32_t j = 0; j < l->hashes; j++)
        if (x->by_block || um_prefilter_holds(&c->prefilter, pos[j]))
            return true;
    return false;
}

/* --- affected members ----------------------------------------------------- */

enum { AHEAD = 16 }; /* keys whose cells are being prefetched */

/* Prefetches the first cell of each group, which decides for most. */
static void look_ahead(const um_choices *x, size_t from, size_t n,
                       uint64_t pos[][UM_GROUPED_CELLS])
{
    for (size_t i = 0; i < n; i++) {
        um_group_cells(x->layout, x->groups, x->never[from + i], pos[i]);
        for (uint32_t g = 0; g < x->groups; g++)
            __builtin_prefetch(
                &x->bits[pos[i][(size_t)g * x->layout->hashes] >> 3]);
    }
}

/* Counts the covered patterns of negatives, and marks these negatives. */
static size_t find_hot(um_choices *x)
{
    uint64_t pos[AHEAD][UM_GROUPED_CELLS];
    size_t n = 0;

    for (size_t from = 0, some; from < x->nnever; from += some) {
        some = x->nnever - from < AHEAD ? x->nnever - from : AHEAD;
        look_ahead(x, from, some, pos);
        for (size_t i = 0; i < some; i++)
            for (uint32_t g = 0; g < x->groups; g++)
                if (um_is_covered(x, pos[i] + (size_t)g * x->layout->hashes) &&
                    x->weight[from + i] > 0) {
                    x->matches[from + i] = true;
                    n++;
                }
    }
    return n;
}

/* Adds the cells of these patterns to the index. */
static void index_hot(um_choices *x)
{
    uint64_t pos[UM_GROUPED_CELLS];
    uint32_t hashes = x->layout->hashes;

    for (size_t i = 0; i < x->nnever; i++) {
        if (!x->matches[i])
            continue;
        um_group_cells(x->layout, x->groups, x->never[i], pos);
        for (uint32_t j = 0; j < x->groups * hashes; j++)
            if (um_is_covered(x, pos + (size_t)(j / hashes) * hashes))
                index_near(&x->hot, x->layout, pos[j]);
    }
}

umbel_status um_round_begin(um_choices *x, size_t most, size_t *matching,
                            umbel_error *err)
{
    um_pool_init(&x->pool, x->alloc);
    x->n = x->cap = 0;
    x->member = NULL;
    x->number = NULL;
    x->near = NULL;
    x->nnear = x->near_cap = 0;
    *matching = 0;
    if (x->groups == 1)
        return UMBEL_OK;
    x->matches = um_pool_get(&x->pool, x->nnever, sizeof *x->matches);
    if (!x->matches)
        return no_memory(x, err);
    size_t n = find_hot(x);
    *matching = n <= most ? n : 0;
    if (!*matching)
        return UMBEL_OK;
    if (!init_near(&x->hot, x, n * x->layout->hashes))
        return no_memory(x, err);
    index_hot(x);
    return UMBEL_OK;
}

static bool grow(um_choices *x)
{
    size_t cap = x->cap ? 2 * x->cap : FIRST_ROOM;
    umbel_digest *member = um_get(x->alloc, cap * sizeof *member);
    size_t *number = um_get(x->alloc, cap * sizeof *number);

    if (!member || !number) {
        um_put(x->alloc, member, cap * sizeof *member);
        um_put(x->alloc, number, cap * sizeof *number);
        return false;
    }
    if (x->n) {
        memcpy(member, x->member, x->n * sizeof *member);
        memcpy(number, x->number, x->n * sizeof *number);
    }
    um_put(x->alloc, x->member, x->cap * sizeof *member);
    um_put(x->alloc, x->number, x->cap * sizeof *number);
    x->member = member;
    x->number = number;
    x->cap = cap;
    return true;
}

static bool is_hot(const um_choices *x, const uint64_t *pos)
{
    for (uint32_t j = 0; j < x->layout->hashes; j++)
        if (um_cell_known(&x->hot.cells, pos[j]))
            return true;
    return false;
}

/* Stores a member that is not affected, but in a block of an affected one:
 * affected members have all their cells in such blocks, so no other members
 * need to be searched for. */
static bool append_near(um_choices *x, const umbel_digest *chosen)
{
    if (x->nnear == x->near_cap) {
        size_t cap = x->near_cap ? 2 * x->near_cap : FIRST_ROOM;
        umbel_digest *near = um_get(x->alloc, cap * sizeof *near);
        if (!near)
            return false;
        if (x->nnear)
            memcpy(near, x->near, x->nnear * sizeof *near);
        um_put(x->alloc, x->near, x->near_cap * sizeof *near);
        x->near = near;
        x->near_cap = cap;
    }
    x->near[x->nnear++] = *chosen;
    return true;
}

umbel_status um_round_collect(um_choices *x, size_t at, const umbel_digest *d,
                              size_t n, umbel_error *err)
{
    uint64_t pos[UM_MAX_HASHES];

    for (size_t i = 0; i < n; i++) {
        umbel_digest chosen = um_group_digest(d[i], x->group[at + i] & 0xf);
        if (!may_be_near(&x->hot, x, chosen, pos))
            continue;
        if (!is_hot(x, pos)) {
            if (x->by_block && !append_near(x, &chosen))
                return no_memory(x, err);
            continue;
        }
        if (x->n == x->cap && !grow(x))
            return no_memory(x, err);
        x->member[x->n] = d[i];
        x->number[x->n++] = at + i;
    }
    return UMBEL_OK;
}

/* --- cells used by others ------------------------------------------------- */

static umbel_digest chosen_of(const um_choices *x, size_t i)
{
    return um_group_digest(x->member[i], x->group[x->number[i]] & 0xf);
}

static void mark_kept(um_choices *x, const uint64_t *pos)
{
    for (uint32_t j = 0; j < x->layout->hashes; j++) {
        size_t slot = um_cell_place(&x->own.cells, pos[j]);
        if (x->own.cells.slot[slot])
            x->kept[slot] = true;
    }
}

umbel_status um_round_part(um_choices *x, umbel_error *err)
{
    const um_layout *l = x->layout;
    uint64_t pos[UM_MAX_HASHES];

    x->passed = 0;
    if (!init_near(&x->own, x, x->n * l->hashes))
        return no_memory(x, err);
    for (size_t i = 0; i < x->n; i++) {
        umbel_digest d = chosen_of(x, i);
        l->row->positions(l, &d, 1, pos);
        for (uint32_t j = 0; j < l->hashes; j++)
            index_near(&x->own, l, pos[j]);
    }
    x->kept = um_pool_get(&x->pool, x->own.cells.nslots, sizeof *x->kept);
    if (!x->kept)
        return no_memory(x, err);
    for (size_t i = 0; i < x->nnear; i++) {
        l->row->positions(l, &x->near[i], 1, pos);
        mark_kept(x, pos);
    }
    return UMBEL_OK;
}

void um_round_others(um_choices *x, size_t at, const umbel_digest *d, size_t n)
{
    uint64_t pos[UM_MAX_HASHES];

    for (size_t i = 0; i < n; i++) {
        umbel_digest chosen = um_group_digest(d[i], x->group[at + i] & 0xf);
        if (x->passed < x->n && x->number[x->passed] == at + i)
            x->passed++;
        else if (may_be_near(&x->own, x, chosen, pos))
            mark_kept(x, pos);
    }
}

/* Clears the cells that only affected members use. */
void um_round_consume_out(um_choices *x)
{
    for (size_t i = 0; i < x->own.cells.nslots; i++) {
        uint64_t cell = x->own.cells.slot[i] - 1;
        if (x->own.cells.slot[i] && !x->kept[i] && !um_bit(x->base, cell))
            x->bits[cell >> 3] &= (uint8_t) ~(1u << (cell & 7));
    }
}

void um_round_fini(um_choices *x)
{
    um_pool_fini(&x->pool);
    um_put(x->alloc, x->member, x->cap * sizeof *x->member);
    um_put(x->alloc, x->number, x->cap * sizeof *x->number);
    um_put(x->alloc, x->near, x->near_cap * sizeof *x->near);
}

enum { SWEEPS = 3 };

enum { MAX_MOVES = 16 }; /* per cell */

/* The affected members, and the effect of their moves. */
typedef struct moving {
    um_choices *x;
    um_digest_set equal; /* duplicates move together */
    negative_index index;
    um_pool pool;
    uint32_t *owner; /* by cell: member * groups + group that has it */
    size_t *first;   /* start of each cell's owners */
} moving;

/* A move of a member from one group to another. */
typedef struct move {
    size_t member;
    uint32_t from, to;
} move;

static void index_owners(moving *r, bool put)
{
    um_choices *x = r->x;
    uint32_t hashes = x->layout->hashes;
    uint64_t pos[UM_GROUPED_CELLS];

    for (size_t i = 0; i < x->n; i++) {
        if (!um_digest_set_is_first(&r->equal, i))
            continue;
        um_group_cells(x->layout, x->groups, x->member[i], pos);
        for (uint32_t j = 0; j < x->groups * hashes; j++) {
            size_t slot = um_cell_place(&r->index.cells, pos[j]);
            if (!r->index.cells.slot[slot])
                continue;
            if (put)
                r->owner[--r->first[slot]] =
                    (uint32_t)(i * x->groups + j / hashes);
            else
                r->first[slot]++;
        }
    }
}

static umbel_status find_owners(moving *r, umbel_error *err)
{
    size_t n = r->index.cells.nslots, sum = 0;

    um_pool_init(&r->pool, r->x->alloc);
    r->first = um_pool_get(&r->pool, n + 1, sizeof *r->first);
    if (!r->first)
        return no_memory(r->x, err);
    index_owners(r, false);
    for (size_t i = 0; i <= n; i++)
        sum += r->first[i], r->first[i] = sum;
    r->owner = um_pool_get(&r->pool, sum, sizeof *r->owner);
    if (!r->owner)
        return no_memory(r->x, err);
    index_owners(r, true);
    return UMBEL_OK;
}

/* Returns the cost of the new cells of a group; in blocks, it grows with the
 * fill. */
static double cost_of_cells(const um_choices *x, const uint64_t *pos)
{
    const um_layout *l = x->layout;
    double cost = (double)um_group_cost(l, x->bits, pos);
    double size = (double)l->cells / (double)l->blocks; /* whole */

    cost *= x->cell_cost;
    return l->blocks == 1 ? cost : cost / (size * size);
}

static double cost_of_group(moving *r, const uint64_t *pos, double least)
{
    double cost = cost_of_cells(r->x, pos);

    if (cost >= least)
        return INFINITY;
    cost += negative_index_add(&r->index, pos);
    negative_index_remove(&r->index, pos);
    return cost;
}

static uint32_t group_of(const moving *r, size_t i)
{
    return r->x->group[r->x->number[i]] & 0xf;
}

static void set_group(moving *r, size_t i, uint32_t group)
{
    uint8_t *choice = &r->x->group[r->x->number[i]];

    *choice = (uint8_t)((*choice & 0xf0) | group);
}

static void shift(moving *r, size_t i, uint32_t from, uint32_t to)
{
    um_choices *x = r->x;
    uint64_t pos[UM_GROUPED_CELLS];

    um_group_cells(x->layout, x->groups, x->member[i], pos);
    negative_index_remove(&r->index, pos + (size_t)from * x->layout->hashes);
    negative_index_add(&r->index, pos + (size_t)to * x->layout->hashes);
    set_group(r, i, to);
}

static bool has_cell(const um_choices *x, const uint64_t *pos, uint64_t cell)
{
    for (uint32_t j = 0; j < x->layout->hashes; j++)
        if (pos[j] == cell)
            return true;
    return false;
}

/* Moves a member off a cell; returns the cost, or INFINITY if it is
 * impossible. */
static double move_off(moving *r, uint64_t cell, move *m)
{
    um_choices *x = r->x;
    uint32_t hashes = x->layout->hashes;
    uint64_t pos[UM_GROUPED_CELLS];
    double least = INFINITY;

    um_group_cells(x->layout, x->groups, x->member[m->member], pos);
    negative_index_remove(&r->index, pos + (size_t)m->from * hashes);
    m->to = m->from;
    for (uint32_t g = 0; g < x->groups; g++) {
        const uint64_t *cells = pos + (size_t)g * hashes;
        double cost = g == m->from || has_cell(x, cells, cell)
                          ? INFINITY
                          : cost_of_group(r, cells, least);
        if (cost < least)
            least = cost, m->to = g;
    }
    negative_index_add(&r->index, pos + (size_t)m->to * hashes);
    set_group(r, m->member, m->to);
    return least;
}

static void undo(moving *r, const move *moves, size_t n)
{
    while (n--)
        shift(r, moves[n].member, moves[n].to, moves[n].from);
}

/* Moves all members off a cell. Returns the cost; if it is `most` or more,
 * moves none and returns INFINITY. */
static double clear_cell(moving *r, uint64_t cell, double most, move *moves,
                         size_t *n)
{
    size_t slot = um_cell_place(&r->index.cells, cell);
    double cost = 0;

    *n = 0;
    if (!r->index.cells.slot[slot])
        return INFINITY;
    for (size_t i = r->first[slot]; i < r->first[slot + 1]; i++) {
        size_t member = r->owner[i] / r->x->groups;
        uint32_t group = r->owner[i] % r->x->groups;
        if (group_of(r, member) != group)
            continue;
        if (*n < MAX_MOVES) {
            moves[*n] = (move){.member = member, .from = group};
            cost += move_off(r, cell, &moves[(*n)++]);
        } else {
            cost = INFINITY;
        }
        if (cost >= most) {
            undo(r, moves, *n);
            return INFINITY;
        }
    }
    return cost;
}

/* Clears the cheapest cell of a covered pattern, if that costs less than the
 * weight of the negative. */
static void uncover(moving *r, const uint64_t *pos, double weight)
{
    move moves[MAX_MOVES];
    uint32_t best = r->x->layout->hashes;
    size_t n;

    for (uint32_t j = 0; j < r->x->layout->hashes; j++) {
        double cost = clear_cell(r, pos[j], weight, moves, &n);
        if (cost >= weight)
            continue;
        undo(r, moves, n);
        weight = cost;
        best = j;
    }
    if (best < r->x->layout->hashes)
        clear_cell(r, pos[best], INFINITY, moves, &n);
}

/* Uncovers the negatives in the index; others are out of reach. */
static void uncover_keys(moving *r)
{
    um_choices *x = r->x;
    uint64_t pos[UM_GROUPED_CELLS];

    for (size_t i = 0; i < r->index.nkeys; i++) {
        size_t key = r->index.number[i];
        um_group_cells(x->layout, x->groups, x->never[key], pos);
        for (uint32_t g = 0; g < x->groups; g++) {
            const uint64_t *cells = pos + (size_t)g * x->layout->hashes;
            if (um_is_covered(x, cells))
                uncover(r, cells, x->weight[key]);
        }
    }
}

/* Returns the best group: the current one, unless another costs less. */
static uint32_t best_group(moving *r, const uint64_t *pos, uint32_t now)
{
    uint32_t hashes = r->x->layout->hashes, best = now;
    double least = cost_of_group(r, pos + (size_t)now * hashes, INFINITY);

    for (uint32_t g = 0; g < r->x->groups && least > 0; g++) {
        double cost = cost_of_group(r, pos + (size_t)g * hashes, least);
        if (g != now && cost < least)
            least = cost, best = g;
    }
    return best;
}

static void choose_member(moving *r, size_t i)
{
    um_choices *x = r->x;
    uint32_t now = group_of(r, i), hashes = x->layout->hashes;
    uint64_t pos[UM_GROUPED_CELLS];

    um_group_cells(x->layout, x->groups, x->member[i], pos);
    negative_index_remove(&r->index, pos + (size_t)now * hashes);
    uint32_t group = best_group(r, pos, now);
    negative_index_add(&r->index, pos + (size_t)group * hashes);
    set_group(r, i, group);
}

static void add_all(moving *r)
{
    um_choices *x = r->x;
    uint64_t pos[UM_MAX_HASHES];

    for (size_t i = 0; i < x->n; i++) {
        umbel_digest chosen = um_group_digest(x->member[i], group_of(r, i));
        if (!um_digest_set_is_first(&r->equal, i))
            continue;
        x->layout->row->positions(x->layout, &chosen, 1, pos);
        negative_index_add(&r->index, pos);
    }
}

static void group_duplicates(moving *r)
{
    um_choices *x = r->x;

    for (size_t i = 0; i < x->n; i++)
        set_group(
            r, i,
            group_of(r, um_digest_set_find(&r->equal, &x->member[i]) - 1));
}

umbel_status um_round_choose(um_choices *x, bool freely, umbel_error *err)
{
    const negatives of = {.layout = x->layout,
                          .groups = x->groups,
                          .bits = x->bits,
                          .members = x->member,
                          .n = x->n,
                          .never = x->never,
                          .weight = x->weight,
                          .nnever = x->nnever};
    moving r = {.x = x};
    umbel_status status;

    status = um_digest_set_init(&r.equal, x->alloc, x->member, x->n, err);
    if (status)
        goto done;
    status = negative_index_init(&r.index, &of, x->alloc, err);
    if (status)
        goto done;
    status = find_owners(&r, err);
    if (status)
        goto done;
    add_all(&r);
    for (int sweep = 0; sweep < (freely ? SWEEPS : 1); sweep++) {
        for (size_t i = 0; freely && i < x->n; i++)
            if (um_digest_set_is_first(&r.equal, i))
                choose_member(&r, i);
        uncover_keys(&r);
    }
    group_duplicates(&r);
done:
    um_digest_set_fini(&r.equal);
    negative_index_fini(&r.index);
    um_pool_fini(&r.pool);
    return status;
}
