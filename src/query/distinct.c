/*
 * distinct.c - how many different keys a long list has.
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
#include "query/distinct.h"

#include "base/alloc.h"
#include "base/hash.h"

enum { FIRST = 1024 }; /* slots; twice as many as keys at least */

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

/* By the high bits: the low ones of a sample are alike. */
static size_t slot_of(const um_distinct *d, uint64_t key)
{
    size_t i = (size_t)um_scale(key, d->nslots);

    while (d->key[i] && d->key[i] != key)
        i = (i + 1) & (d->nslots - 1);
    return i;
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
    if (d->n < UM_DISTINCT_MOST)
        return move(d, d->nslots ? 2 * d->nslots : FIRST, d->level);
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
