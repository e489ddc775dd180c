/*
 * intervals.c - 99 % intervals of the number of keys contain it, for every
 * addressing with the hash that users get.
 *
 *   test_analysis intervals KEYS RUNS SEED [single|pair [ADDRESSING]]
 *
 * counts in how many of RUNS filters, or pairs of filters with half of their
 * keys in common, each interval contains the truth. Keys are random digests as
 * the hash makes them, so that ten million need no hashing.
 */
#include "support/test.h"

#include "analysis/analysis.h"
#include "base/rng.h"
#include "filter/handle.h"

#include <umbel/estimate.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- keys ----------------------------------------------------------------- */

/* Different keys, as digests of a hash. */
typedef struct stream {
    const um_hash *hash;
    um_rng rng;
    uint32_t next, factor[3]; /* of integers */
} stream;

static stream stream_of(const umbel_filter *f, uint64_t seed)
{
    stream s = {.hash = f->hasher.row, .rng = {um_mix(seed)}};

    for (size_t i = 0; i < TEST_COUNT(s.factor); i++)
        s.factor[i] = (uint32_t)um_random(&s.rng) | 1;
    return s;
}

/* Returns an integer that was not returned before: a bijection of a counter. */
static uint32_t draw_integer(stream *s)
{
    for (;;) {
        uint32_t x = s->next++;
        for (size_t i = 0; i < TEST_COUNT(s->factor); i++) {
            x = x * s->factor[i] + (s->factor[i] >> 7);
            x ^= x >> 15;
        }
        if (x < UM_INTEGER_PRIME)
            return x;
    }
}

static umbel_digest draw(stream *s)
{
    umbel_digest d = {0, 0};

    if (s->hash->identity) {
        d.lo = draw_integer(s);
        return d;
    }
    d.lo = um_random(&s->rng);
    d.hi = s->hash->fused ? um_remix(d.lo) : um_random(&s->rng);
    return d;
}

static void add_keys(stream *s, umbel_filter *a, umbel_filter *b, size_t n)
{
    enum { SOME = 1024 };
    umbel_digest d[SOME];

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < SOME ? n - done : SOME;
        for (size_t i = 0; i < some; i++)
            d[i] = draw(s);
        if (a)
            assert_ok(umbel_add_digests(a, d, some, NULL, &test_refusal));
        if (b)
            assert_ok(umbel_add_digests(b, d, some, NULL, &test_refusal));
    }
}

/* --- counting ------------------------------------------------------------- */

enum { KEYS, UNION, BOTH, JACCARD, ESTIMATES };
static const char *const names[] = {"keys", "union", "intersection", "jaccard"};

/* Runs, those whose interval missed the truth, and the sum of errors in
 * standard deviations. */
typedef struct tally {
    size_t n, missed;
    double z;
} tally;

static void count(tally *t, const umbel_interval *x, double truth)
{
    double sigma = (x->high - x->low) / (2 * UM_Z99);

    t->n++;
    t->missed += !(x->low <= truth && truth <= x->high);
    t->z += (x->value - truth) / sigma;
}

static void run_single(umbel_filter *a, size_t keys, uint64_t seed, tally *t)
{
    stream s = stream_of(a, seed);
    umbel_interval x;

    assert_ok(umbel_clear(a, &test_refusal));
    add_keys(&s, a, NULL, keys);
    assert_ok(umbel_estimate_keys(a, &x, &test_refusal));
    count(&t[KEYS], &x, (double)keys);
}

static void run_pair(umbel_filter *a, umbel_filter *b, size_t keys,
                     uint64_t seed, tally *t)
{
    stream s = stream_of(a, seed);
    size_t both = keys / 2, all = 2 * keys - both;
    umbel_interval x;
    umbel_overlap o;

    assert_ok(umbel_clear(a, &test_refusal));
    assert_ok(umbel_clear(b, &test_refusal));
    add_keys(&s, a, b, both);
    add_keys(&s, a, NULL, keys - both);
    add_keys(&s, b, NULL, keys - both);
    assert_ok(umbel_estimate_keys(a, &x, &test_refusal));
    assert_ok(umbel_estimate_overlap(a, b, &o, &test_refusal));
    count(&t[KEYS], &x, (double)keys);
    count(&t[UNION], &o.both_or_one, (double)all);
    count(&t[BOTH], &o.both, (double)both);
    count(&t[JACCARD], &o.jaccard, (double)both / (double)all);
}

/* Returns false if the addressing cannot hold this many keys. */
static bool run_cell(const char *addressing, size_t keys, size_t runs,
                     uint64_t seed, bool pairs, tally t[ESTIMATES])
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *a, *b = NULL;

    memset(t, 0, ESTIMATES * sizeof *t);
    p.addressing = addressing;
    p.capacity = pairs ? keys + keys / 2 : keys;
    if (umbel_create("bloom", &p, &a, &test_refusal) != UMBEL_OK)
        return false;
    if (pairs)
        b = test_open(&p);
    for (size_t i = 0; i < runs; i++)
        if (pairs)
            run_pair(a, b, keys, seed + i, t);
        else
            run_single(a, keys, seed + i, t);
    for (size_t i = 0; i < ESTIMATES && t[i].n; i++)
        print_message("%-12s %2u hashes %9zu keys  %-12s %3zu of %zu covered, "
                      "mean off by %+.1f sigma\n",
                      addressing, (unsigned)umbel_hashes(a), keys, names[i],
                      t[i].n - t[i].missed, t[i].n,
                      t[i].z / sqrt((double)t[i].n));
    umbel_close(a);
    umbel_close(b);
    return true;
}

/* Returns how many of n intervals may miss: one in a hundred, and five sigma.
 */
static double max_missed(double n)
{
    return 0.01 * n + 5 * sqrt(n * 0.01 * 0.99) + 1;
}

static void pool_cell(tally *all, const tally t[ESTIMATES])
{
    for (size_t i = 0; i < ESTIMATES; i++) {
        assert_true((double)t[i].missed <= max_missed((double)t[i].n));
        all->n += t[i].n;
        all->missed += t[i].missed;
    }
}

static void assert_pooled(const tally *all)
{
    double n = (double)all->n, missed = (double)all->missed;

    print_message("%zu of %zu intervals missed\n", all->missed, all->n);
    assert_true(all->n > 0);
    assert_near(missed, 0.01 * n, max_missed(n) - 0.01 * n);
}

/* --- tests ---------------------------------------------------------------- */

static struct {
    size_t keys, runs;
    uint64_t seed;
    bool pairs;
    const char *addressing; /* NULL: every one */
} asked = {10000, 40, 1, true, NULL};

static void intervals_hold_in_every_addressing(void **state)
{
    tally t[ESTIMATES], all = {0};

    (void)state;
    for (size_t i = 0; um_addressing_row(i); i++) {
        const char *name = um_addressing_row(i)->name;
        if (asked.addressing && strcmp(asked.addressing, name) != 0)
            continue;
        if (run_cell(name, asked.keys, asked.runs, asked.seed, asked.pairs, t))
            pool_cell(&all, t);
        else
            print_message("%-12s cannot hold %zu keys: %s\n", name, asked.keys,
                          test_refusal.text);
    }
    assert_pooled(&all);
}

/* Without ln_one of model.c, estimates are 0.027 % too high here. */
static void large_filters_are_not_biased(void **state)
{
    enum { MANY = 2000000, RUNS = 10 };
    tally t[ESTIMATES];

    (void)state;
    assert_true(run_cell("blocked512", MANY, RUNS, 1, true, t));
    for (size_t i = 0; i < ESTIMATES; i++)
        assert_near(t[i].z / sqrt(RUNS), 0, 5);
}

TEST_GROUP(intervals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_hold_in_every_addressing),
        cmocka_unit_test(large_filters_are_not_biased),
    };
    const struct CMUnitTest one[] = {
        cmocka_unit_test(intervals_hold_in_every_addressing),
    };

    if (argc < 4)
        return cmocka_run_group_tests(tests, NULL, NULL);
    asked.keys = (size_t)strtoull(argv[1], NULL, 10);
    asked.runs = (size_t)strtoull(argv[2], NULL, 10);
    asked.seed = strtoull(argv[3], NULL, 10);
    asked.pairs = argc > 4 && strcmp(argv[4], "pair") == 0;
    asked.addressing = argc > 5 ? argv[5] : NULL;
    return cmocka_run_group_tests(one, NULL, NULL);
}
