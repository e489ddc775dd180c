/*
 * tree.c - trees that are ranges of sorted items, computed during traversal.
 */
#include "papers/survey/reconcile/tree.h"

#include <umbel/base.h>
#include <umbel/filter.h>

#include <stdlib.h>

static uint64_t mixed(uint64_t x, uint64_t salt)
{
    um_rng r = {x ^ salt};
    return um_random(&r);
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = ((const um_item *)a)->place, y = ((const um_item *)b)->place;
    return (x > y) - (x < y);
}

void um_tree_items(const uint64_t *keys, size_t n, um_item *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (um_item){mixed(keys[i], 1), mixed(keys[i], 2)};
    qsort(out, n, sizeof *out, by_place);
}

/* Returns where the second half of a range begins: at the first bit in which
 * places differ. */
static size_t split(const um_item *item, size_t n)
{
    uint64_t differ = item[0].place ^ item[n - 1].place;
    uint64_t half = (uint64_t)1 << (63 - __builtin_clzll(differ));
    size_t low = 0, high = n - 1; /* the bit is 0 at low, 1 at high */

    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(item[middle].place & half ? &high : &low) = middle;
    }
    return high;
}

static uint64_t value_of(const um_item *item, size_t n)
{
    uint64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all ^= item[i].value;
    return um_le64(all);
}

umbel_status um_tree_send(const um_item *item, size_t n, um_tree_filters *f,
                          umbel_error *err)
{
    uint64_t value = value_of(item, n);
    umbel_status status = umbel_add_fixed(n > 1 ? f->nodes : f->leaves, &value,
                                          sizeof value, 1, NULL, err);

    if (status != UMBEL_OK || n == 1)
        return status;
    size_t at = split(item, n);
    status = um_tree_send(item, at, f, err);
    return status == UMBEL_OK ? um_tree_send(item + at, n - at, f, err)
                              : status;
}

typedef struct search {
    const um_tree_filters *f;
    uint64_t missing, asked;
    umbel_error *err;
} search;

static umbel_status go_down(search *s, const um_item *item, size_t n,
                            unsigned matches)
{
    uint64_t value = value_of(item, n);
    bool hit = false;
    umbel_status status =
        umbel_query_fixed(n > 1 ? s->f->nodes : s->f->leaves, &value,
                          sizeof value, 1, &hit, s->err);

    s->asked++;
    if (n == 1)
        s->missing += !hit;
    matches = hit ? matches + 1 : 0;
    if (status != UMBEL_OK || n == 1 || matches > TREE_CORRECTION)
        return status;
    size_t at = split(item, n);
    status = go_down(s, item, at, matches);
    return status == UMBEL_OK ? go_down(s, item + at, n - at, matches) : status;
}

umbel_status um_tree_search(const um_item *item, size_t n,
                            const um_tree_filters *f, uint64_t *missing,
                            uint64_t *asked, umbel_error *err)
{
    search s = {.f = f, .err = err};
    umbel_status status = go_down(&s, item, n, 0);

    *missing = s.missing;
    *asked = s.asked;
    return status;
}
