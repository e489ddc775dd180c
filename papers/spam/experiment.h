/*
 * experiment.h - the eight experiments of section V, and one round of them.
 *
 * 10,000 keys are inserted, each as often as its count says, in some order;
 * then those are sought that the filter miscounts. A round draws new hash
 * functions.
 */
#ifndef UM_SPAM_EXPERIMENT_H
#define UM_SPAM_EXPERIMENT_H

#include "papers/spam/net.h"

enum {
    SPAM_KEYS = 10000,
    SPAM_CAP = 63, /* 6 bits a cell, as in the simulations */
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
    /* The authors' own draw, as far as their tables betray it: so many zeros,
     * such a sum. 0: nothing is known. */
    size_t zeros;
    uint64_t total;

    /* Insert all that count says, in this order, the refined way. */
    void (*insert)(uint8_t *value, const um_net *net, const uint8_t *count,
                   uint32_t *sequence, um_rng *rng);
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

/* The keys of a net, each as often as its count says; in a random order. */
size_t um_spam_fill(const um_net *net, const uint8_t *count,
                    uint32_t *sequence);
void um_spam_shuffle(uint32_t *sequence, size_t n, um_rng *rng);

/* What a round finds at one shape. */
typedef struct um_spam_result {
    double plain, refined;               /* rates, as the tables have them */
    double plain_errors, refined_errors; /* keys with a wrong count */
} um_spam_result;

/* Memory of a round. */
typedef struct um_spam_space {
    um_net_space net;
    uint8_t *value;
    uint32_t *sequence;
} um_spam_space;

umbel_status um_spam_space_init(um_spam_space *s, umbel_error *err);
void um_spam_space_fini(um_spam_space *s);

void um_spam_run(const um_spam_experiment *e, const um_spam_load *load,
                 size_t shape, um_spam_space *s, um_rng *rng,
                 um_spam_result *out);

#endif
