/*
 * trade.h - ways to keep 20,000 known keys from matching, at equal size.
 */
#ifndef UM_OURS_TRADE_H
#define UM_OURS_TRADE_H

#include "papers/frame/paper.h"

#include <umbel/base.h>

enum { TRADE_MEMBERS = 10000, TRADE_NEVER = 20000, TRADE_ASKED = 200000 };

typedef struct trade_way {
    const char *id;
    uint32_t hashes;
    uint32_t best;      /* hashes from the size: m ln 2 / n */
    uint64_t groups;    /* 0 for none */
    const char *method; /* of retouching, or NULL */
    double max_fn;
    bool anti; /* a second filter of keys to be denied, within the same bits */
} trade_way;

/* Members, keys that must not match (with Zipf weights), and keys of neither
 * list. */
typedef struct trade {
    uint64_t *members, *never, *asked;
    double *weight, total;
    uint64_t seed;
} trade;

/* The result of a way. */
typedef struct trade_result {
    double left;       /* share of the unwanted weight that matches */
    double lost;       /* share of the members that do not match */
    double background; /* share of the other keys that match */
} trade_result;

enum { TRADE_NUMBERS = 3 };

umbel_status trade_init(trade *t, um_rng *rng, umbel_error *err);
void trade_fini(trade *t);
umbel_status trade_run(const trade *t, const trade_way *how, uint64_t bits,
                       trade_result *out, umbel_error *err);

/* Returns the largest number of bits that a query reads. */
uint64_t trade_probes(const trade_way *how, uint64_t bits);

#endif
