/*
 * choose_near.c - who is in question in a round: members on the cells of
 * unwanted keys that match.
 *
 * Almost no member stands near such a key. A sieve of blocks, or of cells,
 * tells that of a member without a look at the filter.
 */
#include "negatives/choose/round.h"

#include "base/error.h"

enum { FIRST_ROOM = 256 };

static umbel_status no_memory(const um_choices *x, umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM,
                   "no memory for more than %zu members near unwanted keys",
                   x->n);
}

/* --- cells in question --- */

static bool init_near(um_near_cells *c, um_choices *x, size_t n)
{
    return um_cell_map_init(&c->cells, &x->pool, n, x->layout->cells) &&
           um_sieve_init(&c->sieve, &x->pool, n);
}

/* Blocks have neighbouring cells; without blocks every cell is sieved. */
static void write_near(um_near_cells *c, const um_layout *l, uint64_t cell)
{
    um_cell_append(&c->cells, cell);
    um_sieve_append(&c->sieve, l->row->block > 1 ? cell / l->row->block : cell);
}

/*
 * Returns true if the cells of a member, which it computes, may be among these.
 * Of a blocked addressing the block alone tells most apart, and is quick.
 */
static bool may_be_near(const um_near_cells *c, const um_choices *x,
                        umbel_digest d, uint64_t *pos)
{
    const um_layout *l = x->layout;

    if (x->by_block && !um_sieve_holds(&c->sieve, um_scale(d.lo, l->blocks)))
        return false;
    l->row->positions(l, &d, 1, pos);
    for (uint32_t j = 0; j < l->hashes; j++)
        if (x->by_block || um_sieve_holds(&c->sieve, pos[j]))
            return true;
    return false;
}

/* --- who is in question --- */

enum { AHEAD = 16 }; /* keys whose cells are on their way */

/* Fetches the first cell of each group: it decides for most. */
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

/* Counts the patterns of unwanted keys that are covered, and marks the keys. */
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

/* Puts the cells of these patterns into the map. */
static void write_hot(um_choices *x)
{
    uint64_t pos[UM_GROUPED_CELLS];
    uint32_t hashes = x->layout->hashes;

    for (size_t i = 0; i < x->nnever; i++) {
        if (!x->matches[i])
            continue;
        um_group_cells(x->layout, x->groups, x->never[i], pos);
        for (uint32_t j = 0; j < x->groups * hashes; j++)
            if (um_is_covered(x, pos + (size_t)(j / hashes) * hashes))
                write_near(&x->hot, x->layout, pos[j]);
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
    write_hot(x);
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

/* Members in question have all their cells in blocks of keys that match; others
 * there are kept aside, so that nobody has to look for them again. */
static bool retain_near(um_choices *x, const umbel_digest *chosen)
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
            if (x->by_block && !retain_near(x, &chosen))
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

/* --- what the others use --- */

static umbel_digest chosen_of(const um_choices *x, size_t i)
{
    return um_group_digest(x->member[i], x->group[x->number[i]] & 0xf);
}

static void retain_cells(um_choices *x, const uint64_t *pos)
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
            write_near(&x->own, l, pos[j]);
    }
    x->kept = um_pool_get(&x->pool, x->own.cells.nslots, sizeof *x->kept);
    if (!x->kept)
        return no_memory(x, err);
    for (size_t i = 0; i < x->nnear; i++) {
        l->row->positions(l, &x->near[i], 1, pos);
        retain_cells(x, pos);
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
            retain_cells(x, pos);
    }
}

/* From here on the bits are those of members that are not in question. */
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
