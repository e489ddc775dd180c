/*
 * compare.c - builds and measures every strategy against listed negatives.
 *
 * Results are measured, not taken from the strategies' own reports: the same
 * loop queries each filter for all keys of both lists. The error on other keys
 * is predicted from the cells; the part of it that exceptions remove is
 * measured on generated keys.
 */
#include "negatives/compare/internal.h"

#include "base/alloc.h"
#include "base/batch.h"
#include "base/bits.h"
#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"
#include "negatives/exact/exact.h"
#include "query/digest_set.h"
#include "query/query.h"

#include <umbel/diff.h>
#include <umbel/file.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>

enum { GENERATED = 1 << 17 };

/* Factor by which an estimate may be wrong. */
#define NEAR 1.5

typedef struct answers {
    const um_strategy_input *s;
    uint64_t lost;
    double left;
} answers;

static void count_lost(void *ctx, size_t i, bool hit)
{
    answers *a = ctx;
    a->lost += !hit && um_digest_set_is_first(&a->s->held, i);
}

static void count_listed(void *ctx, size_t i, bool hit)
{
    answers *a = ctx;
    a->left += hit ? um_list_weight(a->s->never, i) : 0;
}

/*
 * Returns the share of the keys matching the first filter that do not match the
 * second. Both use the same digests, so their errors are not independent and
 * the product of two predictions would be wrong; generated keys are queried
 * instead. If the hash refuses such keys, the product is used.
 */
static double spared(const um_strategy_result *m)
{
    uint64_t key[UM_BATCH][2], first = 0, both = 0;
    umbel_digest d[UM_BATCH];
    bool hit[UM_BATCH], again[UM_BATCH];

    for (uint64_t i = 0; i < GENERATED; i += UM_BATCH) {
        for (size_t j = 0; j < UM_BATCH; j++) {
            key[j][0] = um_le64(0x756e7365656e2121);
            key[j][1] = um_le64(i + j);
        }
        if (umbel_digest_fixed(m->filter, key, sizeof *key, UM_BATCH, d,
                               NULL) != UMBEL_OK ||
            umbel_query_digests(m->filter, d, UM_BATCH, hit, NULL) !=
                UMBEL_OK ||
            umbel_query_digests(m->second, d, UM_BATCH, again, NULL) !=
                UMBEL_OK)
            return 1 - umbel_predict(m->second);
        for (size_t j = 0; j < UM_BATCH; j++) {
            first += hit[j];
            both += hit[j] && again[j];
        }
    }
    return first ? (double)(first - both) / (double)first
                 : 1 - umbel_predict(m->second);
}

static umbel_status measure(const um_strategy_input *s, const um_strategy *row,
                            const um_strategy_result *m, umbel_strategy *out,
                            umbel_error *err)
{
    umbel_strategy w = {.name = row->name,
                        .addressing = row->addressing,
                        .sample = 1,
                        .readers_change = row->readers_change};
    answers a = {.s = s};

    UM_TRY(um_query_each(m->filter, m->second, s->members->digests,
                         s->members->n, count_lost, &a, err));
    UM_TRY(um_query_each(m->filter, m->second, s->never->digests, s->never->n,
                         count_listed, &a, err));
    w.lost = a.lost;
    w.weight_left = a.left;
    w.bytes = umbel_encoded_len(m->filter);
    w.unseen = umbel_predict(m->filter) * (m->second ? spared(m) : 1);
    w.cells = umbel_cells(m->filter);
    w.hashes = umbel_hashes(m->filter);
    w.probes = w.hashes * row->groups;
    if (m->second) {
        w.bytes += umbel_encoded_len(m->second);
        w.second_cells = umbel_cells(m->second);
        w.second_hashes = umbel_hashes(m->second);
        w.second_keys = umbel_added(m->second);
        w.second_lines = m->second_lines;
        w.probes += w.second_hashes;
    }
    *out = w;
    return UMBEL_OK;
}

/* --- the next edition ----------------------------------------------------- */

/* Adds the bytes that a reader of old fetches: a difference or the file. */
static umbel_status add_moved(const um_strategy_input *s,
                              const umbel_filter *old, const umbel_filter *now,
                              uint64_t *sum, umbel_error *err)
{
    uint64_t least = umbel_encoded_len(now);
    size_t room = umbel_diff_bound(now);
    umbel_diff_result step;
    void *bytes = um_get(&s->alloc, room);

    if (!bytes)
        return um_no_memory(err, room);
    if (umbel_diff(old, now, bytes, room, &step, NULL) == UMBEL_OK &&
        step.bytes < least)
        least = step.bytes;
    um_put(&s->alloc, bytes, room);
    *sum += least;
    return UMBEL_OK;
}

/*
 * Measures the next edition, which lacks one member in 500: as many cells
 * change as if one in 1,000 were replaced, and no key has to be generated.
 */
static umbel_status measure_next(const um_strategy_input *s,
                                 const um_strategy *row,
                                 const um_strategy_result *m, uint64_t *out,
                                 umbel_error *err)
{
    size_t gone = 2 * ((s->members->n + 999) / 1000);
    umbel_key_list fewer = *s->members;
    um_strategy_input next = *s;
    um_strategy_result built = {0};

    if (m->filter->kind->built || fewer.n <= gone) {
        *out = umbel_encoded_len(m->filter);
        return UMBEL_OK;
    }
    fewer.n -= gone;
    next.members = &fewer;
    next.like = m->filter;
    *out = 0;
    umbel_status status = row->build(&next, &built, err);
    if (status == UMBEL_OK)
        status = add_moved(s, m->filter, built.filter, out, err);
    if (status == UMBEL_OK && built.second)
        status = add_moved(s, m->second, built.second, out, err);
    umbel_close(built.filter);
    umbel_close(built.second);
    return status;
}

static umbel_strategy not_possible(const um_strategy *row,
                                   const umbel_error *reason)
{
    return (umbel_strategy){.name = row->name,
                            .status = reason->status,
                            .reason = *reason,
                            .addressing = row->addressing,
                            .sample = 1,
                            .readers_change = row->readers_change};
}

/* Builds and measures one strategy, with or without its next edition. A
 * failure becomes part of *out, except E_NOMEM. */
static umbel_status try_strategy(const um_strategy_input *input,
                                 const um_strategy *row, bool next,
                                 umbel_strategy *out, umbel_error *err)
{
    um_strategy_input own = *input;
    const um_strategy_input *s = &own;
    um_strategy_result m = {0};
    umbel_error reason = {0};

    if (row->addressing)
        own.params.addressing = row->addressing;
    umbel_status status = row->build(s, &m, &reason);

    if (status == UMBEL_OK)
        status = measure(s, row, &m, out, &reason);
    if (status == UMBEL_OK && next)
        status = measure_next(s, row, &m, &out->next_bytes, &reason);
    umbel_close(m.filter);
    umbel_close(m.second);
    if (status == UMBEL_E_NOMEM)
        return um_fail_detail(err, status, reason.detail, "%s", reason.text);
    if (status != UMBEL_OK)
        *out = not_possible(row, &reason);
    return UMBEL_OK;
}

/* --- slow strategies, estimated from a sample ----------------------------- */

enum {
    SAMPLED = 1 << 16, /* negatives of a sample */
    MAX_SAMPLED = 3 * SAMPLED,
    LEAST_MEMBERS = 300
};

/*
 * A sample: every n-th member and negative, in an n-th of the cells. The cells
 * are as full as those of the whole filter, with as many negatives near each,
 * so n times the weight left is that of the whole. Negatives are selected by
 * weight.
 */
typedef struct sample {
    um_strategy_input input;
    umbel_key_list members, never;
    double every; /* n */
    umbel_digest *digests;
    double *weights;
} sample;

static bool sample_get(sample *x, const um_strategy_input *s)
{
    size_t members = (size_t)((double)s->members->n / x->every);
    size_t never = (size_t)((double)s->never->n / x->every);

    x->members = (umbel_key_list)UMBEL_KEY_LIST(NULL, members);
    x->never = (umbel_key_list)UMBEL_KEY_LIST(NULL, never);
    x->digests = um_get(&s->alloc, (members + never) * sizeof *x->digests);
    x->weights = um_get(&s->alloc, never * sizeof *x->weights);
    if (!x->digests || !x->weights)
        return false;
    for (size_t i = 0; i < members; i++)
        x->digests[i] = s->members->digests[(size_t)((double)i * x->every)];
    for (size_t i = 0; i < never; i++) {
        size_t at = (size_t)(((double)i + 0.5) * x->every);
        at = s->by_weight ? s->by_weight[at] : at;
        x->digests[members + i] = s->never->digests[at];
        x->weights[i] = um_list_weight(s->never, at);
    }
    x->members.digests = x->digests;
    x->never.digests = x->digests + members;
    x->never.weights = x->weights;
    return true;
}

static void sample_put(sample *x, const umbel_alloc *alloc)
{
    um_put(alloc, x->digests, (x->members.n + x->never.n) * sizeof *x->digests);
    um_put(alloc, x->weights, x->never.n * sizeof *x->weights);
    um_digest_set_fini(&x->input.held);
    um_digest_set_fini(&x->input.listed);
}

static umbel_status sample_index(sample *x, umbel_error *err)
{
    um_strategy_input *s = &x->input;

    s->members = &x->members;
    s->never = &x->never;
    s->capacity = x->members.n;
    s->by_weight = NULL;
    UM_TRY(um_digest_set_init(&s->held, &s->alloc, x->members.digests,
                              x->members.n, err));
    return um_digest_set_init(&s->listed, &s->alloc, x->never.digests,
                              x->never.n, err);
}

static umbel_status plan_whole(const um_strategy_input *s,
                               const um_strategy *row, umbel_size_plan *out,
                               umbel_error *err)
{
    umbel_setting groups = {"groups", row->groups};
    umbel_params p = s->params;

    if (row->addressing)
        p.addressing = row->addressing;
    p.fpr = 0;
    p.capacity = s->capacity;
    p.settings = &groups;
    p.nsettings = 1;
    return umbel_plan_size("bloom", &p, s->bytes, out, err);
}

/* Replaces shape and size by those of the whole filter and scales the weight.
 * Groups lose no member. */
static void scale_up(const um_strategy *row, const umbel_size_plan *whole,
                     double every, umbel_strategy *w)
{
    w->bytes = whole->bytes;
    w->cells = whole->cells;
    w->hashes = whole->hashes;
    w->probes = whole->hashes * row->groups;
    w->weight_left *= every;
    w->sample = (uint32_t)(every + 0.5);
}

/* Estimates a strategy from a sample in whole cache lines, which are as full as
 * those of the whole filter. */
static umbel_status estimate_strategy(const um_strategy_input *s,
                                      const um_strategy *row, uint64_t every,
                                      umbel_strategy *out, umbel_error *err)
{
    sample x = {.input = *s};
    umbel_size_plan whole;
    umbel_status status;

    if (plan_whole(s, row, &whole, NULL) != UMBEL_OK || whole.bytes > s->bytes)
        return try_strategy(s, row, true, out, err); /* reports why */
    x.input.held = x.input.listed = (um_digest_set){0};
    uint64_t line = 8 * (uint64_t)UM_SECTION_ALIGN;
    uint64_t lines = (whole.cells + line * every - 1) / (line * every);
    x.every = (double)whole.cells / (double)(line * lines);
    x.input.bytes = whole.bytes - whole.cells / 8 + lines * UM_SECTION_ALIGN;
    if (!sample_get(&x, s))
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for a sample");
    else
        status = sample_index(&x, err);
    if (status == UMBEL_OK)
        status = try_strategy(&x.input, row, false, out, err);
    if (status == UMBEL_OK && out->status == UMBEL_OK)
        scale_up(row, &whole, x.every, out);
    sample_put(&x, &s->alloc);
    return status;
}

/* Returns n if every n-th key is to be sampled; 1 if the strategy needs no
 * sample; 0 if it takes minutes and has too few members for a sample. */
static uint64_t sample_rate(const um_strategy_input *s, const um_strategy *row)
{
    size_t every = s->never->n / SAMPLED, most = s->members->n / LEAST_MEMBERS;

    if (!row->slow || s->never->n <= 2 * (size_t)SAMPLED)
        return 1;
    every = every < most ? every : most;
    every = every > 1 ? every : 1;
    return s->never->n / every <= MAX_SAMPLED ? every : 0;
}

static umbel_status try_first(const um_strategy_input *s,
                              const um_strategy *row, umbel_strategy *out,
                              umbel_error *err)
{
    uint64_t every = sample_rate(s, row);
    umbel_error reason = {0};

    if (every == 0) {
        um_set_error(&reason, UMBEL_E_LIMIT,
                     "takes minutes: %zu members are too few to take a sample "
                     "of both lists",
                     s->members->n);
        *out = not_possible(row, &reason);
        return UMBEL_OK;
    }
    return every > 1 ? estimate_strategy(s, row, every, out, err)
                     : try_strategy(s, row, true, out, err);
}

/* Measures a plain filter, for comparison. */
static umbel_status try_plain(const um_strategy_input *s, umbel_comparison *out,
                              umbel_error *err)
{
    umbel_strategy w;

    UM_TRY(try_strategy(s, &um_plain_strategy, true, &w, err));
    out->plain_left = w.status == UMBEL_OK ? w.weight_left : NAN;
    out->plain_unseen = w.status == UMBEL_OK ? w.unseen : NAN;
    out->plain_next_bytes = w.next_bytes;
    return UMBEL_OK;
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

/* Returns a number below 0 if a is better than b. */
static int compare_results(const umbel_strategy *a, const umbel_strategy *b)
{
    int by[] = {order(a->lost > 0, b->lost > 0),
                order(a->weight_left, b->weight_left),
                order((double)a->lost, (double)b->lost),
                order(a->unseen, b->unseen),
                order(a->probes, b->probes),
                order(a->readers_change, b->readers_change)};

    for (size_t i = 0; i < UM_COUNT(by); i++)
        if (by[i])
            return by[i];
    return 0;
}

static size_t best_of(const umbel_comparison *c)
{
    size_t best = c->n;

    for (size_t i = 0; i < c->n; i++)
        if (c->way[i].status == UMBEL_OK &&
            (best == c->n || compare_results(&c->way[i], &c->way[best]) < 0))
            best = i;
    return best;
}

static umbel_status check_never(const um_strategy_input *s, double *weight,
                                umbel_error *err)
{
    const umbel_key_list *k = s->never;
    size_t both = 0;

    UM_TRY(um_check_weights(k->weights, k->n, err));
    *weight = 0;
    for (size_t i = 0; i < k->n; i++) {
        *weight += um_list_weight(k, i);
        both += um_digest_set_is_first(&s->listed, i) &&
                um_digest_set_find(&s->held, &k->digests[i]);
    }
    if (both)
        return um_fail(err, UMBEL_E_KEY,
                       "%zu of the keys that must not match are members", both);
    return UMBEL_OK;
}

static umbel_status check_params(const umbel_params *p, uint64_t bytes,
                                 const umbel_key_list *members,
                                 const umbel_key_list *never, umbel_error *err)
{
    UM_TRY(um_check_key_list(members, err));
    UM_TRY(um_check_key_list(never, err));
    if (members->n == 0)
        return um_fail(err, UMBEL_E_RANGE, "the list of members is empty");
    if (never->n == 0)
        return um_fail(err, UMBEL_E_RANGE, "the list of negatives is empty");
    if (p->capacity || p->cells || p->hashes || p->nsettings)
        return um_fail(err, UMBEL_E_RANGE,
                       "size, hashes and settings follow from the bytes: "
                       "leave capacity, cells, hashes and settings out");
    if (bytes && p->fpr > 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "give the bytes or the error of a plain filter, not "
                       "both");
    return UMBEL_OK;
}

/* Sets the limit to what a plain filter of the members takes. */
static umbel_status default_bytes(um_strategy_input *s, umbel_error *err)
{
    umbel_params p = s->params;
    umbel_size_plan plan;

    if (s->bytes)
        return UMBEL_OK;
    p.capacity = s->members->n;
    UM_TRY(umbel_plan_size("bloom", &p, 0, &plan, err));
    s->bytes = plan.bytes;
    return UMBEL_OK;
}

bool umbel_strategy_at(size_t i, const char **name, const char **summary)
{
    um_strategy row;

    if (!um_strategy_get(i, &row))
        return false;
    *name = row.name;
    if (summary)
        *summary = row.summary;
    return true;
}

/* Replaces an estimate by a measurement. */
static umbel_status measure_whole(const um_strategy_input *s,
                                  umbel_strategy *out, umbel_error *err)
{
    um_strategy row;

    for (size_t i = 0; um_strategy_get(i, &row); i++)
        if (row.name == out->name)
            return try_strategy(s, &row, true, out, err);
    return UMBEL_OK;
}

/* Returns true for an estimate that may be the best after all. If the best
 * leaves nothing, only a lower error can be better. */
static bool comes_near(const umbel_strategy *w, const umbel_strategy *best)
{
    if (w->sample <= 1 || w->status != UMBEL_OK)
        return false;
    if (w == best)
        return true;
    return best->weight_left > 0 ? w->weight_left < NEAR * best->weight_left
                                 : w->unseen < best->unseen;
}

static size_t first_near(const umbel_comparison *c)
{
    size_t best = best_of(c), i = 0;

    while (i < c->n && !(best < c->n && comes_near(&c->way[i], &c->way[best])))
        i++;
    return i;
}

/* Replaces estimates that come near the best by measurements. */
static umbel_status measure_near(const um_strategy_input *s,
                                 umbel_comparison *c, umbel_error *err)
{
    for (size_t i; (i = first_near(c)) < c->n;)
        UM_TRY(measure_whole(s, &c->way[i], err));
    return UMBEL_OK;
}

static umbel_status try_strategies(const um_strategy_input *s,
                                   umbel_comparison *c, umbel_error *err)
{
    um_strategy row;

    for (size_t i = 0; c->n < UMBEL_MAX_STRATEGIES && um_strategy_get(i, &row);
         i++)
        if (!row.addressing || !s->params.addressing)
            UM_TRY(try_first(s, &row, &c->way[c->n++], err));
    UM_TRY(measure_near(s, c, err));
    c->best = best_of(c);
    return UMBEL_OK;
}

static umbel_status class_weights(um_strategy_input *s, umbel_error *err)
{
    um_weight_counts *counts = um_get(&s->alloc, sizeof *counts);
    size_t room = UM_WEIGHT_CLASSES * sizeof *s->classes;

    s->classes = um_get(&s->alloc, room);
    if (counts && s->classes) {
        um_weight_counts_add(counts, s->never->weights, s->never->n);
        s->nclasses = um_weight_classes(counts, s->listed.n, s->classes);
    }
    um_put(&s->alloc, counts, sizeof *counts);
    return counts && s->classes ? UMBEL_OK : um_no_memory(err, room);
}

typedef struct weighed {
    double weight;
    size_t number;
} weighed;

static int by_weight(const void *a, const void *b)
{
    const weighed *x = a, *y = b;

    return x->weight < y->weight || x->weight > y->weight
               ? (x->weight < y->weight) - (x->weight > y->weight)
               : (x->number > y->number) - (x->number < y->number);
}

static umbel_status sort_weights(um_strategy_input *s, umbel_error *err)
{
    size_t n = s->never->n;
    weighed *all;

    if (!s->never->weights)
        return UMBEL_OK;
    all = um_get(&s->alloc, n * sizeof *all);
    s->by_weight = um_get(&s->alloc, n * sizeof *s->by_weight);
    if (all && s->by_weight) {
        for (size_t i = 0; i < n; i++)
            all[i] = (weighed){s->never->weights[i], i};
        qsort(all, n, sizeof *all, by_weight);
        for (size_t i = 0; i < n; i++)
            s->by_weight[i] = all[i].number;
    }
    um_put(&s->alloc, all, n * sizeof *all);
    return all && s->by_weight ? UMBEL_OK : um_no_memory(err, n * sizeof *all);
}

static umbel_status compare(um_strategy_input *s, umbel_comparison *out,
                            umbel_error *err)
{
    umbel_comparison c = {.n = 0};

    UM_TRY(um_digest_set_init(&s->held, &s->alloc, s->members->digests,
                              s->members->n, err));
    UM_TRY(um_digest_set_init(&s->listed, &s->alloc, s->never->digests,
                              s->never->n, err));
    UM_TRY(check_never(s, &c.weight, err));
    UM_TRY(class_weights(s, err));
    UM_TRY(sort_weights(s, err));
    UM_TRY(default_bytes(s, err));
    UM_TRY(try_plain(s, &c, err));
    UM_TRY(try_strategies(s, &c, err));
    c.bytes = s->bytes;
    c.members = s->held.n;
    c.listed = s->listed.n;
    *out = c;
    return UMBEL_OK;
}

umbel_status umbel_compare_strategies(const umbel_params *params,
                                      uint64_t bytes,
                                      const umbel_key_list *members,
                                      const umbel_key_list *never,
                                      umbel_comparison *out, umbel_error *err)
{
    um_strategy_input s = {.bytes = bytes,
                           .members = members,
                           .never = never,
                           .capacity = members->n};
    um_shape ignored;

    UM_TRY(um_params_normalize(params, &s.params, err));
    UM_TRY(check_params(&s.params, bytes, members, never, err));
    /* Reports a wrong name here, not once for each strategy. */
    UM_TRY(um_shape_from_params("bloom", &s.params, &ignored, err));
    s.alloc = um_alloc_or_default(s.params.alloc);
    umbel_status status = compare(&s, out, err);
    um_digest_set_fini(&s.held);
    um_digest_set_fini(&s.listed);
    um_put(&s.alloc, s.by_weight, never->n * sizeof *s.by_weight);
    um_put(&s.alloc, s.classes, UM_WEIGHT_CLASSES * sizeof *s.classes);
    return status;
}
