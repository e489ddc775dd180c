/*
 * spam-table9 - Experiment 7 of the spam paper, Table IX and Fig. 9.
 */
#include "papers/spam/table.h"

static umbel_status prepare(um_study *s, umbel_error *err)
{
    return um_spam_table_prepare(s, 7, err);
}

const um_paper um_paper_spam_table9 = {
    .name = "spam-table9",
    .source = SPAM_SOURCE "Table IX, Fig. 9",
    .claim = "Poisson counts of mean 20: reductions of 1.8 to 2.8",
    .rounds = 1000,
    .width = (size_t)9 * SPAM_NUMBERS,
    .z_limit = SPAM_Z_LIMIT,
    .drawn_once = true,
    .prepare = prepare,
    .release = um_spam_table_release,
    .round = um_spam_table_round,
    .conclude = um_spam_table_conclude,
};
