/*
 * strategies.c - the table of strategies that keep listed keys from matching,
 * and the plain filter that some of them start from.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "filter/sizing.h"
#include "negatives/compare/internal.h"
#include "negatives/exact/exact.h"
#include "query/query.h"

#include <umbel/experimental/choose.h>
#include <umbel/experimental/exact.h>
#include <umbel/experimental/retouch.h>
#include <umbel/file.h>
#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>

static umbel_status create_bloom(const um_strategy_input *s, uint64_t bytes,
                                 uint64_t keys, uint32_t groups,
                                 umbel_filter **out, umbel_error *err)
{
    umbel_setting setting = {"groups", groups};
    umbel_params p = s->params;
    umbel_size_plan plan;

    p.fpr = 0;
    p.capacity = keys ? keys : 1;
    p.settings = &setting;
    p.nsettings = groups > 1;
    UM_TRY(umbel_plan_size("bloom", &p, bytes, &plan, err));
    if (plan.bytes > bytes)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " bytes are too few: the smallest file takes "
                       "%" PRIu64,
                       bytes, plan.bytes);
    p.cells = plan.cells;
    p.hashes = plan.hashes;
    return umbel_create("bloom", &p, out, err);
}

static umbel_status build_plain_within(const um_strategy_input *s,
                                       uint64_t bytes, um_strategy_result *out,
                                       umbel_error *err)
{
    UM_TRY(create_bloom(s, bytes, s->capacity, 1, &out->filter, err));
    return umbel_add_digests(out->filter, s->members->digests, s->members->n,
                             NULL, err);
}

static umbel_status build_plain(const um_strategy_input *s,
                                um_strategy_result *out, umbel_error *err)
{
    return build_plain_within(s, s->bytes, out, err);
}

/*
 * Builds a plain filter and clears some bits. Some members are lost, but
 * readers need no new code.
 */

static umbel_status build_retouched(const um_strategy_input *s,
                                    um_strategy_result *out, umbel_error *err)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_key_list members = UMBEL_KEY_LIST(s->members->digests, s->members->n);
    umbel_retouch_result bill;

    UM_TRY(build_plain_within(s, s->bytes, out, err));
    return umbel_retouch(out->filter, &members, s->never, &p, &bill, NULL, err);
}

/*
 * Each member uses one of two groups of hash functions, chosen so that few
 * negatives match. With long lists this takes minutes, so it is tried on a
 * sample first.
 */

enum { GROUPS = 2 };

static umbel_status build_groups(const um_strategy_input *s,
                                 um_strategy_result *out, umbel_error *err)
{
    umbel_choose_params p = UMBEL_CHOOSE_INIT;
    umbel_choose_result result;

    p.like = s->like;
    UM_TRY(create_bloom(s, s->bytes, s->capacity, GROUPS, &out->filter, err));
    return umbel_choose(out->filter, s->members, s->never, &p, &result, err);
}

/*
 * A plain filter, and a second one of the negatives that match it.
 */

/* Expected number of members that the second filter may match. */
#define EXPECTED_LOST 0.05

static double error_within(const um_strategy_input *s, uint64_t bytes,
                           double keys)
{
    umbel_params p = s->params;
    umbel_size_plan plan;

    if (isnan(keys))
        return NAN;
    p.fpr = 0;
    p.capacity = keys < 1 ? 1 : (uint64_t)ceil(keys);
    umbel_status status = umbel_plan_size("bloom", &p, bytes, &plan, NULL);
    return status == UMBEL_OK && plan.bytes <= bytes ? plan.error : NAN;
}

/* The division of the bytes between two filters. */
typedef struct division {
    uint64_t second; /* bytes; 0: a second filter does not help */
    uint64_t keys;   /* keys in the second filter */
} division;

/* Estimates how many keys a filter of that size can hold such that, most
 * likely, no member matches it: 1.44 log2(1/f) bits per key, and a quarter more
 * for blocks that fill unevenly. */
static double keys_within(const um_strategy_input *s, uint64_t bytes)
{
    double bits = 8 * (double)(bytes - UM_SECTION_ALIGN);
    double chance = EXPECTED_LOST / (double)s->held.n;

    return floor(0.8 * bits * log(2) * log(2) / -log(chance));
}

/*
 * Chooses the division. Every byte of the second filter is missing from the
 * first, and its false positives would cause false negatives. So it contains
 * only the heaviest negatives that match, as many as are safe, and has the size
 * that leaves the least weight, if that is less than one filter alone leaves.
 */
static division divide(const um_strategy_input *s)
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
        if (keys > 0 && left < least) { /* false for NAN */
            least = left;
            best = (division){second, (uint64_t)keys};
        }
    }
    return best;
}

/* The negatives that match. */
typedef struct matching {
    bool *hit;         /* by entry of the list */
    size_t *number, n; /* indices of those that match, the heaviest first */
} matching;

static void set_match(void *ctx, size_t i, bool hit)
{
    ((matching *)ctx)->hit[i] = hit;
}

static void order_matching(const um_strategy_input *s, matching *m)
{
    for (size_t i = 0; i < s->never->n; i++) {
        size_t at = s->by_weight ? s->by_weight[i] : i;
        if (m->hit[at])
            m->number[m->n++] = at;
    }
}

static void count_hits(void *ctx, size_t i, bool hit)
{
    (void)i;
    *(uint64_t *)ctx += hit;
}

/* Creates the second filter with the first n entries of m, in at most that many
 * bytes. */
static umbel_status fill_second(const um_strategy_input *s, const matching *m,
                                size_t n, uint64_t bytes, uint64_t *denied,
                                um_strategy_result *out, umbel_error *err)
{
    UM_TRY(create_bloom(s, bytes, n, 1, &out->second, err));
    for (size_t i = 0; i < n; i++)
        UM_TRY(umbel_add_digests(out->second, &s->never->digests[m->number[i]],
                                 1, NULL, err));
    *denied = 0;
    return um_query_each(out->second, NULL, s->members->digests, s->members->n,
                         count_hits, denied, err);
}

/* Creates the second filter; with fewer keys in the rare case that a member
 * matches it. */
static umbel_status create_second(const um_strategy_input *s, uint64_t keys,
                                  matching *m, um_strategy_result *out,
                                  umbel_error *err)
{
    uint64_t left = s->bytes - umbel_encoded_len(out->filter), denied = 0;

    UM_TRY(um_query_each(out->filter, NULL, s->never->digests, s->never->n,
                         set_match, m, err));
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

static umbel_status build_exceptions(const um_strategy_input *s,
                                     um_strategy_result *out, umbel_error *err)
{
    division best = divide(s);
    size_t n = s->never->n;
    matching m = {.n = 0};

    if (!best.second)
        return um_fail(err, UMBEL_E_RANGE,
                       "no division of %" PRIu64
                       " bytes into two filters leaves less than one filter",
                       s->bytes);
    UM_TRY(build_plain_within(s, s->bytes - best.second, out, err));
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

/*
 * Static sets: one that knows the list, and one that does not. Both are built
 * as by umbel build --kind ribbon --bytes.
 */

/* Sets the parameters of a ribbon, which has its own addressing, and no hash
 * that belongs to another one. */
static umbel_status ribbon_params(const um_strategy_input *s, umbel_params *p,
                                  umbel_error *err)
{
    um_shape shape;

    UM_TRY(um_shape_from_params("bloom", &s->params, &shape, err));
    if (shape.addressing->hash)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind ribbon does not hash as addressing %s does",
                       shape.addressing->name);
    *p = s->params;
    p->addressing = NULL;
    p->fpr = 0;
    return UMBEL_OK;
}

static umbel_status build_ribbon(const um_strategy_input *s,
                                 um_strategy_result *out, umbel_error *err)
{
    umbel_exact_result result;
    umbel_key_list members = UMBEL_KEY_LIST(s->members->digests, s->members->n);
    umbel_exact *x = NULL;
    umbel_params p;

    UM_TRY(ribbon_params(s, &p, err));
    UM_TRY(umbel_exact_open_classes(&p, &members, NULL, s->classes, s->nclasses,
                                    s->bytes, &x, err));
    umbel_status status = umbel_exact_never(x, s->never, NULL, err);
    if (status == UMBEL_OK)
        status = umbel_exact_finish(x, &out->filter, &result, err);
    umbel_exact_close(x);
    return status;
}

static umbel_status build_plain_ribbon(const um_strategy_input *s,
                                       um_strategy_result *out,
                                       umbel_error *err)
{
    umbel_key_list members = UMBEL_KEY_LIST(s->members->digests, s->members->n);
    umbel_params p;
    umbel_size_plan plan;

    UM_TRY(ribbon_params(s, &p, err));
    p.capacity = 1;
    UM_TRY(umbel_plan_size("ribbon", &p, s->bytes, &plan, err));
    p.capacity = 0;
    p.cells = plan.cells;
    return umbel_build("ribbon", &p, &members, NULL, &out->filter, err);
}

/* --- the table ------------------------------------------------------------ */

static const um_strategy strategies[] = {
    {.name = "retouch",
     .summary = "bits cleared; some members are lost",
     .classic = "retouch-classic",
     .groups = 1,
     .build = build_retouched},
    {.name = "groups",
     .summary = "each member uses one of two hash groups",
     .classic = "groups-classic",
     .readers_change = true,
     .groups = GROUPS,
     .slow = true,
     .build = build_groups},
    {.name = "anti-filter",
     .summary = "a second filter of the false positives",
     .classic = "anti-filter-classic",
     .readers_change = true,
     .groups = 1,
     .build = build_exceptions},
    {.name = "ribbon",
     .summary = "a static set that knows the list",
     .readers_change = true,
     .groups = 1,
     .build = build_ribbon},
    {.name = "ribbon-plain",
     .summary = "a static set that does not",
     .readers_change = true,
     .groups = 1,
     .build = build_plain_ribbon},
};

const um_strategy um_plain_strategy = {
    .name = "plain", .groups = 1, .build = build_plain};

bool um_strategy_get(size_t i, um_strategy *out)
{
    for (size_t row = 0; row < UM_COUNT(strategies); row++) {
        const um_strategy *s = &strategies[row];
        if (i-- == 0) {
            *out = *s;
            return true;
        }
        if (s->classic && i-- == 0) {
            *out = *s;
            out->name = s->classic;
            out->summary = "the same on addressing classic";
            out->addressing = "classic";
            return true;
        }
    }
    return false;
}
