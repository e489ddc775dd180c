/*
 * spam-table3 - Experiment 1 of the spam paper, Table III and Fig. 3.
 */
#include "papers/spam/table.h"

static umbel_status prepare(um_study *s, umbel_error *err)
{
    return um_spam_table_prepare(s, 1, err);
}

const um_paper um_paper_spam_table3 = {
    .name = "spam-table3",
    .source = SPAM_SOURCE "Table III, Fig. 3",
    .claim = "each key once, 20 times over: the refined extension errs 4 to 15 "
             "times less",
    .rounds = 1000,
    .width = (size_t)9 * SPAM_NUMBERS,
    .z_limit = SPAM_Z_LIMIT,
    .drawn_once = true,
    .prepare = prepare,
    .release = um_spam_table_release,
    .round = um_spam_table_round,
    .conclude = um_spam_table_conclude,
};
