/*
 * spam-table4 - Experiment 2 of the spam paper, Table IV and Fig. 4.
 */
#include "papers/spam/table.h"

static umbel_status prepare(um_study *s, umbel_error *err)
{
    return um_spam_table_prepare(s, 2, err);
}

const um_paper um_paper_spam_table4 = {
    .name = "spam-table4",
    .source = SPAM_SOURCE "Table IV, Fig. 4",
    .claim = "20 insertions of a key in a row: fewer errors than in Table III",
    .rounds = 1000,
    .width = (size_t)9 * SPAM_NUMBERS,
    .z_limit = SPAM_Z_LIMIT,
    .drawn_once = true,
    .prepare = prepare,
    .release = um_spam_table_release,
    .round = um_spam_table_round,
    .conclude = um_spam_table_conclude,
};
