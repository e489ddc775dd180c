/*
 * chain_merge.c - two grown filters of RedisBloom become one.
 *
 * As BF.MERGE does it: a link joins one of the same size that contains it or
 * has room for its items; any other is appended. So the error of the result is
 * at most the sum of the errors, and to merge the same filter again changes
 * nothing.
 */
#include "kinds/scalable/chain.h"

#include "base/error.h"
#include "filter/handle.h"

#include <math.h>
#include <string.h>

/* What becomes of a link of the other filter: it is joined with one, or: */
enum { KNOWN = -1, APPENDED = -2 };

typedef struct merge_plan {
    int to[UM_CHAIN_MAX_LINKS];
    uint64_t items[UM_CHAIN_MAX_LINKS]; /* of the links that are, after it */
    uint64_t more_bits, more_links;
} merge_plan;

static umbel_status damaged(umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT,
                   "damaged: the sizes of its sub-filters contradict each "
                   "other");
}

static const uint8_t *bits_of(const umbel_filter *f, const um_chain_link *l)
{
    return um_chain_cells(f->self) + l->first / 8;
}

/* Returns true if every bit of a is set in b. */
static bool is_within(const uint8_t *a, const uint8_t *b, uint64_t nbits)
{
    for (uint64_t i = 0; i < nbits / 8; i++)
        if (a[i] & ~b[i])
            return false;
    return true;
}

/* Finds a link that takes another; false: the chain is damaged. */
static bool find_place(const umbel_filter *into, const umbel_filter *from,
                       const um_chain_link *other, merge_plan *p, int *to)
{
    um_chain_link l;

    *to = APPENDED;
    for (size_t i = 0; i < um_chain_links(into->self); i++) {
        if (!um_chain_link_at(into->self, i, &l))
            return false;
        if (l.nbits != other->nbits || l.hashes != other->hashes)
            continue;
        if (is_within(bits_of(from, other), bits_of(into, &l), l.nbits))
            return *to = KNOWN, true;
        bool newer =
            other->items >= p->items[i] &&
            is_within(bits_of(into, &l), bits_of(from, other), l.nbits);
        if (newer)
            return p->items[i] = other->items, *to = (int)i, true;
        if (*to == APPENDED && p->items[i] <= l.capacity &&
            other->items <= l.capacity - p->items[i])
            *to = (int)i;
    }
    if (*to >= 0)
        p->items[*to] += other->items;
    return true;
}

static umbel_status create_plan(const umbel_filter *into,
                                const umbel_filter *from, merge_plan *p,
                                umbel_error *err)
{
    um_chain_link l;

    for (size_t i = 0; i < um_chain_links(into->self); i++) {
        if (!um_chain_link_at(into->self, i, &l))
            return damaged(err);
        p->items[i] = l.items;
    }
    for (size_t i = 0; i < um_chain_links(from->self); i++) {
        if (!um_chain_link_at(from->self, i, &l) ||
            !find_place(into, from, &l, p, &p->to[i]))
            return damaged(err);
        if (p->to[i] == APPENDED) {
            p->more_bits += l.nbits;
            p->more_links++;
        }
    }
    return UMBEL_OK;
}

/* Copies the links that are, with their numbers and bits. */
static void copy_links(umbel_filter *to, const umbel_filter *f)
{
    um_chain_link l;

    for (size_t i = 0; i < um_chain_links(f->self); i++)
        if (um_chain_link_at(f->self, i, &l))
            um_chain_set_link(to->self, i, &l);
    memcpy(um_chain_cells(to->self), um_chain_cells(f->self),
           (size_t)(f->layout.cells / 8));
}

/* Makes a filter with room for what is appended. */
static umbel_status create_larger(const umbel_filter *into, const merge_plan *p,
                                  umbel_filter **out, umbel_error *err)
{
    um_shape s = *um_shape_of(into);

    if (s.attached)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a filter that carries data cannot get more "
                       "sub-filters: remove the data first");
    s.setting[0] += p->more_links;
    if (s.setting[0] > UM_CHAIN_MAX_LINKS ||
        p->more_bits > UM_MAX_CELLS - s.cells)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the result would have more than %d sub-filters",
                       UM_CHAIN_MAX_LINKS);
    s.cells += p->more_bits;
    UM_TRY(um_filter_create(&s, &into->alloc, out, err));
    copy_links(*out, into);
    return UMBEL_OK;
}

static void or_bits(uint8_t *to, const uint8_t *from, uint64_t nbits)
{
    for (uint64_t i = 0; i < nbits / 8; i++)
        to[i] |= from[i];
}

/* Writes the numbers of what is appended: places follow from all of them. */
static void append_links(umbel_filter *f, size_t links,
                         const umbel_filter *from, const merge_plan *p)
{
    um_chain_link l;

    for (size_t i = 0; i < um_chain_links(from->self); i++)
        if (p->to[i] == APPENDED && um_chain_link_at(from->self, i, &l))
            um_chain_set_link(f->self, links++, &l);
}

/* Carries the plan out on a filter that has room; links were there. */
static void consume_links(umbel_filter *f, size_t links,
                          const umbel_filter *from, const merge_plan *p)
{
    um_chain_link l, mine;

    append_links(f, links, from, p);
    for (size_t i = 0; i < links; i++)
        if (um_chain_link_at(f->self, i, &mine)) {
            mine.items = p->items[i];
            um_chain_set_link(f->self, i, &mine);
        }
    for (size_t i = 0; i < um_chain_links(from->self); i++) {
        size_t to = p->to[i] == APPENDED ? links++ : (size_t)p->to[i];
        if (p->to[i] != KNOWN && um_chain_link_at(from->self, i, &l) &&
            um_chain_link_at(f->self, to, &mine))
            or_bits(um_chain_cells(f->self) + mine.first / 8, bits_of(from, &l),
                    l.nbits);
    }
}

static uint64_t sum_of_items(const umbel_filter *f)
{
    uint64_t sum = 0;
    um_chain_link l;

    for (size_t i = 0; i < um_chain_links(f->self); i++)
        if (um_chain_link_at(f->self, i, &l))
            sum = l.items > UINT64_MAX - sum ? UINT64_MAX : sum + l.items;
    return sum;
}

umbel_status um_chain_merge(umbel_filter *into, const umbel_filter *from,
                            umbel_error *err)
{
    merge_plan p = {.more_bits = 0};
    size_t links = um_chain_links(into->self);
    umbel_filter *larger;

    UM_TRY(create_plan(into, from, &p, err));
    if (p.more_links) {
        UM_TRY(create_larger(into, &p, &larger, err));
        um_filter_swap_cells(into, larger);
        umbel_close(larger);
        into->fpr = fmin(0.999, into->fpr + from->fpr);
    }
    consume_links(into, links, from, &p);
    um_set_added(into, sum_of_items(into));
    return UMBEL_OK;
}
