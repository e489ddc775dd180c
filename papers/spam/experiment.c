/*
 * experiment.c - draws keys and counts, inserts them, and finds the errors.
 */
#include "papers/spam/experiment.h"

#include "base/error.h"
#include "papers/frame/numbers.h"

#include <umbel/counting.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 640000 };

/* --- how often a key is inserted -------------------------------------------*/

static unsigned always(um_rng *rng, unsigned parameter)
{
    (void)rng;
    return parameter;
}

static unsigned uniform(um_rng *rng, unsigned parameter)
{
    return (unsigned)um_random_below(rng, parameter + 1);
}

static double fraction(um_rng *rng)
{
    return (double)(um_random(rng) >> 11) * 0x1p-53;
}

/* Draws a Poisson number: counts factors until the product is below exp(-mean)
 * (Knuth). In practice no draw reaches the cap. */
static unsigned poisson(um_rng *rng, unsigned parameter)
{
    double least = exp(-(double)parameter), product = fraction(rng);
    unsigned n = 0;

    while (product > least && n + 1 < SPAM_CAP) {
        product *= fraction(rng);
        n++;
    }
    return n;
}

/* --- the experiments -------------------------------------------------------*/

const um_spam_experiment um_spam_experiments[8] = {
    {1, "III", "3", "20 each", "one after the other, 20 times", 3, false,
     always, 20, NULL, 0, 0, SPAM_ROUNDS, false},
    {2, "IV", "4", "20 each", "20 of the first, 20 of the second ...", 3, false,
     always, 20, NULL, 0, 0, SPAM_RUNS, false},
    {3, "V", "5", "20 each", "shuffled", 3, false, always, 20, NULL, 0, 0,
     SPAM_SHUFFLED, false},
    {4, "VI", "6", "uniform in 0 to 20", "shuffled", 3, true, uniform, 20, NULL,
     534, 99910, SPAM_SHUFFLED, true},
    {5, "VII", "7", "those of Experiment 4", "all of a key in a row", 3, true,
     uniform, 20, NULL, 534, 99910, SPAM_RUNS, false},
    {6, "VIII", "8", "Poisson, mean 10", "shuffled", 3, true, poisson, 10,
     um_poisson_cdf, 0, 0, SPAM_SHUFFLED, false},
    {7, "IX", "9", "Poisson, mean 20", "shuffled", 3, true, poisson, 20,
     um_poisson_cdf, 0, 0, SPAM_SHUFFLED, false},
    {8, "X", "10", "uniform in 0 to 40", "shuffled", 5, true, uniform, 40, NULL,
     252, 198054, SPAM_SHUFFLED, false},
};

uint32_t um_spam_size(const um_spam_experiment *e, size_t shape)
{
    static const uint32_t three[] = {80000, 160000, 320000},
                          five[] = {80000, 160000, 240000, 320000, LARGEST};

    return (e->sizes == 5 ? five : three)[shape / SPAM_HASHES];
}

unsigned um_spam_k(size_t shape)
{
    return (unsigned)(4 + 2 * (shape % SPAM_HASHES));
}

size_t um_spam_shapes(const um_spam_experiment *e)
{
    return (size_t)e->sizes * SPAM_HASHES;
}

/* --- draws -----------------------------------------------------------------*/

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool any_twice(const uint32_t *keys)
{
    uint32_t sorted[SPAM_KEYS];

    memcpy(sorted, keys, sizeof sorted);
    qsort(sorted, SPAM_KEYS, sizeof *sorted, by_value);
    for (size_t i = 1; i < SPAM_KEYS; i++)
        if (sorted[i] == sorted[i - 1])
            return true;
    return false;
}

/* Draws different keys. One draw in forty has a key twice and is repeated. */
void um_spam_draw_keys(um_spam_load *load, um_rng *rng)
{
    do
        for (size_t i = 0; i < SPAM_KEYS; i++)
            load->key[i] = (uint32_t)(1 + um_random_below(rng, SPAM_PRIME - 1));
    while (any_twice(load->key));
}

static void draw_free(const um_spam_experiment *e, uint8_t *count, um_rng *rng)
{
    for (size_t i = 0; i < SPAM_KEYS; i++)
        count[i] = (uint8_t)e->draw(rng, e->parameter);
}

/*
 * Draws uniform counts with the given number of zeros and the given sum, all
 * such draws equally likely: the last count is determined by the sum, and the
 * draw is repeated if that is impossible. Keys are in random order, so the
 * zeros may come first.
 */
static void draw_fitted(const um_spam_experiment *e, uint8_t *count,
                        um_rng *rng)
{
    uint64_t sum;

    memset(count, 0, e->zeros);
    do {
        sum = 0;
        for (size_t i = e->zeros; i + 1 < SPAM_KEYS; i++)
            sum += count[i] = (uint8_t)(1 + um_random_below(rng, e->parameter));
    } while (sum >= e->total || e->total - sum > e->parameter);
    count[SPAM_KEYS - 1] = (uint8_t)(e->total - sum);
}

/* Sets the counts to the quantiles of the law. */
static void spread_evenly(const um_spam_experiment *e, uint8_t *count)
{
    unsigned c = 0;

    for (size_t i = 0; i < SPAM_KEYS; i++) {
        while (e->law(c, e->parameter) < ((double)i + 0.5) / SPAM_KEYS)
            c++;
        count[i] = (uint8_t)c;
    }
}

void um_spam_draw_counts(const um_spam_experiment *e, bool once,
                         um_spam_load *load, um_rng *rng)
{
    if (once && e->total)
        draw_fitted(e, load->count, rng);
    else if (once && e->law)
        spread_evenly(e, load->count);
    else
        draw_free(e, load->count, rng);
    load->keys = load->insertions = 0;
    for (size_t i = 0; i < SPAM_KEYS; i++) {
        load->keys += load->count[i] > 0;
        load->insertions += load->count[i];
    }
}

/* --- a round ---------------------------------------------------------------*/

um_spam_space *um_spam_space_new(umbel_error *err)
{
    um_spam_space *s = calloc(1, sizeof *s);
    size_t most = (size_t)SPAM_KEYS * SPAM_CAP;

    if (s) {
        s->mark = malloc(LARGEST);
        s->sequence = malloc(most * sizeof *s->sequence);
        s->stream = malloc(most * sizeof *s->stream);
    }
    if (s && s->mark && s->sequence && s->stream)
        return s;
    um_spam_space_free(s);
    um_set_error(err, UMBEL_E_NOMEM, "no memory for a round");
    return NULL;
}

void um_spam_space_free(um_spam_space *s)
{
    if (!s)
        return;
    free(s->mark);
    free(s->sequence);
    free(s->stream);
    free(s);
}

void um_spam_parse_keys(um_spam_keys *k, const um_spam_load *load)
{
    k->n = 0;
    for (size_t i = 0; i < SPAM_KEYS; i++)
        if (load->count[i]) {
            k->digest[k->n] = um_spam_digest(load->key[i]);
            k->amount[k->n++] = load->count[i];
        }
}

/* Shuffles a sequence (Fisher and Yates). */
void um_spam_shuffle(uint32_t *sequence, size_t n, um_rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = um_random_below(rng, i);
        uint32_t other = sequence[j];
        sequence[j] = sequence[i - 1];
        sequence[i - 1] = other;
    }
}

static umbel_status insert_rounds(umbel_filter *f, const um_spam_keys *k,
                                  umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (uint64_t i = 0; k->n && !status && i < k->amount[0]; i++)
        status = umbel_add_digests(f, k->digest, k->n, NULL, err);
    return status;
}

/* Inserts keys in random order. A subset of a shuffled sequence is itself
 * shuffled, so this also works for only some of the keys. */
static umbel_status insert_shuffled(umbel_filter *f, const um_spam_keys *k,
                                    um_spam_space *s, um_rng *rng,
                                    umbel_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < k->n; i++)
        for (uint64_t j = 0; j < k->amount[i]; j++)
            s->sequence[n++] = (uint32_t)i;
    um_spam_shuffle(s->sequence, n, rng);
    for (size_t i = 0; i < n; i++)
        s->stream[i] = k->digest[s->sequence[i]];
    return umbel_add_digests(f, s->stream, n, NULL, err);
}

umbel_status um_spam_insert(umbel_filter *f, um_spam_order order,
                            const um_spam_keys *k, um_spam_space *s,
                            um_rng *rng, umbel_error *err)
{
    if (order == SPAM_ROUNDS)
        return insert_rounds(f, k, err);
    if (order == SPAM_RUNS)
        return umbel_add_digest_amounts(f, k->digest, k->amount, k->n, NULL,
                                        err);
    return insert_shuffled(f, k, s, rng, err);
}

umbel_status um_spam_find_wrong(const umbel_filter *f, const um_spam_keys *k,
                                um_spam_space *s, umbel_error *err)
{
    umbel_status status =
        umbel_count_digests(f, k->digest, k->n, s->found, err);

    for (size_t i = 0; status == UMBEL_OK && i < k->n; i++)
        s->wrong[i] = s->found[i] != k->amount[i];
    return status;
}

static void sum_wrong(const um_spam_experiment *e, const um_spam_keys *k,
                      const um_spam_space *s, double *sum, double *n)
{
    *sum = *n = 0;
    for (size_t i = 0; i < k->n; i++)
        if (s->wrong[i]) {
            *sum += e->weighted ? (double)k->amount[i] : 1;
            *n += 1;
        }
}

static void retain_relevant(const umbel_filter *f, um_spam_space *s)
{
    const um_spam_keys *k = &s->keys;

    um_spam_relevant(f, k->digest, k->n, s->wrong, s->mark, s->kept);
    s->some.n = 0;
    for (size_t i = 0; i < k->n; i++)
        if (s->kept[i]) {
            s->some.digest[s->some.n] = k->digest[i];
            s->some.amount[s->some.n++] = k->amount[i];
        }
}

/* Runs the plain filter, for which the order of insertions does not matter. */
static umbel_status run_plain(const um_spam_experiment *e, umbel_filter *f,
                              um_spam_space *s, um_spam_result *out,
                              umbel_error *err)
{
    const um_spam_keys *k = &s->keys;
    umbel_status status =
        umbel_add_digest_amounts(f, k->digest, k->amount, k->n, NULL, err);

    if (status == UMBEL_OK)
        status = um_spam_find_wrong(f, k, s, err);
    if (status == UMBEL_OK)
        sum_wrong(e, k, s, &out->plain, &out->plain_errors);
    return status;
}

static umbel_status run_refined(const um_spam_experiment *e, umbel_filter *f,
                                const um_spam_keys *k, um_spam_space *s,
                                um_rng *rng, um_spam_result *out,
                                umbel_error *err)
{
    umbel_status status = um_spam_insert(f, e->sequence, k, s, rng, err);

    if (status == UMBEL_OK)
        status = um_spam_find_wrong(f, k, s, err);
    if (status == UMBEL_OK)
        sum_wrong(e, k, s, &out->refined, &out->refined_errors);
    return status;
}

umbel_status um_spam_run(const um_spam_experiment *e, const um_spam_load *load,
                         size_t shape, bool whole, um_spam_space *s,
                         um_rng *rng, um_spam_result *out, umbel_error *err)
{
    double all = e->weighted ? (double)load->insertions : SPAM_KEYS;
    uint64_t seed = um_random(rng);
    uint32_t m = um_spam_size(e, shape);
    unsigned k = um_spam_k(shape);
    umbel_filter *plain = NULL, *refined = NULL;

    memset(out, 0, sizeof *out);
    um_spam_parse_keys(&s->keys, load);
    umbel_status status =
        um_spam_open(m, k, SPAM_BITS, SPAM_PLAIN_UPDATE, seed, &plain, err);
    if (status == UMBEL_OK)
        status = um_spam_open(m, k, SPAM_BITS, SPAM_REFINED_UPDATE, seed,
                              &refined, err);
    if (status == UMBEL_OK)
        status = run_plain(e, plain, s, out, err);
    if (status == UMBEL_OK && !whole)
        retain_relevant(plain, s);
    if (status == UMBEL_OK)
        status = run_refined(e, refined, whole ? &s->keys : &s->some, s, rng,
                             out, err);
    umbel_close(plain);
    umbel_close(refined);
    out->plain /= all;
    out->refined /= all;
    return status;
}
