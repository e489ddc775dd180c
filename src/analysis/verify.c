/*
 * verify.c - count errors on keys whose truth is known.
 *
 * Members are remembered as 128-bit digests of a hash of their own, in a table
 * with open addressing. As long as no member was denied only outside keys that
 * match the filter can be members, so the table is hardly touched.
 */
#define XXH_INLINE_ALL
#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "filter/handle.h"

#include <umbel/estimate.h>
#include <umbel/verify.h>

#include <xxhash.h>

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
    x.low64 |= 1; /* never the free slot */
    return x;
}

/* The slot of x, or the free one where it belongs. */
static XXH128_hash_t *find(XXH128_hash_t *slots, size_t nslots, XXH128_hash_t x)
{
    size_t i = (size_t)x.high64 & (nslots - 1);

    while (slots[i].low64 && !XXH128_isEqual(slots[i], x))
        i = (i + 1) & (nslots - 1);
    return &slots[i];
}

static umbel_status grow(umbel_verifier *v, umbel_error *err)
{
    const umbel_alloc *alloc = &v->filter->alloc;
    size_t nslots = v->nslots ? v->nslots * 2 : FIRST_SLOTS;
    XXH128_hash_t *slots = um_get(alloc, nslots * sizeof *slots);

    if (!slots)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to remember %zu members",
                       nslots);
    for (size_t i = 0; i < v->nslots; i++)
        if (v->slots[i].low64)
            *find(slots, nslots, v->slots[i]) = v->slots[i];
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
            /* Members match, unless some were denied. */
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
