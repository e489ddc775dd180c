/*
 * compare.c - every way to keep listed keys from matching, built and asked.
 *
 * Nothing here is believed from a bill: whatever a way made is asked for all
 * keys of both lists, by the same loop. The error on keys of neither is
 * predicted from the cells as they are; what exceptions take from it is
 * measured on keys that are made up.
 */
#include "negatives/compare/compare.h"

#include "base/alloc.h"
#include "base/batch.h"
#include "base/bits.h"
#include "base/key_list.h"
#include "filter/handle.h"
#include "filter/sizing.h"
#include "negatives/exact/size.h"
#include "query/query_each.h"

#include <umbel/diff.h>
#include <umbel/file.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>

enum { GENERATED = 1 << 17 };

/* What an estimate may be wrong by. */
#define NEAR 1.5

typedef struct answers {
    const um_scene *s;
    uint64_t lost;
    double left;
} answers;

static void consume_member(void *ctx, size_t i, bool hit)
{
    answers *a = ctx;
    a->lost += !hit && um_digest_index_is_first(&a->s->held, i);
}

static void consume_listed(void *ctx, size_t i, bool hit)
{
    answers *a = ctx;
    a->left += hit ? um_list_weight(a->s->never, i) : 0;
}

/*
 * The share of keys that match the first filter and not the second. Both stand
 * on the same digests, so their errors are no strangers to each other, and the
 * product of two predictions is wrong: keys are made up and asked. Hashes that
 * refuse such keys have to do with the product.
 */
static double spared(const um_made *m)
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

static umbel_status measure(const um_scene *s, const um_strategy_row *row,
                            const um_made *m, umbel_strategy *out,
                            umbel_error *err)
{
    umbel_strategy w = {.name = row->name,
                        .addressing = row->addressing,
                        .sample = 1,
                        .readers_change = row->readers_change};
    answers a = {.s = s};

    UM_TRY(um_query_each(m->filter, m->second, s->members->digests,
                         s->members->n, consume_member, &a, err));
    UM_TRY(um_query_each(m->filter, m->second, s->never->digests, s->never->n,
                         consume_listed, &a, err));
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

/* --- the next edition --- */

/* What a reader of old fetches to have now: the difference, or all of it. */
static umbel_status add_moved(const um_scene *s, const umbel_filter *old,
                              const umbel_filter *now, uint64_t *sum,
                              umbel_error *err)
{
    uint64_t least = umbel_encoded_len(now);
    size_t room = umbel_diff_room(now);
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
 * One member in 500 leaves: as many cells change as when one in 1,000 is
 * replaced, and no key has to be made up.
 */
static umbel_status measure_next(const um_scene *s, const um_strategy_row *row,
                                 const um_made *m, uint64_t *out,
                                 umbel_error *err)
{
    size_t gone = 2 * ((s->members->n + 999) / 1000);
    umbel_key_list fewer = *s->members;
    um_scene next = *s;
    um_made made = {0};

    if (m->filter->kind->built || fewer.n <= gone) {
        *out = umbel_encoded_len(m->filter);
        return UMBEL_OK;
    }
    fewer.n -= gone;
    next.members = &fewer;
    next.like = m->filter;
    *out = 0;
    umbel_status status = row->make(&next, &made, err);
    if (status == UMBEL_OK)
        status = add_moved(s, m->filter, made.filter, out, err);
    if (status == UMBEL_OK && made.second)
        status = add_moved(s, m->second, made.second, out, err);
    umbel_close(made.filter);
    umbel_close(made.second);
    return status;
}

static umbel_strategy not_possible(const um_strategy_row *row,
                                   const umbel_error *reason)
{
    return (umbel_strategy){.name = row->name,
                            .status = reason->status,
                            .reason = *reason,
                            .addressing = row->addressing,
                            .sample = 1,
                            .readers_change = row->readers_change};
}

/* A way that cannot be had says so; only memory is everybody's trouble. */
umbel_status um_strategy_try(const um_scene *scene, const um_strategy_row *row,
                             bool next, umbel_strategy *out, umbel_error *err)
{
    um_scene own = *scene;
    const um_scene *s = &own;
    um_made m = {0};
    umbel_error reason = {0};

    if (row->addressing)
        own.params.addressing = row->addressing;
    umbel_status status = row->make(s, &m, &reason);

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

static umbel_status try_first(const um_scene *s, const um_strategy_row *row,
                              umbel_strategy *out, umbel_error *err)
{
    uint64_t every = um_strategy_sample(s, row);
    umbel_error reason = {0};

    if (every == 0) {
        um_set_error(&reason, UMBEL_E_LIMIT,
                     "takes minutes: %zu members are too few to take a sample "
                     "of both lists",
                     s->members->n);
        *out = not_possible(row, &reason);
        return UMBEL_OK;
    }
    return every > 1 ? um_strategy_estimate(s, row, every, out, err)
                     : um_strategy_try(s, row, true, out, err);
}

/* What doing nothing leaves, for comparison. */
static umbel_status try_plain(const um_scene *s, umbel_comparison *out,
                              umbel_error *err)
{
    umbel_strategy w;

    UM_TRY(um_strategy_try(s, &um_no_strategy, true, &w, err));
    out->plain_left = w.status == UMBEL_OK ? w.weight_left : NAN;
    out->plain_unseen = w.status == UMBEL_OK ? w.unseen : NAN;
    out->plain_next_bytes = w.next_bytes;
    return UMBEL_OK;
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

/* Below 0: a is better. */
static int judge(const umbel_strategy *a, const umbel_strategy *b)
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
            (best == c->n || judge(&c->way[i], &c->way[best]) < 0))
            best = i;
    return best;
}

static umbel_status check_never(const um_scene *s, double *weight,
                                umbel_error *err)
{
    const umbel_key_list *k = s->never;
    size_t both = 0;

    UM_TRY(um_check_weights(k->weights, k->n, err));
    *weight = 0;
    for (size_t i = 0; i < k->n; i++) {
        *weight += um_list_weight(k, i);
        both += um_digest_index_is_first(&s->listed, i) &&
                um_digest_index_find(&s->held, &k->digests[i]);
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
        return um_fail(err, UMBEL_E_RANGE, "there is no member");
    if (never->n == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "there is no key that must not match");
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

/* As many as a plain filter of the members takes. */
static umbel_status want_bytes(um_scene *s, umbel_error *err)
{
    umbel_params p = s->params;
    umbel_plan plan;

    if (s->bytes)
        return UMBEL_OK;
    p.capacity = s->members->n;
    UM_TRY(umbel_make_plan("bloom", &p, 0, &plan, err));
    s->bytes = plan.bytes;
    return UMBEL_OK;
}

static size_t count_ways(void)
{
    size_t n = 0;

    while (um_strategies[n])
        n++;
    return n;
}

bool umbel_strategy_at(size_t i, const char **name, const char **summary)
{
    if (i >= count_ways())
        return false;
    *name = um_strategies[i]->name;
    if (summary)
        *summary = um_strategies[i]->summary;
    return true;
}

static const um_strategy_row *row_of(const umbel_strategy *w)
{
    const um_strategy_row *const *row = um_strategies;

    while ((*row)->name != w->name)
        row++;
    return *row;
}

/* Returns true for an estimate that may be the best after all. Where the best
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

/* Estimates that come near are replaced by measurements. */
static umbel_status measure_near(const um_scene *s, umbel_comparison *c,
                                 umbel_error *err)
{
    for (size_t i; (i = first_near(c)) < c->n;)
        UM_TRY(um_strategy_try(s, row_of(&c->way[i]), true, &c->way[i], err));
    return UMBEL_OK;
}

static umbel_status try_ways(const um_scene *s, umbel_comparison *c,
                             umbel_error *err)
{
    for (const um_strategy_row *const *row = um_strategies; *row; row++)
        if (!(*row)->addressing || !s->params.addressing)
            UM_TRY(try_first(s, *row, &c->way[c->n++], err));
    UM_TRY(measure_near(s, c, err));
    c->best = best_of(c);
    return UMBEL_OK;
}

static umbel_status class_weights(um_scene *s, umbel_error *err)
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

static umbel_status sort_weights(um_scene *s, umbel_error *err)
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

static umbel_status compare(um_scene *s, umbel_comparison *out,
                            umbel_error *err)
{
    umbel_comparison c = {.n = 0};

    UM_TRY(um_digest_index_init(&s->held, &s->alloc, s->members->digests,
                                s->members->n, err));
    UM_TRY(um_digest_index_init(&s->listed, &s->alloc, s->never->digests,
                                s->never->n, err));
    UM_TRY(check_never(s, &c.weight, err));
    UM_TRY(class_weights(s, err));
    UM_TRY(sort_weights(s, err));
    UM_TRY(want_bytes(s, err));
    UM_TRY(try_plain(s, &c, err));
    UM_TRY(try_ways(s, &c, err));
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
    um_scene s = {.bytes = bytes,
                  .members = members,
                  .never = never,
                  .capacity = members->n};
    um_shape ignored;

    UM_TRY(um_params_consume(params, &s.params, err));
    UM_TRY(check_params(&s.params, bytes, members, never, err));
    /* A wrong name fails here, not once for each strategy. */
    UM_TRY(um_shape_from_params("bloom", &s.params, &ignored, err));
    s.alloc = um_alloc_or_default(s.params.alloc);
    umbel_status status = compare(&s, out, err);
    um_digest_index_fini(&s.held);
    um_digest_index_fini(&s.listed);
    um_put(&s.alloc, s.by_weight, never->n * sizeof *s.by_weight);
    um_put(&s.alloc, s.classes, UM_WEIGHT_CLASSES * sizeof *s.classes);
    return status;
}
