/*
 * run.c - spam-table3: Experiment 1 of the spam paper, Table III and Fig. 3.
 */
#include "papers/spam/table.h"

UM_SPAM_TABLE(3, "III", 1, 9,
              "each key once, 20 times over: the refined extension errs 4 to "
              "15 times less");
