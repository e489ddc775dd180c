/*
 * strategy_exceptions.c - a plain filter, and a second one of listed keys that
 * match it.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "filter/sizing.h"
#include "negatives/compare/compare.h"
#include "negatives/exact/size.h"
#include "query/query_each.h"

#include <umbel/file.h>
#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>

/* Members that a second filter may deny, by expectation. */
#define EXPECTED_LOST 0.05

static double error_within(const um_scene *s, uint64_t bytes, double keys)
{
    umbel_params p = s->params;
    umbel_plan plan;

    if (isnan(keys))
        return NAN;
    p.fpr = 0;
    p.capacity = keys < 1 ? 1 : (uint64_t)ceil(keys);
    umbel_status status = umbel_make_plan("bloom", &p, bytes, &plan, NULL);
    return status == UMBEL_OK && plan.bytes <= bytes ? plan.error : NAN;
}

/* How two filters share the bytes. */
typedef struct division {
    uint64_t second; /* bytes; 0: a second filter does not help */
    uint64_t keys;   /* in the second */
} division;

/* About how many keys a filter of that size holds while no member, most
 * likely, matches it: 1.44 log2(1/f) bits a key, and a quarter more for blocks
 * that fill unevenly. */
static double keys_within(const um_scene *s, uint64_t bytes)
{
    double bits = 8 * (double)(bytes - UM_SECTION_ALIGN);
    double chance = EXPECTED_LOST / (double)s->held.n;

    return floor(0.8 * bits * log(2) * log(2) / -log(chance));
}

/*
 * Every byte of the second filter is missing in the first, and its own errors
 * would deny members. So it gets the heaviest keys that match, as many as are
 * safe, and the size that leaves the least weight, if that is less than a
 * filter alone leaves.
 */
static division divide(const um_scene *s)
{
    double members = (double)s->held.n;
    double least = um_weight_beyond(s->classes, s->nclasses,
                                    error_within(s, s->bytes, members), 0);
    division best = {0, 0};

    for (uint64_t parts = 2, second;
         (second = parts * UM_SECTION_ALIGN) < s->bytes;
         parts += 1 + parts / 16) {
        double first = error_within(s, s->bytes - second, members);
        double keys = keys_within(s, second);
        double left = um_weight_beyond(s->classes, s->nclasses, first, keys);
        if (keys > 0 && left < least) { /* which no NAN is */
            least = left;
            best = (division){second, (uint64_t)keys};
        }
    }
    return best;
}

/* Listed keys that match. */
typedef struct matching {
    bool *hit;         /* by entry of the list */
    size_t *number, n; /* of those that match, the heaviest first */
} matching;

static void consume_listed(void *ctx, size_t i, bool hit)
{
    ((matching *)ctx)->hit[i] = hit;
}

static void order_matching(const um_scene *s, matching *m)
{
    for (size_t i = 0; i < s->never->n; i++) {
        size_t at = s->by_weight ? s->by_weight[i] : i;
        if (m->hit[at])
            m->number[m->n++] = at;
    }
}

static void consume_denied(void *ctx, size_t i, bool hit)
{
    (void)i;
    *(uint64_t *)ctx += hit;
}

/* The second filter of the first n entries of m, in at most bytes. */
static umbel_status fill_second(const um_scene *s, const matching *m, size_t n,
                                uint64_t bytes, uint64_t *denied, um_made *out,
                                umbel_error *err)
{
    UM_TRY(um_strategy_bloom(s, bytes, n, 1, &out->second, err));
    for (size_t i = 0; i < n; i++)
        UM_TRY(umbel_add_digests(out->second, &s->never->digests[m->number[i]],
                                 1, NULL, err));
    *denied = 0;
    return um_query_each(out->second, NULL, s->members->digests, s->members->n,
                         consume_denied, denied, err);
}

/* With fewer keys, in the rare case that a member matches. */
static umbel_status create_second(const um_scene *s, uint64_t keys, matching *m,
                                  um_made *out, umbel_error *err)
{
    uint64_t left = s->bytes - umbel_encoded_len(out->filter), denied = 0;

    UM_TRY(um_query_each(out->filter, NULL, s->never->digests, s->never->n,
                         consume_listed, m, err));
    order_matching(s, m);
    size_t n = m->n < keys ? m->n : (size_t)keys;
    UM_TRY(fill_second(s, m, n, left, &denied, out, err));
    while (denied && n > 1) {
        n -= (n + 3) / 4;
        umbel_close(out->second);
        out->second = NULL;
        UM_TRY(fill_second(s, m, n, left, &denied, out, err));
    }
    out->second_lines = n < m->n ? n : 0;
    return UMBEL_OK;
}

static umbel_status create(const um_scene *s, um_made *out, umbel_error *err)
{
    division best = divide(s);
    size_t n = s->never->n;
    matching m = {.n = 0};

    if (!best.second)
        return um_fail(err, UMBEL_E_RANGE,
                       "no division of %" PRIu64
                       " bytes into two filters leaves less than one filter",
                       s->bytes);
    UM_TRY(um_strategy_plain(s, s->bytes - best.second, out, err));
    m.hit = um_get(&s->alloc, n * sizeof *m.hit);
    m.number = um_get(&s->alloc, n * sizeof *m.number);
    umbel_status status = UMBEL_E_NOMEM;
    if (m.hit && m.number)
        status = create_second(s, best.keys, &m, out, err);
    else
        um_set_error(err, status, "no memory for %zu keys", n);
    um_put(&s->alloc, m.hit, n * sizeof *m.hit);
    um_put(&s->alloc, m.number, n * sizeof *m.number);
    return status;
}

const um_strategy_row um_strategy_exceptions = {
    .name = "anti-filter",
    .summary = "a second filter of the false positives",
    .readers_change = true,
    .groups = 1,
    .make = create};

const um_strategy_row um_strategy_exceptions_classic = {
    .name = "anti-filter-classic",
    .summary = "the same on addressing classic",
    .addressing = "classic",
    .readers_change = true,
    .groups = 1,
    .make = create};
