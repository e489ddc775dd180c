/*
 * paper.h - the row that describes a reproduction: its rounds, and its
 * conclusions.
 *
 * A round draws its own instance from its own random stream and returns `width`
 * numbers. Any number of threads run the rounds; the numbers are stored by
 * round, so the results do not depend on which thread ran what. Then `conclude`
 * turns columns of numbers into checks, figures and sheets, and compares them
 * with papers/PAPER/NAME/expected.csv.
 */
#ifndef UM_PAPERS_PAPER_H
#define UM_PAPERS_PAPER_H

#include "base/rng.h"
#include "base/threads.h"
#include "papers/frame/numbers.h"
#include "papers/frame/record.h"

#include <umbel/experimental.h>
#include <umbel/umbel.h>

/* Draws eight bytes as a key: the same on every machine, whatever its byte
 * order. */
static inline uint64_t um_random_key(um_rng *r)
{
    return um_le64(um_random(r));
}

typedef struct um_study um_study;

typedef struct um_round {
    const um_study *study;
    uint64_t index;
    um_rng rng; /* its own stream, from seed, name and index */
} um_round;

typedef struct um_paper {
    const char *name;   /* the directory papers/PAPER/NAME */
    const char *source; /* which paper, which figure */
    const char *claim;  /* one line: what the study shows */
    uint64_t rounds;    /* default number; at most a minute on one core */
    size_t width;       /* numbers per round */
    bool drawn_once;    /* something is; --fresh draws it every round */
    const char *const *worlds; /* of --world, the default first, up to NULL;
                                  NULL if there is no choice */

    /* Creates what all rounds read and none changes; NULL if there is
     * nothing. */
    umbel_status (*prepare)(um_study *s, umbel_error *err);
    void (*release)(um_study *s); /* accepts a half-finished prepare */
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
    bool timed;        /* also check times, which differ from run to run */
    bool fresh;        /* draw in every round what the paper drew once */
    bool wrong;        /* also test each interval with wrong results */
    size_t world;      /* index into the paper's worlds */
    bool fitted_world; /* set by prepare if it was fitted to quoted numbers */
    um_watch watch;

    void *shared;    /* created by prepare */
    double *numbers; /* rounds x width */
    um_record record;
};

/* Returns a row of the table; NULL past the end, or if no row has that name. */
const um_paper *um_paper_row(size_t i);
const um_paper *um_paper_find(const char *name);

enum { UM_MAX_ROUNDS = 1000000 };

/* Runs a study; paper, rounds, seed, threads, timed and watch of *s are set. */
umbel_status um_study_run(um_study *s, umbel_error *err);
void um_study_fini(um_study *s);

/*
 * Draws conclusions from finished rounds, wrongly in UM_WRONG_WAYS ways, and
 * records in each check which of them it refuses.
 */
umbel_status um_try_wrong(um_study *s, umbel_error *err);
/* Returns the name of a wrong way, such as "values halved". */
const char *um_wrong_name(unsigned way);

/* Returns the random stream of a round, or the one that all rounds share. */
um_rng um_round_stream(uint64_t seed, const char *name, uint64_t round);

/* Measures the share of n keys that match; n is not 0. */
umbel_status um_share_matching(const umbel_filter *f, const uint64_t *keys,
                               size_t n, double *share, umbel_error *err);

/* Returns mean and standard deviation of number `column` over the rounds. */
um_mean um_column(const um_study *s, size_t column);
/* Does the same for the ratio, or the sum, of two columns in each round. */
um_mean um_column_ratio(const um_study *s, size_t above, size_t below);
um_mean um_column_sum(const um_study *s, size_t a, size_t b);

/*
 * Compares ours with the row `item` of expected.csv. A row that is missing
 * there is a failed check, and so is a row that is never compared.
 */
void um_check_value(um_study *s, const char *item, double ours, double error);
void um_check_mean(um_study *s, const char *item, const um_mean *m);
/*
 * Does the same for a rate of events, each of which adds `unit` to it. If the
 * row expects fewer than 100 events, an exact Poisson test decides; if its
 * reference comes from rounds, too, a test of two counts.
 */
void um_check_events(um_study *s, const char *item, const um_mean *m,
                     double unit);
/* Does the same if something is drawn once for all rounds: `other` is the
 * standard error that this causes. */
void um_check_drawn(um_study *s, const char *item, const um_mean *m,
                    double unit, double other);

/*
 * Does the same for a quotient of two counts, above and below, where the events
 * of the second are some of the first: given the first, the second is binomial,
 * and the quotient at least 1.
 * The paper's quotient comes from counts, too: other_above and other_below.
 */
void um_check_quotient(um_study *s, const char *item, double above,
                       double below, double other_above, double other_below);
/* Does the same for a number that the paper drew once: it must be within the
 * slack of our mean, or among 95 % of our rounds. */
void um_check_single(um_study *s, const char *item, const um_mean *m);

#endif
