/*
 * experiment.h - the eight experiments of section V, and one round of them.
 *
 * 10,000 keys are inserted, each as often as its count, in some order; then the
 * keys that the filter miscounts are found. A round draws new hash functions.
 * The filters are the library's (filter.h).
 */
#ifndef UM_SPAM_EXPERIMENT_H
#define UM_SPAM_EXPERIMENT_H

#include "base/rng.h"
#include "papers/spam/filter.h"

#include <umbel/base.h>

enum {
    SPAM_PRIME = 2100000011, /* of the universal hash functions, section V */
    SPAM_KEYS = 10000,
    SPAM_BITS = 6, /* per cell, as in the simulations */
    SPAM_CAP = 63,
    SPAM_MAX_SIZES = 5,
    SPAM_HASHES = 3, /* k = 4, 6, 8 */
    SPAM_MAX_SHAPES = SPAM_MAX_SIZES * SPAM_HASHES
};

/* Keys, how often each is inserted, and the total number of insertions. */
typedef struct um_spam_load {
    uint32_t key[SPAM_KEYS];
    uint8_t count[SPAM_KEYS];
    size_t keys; /* inserted at least once */
    uint64_t insertions;
} um_spam_load;

/* The order of the insertions. */
typedef enum um_spam_order {
    SPAM_ROUNDS,  /* x1 x2 ... xn, repeated: all counts are equal */
    SPAM_RUNS,    /* x1 x1 ... x1, x2 ... */
    SPAM_SHUFFLED /* in random order */
} um_spam_order;

typedef struct um_spam_experiment {
    unsigned number;
    const char *table, *figure; /* "III", "3" */
    const char *counts, *order; /* as text */
    unsigned sizes;             /* 80K 160K 320K, or also 240K and 640K */
    bool weighted; /* an error counts as often as the key was inserted */

    /* Draws a count; the parameter is its mean or its largest value. */
    unsigned (*draw)(um_rng *rng, unsigned parameter);
    unsigned parameter;
    double (*law)(double k, double parameter); /* its P(X <= k), or NULL */
    /* The authors' own draw, as far as their tables show it: the number of
     * zeros and the sum. 0 if unknown. */
    size_t zeros;
    uint64_t total;
    um_spam_order sequence;
    bool headline; /* the paper advertises its factor at 320K, k = 8 */
} um_spam_experiment;

extern const um_spam_experiment um_spam_experiments[8];

/* Shapes: all k for each size, sizes in order. */
uint32_t um_spam_size(const um_spam_experiment *e, size_t shape);
unsigned um_spam_k(size_t shape);
size_t um_spam_shapes(const um_spam_experiment *e);

/* Draws different keys below the prime. */
void um_spam_draw_keys(um_spam_load *load, um_rng *rng);
/*
 * Draws counts. If drawn once for all rounds, they are fitted to the authors'
 * draw if that is known; otherwise, if the experiment has a law, each value
 * occurs as often as the law expects. This is the most typical draw, so that
 * ours adds no randomness to the authors' unknown one.
 */
void um_spam_draw_counts(const um_spam_experiment *e, bool once,
                         um_spam_load *load, um_rng *rng);

void um_spam_shuffle(uint32_t *sequence, size_t n, um_rng *rng);

/* The results of a round at one shape. */
typedef struct um_spam_result {
    double plain, refined;               /* rates, as in the tables */
    double plain_errors, refined_errors; /* keys with a wrong count */
} um_spam_result;

/* Keys to insert into filters. */
typedef struct um_spam_keys {
    size_t n;
    umbel_digest digest[SPAM_KEYS];
    uint64_t amount[SPAM_KEYS];
} um_spam_keys;

/* Memory of a round. */
typedef struct um_spam_space {
    um_spam_keys keys, some;
    uint64_t found[SPAM_KEYS];
    bool wrong[SPAM_KEYS], kept[SPAM_KEYS];
    uint8_t *mark;
    uint32_t *sequence;
    umbel_digest *stream;
} um_spam_space;

/* Allocates it; NULL without memory. */
um_spam_space *um_spam_space_new(umbel_error *err);
void um_spam_space_free(um_spam_space *s);

/* Copies the keys of the load whose count is not 0. */
void um_spam_parse_keys(um_spam_keys *k, const um_spam_load *load);
/* Inserts each key as often as its amount, in that order. */
umbel_status um_spam_insert(umbel_filter *f, um_spam_order order,
                            const um_spam_keys *k, um_spam_space *s,
                            um_rng *rng, umbel_error *err);
/* Sets wrong[i] if the filter's count of key i differs from its amount. */
umbel_status um_spam_find_wrong(const umbel_filter *f, const um_spam_keys *k,
                                um_spam_space *s, umbel_error *err);

/*
 * Runs one round at one shape. Unless `whole`, the refined filter gets only
 * those insertions that can affect a count that may be wrong.
 */
umbel_status um_spam_run(const um_spam_experiment *e, const um_spam_load *load,
                         size_t shape, bool whole, um_spam_space *s,
                         um_rng *rng, um_spam_result *out, umbel_error *err);

#endif
