/*
 * aging.c - kind aging: two filters used in rotation, which forget old keys.
 *
 * Answers "have I seen this lately?" for an endless stream. Keys are added to
 * the active generation; when it has `capacity` new keys, the other, older
 * generation is cleared and becomes the active one. A query reads both. So the
 * filter contains at least the last `capacity` different keys and at most twice
 * as many, and its error stays bounded. Callers may rotate earlier, by time:
 * then it contains at least the keys of the last interval.
 * Idea: Yoon, "Aging Bloom filter with two active buffers for dynamic sets"
 * (generalized 2011, section 6.2); known as a ping-pong filter in proxies.
 *
 *   section 0, 1   the generations, as in bloom
 *   section 2      two numbers: the active generation, and its number of keys
 *
 * Each generation is a bloom filter, used through its row. Aging filters do not
 * merge, because two streams have no common order.
 */
#include "base/error.h"
#include "kinds/bloom/bloom.h"
#include "kinds/rows.h"

#include <math.h>

enum { ACTIVE = 0, HELD = 8 }; /* byte offsets in the state */

typedef struct aging {
    um_bloom inner[2];
    uint8_t *bits[2];
    uint8_t *state;
    size_t bits_len;
    uint64_t capacity; /* new keys after which the generations rotate */
} aging;

static umbel_status check(const um_shape *s, umbel_error *err)
{
    if (s->capacity == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "an aging filter wants a capacity: how many keys it "
                       "remembers at least");
    return UMBEL_OK;
}

static size_t sections(const um_shape *s, um_section out[UM_MAX_SECTIONS])
{
    out[0] = out[1] = (um_section){.cells = s->cells, .cell_bits = 1};
    out[2] = (um_section){.cells = 2, .cell_bits = 64};
    return 3;
}

static void attach(void *self, const um_shape *s, const um_layout *l,
                   void *const memory[])
{
    aging *a = self;

    for (int i = 0; i < 2; i++) {
        a->bits[i] = memory[i];
        a->inner[i] = (um_bloom){.layout = l, .bits = memory[i], .groups = 1};
    }
    a->state = memory[2];
    a->bits_len = (size_t)((s->cells + 7) / 8);
    a->capacity = s->capacity;
}

/* Returns the active generation, reduced to 0 or 1: the memory may hold
 * anything. */
static int active(const aging *a)
{
    return (int)(um_load64(a->state + ACTIVE) & 1);
}

/* Clears the older generation and makes it the active one. */
static void rotate(void *self)
{
    const aging *a = self;
    int older = !active(a);

    memset(a->bits[older], 0, a->bits_len);
    um_store64(a->state + ACTIVE, (uint64_t)older);
    um_store64(a->state + HELD, 0);
}

static void count_key(aging *a)
{
    uint64_t held = um_load64(a->state + HELD) + 1;

    if (held >= a->capacity)
        rotate(a);
    else
        um_store64(a->state + HELD, held);
}

/* Adds keys one by one, since any of them may trigger a rotation. */
static size_t add(void *self, const umbel_digest *d, const uint64_t *amounts,
                  size_t n, bool *fresh)
{
    aging *a = self;
    size_t added = 0;

    (void)amounts;
    for (size_t i = 0; i < n; i++) {
        bool known, new_here;
        um_kind_bloom.query(&a->inner[!active(a)], &d[i], 1, &known);
        um_kind_bloom.add(&a->inner[active(a)], &d[i], NULL, 1, &new_here);
        if (new_here)
            count_key(a);
        added += new_here && !known;
        if (fresh)
            fresh[i] = new_here && !known;
    }
    return added;
}

static void query(const void *self, const umbel_digest *d, size_t n, bool *hit)
{
    const aging *a = self;

    for (size_t i = 0; i < n; i++) {
        bool older;
        um_kind_bloom.query(&a->inner[0], &d[i], 1, &hit[i]);
        um_kind_bloom.query(&a->inner[1], &d[i], 1, &older);
        hit[i] |= older;
    }
}

static uint64_t query_within(const void *self, const umbel_digest *d, size_t n,
                             bool *hit, uint64_t limit)
{
    const aging *a = self;

    return um_query_priced(query, a, d, n, hit,
                           2 * (uint64_t)a->inner[0].layout->hashes, limit);
}

static void fold(void *self, const void *from, uint64_t by)
{
    aging *a = self;
    const aging *b = from;

    for (int i = 0; i < 2; i++)
        um_kind_bloom.fold(&a->inner[i], &b->inner[i], by);
    memcpy(a->state, b->state, 16);
}

/* Returns the error in the long run, with both generations full. */
static double error(const um_shape *s, const um_layout *l, double keys)
{
    double most = (double)s->capacity;
    double one = um_model_error(l, keys < most ? keys : most);

    return 2 * one - one * one;
}

/* Counts keys that match in both generations twice: a forger would avoid
 * them. */
static double predict(const void *self)
{
    const aging *a = self;
    return fmin(1, um_kind_bloom.predict(&a->inner[0]) +
                       um_kind_bloom.predict(&a->inner[1]));
}

static void info(const void *self, umbel_info *out)
{
    const aging *a = self;

    um_info_count(out, "active_generation", (uint64_t)active(a));
    um_info_count(out, "active_keys", um_load64(a->state + HELD));
}

const um_kind um_kind_aging = {
    .name = "aging",
    .summary = "the latest keys of a stream; forgets old ones",
    .admissible = true,
    .forgets = true,
    .self_len = sizeof(aging),
    .check = check,
    .sections = sections,
    .attach = attach,
    .add = add,
    .query = query,
    .query_within = query_within,
    .fold = fold,
    .rotate = rotate,
    .error = error,
    .predict = predict,
    .info = info,
    .unsupported_reason = {.grow = "it clears cells to forget old keys"},
};
