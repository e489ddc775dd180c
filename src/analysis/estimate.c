/*
 * estimate.c - estimates the number of keys from the cells in use.
 *
 * Survey 2.4 writes the size of an intersection as a function of the zeros of
 * both filters and of their union. The OR of two filters is the filter of the
 * union, cell for cell, so three numbers of unused cells give three numbers of
 * keys, and |A and B| = |A| + |B| - |A or B|.
 *
 * The intervals use the delta method on the exact covariances of those three
 * numbers (filter/addressing/model.c), which account for uneven blocks.
 */
#define XXH_INLINE_ALL
#include "analysis/analysis.h"
#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "base/map.h"
#include "filter/handle.h"

#include <umbel/estimate.h>
#include <umbel/verify.h>

#include <math.h>
#include <xxhash.h>

static double clamp(double x, double top)
{
    return fmin(fmax(x, 0), top);
}

static umbel_interval around(double value, double variance, double top)
{
    double reach = UM_Z99 * sqrt(variance > 0 ? variance : 0);

    return (umbel_interval){clamp(value, top), clamp(value - reach, top),
                            clamp(value + reach, top)};
}

/* Returns the covariance of the estimated numbers of keys of two filters. */
static double keys_covariance(const um_layout *l, double a, double b,
                              double shared)
{
    return um_model_covariance(l, a, b, shared) * um_model_slope(l, a) *
           um_model_slope(l, b);
}

static umbel_status check_countable(const umbel_filter *f, umbel_error *err)
{
    if (!f->kind->bits)
        return um_cannot(f, "estimate its keys", err);
    if (!um_used_by_chance(f))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "its keys chose their cells, so the cells in use tell "
                       "their number only roughly: see how many were added");
    if (f->intersected)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "the cells of an intersection do not tell how many keys "
                       "it has: compare the filters it was made from");
    if (f->difference)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "the cells of a difference of refined counts do not "
                       "tell how many keys it has");
    if (f->false_negatives)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "the cells of a retouched filter do not tell how many "
                       "keys it has: ask the one it was made from");
    return UMBEL_OK;
}

umbel_status umbel_estimate_keys(const umbel_filter *f, umbel_interval *out,
                                 umbel_error *err)
{
    const um_layout *l = &f->layout;

    UM_TRY(check_countable(f, err));
    double keys = um_model_keys(l, f->kind->bits->used(f->self, NULL));
    if (isinf(keys)) {
        double least = um_model_keys(l, l->cells - 1);
        *out = (umbel_interval){INFINITY, least, INFINITY};
    } else {
        *out = around(keys, keys_covariance(l, keys, keys, keys), INFINITY);
    }
    return UMBEL_OK;
}

/* Three filters A, B and their union: estimates and their covariances. */
typedef struct trio {
    double keys[3];
    double cov[3][3];
} trio;

enum { A, B, U };

static void fill_covariances(const um_layout *l, trio *t)
{
    const double *keys = t->keys;
    double both = clamp(keys[A] + keys[B] - keys[U], fmin(keys[A], keys[B]));

    double shared[3][3] = {{keys[A], both, keys[A]},
                           {both, keys[B], keys[B]},
                           {keys[A], keys[B], keys[U]}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t->cov[i][j] = keys_covariance(l, keys[i], keys[j], shared[i][j]);
}

/* Returns the variance of the linear combination g. */
static double variance_of(const trio *t, const double g[3])
{
    double sum = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += g[i] * g[j] * t->cov[i][j];
    return sum;
}

static void overlap_from(const trio *t, umbel_overlap *out)
{
    static const double only_union[3] = {0, 0, 1}, shared[3] = {1, 1, -1};
    double a = t->keys[A], b = t->keys[B], u = t->keys[U];

    out->both_or_one = around(u, variance_of(t, only_union), INFINITY);
    out->both = around(a + b - u, variance_of(t, shared), INFINITY);
    if (u <= 0) {
        out->jaccard = (umbel_interval){0, 0, 0};
        return;
    }
    const double slope[3] = {1 / u, 1 / u, -(a + b) / (u * u)};
    out->jaccard = around((a + b - u) / u, variance_of(t, slope), 1);
}

umbel_status umbel_estimate_overlap(const umbel_filter *a,
                                    const umbel_filter *b, umbel_overlap *out,
                                    umbel_error *err)
{
    const um_kind *kind = a->kind;
    const um_layout *l = &a->layout;

    UM_TRY(umbel_same_shape(a, b, err));
    UM_TRY(check_countable(a, err));
    UM_TRY(check_countable(b, err));
    trio t = {.keys = {
                  um_model_keys(l, kind->bits->used(a->self, NULL)),
                  um_model_keys(l, kind->bits->used(b->self, NULL)),
                  um_model_keys(l, kind->bits->used(a->self, b->self)),
              }};
    if (isinf(t.keys[U])) {
        const umbel_interval unknown = {NAN, 0, INFINITY};
        *out = (umbel_overlap){unknown, unknown, {NAN, 0, 1}};
        return UMBEL_OK;
    }
    fill_covariances(l, &t);
    overlap_from(&t, out);
    return UMBEL_OK;
}

umbel_interval umbel_rate_interval(uint64_t hits, uint64_t trials)
{
    const double tail = 0.005;
    if (hits > trials)
        hits = trials;
    double x = (double)hits, n = (double)trials;
    if (trials == 0)
        return (umbel_interval){0, 0, 1};
    return (umbel_interval){
        .value = x / n,
        .low = hits == 0 ? 0 : um_beta_quantile(tail, x, n - x + 1),
        .high = hits == trials ? 1 : um_beta_quantile(1 - tail, x + 1, n - x),
    };
}

/*
 * Counts errors on keys whose membership is known.
 *
 * Members are stored as 128-bit digests of a separate hash, in a table with
 * open addressing. As long as no false negative was found, only outside keys
 * that match the filter can be members, so the table is hardly accessed.
 */

enum { FIRST_SLOTS = 1024 };

struct umbel_verifier {
    const umbel_filter *filter;
    XXH128_hash_t *slots; /* all zero: free */
    size_t nslots;        /* a power of two */
    size_t nused;
    umbel_verdict sum;
    double predicted;
};

static XXH128_hash_t name_of(const umbel_slice *key)
{
    XXH128_hash_t x = XXH3_128bits_withSeed(key->data, key->len, 0x756D62656C);
    x.low64 |= 1; /* never equals a free slot */
    return x;
}

static bool is_free(const void *slot)
{
    return ((const XXH128_hash_t *)slot)->low64 == 0;
}

static bool has_name(const void *ctx, const void *slot, const void *name)
{
    (void)ctx;
    return XXH128_isEqual(*(const XXH128_hash_t *)slot,
                          *(const XXH128_hash_t *)name);
}

static uint64_t hash_slot(const void *ctx, const void *slot)
{
    (void)ctx;
    return ((const XXH128_hash_t *)slot)->high64;
}

static const um_map_rule rule = {sizeof(XXH128_hash_t), is_free, has_name,
                                 hash_slot};

/* Returns the slot of x, or the free slot where it would go. */
static XXH128_hash_t *find(const XXH128_hash_t *slots, size_t nslots,
                           XXH128_hash_t x)
{
    return um_map_find(&rule, NULL, slots, nslots, x.high64, &x);
}

static umbel_status grow(umbel_verifier *v, umbel_error *err)
{
    const umbel_alloc *alloc = &v->filter->alloc;
    size_t nslots = v->nslots ? v->nslots * 2 : FIRST_SLOTS;
    XXH128_hash_t *slots = um_get(alloc, nslots * sizeof *slots);

    if (!slots)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to remember %zu members",
                       nslots);
    um_map_move(&rule, NULL, v->slots, v->nslots, slots, nslots);
    um_put(alloc, v->slots, v->nslots * sizeof *slots);
    v->slots = slots;
    v->nslots = nslots;
    return UMBEL_OK;
}

static umbel_status remember(umbel_verifier *v, const umbel_slice *key,
                             umbel_error *err)
{
    if (v->nused >= v->nslots / 4 * 3)
        UM_TRY(grow(v, err));
    XXH128_hash_t x = name_of(key), *slot = find(v->slots, v->nslots, x);
    v->nused += slot->low64 == 0;
    *slot = x;
    return UMBEL_OK;
}

static bool is_member(const umbel_verifier *v, const umbel_slice *key)
{
    return v->nslots && find(v->slots, v->nslots, name_of(key))->low64 != 0;
}

umbel_status umbel_verify_open(const umbel_filter *f, umbel_verifier **out,
                               umbel_error *err)
{
    umbel_verifier *v = um_get(&f->alloc, sizeof *v);

    if (!v)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a verifier");
    v->filter = f;
    v->predicted = umbel_predict(f);
    *out = v;
    return UMBEL_OK;
}

void umbel_verify_close(umbel_verifier *v)
{
    if (!v)
        return;
    const umbel_alloc alloc = v->filter->alloc;
    um_put(&alloc, v->slots, v->nslots * sizeof *v->slots);
    um_put(&alloc, v, sizeof *v);
}

umbel_status umbel_verify_members(umbel_verifier *v, const umbel_slice *keys,
                                  size_t n, umbel_error *err)
{
    bool hit[UM_BATCH];

    if (v->sum.outside || v->sum.dropped)
        return um_fail(err, UMBEL_E_RANGE,
                       "members come first: outside keys were given already");
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(umbel_query_many(v->filter, keys + done, some, hit, err));
        for (size_t i = 0; i < some; i++) {
            UM_TRY(remember(v, &keys[done + i], err));
            v->sum.members++;
            v->sum.false_negatives += !hit[i];
        }
    }
    return UMBEL_OK;
}

umbel_status umbel_verify_outside(umbel_verifier *v, const umbel_slice *keys,
                                  size_t n, bool *wrong, umbel_error *err)
{
    bool hit[UM_BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(umbel_query_many(v->filter, keys + done, some, hit, err));
        for (size_t i = 0; i < some; i++) {
            /* Members match, unless there are false negatives. */
            bool member = (hit[i] || v->sum.false_negatives) &&
                          is_member(v, &keys[done + i]);
            v->sum.dropped += member;
            v->sum.outside += !member;
            v->sum.false_positives += hit[i] && !member;
            if (wrong)
                wrong[done + i] = hit[i] && !member;
        }
    }
    return UMBEL_OK;
}

void umbel_verify_result(const umbel_verifier *v, umbel_verdict *out)
{
    umbel_interval rate =
        umbel_rate_interval(v->sum.false_positives, v->sum.outside);

    *out = v->sum;
    out->rate = rate.value;
    out->low = rate.low;
    out->high = rate.high;
    out->predicted = v->predicted;
}
