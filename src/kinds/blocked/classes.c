/*
 * classes.c - the error of cells whose classes follow from each other.
 *
 * A key begins in any class and goes through k of them; within each its cell is
 * any. So the error is the mean over classes of the product of k fills. Large
 * filters are sampled: the product of the fills of a few cells of each class
 * has the right mean, as the cells are drawn anew each time. Admission relies
 * on it, so whoever makes a filter must not know which cells are looked at: the
 * system seeds the sample. Its figure varies by a few parts in a thousand.
 */
#include "base/rng.h"
#include "kinds/bloom/bloom.h"

#include <sodium.h>

enum {
    LOOKS = 1 << 24, /* at cells, in all: it bounds what a forged file costs */
    LEAST = 64,      /* of a class, at a time */
    TABLE = 4096     /* classes whose fill is kept */
};

typedef struct classes {
    const um_layout *layout;
    um_used_in *used;
    const void *cells;
    uint64_t n, step;     /* um_classes */
    uint64_t size, looks; /* cells of a class, and how many are looked at */
    um_rng rng;
    double fill[TABLE];
} classes;

static double look_at(classes *c, uint64_t class)
{
    uint64_t used = 0;

    for (uint64_t i = 0; i < c->looks; i++) {
        uint64_t at =
            c->looks < c->size ? um_random_below(&c->rng, c->size) : i;
        used += c->used(c->cells, class + at * c->n, 1);
    }
    return (double)used / (double)c->looks;
}

/* That a key which begins in the class matches. */
static double chance_from(classes *c, uint64_t class)
{
    const um_layout *l = c->layout;
    double product = 1;

    for (uint32_t j = 0; j < l->hashes && product > 0; j++) {
        product *= c->n <= TABLE ? c->fill[class] : look_at(c, class);
        class = class * c->step % c->n;
    }
    return product;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

double um_classes_sampled(const um_layout *l, um_used_in *used,
                          const void *cells, uint64_t seed)
{
    classes c = {.layout = l, .used = used, .cells = cells, .rng = {seed}};
    double sum = 0;

    c.n = um_classes(l, &c.step);
    if (c.n == 0) /* cells that do not follow from each other are one class */
        c.n = 1;
    c.size = l->cells / c.n;
    uint64_t most = LOOKS / l->hashes, share = most / c.n;
    c.looks = least(c.size, share > LEAST ? share : LEAST);
    for (uint64_t i = 0; c.n <= TABLE && i < c.n; i++)
        c.fill[i] = look_at(&c, i);
    uint64_t starts = least(c.n, most / c.looks);
    for (uint64_t i = 0; i < starts; i++)
        sum += chance_from(&c, starts < c.n ? um_random_below(&c.rng, c.n) : i);
    return sum / (double)starts;
}

double um_classes_chance(const um_layout *l, um_used_in *used,
                         const void *cells)
{
    uint64_t seed;

    randombytes_buf(&seed, sizeof seed);
    return um_classes_sampled(l, used, cells, seed);
}
