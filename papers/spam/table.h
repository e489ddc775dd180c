/*
 * table.h - one of the Tables III to X with its figure: an experiment at every
 * shape. A study has only its number, experiment, shapes and claim.
 */
#ifndef UM_SPAM_TABLE_H
#define UM_SPAM_TABLE_H

#include "papers/frame/paper.h"
#include "papers/spam/experiment.h"

#include <umbel/base.h>

/* Numbers of a round at one shape. */
enum {
    SPAM_PLAIN,
    SPAM_PLAIN_ERRORS,
    SPAM_REFINED,
    SPAM_REFINED_ERRORS,
    SPAM_NUMBERS
};
/* How often the headline factor is measured, each time with all rounds. */
enum { SPAM_STREAMS = 5 };
#define SPAM_SOURCE "Yan, Cho 2006, "

umbel_status um_spam_table_prepare(um_study *s, unsigned experiment,
                                   umbel_error *err);
void um_spam_table_release(um_study *s);
umbel_status um_spam_table_round(um_round *r, double *out, umbel_error *err);
void um_spam_table_conclude(um_study *s);

/* Defines the row of Table `number`, which the paper calls `roman`. */
#define UM_SPAM_TABLE(number, roman, experiment, shapes, words)                \
    static umbel_status prepare(um_study *s, umbel_error *err)                 \
    {                                                                          \
        return um_spam_table_prepare(s, experiment, err);                      \
    }                                                                          \
    const um_paper um_paper_spam_table##number = {                             \
        .name = "spam-table" #number,                                          \
        .source = SPAM_SOURCE "Table " roman ", Fig. " #number,                \
        .claim = words,                                                        \
        .rounds = 1000,                                                        \
        .width = ((size_t)(shapes) + SPAM_STREAMS) * SPAM_NUMBERS,             \
        .drawn_once = true,                                                    \
        .prepare = prepare,                                                    \
        .release = um_spam_table_release,                                      \
        .round = um_spam_table_round,                                          \
        .conclude = um_spam_table_conclude,                                    \
    }

/* Returns the load of a round: the study's, or with --fresh its own, stored in
 * *own. */
const um_spam_load *um_spam_table_load(um_round *r, um_spam_load *own);

#endif
