/*
 * extra.c - the exact error where keys choose lanes for their extra throws.
 *
 * Such lanes are not independent: a key that loads one leaves another alone,
 * so the product of single lanes (model.c) is up to 1.3 % too low or 4 % too
 * high, as measured. Inclusion and exclusion is exact. In a lane of
 * width w, the chance that u throws of a query meet used cells is a sum of
 * powers of the chance that a key's throw leaves s given cells alone:
 *
 *     u = 1:  1 - a(1)^t              a(s) = 1 - s/w, after t throws
 *     u = 2:  1 - (2 - 1/w) a(1)^t + (1 - 1/w) a(2)^t
 *
 * Multiplied over the lanes this is a sum of terms c * g^load, where g is the
 * mean of products over the lanes a key may start at; and the mean of g^load
 * over the loads of a block has the closed form (1 - (1-g)/blocks)^keys. The
 * terms nearly cancel, so they are summed in long double.
 */
#include "filter/extra.h"

#include <math.h>

enum { LANES = 8, MAX_THROWS = 2 };

typedef struct expansion {
    const um_layout *layout;
    double keys;
    bool tiny; /* the result will be, so every digit counts */
    long double coefficient[MAX_THROWS + 1][MAX_THROWS + 1]; /* [u][s] */
    long double sum; /* of terms that nearly cancel */
} expansion;

/* One choice of s in each lane before lane. */
typedef struct term {
    long double coefficient;
    long double base;         /* product of a(s)^throws */
    long double extra[LANES]; /* per start: product of a(s) over its lanes */
} term;

/* exp and log1p in double do for errors that are not tiny, and cost a tenth. */
static long double mean_power(const expansion *x, long double g)
{
    long double part = (g - 1) / (long double)x->layout->blocks;

    if (x->tiny)
        return expl(x->keys * log1pl(part));
    return exp(x->keys * log1p((double)part));
}

static void add_term(expansion *x, const term *t)
{
    long double g = 0;

    for (int start = 0; start < LANES; start++)
        g += t->extra[start];
    x->sum += t->coefficient * mean_power(x, g * t->base / LANES);
}

static bool covers(const um_layout *l, int start, int lane)
{
    return (uint32_t)((lane - start + LANES) % LANES) < l->extra;
}

/* The query starts at lane 0; all starts are alike. */
static void expand(expansion *x, const term *before, int lane)
{
    const um_layout *l = x->layout;

    if (lane == LANES) {
        add_term(x, before);
        return;
    }
    uint32_t u = l->throws + covers(l, 0, lane);
    for (uint32_t s = 0; s <= u; s++) {
        long double alone = 1 - s / (long double)l->width;
        term t = *before;
        t.coefficient *= x->coefficient[u][s];
        for (uint32_t i = 0; i < l->throws; i++)
            t.base *= alone;
        for (int start = 0; start < LANES; start++)
            if (covers(l, start, lane))
                t.extra[start] *= alone;
        expand(x, &t, lane + 1);
    }
}

bool um_extra_can(const um_layout *l)
{
    return l->extra && l->lanes == LANES && l->throws + 1 <= MAX_THROWS;
}

double um_extra_error(const um_layout *l, double keys, double about)
{
    long double w = (long double)l->width;
    expansion x = {.layout = l,
                   .keys = keys,
                   .tiny = about < 1e-6,
                   .coefficient = {{1}, {1, -1}, {1, -(2 - 1 / w), 1 - 1 / w}}};
    term one = {.coefficient = 1, .base = 1};

    for (int start = 0; start < LANES; start++)
        one.extra[start] = 1;
    expand(&x, &one, 0);
    return (double)x.sum;
}
