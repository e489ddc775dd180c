/*
 * parts.c - exact sets of keys in partitions: the method of each.
 *
 * A partition of n members and b other keys takes n r + n + b 2^-r bits with r
 * columns in the first level; r is chosen for each separately. One without
 * members, or without other keys, takes only its entry in the index.
 */
#include "negatives/exact/exact.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- counting ------------------------------------------------------------- */

enum { FIRST_SLOTS = 256 };

static bool is_free(const void *slot)
{
    return ((const umbel_exact_part *)slot)->keys == 0;
}

static bool has_part(const void *ctx, const void *slot, const void *part)
{
    (void)ctx;
    return ((const umbel_exact_part *)slot)->part == *(const uint64_t *)part;
}

static uint64_t hash_slot(const void *ctx, const void *slot)
{
    (void)ctx;
    return um_ribbon_mix(((const umbel_exact_part *)slot)->part);
}

static const um_map_rule rule = {sizeof(umbel_exact_part), is_free, has_part,
                                 hash_slot};

static bool grow(um_part_counts *c)
{
    um_part_counts more = {
        .alloc = c->alloc, .n = c->n, .cap = c->cap ? 2 * c->cap : FIRST_SLOTS};

    more.slots = um_get(c->alloc, more.cap * sizeof *more.slots);
    if (!more.slots)
        return false;
    um_map_move(&rule, NULL, c->slots, c->cap, more.slots, more.cap);
    um_put(c->alloc, c->slots, c->cap * sizeof *c->slots);
    *c = more;
    return true;
}

bool um_part_counts_add(um_part_counts *c, const umbel_digest *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (2 * c->n >= c->cap && !grow(c))
            return false;
        umbel_exact_part *slot = um_map_find(&rule, NULL, c->slots, c->cap,
                                             um_ribbon_mix(d[i].hi), &d[i].hi);
        c->n += !slot->keys;
        slot->part = d[i].hi;
        slot->keys++;
    }
    return true;
}

static int by_part(const void *a, const void *b)
{
    uint64_t x = ((const umbel_exact_part *)a)->part;
    uint64_t y = ((const umbel_exact_part *)b)->part;
    return (x > y) - (x < y);
}

void um_part_counts_sort(um_part_counts *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->cap; i++)
        if (c->slots[i].keys)
            c->slots[n++] = c->slots[i];
    if (n)
        qsort(c->slots, n, sizeof *c->slots, by_part);
}

void um_part_counts_fini(um_part_counts *c)
{
    um_put(c->alloc, c->slots, c->cap * sizeof *c->slots);
}

/* --- choosing ------------------------------------------------------------- */

/* Bits of a key per column, and besides its columns. */
static const double COLUMN = UM_RIBBON_SLOTS, KEY = 2.0 / UM_RIBBON_BUCKET;

static double cost(double n, double others, uint32_t r)
{
    double second = n + ldexp(others, -(int)r);
    return (r ? n * (COLUMN * r + KEY) : 0) + second * (COLUMN + KEY);
}

static uint32_t columns_for(double n, double others)
{
    uint32_t best = 0;

    for (uint32_t r = 1; r <= UM_RIBBON_MAX_PRINT; r++)
        if (cost(n, others, r) < cost(n, others, best))
            best = r;
    return best;
}

/* A partition, and the method chosen for it. */
typedef struct choice {
    uint64_t part, members, others;
    uint32_t how; /* UM_RIBBON_NONE ..., or FIRST + columns */
} choice;

static uint32_t choose_one(const choice *c)
{
    if (!c->members)
        return UM_RIBBON_NONE;
    if (!c->others)
        return UM_RIBBON_ALL;
    uint32_t r = columns_for((double)c->members, (double)c->others);
    return r ? UM_RIBBON_FIRST + r : UM_RIBBON_SECOND;
}

/* Combines the counts of the members and of the lists, both sorted by part, and
 * chooses the methods. */
static umbel_status match(const um_part_counts *m,
                          const umbel_exact_part *listed, size_t parts,
                          choice *out, umbel_error *err)
{
    size_t at = 0, missing = 0;

    for (size_t i = 0; i < parts; i++) {
        for (; at < m->n && m->slots[at].part < listed[i].part; at++)
            missing++;
        bool here = at < m->n && m->slots[at].part == listed[i].part;
        uint64_t members = here ? m->slots[at++].keys : 0;
        uint64_t keys = listed[i].keys;
        out[i] = (choice){.part = listed[i].part,
                          .members = members,
                          .others = keys > members ? keys - members : 0};
        out[i].how = choose_one(&out[i]);
    }
    missing += m->n - at;
    if (!missing)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_KEY,
                   "the universe has no keys of %zu partition%s with members: "
                   "add all members to it",
                   missing, missing == 1 ? "" : "s");
}

/* Converts numbers of columns to columns beyond the fewest; *fewest is 0 if no
 * partition has any. */
static void count_from_fewest(choice *c, size_t parts, uint32_t *fewest)
{
    *fewest = 0;
    for (size_t i = 0; i < parts; i++)
        if (c[i].how > UM_RIBBON_FIRST &&
            (!*fewest || c[i].how - UM_RIBBON_FIRST < *fewest))
            *fewest = c[i].how - UM_RIBBON_FIRST;
    for (size_t i = 0; i < parts; i++)
        if (c[i].how > UM_RIBBON_FIRST) {
            uint32_t more = c[i].how - UM_RIBBON_FIRST - *fewest;
            if (more > UM_RIBBON_MAX_MORE)
                more = UM_RIBBON_MAX_MORE;
            c[i].how = UM_RIBBON_FIRST + more;
        }
}

/* Sets the share of the starts of each width to that of its members; each width
 * gets at least one. */
static void set_shares(const choice *c, size_t parts, um_ribbon_form *form,
                       um_ribbon_sizes *first)
{
    uint64_t of[UM_RIBBON_MAX_MORE + 1] = {0}, all = 0, above = 0;
    uint32_t share = 0;

    for (size_t i = 0; i < parts; i++)
        if (c[i].how >= UM_RIBBON_FIRST) {
            of[c[i].how - UM_RIBBON_FIRST] += c[i].members;
            all += c[i].members;
        }
    for (uint32_t i = UM_RIBBON_MAX_MORE; i > 0; i--) {
        above += of[i];
        uint32_t least = share + (of[i] != 0);
        share =
            all ? (uint32_t)((double)above / (double)all * UM_RIBBON_FINE) : 0;
        share = share > least ? share : least;
        share = share < UM_RIBBON_FINE - i ? share : UM_RIBBON_FINE - i;
        if (i > 1)
            first->steps[i - 2] = (uint16_t)share;
    }
    form->finer = share;
}

/* --- the index ------------------------------------------------------------ */

static umbel_status create_index(um_exact_parts *p, const choice *c,
                                 size_t parts, const umbel_alloc *alloc,
                                 umbel_error *err)
{
    size_t n = parts;
    const um_ribbon_item *clash;
    um_ribbon_item *items = um_get(alloc, (n + 1) * sizeof *items);

    if (!items)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu partitions", n);
    for (size_t i = 0; i < n; i++)
        items[i] = (um_ribbon_item){c[i].part, c[i].part, c[i].how};
    um_ribbon_sort(items, &n, 1, &clash);
    um_ribbon_form entries = {p->bits, 0};
    umbel_status status = um_ribbon_create(items, n, &entries, 1, alloc,
                                           &p->sizes, &p->memory, &p->len, err);
    um_put(alloc, items, (parts + 1) * sizeof *items);
    return status;
}

static void sum_up(um_exact_parts *p, const choice *c, size_t parts)
{
    uint32_t most = 1;

    for (size_t i = 0; i < parts; i++) {
        most = c[i].how > most ? c[i].how : most;
        p->seconds |= c[i].how == UM_RIBBON_SECOND;
    }
    p->n = parts;
    p->bits = 1;
    while (most >> p->bits)
        p->bits++;
}

umbel_status um_exact_parts_choose(um_exact_parts *p,
                                   const umbel_digest *members, size_t n,
                                   const umbel_exact_part *listed, size_t parts,
                                   const umbel_alloc *alloc,
                                   um_ribbon_form *form, um_ribbon_sizes *first,
                                   umbel_error *err)
{
    um_part_counts counts = {.alloc = alloc};
    choice *c = um_get(alloc, (parts + 1) * sizeof *c);
    umbel_status status = UMBEL_OK;

    if (!c || !um_part_counts_add(&counts, members, n)) {
        status =
            um_fail(err, UMBEL_E_NOMEM, "no memory for %zu partitions", parts);
        goto done;
    }
    um_part_counts_sort(&counts);
    status = match(&counts, listed, parts, c, err);
    if (status)
        goto done;
    p->on = true;
    count_from_fewest(c, parts, &form->columns);
    set_shares(c, parts, form, first);
    sum_up(p, c, parts);
    status = create_index(p, c, parts, alloc, err);
    if (!status)
        um_ribbon_lay_parts(&p->ready, form, first, p->bits, &p->sizes,
                            p->memory);
done:
    um_put(alloc, c, (parts + 1) * sizeof *c);
    um_part_counts_fini(&counts);
    return status;
}

size_t um_exact_parts_items(const um_exact_parts *p,
                            const umbel_digest *members, size_t n,
                            um_ribbon_item *out)
{
    const uint64_t low = ((uint64_t)1 << UM_RIBBON_MORE_SHIFT) - 1;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        const umbel_digest *d = &members[i];
        uint32_t how = um_ribbon_part_of(&p->ready, d);
        if (how < UM_RIBBON_FIRST)
            continue;
        uint64_t more = how - UM_RIBBON_FIRST;
        out[kept++] = (um_ribbon_item){
            um_ribbon_remap(d->lo, &p->ready.share[more]), d->hi,
            (um_ribbon_part_print(d) & low) | more << UM_RIBBON_MORE_SHIFT};
    }
    return kept;
}

void um_exact_parts_fini(um_exact_parts *p, const umbel_alloc *alloc)
{
    um_put(alloc, p->memory, p->len);
}
