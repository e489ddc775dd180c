/*
 * run.c - spam-table5: Experiment 3 of the spam paper, Table V and Fig. 5.
 */
#include "papers/spam/table.h"

UM_SPAM_TABLE(
    5, "V", 3, 9,
    "shuffled insertions: the refined extension gains least, 1.3 to 1.7 times");
