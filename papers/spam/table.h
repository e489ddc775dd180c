/*
 * table.h - one of the Tables III to X with its figure: an experiment at every
 * shape. A paper's row has these functions, and a prepare of its own that names
 * the experiment.
 */
#ifndef UM_SPAM_TABLE_H
#define UM_SPAM_TABLE_H

#include "papers/frame/paper.h"
#include "papers/spam/experiment.h"

/* Numbers of a round at one shape. */
enum {
    SPAM_PLAIN,
    SPAM_PLAIN_ERRORS,
    SPAM_REFINED,
    SPAM_REFINED_ERRORS,
    SPAM_NUMBERS
};
#define SPAM_SOURCE "Yan, Cho 2006, "
/* Joint standard errors that a cell may be off. */
#define SPAM_Z_LIMIT 4.2

umbel_status um_spam_table_prepare(um_study *s, unsigned experiment,
                                   umbel_error *err);
void um_spam_table_release(um_study *s);
umbel_status um_spam_table_round(um_round *r, double *out, umbel_error *err);
void um_spam_table_conclude(um_study *s);

/* The load of a round: the study's, or with --fresh its own, made in *own. */
const um_spam_load *um_spam_table_load(um_round *r, um_spam_load *own);

#endif
