/*
 * spam-table6 - Experiment 4 of the spam paper, Table VI and Fig. 6.
 */
#include "papers/spam/table.h"

static umbel_status prepare(um_study *s, umbel_error *err)
{
    return um_spam_table_prepare(s, 4, err);
}

const um_paper um_paper_spam_table6 = {
    .name = "spam-table6",
    .source = SPAM_SOURCE "Table VI, Fig. 6",
    .claim = "uniform counts, shuffled: the best reduction, up to about 18",
    .rounds = 1000,
    .width = (size_t)9 * SPAM_NUMBERS,
    .z_limit = SPAM_Z_LIMIT,
    .drawn_once = true,
    .prepare = prepare,
    .release = um_spam_table_release,
    .round = um_spam_table_round,
    .conclude = um_spam_table_conclude,
};
