/*
 * choose_round.c - one round of moving members away from unwanted keys.
 *
 * Each member in question is taken out and goes where the weight of unwanted
 * keys that match from then on, and a little for every new cell, is least.
 */
#include "negatives/choose/round.h"

#include "base/alloc.h"
#include "base/error.h"
#include "query/digest_index.h"

#include <math.h>

enum { SWEEPS = 3 };

static umbel_status no_memory(const um_choices *x, umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM,
                   "no memory for more than %zu members near unwanted keys",
                   x->n);
}

enum { MAX_MOVES = 16 }; /* for one cell */

/* Members in question, and what their moves do. */
typedef struct moving {
    um_choices *x;
    um_digest_index equal; /* members that stand twice go together */
    um_negative_index index;
    um_pool pool;
    uint32_t *owner; /* by cell: members * groups + the group that has it */
    size_t *first;   /* where those of each cell begin */
} moving;

/* A member that goes from a group to another. */
typedef struct move {
    size_t member;
    uint32_t from, to;
} move;

static void write_owners(moving *r, bool put)
{
    um_choices *x = r->x;
    uint32_t hashes = x->layout->hashes;
    uint64_t pos[UM_GROUPED_CELLS];

    for (size_t i = 0; i < x->n; i++) {
        if (!um_digest_index_is_first(&r->equal, i))
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
    write_owners(r, false);
    for (size_t i = 0; i <= n; i++)
        sum += r->first[i], r->first[i] = sum;
    r->owner = um_pool_get(&r->pool, sum, sizeof *r->owner);
    if (!r->owner)
        return no_memory(r->x, err);
    write_owners(r, true);
    return UMBEL_OK;
}

/* New cells, in blocks the dearer the fuller the block is. */
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
    cost += um_negative_index_add(&r->index, pos);
    um_negative_index_remove(&r->index, pos);
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
    um_negative_index_remove(&r->index, pos + (size_t)from * x->layout->hashes);
    um_negative_index_add(&r->index, pos + (size_t)to * x->layout->hashes);
    set_group(r, i, to);
}

static bool has_cell(const um_choices *x, const uint64_t *pos, uint64_t cell)
{
    for (uint32_t j = 0; j < x->layout->hashes; j++)
        if (pos[j] == cell)
            return true;
    return false;
}

/* Moves a member off a cell; returns what that costs, or INFINITY. */
static double move_off(moving *r, uint64_t cell, move *m)
{
    um_choices *x = r->x;
    uint32_t hashes = x->layout->hashes;
    uint64_t pos[UM_GROUPED_CELLS];
    double least = INFINITY;

    um_group_cells(x->layout, x->groups, x->member[m->member], pos);
    um_negative_index_remove(&r->index, pos + (size_t)m->from * hashes);
    m->to = m->from;
    for (uint32_t g = 0; g < x->groups; g++) {
        const uint64_t *cells = pos + (size_t)g * hashes;
        double cost = g == m->from || has_cell(x, cells, cell)
                          ? INFINITY
                          : cost_of_group(r, cells, least);
        if (cost < least)
            least = cost, m->to = g;
    }
    um_negative_index_add(&r->index, pos + (size_t)m->to * hashes);
    set_group(r, m->member, m->to);
    return least;
}

static void undo(moving *r, const move *moves, size_t n)
{
    while (n--)
        shift(r, moves[n].member, moves[n].to, moves[n].from);
}

/* Moves all members off a cell; INFINITY, and nobody moved, when it costs too
 * much. */
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

/* Clears the cheapest cell of a pattern that is covered, if that costs less
 * than the key weighs. */
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

/* Keys that the index does not know are out of reach. */
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

/* The present group, unless another costs less. */
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
    um_negative_index_remove(&r->index, pos + (size_t)now * hashes);
    uint32_t group = best_group(r, pos, now);
    um_negative_index_add(&r->index, pos + (size_t)group * hashes);
    set_group(r, i, group);
}

static void add_all(moving *r)
{
    um_choices *x = r->x;
    uint64_t pos[UM_MAX_HASHES];

    for (size_t i = 0; i < x->n; i++) {
        umbel_digest chosen = um_group_digest(x->member[i], group_of(r, i));
        if (!um_digest_index_is_first(&r->equal, i))
            continue;
        x->layout->row->positions(x->layout, &chosen, 1, pos);
        um_negative_index_add(&r->index, pos);
    }
}

static void retain_together(moving *r)
{
    um_choices *x = r->x;

    for (size_t i = 0; i < x->n; i++)
        set_group(
            r, i,
            group_of(r, um_digest_index_find(&r->equal, &x->member[i]) - 1));
}

umbel_status um_round_choose(um_choices *x, bool freely, umbel_error *err)
{
    const um_negatives of = {.layout = x->layout,
                             .groups = x->groups,
                             .bits = x->bits,
                             .members = x->member,
                             .n = x->n,
                             .never = x->never,
                             .weight = x->weight,
                             .nnever = x->nnever};
    moving r = {.x = x};
    umbel_status status;

    status = um_digest_index_init(&r.equal, x->alloc, x->member, x->n, err);
    if (status)
        goto done;
    status = um_negative_index_init(&r.index, &of, x->alloc, err);
    if (status)
        goto done;
    status = find_owners(&r, err);
    if (status)
        goto done;
    add_all(&r);
    for (int sweep = 0; sweep < (freely ? SWEEPS : 1); sweep++) {
        for (size_t i = 0; freely && i < x->n; i++)
            if (um_digest_index_is_first(&r.equal, i))
                choose_member(&r, i);
        uncover_keys(&r);
    }
    retain_together(&r);
done:
    um_digest_index_fini(&r.equal);
    um_negative_index_fini(&r.index);
    um_pool_fini(&r.pool);
    return status;
}
