/*
 * compare.c - every way to keep listed keys from matching, built and asked.
 *
 * Nothing here is believed from a bill: whatever a way made is asked for all
 * keys of both lists, by the same loop. The error on keys of neither is
 * predicted from the cells as they are; what exceptions take from it is
 * measured on keys that are made up.
 */
#include "ops/compare.h"

#include "base/alloc.h"
#include "base/batch.h"
#include "base/bits.h"
#include "base/error.h"
#include "filter/sizing.h"

#include <umbel/file.h>
#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATED = 1 << 17 };

/* --- what it is worth -------------------------------------------------------
 */

/* Every answer of both filters together. */
static umbel_status ask(const um_made *m, const umbel_digest *d, size_t n,
                        bool *hit, umbel_error *err)
{
    bool again[UM_BATCH];
    umbel_status status = umbel_query_digests(m->filter, d, n, hit, err);

    if (status != UMBEL_OK || !m->second)
        return status;
    status = umbel_query_digests(m->second, d, n, again, err);
    for (size_t i = 0; status == UMBEL_OK && i < n; i++)
        hit[i] = hit[i] && !again[i];
    return status;
}

static umbel_status count_lost(const um_scene *s, const um_made *m,
                               uint64_t *lost, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    bool hit[UM_BATCH];

    *lost = 0;
    for (size_t i = 0, some; status == UMBEL_OK && i < s->ndistinct;
         i += some) {
        some = um_next_batch(s->ndistinct - i);
        status = ask(m, s->distinct + i, some, hit, err);
        for (size_t j = 0; status == UMBEL_OK && j < some; j++)
            *lost += !hit[j];
    }
    return status;
}

static double weight_of(const umbel_keyset *k, size_t i)
{
    return k->weights ? k->weights[i] : 1;
}

static umbel_status weigh_left(const um_scene *s, const um_made *m,
                               double *left, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    bool hit[UM_BATCH];

    *left = 0;
    for (size_t i = 0, some; status == UMBEL_OK && i < s->never->n; i += some) {
        some = um_next_batch(s->never->n - i);
        status = ask(m, s->never->digests + i, some, hit, err);
        for (size_t j = 0; status == UMBEL_OK && j < some; j++)
            *left += hit[j] ? weight_of(s->never, i + j) : 0;
    }
    return status;
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

static double unseen(const um_made *m)
{
    return umbel_predict(m->filter) * (m->second ? spared(m) : 1);
}

static umbel_status measure(const um_scene *s, const um_strategy_row *row,
                            const um_made *m, umbel_strategy *out,
                            umbel_error *err)
{
    umbel_strategy w = {.name = row->name,
                        .readers_change = row->readers_change};

    UM_TRY(count_lost(s, m, &w.lost, err));
    UM_TRY(weigh_left(s, m, &w.weight_left, err));
    w.bytes = umbel_encoded_len(m->filter);
    w.unseen = unseen(m);
    w.cells = umbel_cells(m->filter);
    w.hashes = umbel_hashes(m->filter);
    w.probes = w.hashes * row->groups;
    if (m->second) {
        w.bytes += umbel_encoded_len(m->second);
        w.second_cells = umbel_cells(m->second);
        w.second_hashes = umbel_hashes(m->second);
        w.second_keys = umbel_added(m->second);
        w.probes += w.second_hashes;
    }
    *out = w;
    return UMBEL_OK;
}

/* A way that cannot be had says so; only memory is everybody's trouble. */
static umbel_status try_way(const um_scene *s, const um_strategy_row *row,
                            umbel_strategy *out, umbel_error *err)
{
    um_made m = {0};
    umbel_error reason = {0};
    umbel_status status = row->make(s, row->groups, &m, &reason);

    if (status == UMBEL_OK)
        status = measure(s, row, &m, out, &reason);
    umbel_close(m.filter);
    umbel_close(m.second);
    if (status == UMBEL_E_NOMEM)
        return um_fail_detail(err, status, reason.detail, "%s", reason.text);
    if (status != UMBEL_OK)
        *out = (umbel_strategy){.name = row->name,
                                .status = status,
                                .reason = reason,
                                .readers_change = row->readers_change};
    return UMBEL_OK;
}

/* What doing nothing leaves, for comparison. */
static umbel_status try_plain(const um_scene *s, umbel_comparison *out,
                              umbel_error *err)
{
    um_made m = {0};
    umbel_error reason = {0};
    umbel_status status = um_make_plain(s, s->bytes, &m.filter, &reason);

    out->plain_left = out->plain_unseen = NAN;
    if (status == UMBEL_OK)
        status = weigh_left(s, &m, &out->plain_left, &reason);
    if (status == UMBEL_OK)
        out->plain_unseen = unseen(&m);
    umbel_close(m.filter);
    return status == UMBEL_E_NOMEM
               ? um_fail_detail(err, status, reason.detail, "%s", reason.text)
               : UMBEL_OK;
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

/* --- the lists --------------------------------------------------------------
 */

static int by_digest(const void *a, const void *b)
{
    const umbel_digest *x = a, *y = b;
    int hi = (x->hi > y->hi) - (x->hi < y->hi);
    return hi ? hi : (x->lo > y->lo) - (x->lo < y->lo);
}

static void sort_members(um_scene *s)
{
    size_t n = 0;

    memcpy(s->distinct, s->members->digests,
           s->members->n * sizeof *s->distinct);
    qsort(s->distinct, s->members->n, sizeof *s->distinct, by_digest);
    for (size_t i = 0; i < s->members->n; i++)
        if (!n || by_digest(&s->distinct[n - 1], &s->distinct[i]) != 0)
            s->distinct[n++] = s->distinct[i];
    s->ndistinct = n;
}

static umbel_status check_never(const um_scene *s, double *weight,
                                umbel_error *err)
{
    const umbel_keyset *k = s->never;
    size_t both = 0;

    *weight = 0;
    for (size_t i = 0; i < k->n; i++) {
        if (!(weight_of(k, i) >= 0 && isfinite(weight_of(k, i))))
            return um_fail(err, UMBEL_E_RANGE,
                           "weights are finite and not negative, got %g",
                           weight_of(k, i));
        *weight += weight_of(k, i);
        both += um_digest_index_find(&s->listed, &k->digests[i]) == i + 1 &&
                bsearch(&k->digests[i], s->distinct, s->ndistinct,
                        sizeof *s->distinct, by_digest);
    }
    if (both)
        return um_fail(err, UMBEL_E_KEY,
                       "%zu of the keys that must not match are members", both);
    return UMBEL_OK;
}

static umbel_status check_params(const umbel_params *p, uint64_t bytes,
                                 const umbel_keyset *members,
                                 const umbel_keyset *never, umbel_error *err)
{
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

    while (um_strategies[n].name)
        n++;
    return n;
}

bool umbel_strategy_at(size_t i, const char **name, const char **summary)
{
    if (i >= count_ways())
        return false;
    *name = um_strategies[i].name;
    if (summary)
        *summary = um_strategies[i].summary;
    return true;
}

static umbel_status compare(um_scene *s, umbel_comparison *out,
                            umbel_error *err)
{
    umbel_comparison c = {.n = count_ways()};

    sort_members(s);
    umbel_status status = um_digest_index_init(
        &s->listed, &s->alloc, s->never->digests, s->never->n, err);
    if (status == UMBEL_OK)
        status = check_never(s, &c.weight, err);
    if (status == UMBEL_OK)
        status = want_bytes(s, err);
    if (status == UMBEL_OK)
        status = try_plain(s, &c, err);
    for (size_t i = 0; status == UMBEL_OK && i < c.n; i++)
        status = try_way(s, &um_strategies[i], &c.way[i], err);
    if (status != UMBEL_OK)
        return status;
    c.bytes = s->bytes;
    c.members = s->ndistinct;
    c.listed = s->listed.n;
    c.best = best_of(&c);
    *out = c;
    return UMBEL_OK;
}

umbel_status umbel_compare_strategies(const umbel_params *params,
                                      uint64_t bytes,
                                      const umbel_keyset *members,
                                      const umbel_keyset *never,
                                      umbel_comparison *out, umbel_error *err)
{
    um_scene s = {.bytes = bytes, .members = members, .never = never};
    size_t room = members->n * sizeof *s.distinct;
    um_shape ignored;

    UM_TRY(um_params_take(params, &s.params, err));
    UM_TRY(check_params(&s.params, bytes, members, never, err));
    /* names, before they fail way by way */
    UM_TRY(um_shape_from_params("bloom", &s.params, &ignored, err));
    s.alloc = um_alloc_or_default(s.params.alloc);
    s.distinct = um_get(&s.alloc, room);
    if (!s.distinct)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu members",
                       members->n);
    umbel_status status = compare(&s, out, err);
    um_digest_index_fini(&s.listed);
    um_put(&s.alloc, s.distinct, room);
    return status;
}
