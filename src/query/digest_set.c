/*
 * digest_set.c - a table of digests with open addressing.
 */
#include "query/digest_set.h"

#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"

static bool is_free_slot(const void *slot)
{
    return *(const uint32_t *)slot == 0;
}

static bool has_digest(const void *ctx, const void *slot, const void *key)
{
    const um_digest_set *r = ctx;
    const umbel_digest *other = &r->digests[*(const uint32_t *)slot - 1];
    const umbel_digest *d = key;

    return other->lo == d->lo && other->hi == d->hi;
}

/* Returns the slot of d, or the free one where it belongs. */
static uint32_t *place_of(const um_digest_set *r, const umbel_digest *d)
{
    static const um_map_rule rule = {sizeof *r->slot, is_free_slot, has_digest,
                                     NULL};

    /* Keys of hash integer have no hi, and a lo of few bits. */
    return um_map_find(&rule, r, r->slot, r->nslots,
                       um_remix(d->lo ^ um_remix(d->hi)), d);
}

umbel_status um_digest_set_init(um_digest_set *r, const umbel_alloc *alloc,
                                const umbel_digest *digests, size_t n,
                                umbel_error *err)
{
    *r = (um_digest_set){.alloc = alloc, .digests = digests};
    if (n >= UINT32_MAX / 4)
        return um_fail(err, UMBEL_E_LIMIT, "%zu keys are too many", n);
    r->nslots = um_map_cap(n, 16);
    r->slot = um_get(alloc, r->nslots * sizeof *r->slot);
    if (!r->slot)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", n);
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot = place_of(r, &digests[i]);
        r->n += *slot == 0;
        if (*slot == 0)
            *slot = (uint32_t)i + 1;
    }
    return UMBEL_OK;
}

void um_digest_set_fini(um_digest_set *r)
{
    if (r->slot)
        um_put(r->alloc, r->slot, r->nslots * sizeof *r->slot);
    r->slot = NULL;
}

uint32_t um_digest_set_find(const um_digest_set *r, const umbel_digest *d)
{
    return *place_of(r, d);
}

umbel_status um_check_weights(const double *weights, size_t n, umbel_error *err)
{
    for (size_t i = 0; weights && i < n; i++)
        if (!(weights[i] == 0 || (weights[i] >= 1e-100 && weights[i] <= 1e100)))
            return um_fail(
                err, UMBEL_E_RANGE,
                "weight %g of key %zu: weights are 0, or from 1e-100 "
                "to 1e100",
                weights[i], i);
    return UMBEL_OK;
}

/*
 * The digests of a list as a source.
 */
static umbel_status each_of_list(const void *ctx, size_t from, size_t to,
                                 um_digests_fn *take, void *take_ctx,
                                 umbel_error *err)
{
    const umbel_key_list *list = ctx;

    for (size_t i = from, some; i < to; i += some) {
        some = um_next_batch(to - i);
        UM_TRY(take(take_ctx, list->digests + i, some, err));
    }
    return UMBEL_OK;
}

um_digest_source um_source_of_list(const umbel_key_list *list)
{
    return (um_digest_source){list, list->n, true, each_of_list};
}

/*
 * How many different keys a long list has.
 *
 * A table holds the keys that came. When it is full, only those whose mixed
 * digest has one more low bit of zero stay, and from then on only such come in
 * (adaptive sampling: Wegman 1984, Flajolet 1990). So the table always holds
 * all different keys of a random part of 1 in 2^level, and how often each came.
 *
 * That gives two estimates of all of them: the keys of the sample, and all that
 * came but for the repetitions in the sample, each times 2^level. The first
 * varies by a key, the second by a key's repetitions: a list that has none is
 * counted exactly, however long it is. The steadier one is taken.
 */
enum { FIRST_SLOTS = 1024 }; /* slots; twice as many as keys at least */

void um_distinct_fini(um_distinct *d)
{
    if (d->nslots) {
        um_put(d->alloc, d->key, d->nslots * sizeof *d->key);
        um_put(d->alloc, d->times, d->nslots * sizeof *d->times);
    }
    *d = (um_distinct){.alloc = d->alloc};
}

static bool is_sampled(uint64_t key, unsigned level)
{
    return (key & (((uint64_t)1 << level) - 1)) == 0;
}

static bool has_no_key(const void *slot)
{
    return *(const uint64_t *)slot == 0;
}

static bool is_key(const void *ctx, const void *slot, const void *key)
{
    (void)ctx;
    return *(const uint64_t *)slot == *(const uint64_t *)key;
}

/* By the high bits: the low ones of a sample are alike. */
static size_t slot_of(const um_distinct *d, uint64_t key)
{
    static const um_map_rule rule = {sizeof *d->key, has_no_key, is_key, NULL};
    const uint64_t *slot = um_map_find(&rule, NULL, d->key, d->nslots,
                                       um_scale(key, d->nslots), &key);

    return (size_t)(slot - d->key);
}

static void append(um_distinct *d, uint64_t key, uint32_t times)
{
    size_t i = slot_of(d, key);

    d->key[i] = key;
    d->times[i] = times;
    d->n++;
}

/* Moves the keys still sampled at that level to a table of nslots slots. */
static bool move(um_distinct *d, size_t nslots, unsigned level)
{
    um_distinct to = {.alloc = d->alloc, .level = level, .came = d->came};

    to.key = um_get(d->alloc, nslots * sizeof *to.key);
    to.times = um_get(d->alloc, nslots * sizeof *to.times);
    if (!to.key || !to.times) {
        um_put(d->alloc, to.key, nslots * sizeof *to.key);
        um_put(d->alloc, to.times, nslots * sizeof *to.times);
        return false;
    }
    to.nslots = nslots;
    for (size_t i = 0; i < d->nslots; i++)
        if (d->key[i] && is_sampled(d->key[i], level))
            append(&to, d->key[i], d->times[i]);
    um_distinct_fini(d);
    *d = to;
    return true;
}

static bool want_room(um_distinct *d)
{
    if (d->n < d->nslots / 2)
        return true;
    if (d->n < UM_DISTINCT_MAX)
        return move(d, d->nslots ? 2 * d->nslots : FIRST_SLOTS, d->level);
    return move(d, d->nslots, d->level + 1);
}

static bool consume(um_distinct *d, uint64_t key)
{
    size_t at = d->nslots ? slot_of(d, key) : 0;

    if (d->nslots && d->key[at]) {
        d->times[at] += d->times[at] < UINT32_MAX;
        return true;
    }
    if (!want_room(d))
        return false;
    if (is_sampled(key, d->level))
        append(d, key, 0);
    return true;
}

bool um_distinct_add(um_distinct *d, const umbel_digest *digests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* 0 is no key: it shares the number of another. */
        uint64_t key = um_remix(digests[i].lo ^ um_remix(digests[i].hi));
        key = key ? key : UINT64_C(1) << 63;
        if (is_sampled(key, d->level) && !consume(d, key))
            return false;
        d->came++;
    }
    return true;
}

/* Chosen digests may not be a random sample, so the sums are clamped. */
uint64_t um_distinct_count(const um_distinct *d)
{
    uint64_t again = 0, all = (uint64_t)d->n << d->level;
    double squares = 0;

    for (size_t i = 0; i < d->nslots; i++) {
        again += d->times[i];
        squares += (double)d->times[i] * d->times[i];
    }
    if (squares < (double)d->n && again << d->level < d->came)
        return d->came - (again << d->level);
    return all < d->came ? all : d->came;
}
