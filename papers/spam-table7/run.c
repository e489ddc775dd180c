/*
 * spam-table7 - Experiment 5 of the spam paper, Table VII and Fig. 7.
 */
#include "papers/spam/table.h"

static umbel_status prepare(um_study *s, umbel_error *err)
{
    return um_spam_table_prepare(s, 5, err);
}

const um_paper um_paper_spam_table7 = {
    .name = "spam-table7",
    .source = SPAM_SOURCE "Table VII, Fig. 7",
    .claim = "the counts of Table VI in a row: reductions of 3.4 to 11",
    .rounds = 1000,
    .width = (size_t)9 * SPAM_NUMBERS,
    .z_limit = SPAM_Z_LIMIT,
    .drawn_once = true,
    .prepare = prepare,
    .release = um_spam_table_release,
    .round = um_spam_table_round,
    .conclude = um_spam_table_conclude,
};
