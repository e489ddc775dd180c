/*
 * exact_size.c - how many columns the first of two levels has.
 *
 * A column more takes a bit a member, and halves what the second level has to
 * tell from members.
 */
#include "ops/exact_size.h"

#include "kinds/ribbon.h"

#include <math.h>

static const um_ribbon_form one_column = {1, 0};

static double first_bits(double n, uint32_t columns)
{
    um_ribbon_form form = {columns, 0};
    return columns ? um_ribbon_guess(n, &form) : 0;
}

/* More pass by chance than are to be expected: four sigma. */
static double second_bits(double n, double pass)
{
    return um_ribbon_guess(n + pass + 4 * sqrt(pass), &one_column);
}

static double all_bits(double n, double listed, uint32_t columns)
{
    double pass = ldexp(listed, -(int)columns);
    return first_bits(n, columns) + (pass > 0 ? second_bits(n, pass) : 0);
}

uint32_t um_exact_smallest(double n, double listed)
{
    uint32_t best = listed > 0 && n > 0 ? 0 : 1;

    for (uint32_t r = best + 1; n > 0 && r <= UM_RIBBON_MOST_PRINT; r++)
        if (all_bits(n, listed, r) < all_bits(n, listed, best))
            best = r;
    return best;
}

/* The most that fit; where none do, those that leave the fewest keys. */
bool um_exact_within(double n, double listed, double bits, uint32_t *out)
{
    double fewest = INFINITY;

    for (uint32_t r = UM_RIBBON_MOST_PRINT; r-- > 0;)
        if (all_bits(n, listed, r + 1) <= bits) {
            *out = r + 1;
            return true;
        }
    for (uint32_t r = UM_RIBBON_MOST_PRINT + 1; r-- > 0;) {
        double pass = ldexp(listed, -(int)r);
        double room = bits - first_bits(n, r) - second_bits(n, 0);
        double left = room >= 0 ? pass - room : INFINITY;
        if (left < fewest - listed / 100) { /* else less error counts more */
            fewest = left;
            *out = r;
        }
    }
    return !isinf(fewest);
}

double um_exact_least(double n)
{
    return second_bits(n, 0);
}
