/*
 * study.h - the settings of a round, and their results.
 */
#ifndef UM_CASE_STUDY_H
#define UM_CASE_STUDY_H

#include "papers/frame/paper.h"
#include "papers/rbf/case-study/ways.h"
#include "stopset/replay/replay.h"

/* The representations in Figs 8, 10, 11 and 12, and two that the paper does not
 * have. */
enum {
    PLAIN = 0,
    RATIO_10 = 3,
    RATIO_25 = 4,
    GREEDY = 5,
    GROUPS = 6,
    WAYS = 7
};
extern const way case_ways[WAYS];

/* Rates that the text quotes; NAN if it does not. */
typedef struct quote {
    const char *what;
    uint64_t bits;
    double beta; /* 0 for the plain filter */
    double success, shorter, collision;
} quote;

/* The result of a setting: shares of the traces, and of what the list would
 * have discovered. */
typedef struct outcome {
    double genuine, lucky, shorter, collision;
    double nodes_missed, links_missed;
} outcome;

enum { OUTCOME = 6 }; /* number of its members */

/* Numbers of an outcome, in order, and the sum of the first two. */
enum { GENUINE, LUCKY, SHORT, COLLISION, NODES, LINKS, SUCCESS };

/* How the settings of a quote are tried: number of hash functions, world, and
 * whether the tracked method of 2010 replaces Ratio. */
typedef struct reading {
    const char *name;
    uint32_t hashes;
    bool wide, tracked;
} reading;

/* The settings of a round, in order. */
enum {
    SIZES = 10,
    GRID = SIZES * WAYS,
    SWEEP = 100, /* Fig. 13: beta 0.01 to 1 */
    QUOTES = 10,
    READINGS = 5,
    QUOTED = READINGS * QUOTES,
    SETTINGS = GRID + SWEEP + QUOTED,
    WIDTH = SETTINGS * OUTCOME
};
extern const quote case_quotes[QUOTES];
extern const reading case_readings[READINGS];

/* An internet, and the results of an exact list in it. */
typedef struct case_world {
    world w;
    ss_corpus probe; /* the second cycle */
    ss_found list;   /* what an exact list discovers */
    outcome of_list;
} case_world;

typedef struct shared {
    case_world tuned, wide;
} shared;

static inline uint64_t size_at(size_t i)
{
    return 10000 * (1 + i);
}

/* Returns the mean over the rounds of one number of a setting, or of a size and
 * way in the grid. */
um_mean case_rate(const um_study *s, size_t setting, size_t what);
um_mean case_at_size(const um_study *s, size_t size, size_t which, size_t what);

/* Compares the rates and sentences of the text with the results. */
void case_check_quotes(um_study *s);
void case_check_figures(um_study *s);

#endif
