/*
 * experiment.c - draw keys and counts, insert, find the errors.
 */
#include "papers/spam/experiment.h"

#include "base/error.h"
#include "papers/frame/numbers.h"

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

/* How many factors until the product is below exp(-mean) (Knuth). No draw
 * reaches the cap before the sun is cold. */
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

/* --- orders ----------------------------------------------------------------*/

/* x1 x2 ... xn, and again. Counts are all the same here. */
static void insert_rounds(uint8_t *value, const um_net *net,
                          const uint8_t *count, uint32_t *sequence, um_rng *rng)
{
    (void)sequence;
    (void)rng;
    for (unsigned round = 0; net->nkeys && round < count[0]; round++)
        for (size_t i = 0; i < net->nkeys; i++)
            um_spam_add_refined(value, um_net_list(net, i), 1, SPAM_CAP);
}

/* x1 x1 ... x1, x2 ... */
static void insert_runs(uint8_t *value, const um_net *net, const uint8_t *count,
                        uint32_t *sequence, um_rng *rng)
{
    (void)sequence;
    (void)rng;
    for (size_t i = 0; i < net->nkeys; i++)
        um_spam_add_refined(value, um_net_list(net, i), count[net->key[i]],
                            SPAM_CAP);
}

size_t um_spam_fill(const um_net *net, const uint8_t *count, uint32_t *sequence)
{
    size_t n = 0;

    for (size_t i = 0; i < net->nkeys; i++)
        for (unsigned j = 0; j < count[net->key[i]]; j++)
            sequence[n++] = (uint32_t)i;
    return n;
}

/* Fisher and Yates. */
void um_spam_shuffle(uint32_t *sequence, size_t n, um_rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = um_random_below(rng, i);
        uint32_t other = sequence[j];
        sequence[j] = sequence[i - 1];
        sequence[i - 1] = other;
    }
}

/* A part of a shuffled sequence is a shuffled part: a reduced net needs no
 * more. */
static void insert_shuffled(uint8_t *value, const um_net *net,
                            const uint8_t *count, uint32_t *sequence,
                            um_rng *rng)
{
    size_t n = um_spam_fill(net, count, sequence);

    um_spam_shuffle(sequence, n, rng);
    for (size_t i = 0; i < n; i++)
        um_spam_add_refined(value, um_net_list(net, sequence[i]), 1, SPAM_CAP);
}

/* --- the experiments -------------------------------------------------------*/

const um_spam_experiment um_spam_experiments[8] = {
    {1, "III", "3", "20 each", "one after the other, 20 times", 3, false,
     always, 20, NULL, 0, 0, insert_rounds},
    {2, "IV", "4", "20 each", "20 of the first, 20 of the second ...", 3, false,
     always, 20, NULL, 0, 0, insert_runs},
    {3, "V", "5", "20 each", "shuffled", 3, false, always, 20, NULL, 0, 0,
     insert_shuffled},
    {4, "VI", "6", "uniform in 0 to 20", "shuffled", 3, true, uniform, 20, NULL,
     534, 99910, insert_shuffled},
    {5, "VII", "7", "those of Experiment 4", "all of a key in a row", 3, true,
     uniform, 20, NULL, 534, 99910, insert_runs},
    {6, "VIII", "8", "Poisson, mean 10", "shuffled", 3, true, poisson, 10,
     um_poisson_cdf, 0, 0, insert_shuffled},
    {7, "IX", "9", "Poisson, mean 20", "shuffled", 3, true, poisson, 20,
     um_poisson_cdf, 0, 0, insert_shuffled},
    {8, "X", "10", "uniform in 0 to 40", "shuffled", 5, true, uniform, 40, NULL,
     252, 198054, insert_shuffled},
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

/* One draw in forty has a key twice and is thrown away. */
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
 * Uniform counts with so many zeros and such a sum, each such draw as likely as
 * any other: the last count is what the sum leaves, and the draw is thrown away
 * when that is none. Keys are in random order, so the zeros may come first.
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

/* Quantiles of the law. */
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

umbel_status um_spam_space_init(um_spam_space *s, umbel_error *err)
{
    memset(s, 0, sizeof *s);
    s->value = malloc(LARGEST);
    s->sequence = malloc((size_t)SPAM_KEYS * SPAM_CAP * sizeof *s->sequence);
    if (!s->value || !s->sequence)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    return um_net_init(&s->net, SPAM_KEYS, LARGEST, err);
}

void um_spam_space_fini(um_spam_space *s)
{
    um_net_fini(&s->net);
    free(s->value);
    free(s->sequence);
    memset(s, 0, sizeof *s);
}

static unsigned weight(const um_spam_experiment *e, unsigned count)
{
    return e->weighted ? count : 1;
}

/* Suspects are just the keys that the intuitive extension miscounts: each of
 * their cells was raised by somebody else, too. */
static void find_errors(const um_spam_experiment *e, const uint8_t *count,
                        const um_spam_space *s, um_spam_result *out)
{
    const um_net *net = &s->net.reduced;

    for (size_t i = 0; i < s->net.suspects; i++)
        out->plain += weight(e, count[s->net.suspect[i]]);
    out->plain_errors = (double)s->net.suspects;
    for (size_t i = 0; i < net->nkeys; i++) {
        unsigned want = count[net->key[i]];
        if (um_spam_count(s->value, um_net_list(net, i)) == want)
            continue;
        out->refined += weight(e, want);
        out->refined_errors++;
    }
}

void um_spam_run(const um_spam_experiment *e, const um_spam_load *load,
                 size_t shape, um_spam_space *s, um_rng *rng,
                 um_spam_result *out)
{
    double all = e->weighted ? (double)load->insertions : SPAM_KEYS;

    memset(out, 0, sizeof *out);
    um_net_hash(&s->net, load->key, load->count, SPAM_KEYS, um_spam_k(shape),
                um_spam_size(e, shape), rng);
    um_net_reduce(&s->net);
    memset(s->value, 0, s->net.reduced.ncells);
    e->insert(s->value, &s->net.reduced, load->count, s->sequence, rng);
    find_errors(e, load->count, s, out);
    out->plain /= all;
    out->refined /= all;
}
