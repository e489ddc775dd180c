/*
 * run.c - spam-table8: Experiment 6 of the spam paper, Table VIII and Fig. 8.
 */
#include "papers/spam/table.h"

UM_SPAM_TABLE(8, "VIII", 6, 9,
              "Poisson counts of mean 10: reductions of 2.2 to 4.2");
