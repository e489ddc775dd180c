/*
 * study.h - the settings of a round, and their results. The study's shared data
 * is a case_world.
 */
#ifndef UM_CASE_STUDY_H
#define UM_CASE_STUDY_H

#include "papers/frame/paper.h"
#include "papers/rbf/case-study/ways.h"
#include "stopset/replay/replay.h"

/* The representations in Figs 8, 10, 11 and 12, k = 1, and three of ours, which
 * know the learning cycle only. */
enum {
    PLAIN = 0,
    RATIO_10 = 3,
    RATIO_25 = 4,
    RATIO_LEARNED = 5,
    GREEDY = 6,
    GROUPS = 7,
    WAYS = 8
};
extern const way case_ways[WAYS];

/* The result of a setting: shares of the traces, and of what the list would
 * have discovered. */
typedef struct outcome {
    double genuine, lucky, shorter, collision;
    double nodes_missed, links_missed;
} outcome;

enum { OUTCOME = 6 }; /* number of its members */

/* Numbers of an outcome, in order, and the sum of the first two. */
enum { GENUINE, LUCKY, SHORT, COLLISION, NODES, LINKS, SUCCESS };

/* A setting that the text quotes rates of. */
typedef struct quoted_setting {
    const char *name;
    uint64_t bits;
    double beta; /* 0 for the plain filter */
} quoted_setting;

/* Another reading of the paper, which is shown but does not count. */
typedef struct alternative {
    const char *name;
    uint32_t hashes;
    const char *method;
    negatives never;
} alternative;

/* The settings of a round, in order. After their outcomes, a round has one more
 * number: the plain filter's false positives on 10,000 traces. */
enum {
    SIZES = 10,
    GRID = SIZES * WAYS,
    SWEEP = 100, /* Fig. 13: beta 0.01 to 1 */
    QUOTED = 9,
    ALTERNATIVES = 3,
    SETTINGS = GRID + SWEEP + ALTERNATIVES * QUOTED,
    HEAVY = SETTINGS * OUTCOME,
    WIDTH
};
extern const quoted_setting case_quoted[QUOTED];
extern const alternative case_alternatives[ALTERNATIVES];

/* An internet, and the results of an exact list in it. */
typedef struct case_world {
    world w;
    ss_corpus probe; /* the second cycle */
    ss_found list;   /* what an exact list discovers */
    outcome of_list;
} case_world;

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
