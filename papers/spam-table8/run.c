/*
 * spam-table8 - Experiment 6 of the spam paper, Table VIII and Fig. 8.
 */
#include "papers/spam/table.h"

static umbel_status prepare(um_study *s, umbel_error *err)
{
    return um_spam_table_prepare(s, 6, err);
}

const um_paper um_paper_spam_table8 = {
    .name = "spam-table8",
    .source = SPAM_SOURCE "Table VIII, Fig. 8",
    .claim = "Poisson counts of mean 10: reductions of 2.2 to 4.2",
    .rounds = 1000,
    .width = (size_t)9 * SPAM_NUMBERS,
    .z_limit = SPAM_Z_LIMIT,
    .drawn_once = true,
    .prepare = prepare,
    .release = um_spam_table_release,
    .round = um_spam_table_round,
    .conclude = um_spam_table_conclude,
};
