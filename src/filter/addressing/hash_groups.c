/*
 * hash_groups.c - digests, cells and errors of filters with groups.
 *
 * A key is added with the group that costs least; among equals, the first. In a
 * filter of one block the cost is the number of new cells. With many blocks
 * that would attract keys to the fullest blocks, which determine the error;
 * there a new cell costs about what it adds to the error of its block. (A cell
 * that a key has twice counts twice.)
 */
#include "filter/addressing/hash_groups.h"

#include "base/bits.h"

#include <math.h>

void um_group_cells(const um_layout *l, uint32_t groups, umbel_digest d,
                    uint64_t pos[UM_GROUPED_CELLS])
{
    umbel_digest each[UM_MAX_HASH_GROUPS];

    for (uint32_t g = 0; g < groups; g++)
        each[g] = um_group_digest(d, g);
    l->row->positions(l, each, groups, pos);
}

/*
 * Returns the cost of setting these cells. With u cells in use and b new ones
 * in a block, b (u+b)^2 kept the error lowest, or nearly so, from 3 to 16
 * hashes. It is an integer, so that every machine chooses the same group.
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

uint32_t um_cheapest_group(const um_layout *l, uint32_t groups,
                           const uint8_t *bits,
                           const uint64_t pos[UM_GROUPED_CELLS], uint64_t *cost)
{
    uint32_t best = 0;

    *cost = UINT64_MAX;
    for (uint32_t g = 0; g < groups && *cost; g++) {
        uint64_t this_one = um_group_cost(l, bits, pos + (size_t)g * l->hashes);
        if (this_one < *cost)
            *cost = this_one, best = g;
    }
    return best;
}

double um_groups_any(double chance, uint32_t groups)
{
    return groups == 1 ? chance : -expm1(groups * log1p(-chance));
}

/* Returns x to the power n. Faster than pow: sizing makes many calls. */
static double power(double x, uint32_t n)
{
    double all = 1;

    for (; n; n >>= 1, x *= x)
        if (n & 1)
            all *= x;
    return all;
}

/*
 * Returns the expected number of new cells of a key that uses the best of D
 * groups, when a cell is unused with probability q: the mean of the minimum of
 * D binomial variables, summed over its tails.
 */
static double least_of(uint32_t groups, uint32_t hashes, double q)
{
    double term = power(1 - q, hashes), tail = 1, sum = 0;

    for (uint32_t j = 1; j <= hashes; j++) {
        tail -= term; /* at least j of the cells are unused */
        if (!(tail > 0))
            break;
        sum += power(tail, groups);
        term *= (hashes - j + 1.0) / j * q / (1 - q);
    }
    return sum;
}

/*
 * Keys with a choice fill cells as fewer keys without a choice would. For each
 * throw x of the latter, k q / least_of throws of the former are needed, with q
 * = exp(-x). The filter is full when one cell in e^40 is unused.
 */
#define STEP (1.0 / 64)
#define FULL 40.0

/* Returns the number of throws with choice that use as many cells as x throws
 * without. */
static double throws_spent(const um_layout *l, uint32_t groups, double x)
{
    double k = l->hashes, spent = 0;

    for (double at = 0; at < x && at < FULL; at += STEP) {
        double step = fmin(STEP, x - at), q = exp(-at - step / 2);
        spent += step * k * q / least_of(groups, l->hashes, q);
    }
    return spent;
}

/* Computes the inverse of throws_spent. */
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

double um_groups_keys(const um_layout *l, uint32_t groups, uint64_t used)
{
    double a_key = l->hashes / (double)l->cells;
    double keys = um_model_keys(l, used);

    return isinf(keys) ? keys : throws_spent(l, groups, keys * a_key) / a_key;
}
