/*
 * paper.h - one reproduction is one row: what a round measures, what follows.
 *
 * A round draws its own instance from its own random stream and gives `width`
 * numbers. All rounds are run, by any number of threads; their numbers are kept
 * by round, so what follows from them does not depend on who ran what. Then
 * `conclude` turns columns of numbers into checks, figures and sheets, and
 * holds them against papers/PAPER/NAME/expected.csv.
 */
#ifndef UM_PAPERS_PAPER_H
#define UM_PAPERS_PAPER_H

#include "base/rng.h"
#include "base/threads.h"
#include "papers/frame/numbers.h"
#include "papers/frame/record.h"

#include <umbel/experimental.h>
#include <umbel/umbel.h>

/* Eight bytes as a key: the same on every machine, whatever its byte order. */
static inline uint64_t um_random_key(um_rng *r)
{
    return um_le64(um_random(r));
}

typedef struct um_study um_study;

typedef struct um_round {
    const um_study *study;
    uint64_t index;
    um_rng rng; /* its own: from seed, name and index */
} um_round;

typedef struct um_paper {
    const char *name;   /* the directory papers/PAPER/NAME */
    const char *source; /* which paper, which figure */
    const char *claim;  /* one line: what is to be seen */
    uint64_t rounds;    /* unless told otherwise; at most a minute on a core */
    size_t width;       /* numbers that a round gives */
    bool drawn_once;    /* something is, for all rounds; --fresh undoes it */

    /* What all rounds read and none changes; NULL: nothing. */
    umbel_status (*prepare)(um_study *s, umbel_error *err);
    void (*release)(um_study *s); /* accepts what prepare left half done */
    umbel_status (*round)(um_round *r, double *out, umbel_error *err);
    void (*conclude)(um_study *s);
} um_paper;

/* Reports to a watcher how many rounds of how many are done; calls never
 * overlap. */
typedef struct um_watch {
    void *ctx;
    void (*tell)(void *ctx, uint64_t done, uint64_t total);
} um_watch;

/* A reproduction being run. */
struct um_study {
    const um_paper *paper;
    uint64_t rounds, seed;
    unsigned threads;
    bool timed; /* also check times: no longer the same in every run */
    bool fresh; /* draw in every round what the paper drew once for all */
    bool wrong; /* also try each interval against wrong results */
    um_watch watch;

    void *shared;    /* what prepare made */
    double *numbers; /* rounds x width */
    um_record record;
};

/* The table: NULL when past the end, or none has that name. */
const um_paper *um_paper_row(size_t i);
const um_paper *um_paper_find(const char *name);

enum { UM_MAX_ROUNDS = 1000000 };

/* Run paper, rounds, seed, threads, timed and watch of *s; fills the rest. */
umbel_status um_study_run(um_study *s, umbel_error *err);
void um_study_fini(um_study *s);

/*
 * Draws conclusions from rounds that were run, wrongly in UM_WRONG_WAYS ways,
 * and notes in each check of the record which of them it refuses.
 */
umbel_status um_try_wrong(um_study *s, umbel_error *err);
/* What is wrong in that way: "values halved". */
const char *um_wrong_name(unsigned way);

/* The random stream of a round, and one for what all rounds share. */
um_rng um_round_stream(uint64_t seed, const char *name, uint64_t round);

/* Which share of n keys matches; n is not 0. */
umbel_status um_share_matching(const umbel_filter *f, const uint64_t *keys,
                               size_t n, double *share, umbel_error *err);

/* Mean and spread of number `column` over the rounds. */
um_mean um_column(const um_study *s, size_t column);
/* The same of a column divided by another, or added to it, round by round. */
um_mean um_column_ratio(const um_study *s, size_t above, size_t below);
um_mean um_column_sum(const um_study *s, size_t a, size_t b);

/*
 * Hold ours against the row `item` of expected.csv. rounds: how many ours rests
 * on. A row that is missing there, and a row that nobody asked for, are failed
 * checks.
 */
void um_check_value(um_study *s, const char *item, double ours, double error);
void um_check_mean(um_study *s, const char *item, const um_mean *m);
/*
 * The same for a rate that rests on events, each of which adds `unit` to it. An
 * exact Poisson test decides when the row expects fewer than 20 of them; when
 * its reference rests on rounds, too, it is that of two counts.
 */
void um_check_events(um_study *s, const char *item, const um_mean *m,
                     double unit);
/* The same where something is drawn once for all rounds: `other` is the
 * standard error that comes from it. */
void um_check_drawn(um_study *s, const char *item, const um_mean *m,
                    double unit, double other);

#endif
