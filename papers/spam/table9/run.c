/*
 * run.c - spam-table9: Experiment 7 of the spam paper, Table IX and Fig. 9.
 */
#include "papers/spam/table.h"

UM_SPAM_TABLE(9, "IX", 7, 9,
              "Poisson counts of mean 20: reductions of 1.8 to 2.8");
