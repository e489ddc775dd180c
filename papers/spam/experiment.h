/*
 * experiment.h - the eight experiments of section V, and one round of them.
 *
 * 10,000 keys are inserted, each as often as its count says, in some order;
 * then those are sought that the filter miscounts. A round draws new hash
 * functions. The filters are those of the library (filter.h).
 */
#ifndef UM_SPAM_EXPERIMENT_H
#define UM_SPAM_EXPERIMENT_H

#include "base/rng.h"
#include "papers/spam/filter.h"

#include <umbel/base.h>

enum {
    SPAM_PRIME = 2100000011, /* of the universal hash functions, section V */
    SPAM_KEYS = 10000,
    SPAM_BITS = 6, /* a cell, as in the simulations */
    SPAM_CAP = 63,
    SPAM_MAX_SIZES = 5,
    SPAM_HASHES = 3, /* k = 4, 6, 8 */
    SPAM_MAX_SHAPES = SPAM_MAX_SIZES * SPAM_HASHES
};

/* Keys, how often each is inserted, and the sum of that. */
typedef struct um_spam_load {
    uint32_t key[SPAM_KEYS];
    uint8_t count[SPAM_KEYS];
    size_t keys; /* that are inserted at all */
    uint64_t insertions;
} um_spam_load;

/* In which order the insertions come. */
typedef enum um_spam_order {
    SPAM_ROUNDS,  /* x1 x2 ... xn, and again: counts are all the same */
    SPAM_RUNS,    /* x1 x1 ... x1, x2 ... */
    SPAM_SHUFFLED /* any */
} um_spam_order;

typedef struct um_spam_experiment {
    unsigned number;
    const char *table, *figure; /* "III", "3" */
    const char *counts, *order; /* in words */
    unsigned sizes;             /* 80K 160K 320K, or with 240K and 640K */
    bool weighted; /* errors count as often as the key was inserted */

    /* A count, drawn; the parameter is its mean or its largest value. */
    unsigned (*draw)(um_rng *rng, unsigned parameter);
    unsigned parameter;
    double (*law)(double k, double parameter); /* its P(X <= k), or NULL */
    /* The authors' own draw, as far as their tables show it: that many zeros,
     * such a sum. 0: nothing is known. */
    size_t zeros;
    uint64_t total;
    um_spam_order sequence;
    bool headline; /* its factor at 320K, k = 8 is what the paper advertises */
} um_spam_experiment;

extern const um_spam_experiment um_spam_experiments[8];

/* Shapes: sizes in order, k within sizes. */
uint32_t um_spam_size(const um_spam_experiment *e, size_t shape);
unsigned um_spam_k(size_t shape);
size_t um_spam_shapes(const um_spam_experiment *e);

/* Different keys below the prime. */
void um_spam_draw_keys(um_spam_load *load, um_rng *rng);
/*
 * Counts. Drawn once for all rounds they are fitted to the authors' draw where
 * that is known; else, where the experiment has a law, each value occurs as
 * often as the law expects: of all draws the middle one, so that ours adds no
 * chance of its own to the unknown one of the authors.
 */
void um_spam_draw_counts(const um_spam_experiment *e, bool once,
                         um_spam_load *load, um_rng *rng);

void um_spam_shuffle(uint32_t *sequence, size_t n, um_rng *rng);

/* What a round finds at one shape. */
typedef struct um_spam_result {
    double plain, refined;               /* rates, as the tables have them */
    double plain_errors, refined_errors; /* keys with a wrong count */
} um_spam_result;

/* Keys that are inserted into filters. */
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

/* NULL when memory runs out. */
um_spam_space *um_spam_space_new(umbel_error *err);
void um_spam_space_free(um_spam_space *s);

/* The keys of the load that have a count. */
void um_spam_parse_keys(um_spam_keys *k, const um_spam_load *load);
/* Puts each of the keys in as often as its amount says, in that order. */
umbel_status um_spam_insert(umbel_filter *f, um_spam_order order,
                            const um_spam_keys *k, um_spam_space *s,
                            um_rng *rng, umbel_error *err);
/* wrong[i]: the filter's count of key i is not its amount. */
umbel_status um_spam_find_wrong(const umbel_filter *f, const um_spam_keys *k,
                                um_spam_space *s, umbel_error *err);

/*
 * One round at one shape. Unless `whole`, the refined filter gets only those
 * insertions that can matter to a count that may be wrong.
 */
umbel_status um_spam_run(const um_spam_experiment *e, const um_spam_load *load,
                         size_t shape, bool whole, um_spam_space *s,
                         um_rng *rng, um_spam_result *out, umbel_error *err);

#endif
