/*
 * run.c - spam-table6: Experiment 4 of the spam paper, Table VI and Fig. 6.
 */
#include "papers/spam/table.h"

UM_SPAM_TABLE(
    6, "VI", 4, 9,
    "uniform counts, shuffled: the best reductions; \"about 18\" is one draw");
