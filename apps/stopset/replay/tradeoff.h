/*
 * tradeoff.h - every form in several sizes, replayed: figures, table and page.
 */
#ifndef UM_STOPSET_TRADEOFF_H
#define UM_STOPSET_TRADEOFF_H

#include "stopset/replay/trial.h"
#include "stopset/sets/make.h"

/* One set that was tried. */
typedef struct ss_attempt {
    ss_form form;
    uint64_t bytes;
    ss_result result;
} ss_attempt;

enum { SS_SIZES = 8, SS_MAX_ATTEMPTS = 1 + SS_SIZES * (SS_FORMS - 1) };

typedef struct ss_tradeoff {
    ss_set_info info;
    ss_attempt attempt[SS_MAX_ATTEMPTS]; /* the list first, then by form */
    size_t n;
} ss_tradeoff;

/* Makes and tries all sets of a task. Sizes that are too small for a form are
 * left out. */
umbel_status ss_tradeoff_run(ss_tradeoff *x, const ss_task *task,
                             ss_trials *trials, uint64_t seed,
                             umbel_error *err);

#define SS_TRADEOFF_GENERATOR "umbel stopset"

/* Writes tradeoff.csv, figures as SVG and CSV, and index.html. */
umbel_status ss_tradeoff_publish(const ss_tradeoff *x, const char *dir,
                                 umbel_error *err);

#endif
