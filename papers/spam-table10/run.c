/*
 * spam-table10 - Experiment 8 of the spam paper, Table X and Fig. 10.
 */
#include "papers/spam/table.h"

static umbel_status prepare(um_study *s, umbel_error *err)
{
    return um_spam_table_prepare(s, 8, err);
}

const um_paper um_paper_spam_table10 = {
    .name = "spam-table10",
    .source = SPAM_SOURCE "Table X, Fig. 10",
    .claim =
        "uniform counts up to 40; with 640K cells and k = 8 no error is left",
    .rounds = 1000,
    .width = (size_t)15 * SPAM_NUMBERS,
    .z_limit = SPAM_Z_LIMIT,
    .drawn_once = true,
    .prepare = prepare,
    .release = um_spam_table_release,
    .round = um_spam_table_round,
    .conclude = um_spam_table_conclude,
};
