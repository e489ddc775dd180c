/*
 * chain.c - kind chain: a RedisBloom filter that has grown, a chain of
 * sub-filters.
 *
 * When the last link is full, a new one is appended, with its capacity
 * multiplied by the expansion and half its error. A key matches if it matches
 * in any link. Links use the addressing redisbloom.
 *
 *   section 0   the bits of all links, one after the other
 *   section 1   six numbers for each link: its bits, its items, its error and
 *               its bits per item (doubles), its capacity, and in the last its
 *               hashes (32 bits) and the logarithm of its size (8 bits)
 *
 * BF.SCANDUMP has the same data in another order, so filters can be imported
 * and exported bit for bit (foreign/redisbloom.c). The numbers may come from
 * anyone: links are located from the end of the bits, and one that would begin
 * before the first bit ends the iteration.
 *
 * When not to use it: a query reads every link, and a filter that grew from 100
 * to 10 million keys takes twice the memory of kind scalable.
 */

#include "base/bits.h"
#include "base/error.h"
#include "filter/addressing/addressing.h"
#include "filter/handle.h"
#include "kinds/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LINKS };          /* index of the setting */
enum { MAX_DEALT = 64 }; /* links in a forecast, at most */

static const umbel_setting_info settings[] = {
    [LINKS] = {"links", "sub-filters; it gets more by itself", 1,
               UM_CHAIN_MAX_LINKS, 1},
    {NULL, NULL, 0, 0, 0}};

/* Indices of the numbers of a link. */
enum { BITS, ITEMS, ERROR, BITS_PER_ITEM, CAPACITY, HASHES, NUMBERS };

typedef struct chain {
    uint8_t *bits, *table;
    uint64_t cells, links;
    uint64_t expansion; /* encoded as in the head */
    /* Parameters of the first link, if there is none yet. */
    uint64_t capacity;
    double fpr;
    uint32_t hashes;
    size_t done; /* keys that the last add processed */
} chain;

/* --- links ---------------------------------------------------------------- */

static uint8_t *number_at(const chain *c, uint64_t link, unsigned number)
{
    return c->table + 8 * (link * NUMBERS + number);
}

static double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void read_link(const chain *c, uint64_t i, um_chain_link *l)
{
    uint64_t last = um_load64(number_at(c, i, HASHES));

    l->nbits = um_load64(number_at(c, i, BITS));
    l->items = um_load64(number_at(c, i, ITEMS));
    l->error = double_of(um_load64(number_at(c, i, ERROR)));
    l->bits_per_item = double_of(um_load64(number_at(c, i, BITS_PER_ITEM)));
    l->capacity = um_load64(number_at(c, i, CAPACITY));
    l->hashes = (uint32_t)last;
    l->log2 = (uint8_t)(last >> 32);
}

static void write_link(const chain *c, uint64_t i, const um_chain_link *l)
{
    um_store64(number_at(c, i, BITS), l->nbits);
    um_store64(number_at(c, i, ITEMS), l->items);
    um_store64(number_at(c, i, ERROR), bits_of(l->error));
    um_store64(number_at(c, i, BITS_PER_ITEM), bits_of(l->bits_per_item));
    um_store64(number_at(c, i, CAPACITY), l->capacity);
    um_store64(number_at(c, i, HASHES), l->hashes | (uint64_t)l->log2 << 32);
}

/* An iterator over the links, newest first. */
typedef struct walk {
    uint64_t next;  /* number of links left */
    uint64_t first; /* offset of the bits of the current one */
} walk;

static walk walk_begin(const chain *c)
{
    return (walk){c->links, c->cells};
}

static bool walk_next(const chain *c, walk *w, um_chain_link *l)
{
    if (w->next == 0)
        return false;
    read_link(c, --w->next, l);
    if (l->nbits == 0 || l->nbits % 8 || l->nbits > w->first ||
        l->hashes == 0 || l->hashes > UM_CHAIN_MAX_HASHES)
        return w->next = 0, false;
    w->first -= l->nbits;
    l->first = w->first;
    return true;
}

size_t um_chain_links(const void *self)
{
    return (size_t)((const chain *)self)->links;
}

bool um_chain_link_at(const void *self, size_t i, um_chain_link *out)
{
    walk w = walk_begin(self);

    while (walk_next(self, &w, out))
        if (w.next == i)
            return true;
    return false;
}

void um_chain_set_link(void *self, size_t i, const um_chain_link *l)
{
    write_link(self, i, l);
}

uint8_t *um_chain_cells(void *self)
{
    return ((chain *)self)->bits;
}

/* Sets *all if all cells of the digest are set. Returns the number of cells
 * read: up to the first that is not set. */
static uint32_t count_set(const chain *c, const um_chain_link *l,
                          const umbel_digest *d, bool *all)
{
    uint32_t j = 0;

    *all = true;
    while (j < l->hashes && *all)
        *all =
            um_bit(c->bits, l->first + um_redisbloom_cell(*d, j++, l->nbits));
    return j;
}

static bool has_key(const chain *c, const umbel_digest *d)
{
    walk w = walk_begin(c);
    um_chain_link l;
    bool found = false;

    while (!found && walk_next(c, &w, &l))
        count_set(c, &l, d, &found);
    return found;
}

/* Computes the numbers of the link that follows last, except its offset. */
static bool plan_next(const chain *c, const um_chain_link *last,
                      um_chain_link *out)
{
    uint32_t times = um_redisbloom_expansion(c->expansion);
    double capacity = (double)last->capacity * (times ? times : 1);
    double error = last->error / 2;

    if (!(error > 0 && error < 1) || !(capacity >= 1 && capacity < 0x1p62))
        return false;
    double per_item = um_redisbloom_bits_per_item(error);
    double bits = um_redisbloom_bits(capacity, per_item);
    double hashes = um_redisbloom_hashes(per_item);
    if (!(bits < (double)UM_MAX_CELLS) || hashes > UM_CHAIN_MAX_HASHES)
        return false;
    *out = (um_chain_link){.nbits = (uint64_t)bits,
                           .error = error,
                           .bits_per_item = per_item,
                           .capacity = last->capacity * (times ? times : 1),
                           .hashes = (uint32_t)hashes};
    return true;
}

/* --- shapes --------------------------------------------------------------- */

static size_t sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = (um_section){.cells = s->cells, .cell_bits = 1};
    out[1] =
        (um_section){.cells = NUMBERS * s->setting[LINKS], .cell_bits = 64};
    return 2;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    (void)l;
    *(chain *)self = (chain){.bits = memory[0],
                             .table = memory[1],
                             .cells = s->cells,
                             .links = s->setting[LINKS],
                             .expansion = s->expansion,
                             .capacity = s->capacity,
                             .fpr = s->fpr,
                             .hashes = s->hashes};
}

/* Creates the first link; its bits per item may be any number that gives its
 * hashes. */
static void start(void *self)
{
    const chain *c = self;
    um_chain_link l = {.nbits = c->cells,
                       .error = c->fpr / 2,
                       .bits_per_item = um_redisbloom_per_item(c->hashes),
                       .capacity = c->capacity ? c->capacity : 1,
                       .hashes = c->hashes};
    double usual = um_redisbloom_bits_per_item(l.error);

    if (um_redisbloom_hashes(usual) == c->hashes)
        l.bits_per_item = usual;
    if (c->links == 1)
        write_link(c, 0, &l);
}

/* Counts the numbers below d that are coprime to it. */
static uint32_t totient(uint32_t d)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i <= d; i++) {
        uint32_t a = i, b = d;
        while (b) {
            uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        n += a == 1;
    }
    return n;
}

/*
 * Returns the error of a link from its fill. The cells of a key are equal steps
 * mod the size. If d divides the size, steps of totient(d) lengths repeat after
 * d cells, so such a key has only d cells. It matters for small links: at 1,152
 * bits it adds 0.08 %.
 */
static double link_error(uint64_t nbits, uint32_t hashes, double fill)
{
    double all = pow(fill, hashes), error = all;

    for (uint32_t d = 1; d < hashes && d < UM_MAX_HASHES; d++)
        if (nbits % d == 0)
            error += totient(d) / (double)nbits * (pow(fill, d) - all);
    return fmin(1, error);
}

/* Distributes the keys over the links of a filter that grows from its first
 * one. */
static double error(const um_shape *s, const um_layout *l, double keys)
{
    double times = um_redisbloom_expansion(s->expansion);
    double capacity = fmax(1, (double)s->capacity), none = 1;
    double share = s->fpr / 2;

    (void)l;
    for (int i = 0; keys > 0 && i < MAX_DEALT; i++) {
        double some = fmin(keys, capacity);
        double per_item = um_redisbloom_bits_per_item(share);
        double nbits = um_redisbloom_bits(capacity, per_item);
        double hashes = um_redisbloom_hashes(per_item);
        none *= 1 - link_error((uint64_t)fmin(nbits, 0x1p62), (uint32_t)hashes,
                               1 - exp(-hashes * some / nbits));
        keys -= some;
        capacity *= fmax(1, times);
        share /= 2;
    }
    return 1 - none;
}

/* --- keys ----------------------------------------------------------------- */

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    for (size_t i = 0; i < n; i++)
        hit[i] = has_key(self, &d[i]);
}

/* The number of cells per key follows from the table of links, and may be more
 * than a million in a forged file. */
static uint64_t query_within(const void *self, const umbel_digest *d, size_t n,
                             bool *hit, uint64_t limit)
{
    enum { LINK_READS = NUMBERS + UM_CHAIN_MAX_HASHES };
    const chain *c = self;
    uint64_t reads = 0;

    for (size_t i = 0; i < n; i++) {
        walk w = walk_begin(c);
        um_chain_link l;
        hit[i] = false;
        while (!hit[i]) {
            if (limit < LINK_READS || reads > limit - LINK_READS)
                return limit + 1;
            if (!walk_next(c, &w, &l))
                break;
            reads += NUMBERS + count_set(c, &l, &d[i], &hit[i]);
        }
    }
    return reads;
}

/* Adds keys until the last link is full. */
static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    chain *c = self;
    um_chain_link last;
    walk w = walk_begin(c);
    size_t added = 0;
    bool room = walk_next(c, &w, &last);

    (void)amounts;
    for (c->done = 0; c->done < n; c->done++) {
        const umbel_digest *one = &d[c->done];
        bool known = has_key(c, one);
        if (!known && (!room || last.items >= last.capacity))
            break;
        for (uint32_t j = 0; !known && j < last.hashes; j++)
            um_set_bit(c->bits,
                       last.first + um_redisbloom_cell(*one, j, last.nbits));
        last.items += !known;
        added += !known;
        if (fresh)
            fresh[c->done] = !known;
    }
    if (room)
        write_link(c, c->links - 1, &last);
    return added;
}

static size_t done(const void *self)
{
    return ((const chain *)self)->done;
}

static umbel_status larger(const void *self, um_shape *s, umbel_error *err)
{
    const chain *c = self;
    um_chain_link last, next;
    walk w = walk_begin(c);

    if (um_chain_is_fixed(s->expansion))
        return um_fail(err, UMBEL_E_FULL,
                       "the filter is full, and was made not to grow "
                       "(NONSCALING)");
    if (c->links == UM_CHAIN_MAX_LINKS || !walk_next(c, &w, &last) ||
        !plan_next(c, &last, &next) || next.nbits > UM_MAX_CELLS - s->cells)
        return um_fail(err, UMBEL_E_FULL,
                       "the filter is full, and its next sub-filter would be "
                       "too large");
    s->cells += next.nbits;
    s->setting[LINKS]++;
    return UMBEL_OK;
}

static bool move(void *self, const void *from)
{
    const chain *to = self, *old = from;
    um_chain_link last, next;
    walk w = walk_begin(old);

    if (to->links != old->links + 1 || !walk_next(old, &w, &last) ||
        !plan_next(old, &last, &next))
        return true; /* larger() has refused it before */
    memcpy(to->bits, old->bits, (size_t)(old->cells / 8));
    memcpy(to->table, old->table, (size_t)old->links * NUMBERS * 8);
    write_link(to, old->links, &next);
    return true;
}

static const um_row_growing growing = {
    .done = done, .larger = larger, .move = move};

/* --- predictions and description ------------------------------------------ */

static double predict(const void *self)
{
    const chain *c = self;
    walk w = walk_begin(c);
    um_chain_link l;
    double none = 1;

    while (walk_next(c, &w, &l)) {
        double used = (double)um_popcount(c->bits, l.first, l.nbits);
        none *= 1 - link_error(l.nbits, l.hashes, used / (double)l.nbits);
    }
    return 1 - none;
}

static void info(const void *self, umbel_info *out)
{
    const chain *c = self;
    walk w = walk_begin(c);
    um_chain_link l;

    if (walk_next(c, &w, &l)) {
        um_info_count(out, "items_in_last_link", l.items);
        um_info_count(out, "capacity_of_last_link", l.capacity);
    }
}

/* --- cells ---------------------------------------------------------------- */

static size_t count_links(const void *self)
{
    return um_chain_links(self);
}

static uint32_t positions(const void *self, size_t i, const umbel_digest *d,
                          uint64_t pos[UM_MAX_HASHES])
{
    um_chain_link l;

    if (!um_chain_link_at(self, i, &l) || l.hashes > UM_MAX_HASHES)
        return 0;
    for (uint32_t j = 0; j < l.hashes; j++)
        pos[j] = l.first + um_redisbloom_cell(*d, j, l.nbits);
    return l.hashes;
}

/* --- merging two grown filters ---------------------------------------------
 *
 * As BF.MERGE does: a link is merged into one of the same size that contains it
 * or has space for its items; otherwise it is appended. So the error of the
 * result is at most the sum of the errors, and merging the same filter again
 * changes nothing.
 */

/* What happens to a link of the other filter: the index of the link it is
 * merged into, or one of these: */
enum { KNOWN = -1, APPENDED = -2 };

typedef struct merge_plan {
    int to[UM_CHAIN_MAX_LINKS];
    uint64_t items[UM_CHAIN_MAX_LINKS]; /* of the existing links, after the
                                           merge */
    uint64_t more_bits, more_links;
} merge_plan;

static umbel_status damaged(umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT,
                   "damaged: the sizes of its sub-filters contradict each "
                   "other");
}

static const uint8_t *link_bits_of(const umbel_filter *f,
                                   const um_chain_link *l)
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

/* Finds a link to merge another into; false: the chain is damaged. */
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
        if (is_within(link_bits_of(from, other), link_bits_of(into, &l),
                      l.nbits))
            return *to = KNOWN, true;
        bool newer = other->items >= p->items[i] &&
                     is_within(link_bits_of(into, &l),
                               link_bits_of(from, other), l.nbits);
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

/* Copies the existing links, with their numbers and bits. */
static void copy_links(umbel_filter *to, const umbel_filter *f)
{
    um_chain_link l;

    for (size_t i = 0; i < um_chain_links(f->self); i++)
        if (um_chain_link_at(f->self, i, &l))
            um_chain_set_link(to->self, i, &l);
    memcpy(um_chain_cells(to->self), um_chain_cells(f->self),
           (size_t)(f->layout.cells / 8));
}

/* Creates a filter with space for the appended links. */
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

/* Writes the numbers of all appended links first: offsets depend on all of
 * them. */
static void append_links(umbel_filter *f, size_t links,
                         const umbel_filter *from, const merge_plan *p)
{
    um_chain_link l;

    for (size_t i = 0; i < um_chain_links(from->self); i++)
        if (p->to[i] == APPENDED && um_chain_link_at(from->self, i, &l))
            um_chain_set_link(f->self, links++, &l);
}

/* Applies the plan to a filter with enough space; `links` existed before. */
static void apply_plan(umbel_filter *f, size_t links, const umbel_filter *from,
                       const merge_plan *p)
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
            or_bits(um_chain_cells(f->self) + mine.first / 8,
                    link_bits_of(from, &l), l.nbits);
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

static umbel_status merge_chains(umbel_filter *into, const umbel_filter *from,
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
    apply_plan(into, links, from, &p);
    um_set_added(into, sum_of_items(into));
    return UMBEL_OK;
}

/* --- the row -------------------------------------------------------------- */

static const um_row_links links = {.n = count_links,
                                   .positions = positions,
                                   .cells = um_chain_cells,
                                   .merge = merge_chains};

static void size(double keys, double fpr, double *cells, double *hashes)
{
    um_addressing_redisbloom.size(keys, fpr / 2, cells, hashes);
}

/* The addressing of the kind: each link has cells of its own. */
static const um_addressing linked = {
    .name = "redisbloom-sub",
    .summary = "cells of addressing redisbloom, in each of several filters",
    .hash = "murmur64a",
    .foreign = true,
    .dependent = true,
    .distinct = 1,
    .block = 8,
    .size = size,
};

const um_kind um_kind_chain = {
    .name = UM_CHAIN_KIND,
    .summary = "a filter of RedisBloom that has grown",
    .admissible = true,
    .fpr = 0.01,
    .capacity = 100,
    .settings = settings,
    .self_len = sizeof(chain),
    .fixed_addressing = &linked,
    .unsupported_reason =
        {.any = "it is a filter of RedisBloom that has grown to several "
                "sub-filters, each with cells of its own"},
    .sections = sections,
    .attach = attach,
    .start = start,
    .add = add,
    .query = query,
    .query_within = query_within,
    .error = error,
    .predict = predict,
    .info = info,
    .growing = &growing,
    .links = &links,
};
