/*
 * groups.c - bloom filters with a choice of digests: add and query.
 *
 * A key that is added goes where it costs least; among equals, to the first
 * group. In a filter of one block the cost is the number of new cells. In many
 * blocks that would draw keys to the fullest ones, and the error follows the
 * fullest; there a new cell costs about what it adds to the error of its block.
 * (A cell that a key owns twice counts twice.) Which cells are set so depends
 * on the order of the keys, but no key is ever denied.
 */
#include "kinds/groups.h"
#include "base/batch.h"

#include <math.h>

void um_group_cells(const um_layout *l, uint32_t groups, umbel_digest d,
                    uint64_t pos[UM_GROUPED_CELLS])
{
    umbel_digest each[UM_MAX_HASH_GROUPS];

    for (uint32_t g = 0; g < groups; g++)
        each[g] = um_group_digest(d, g);
    l->row->positions(l, each, groups, pos);
}

/* Digests of a batch that match by no group so far. */
typedef struct pending {
    umbel_digest digest[UM_BATCH];
    uint16_t at[UM_BATCH]; /* their places in the batch */
    size_t n;
} pending;

static void ask_batch(const um_bloom *b, um_ask *ask, const umbel_digest *d,
                      size_t n, bool *hit)
{
    pending p = {.n = 0};
    bool found[UM_BATCH];

    ask(b, d, n, hit);
    for (uint32_t g = 1; g < b->groups; g++) {
        p.n = 0;
        for (size_t i = 0; i < n; i++)
            if (!hit[i]) {
                p.digest[p.n] = um_group_digest(d[i], g);
                p.at[p.n++] = (uint16_t)i;
            }
        ask(b, p.digest, p.n, found);
        for (size_t j = 0; j < p.n; j++)
            hit[p.at[j]] = found[j];
    }
}

void um_groups_query(const um_bloom *b, um_ask *ask, const umbel_digest *d,
                     size_t n, bool *hit)
{
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        ask_batch(b, ask, d + done, some, hit + done);
    }
}

/*
 * A block with u cells in use gets the worse the more b new ones it takes, and
 * the more it has. b (u+b)^2 kept the error lowest, or nearly so, from 3 to 16
 * hashes; whole numbers, so that every machine chooses alike.
 */
uint64_t um_group_cost(const um_layout *l, const uint8_t *bits,
                       const uint64_t *pos)
{
    uint64_t clear = 0, size = l->cells / l->blocks;

    for (uint32_t j = 0; j < l->hashes; j++)
        clear += !um_bit(bits, pos[j]);
    if (l->blocks == 1 || clear == 0)
        return clear;
    uint64_t used = um_popcount(bits, pos[0] / size * size, size) + clear;
    return clear * used * used;
}

static bool add_one(const um_bloom *b, umbel_digest d)
{
    uint32_t hashes = b->layout->hashes;
    uint64_t pos[UM_GROUPED_CELLS], least = UINT64_MAX;
    const uint64_t *best = pos;

    um_group_cells(b->layout, b->groups, d, pos);
    for (uint32_t g = 0; g < b->groups && least; g++) {
        const uint64_t *cells = pos + (size_t)g * hashes;
        uint64_t cost = um_group_cost(b->layout, b->bits, cells);
        if (cost < least)
            least = cost, best = cells;
    }
    for (uint32_t j = 0; j < hashes; j++)
        um_set_bit(b->bits, best[j]);
    return least > 0;
}

size_t um_groups_add(const um_bloom *b, const umbel_digest *d, size_t n,
                     bool *fresh)
{
    size_t added = 0;

    for (size_t i = 0; i < n; i++) {
        bool new_key = add_one(b, d[i]);
        added += new_key;
        if (fresh)
            fresh[i] = new_key;
    }
    return added;
}

double um_groups_any(double chance, uint32_t groups)
{
    return groups == 1 ? chance : -expm1(groups * log1p(-chance));
}

/*
 * New cells of a key that takes the best of D groups, when a cell is unused
 * with chance q: the mean of the least of D binomial numbers, summed over its
 * tails.
 */
static double least_of(uint32_t groups, uint32_t hashes, double q)
{
    double term = pow(1 - q, hashes), tail = 1, sum = 0;

    for (uint32_t j = 1; j <= hashes; j++) {
        tail -= term; /* at least j of the cells are unused */
        if (!(tail > 0))
            break;
        sum += pow(tail, groups);
        term *= (hashes - j + 1.0) / j * q / (1 - q);
    }
    return sum;
}

/*
 * Keys that choose fill cells as fewer keys without choice would. Along the
 * throws x of the latter, the former pass at k q / least_of for each; q is
 * exp(-x). One cell in e^40 unused: full.
 */
#define STEP (1.0 / 64)
#define FULL 40.0

/* With choice, how many throws make as many cells used as x without. */
static double throws_spent(const um_layout *l, uint32_t groups, double x)
{
    double k = l->hashes, spent = 0;

    for (double at = 0; at < x && at < FULL; at += STEP) {
        double step = fmin(STEP, x - at), q = exp(-at - step / 2);
        spent += step * k * q / least_of(groups, l->hashes, q);
    }
    return spent;
}

/* The inverse. */
static double throws_worth(const um_layout *l, uint32_t groups, double spent)
{
    double k = l->hashes, at = 0, left = spent;

    while (at < FULL) {
        double q = exp(-at - STEP / 2);
        double cost = STEP * k * q / least_of(groups, l->hashes, q);
        if (cost >= left)
            return at + STEP * left / cost;
        left -= cost;
        at += STEP;
    }
    return fmin(spent, FULL);
}

double um_groups_error(const um_layout *l, uint32_t groups, double keys)
{
    if (groups == 1)
        return um_model_error(l, keys);
    double a_key = l->hashes / (double)l->cells;
    double worth = throws_worth(l, groups, keys * a_key) / a_key;
    return um_groups_any(um_model_error(l, worth), groups);
}

double um_groups_keys(const um_bloom *b, uint64_t used)
{
    const um_layout *l = b->layout;
    double a_key = l->hashes / (double)l->cells;
    double keys = um_model_keys(l, used);

    return isinf(keys) ? keys
                       : throws_spent(l, b->groups, keys * a_key) / a_key;
}
