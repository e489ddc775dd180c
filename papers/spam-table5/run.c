/*
 * spam-table5 - Experiment 3 of the spam paper, Table V and Fig. 5.
 */
#include "papers/spam/table.h"

static umbel_status prepare(um_study *s, umbel_error *err)
{
    return um_spam_table_prepare(s, 3, err);
}

const um_paper um_paper_spam_table5 = {
    .name = "spam-table5",
    .source = SPAM_SOURCE "Table V, Fig. 5",
    .claim = "shuffled insertions: the refined extension gains least, 1.3 to "
             "1.7 times",
    .rounds = 1000,
    .width = (size_t)9 * SPAM_NUMBERS,
    .z_limit = SPAM_Z_LIMIT,
    .drawn_once = true,
    .prepare = prepare,
    .release = um_spam_table_release,
    .round = um_spam_table_round,
    .conclude = um_spam_table_conclude,
};
