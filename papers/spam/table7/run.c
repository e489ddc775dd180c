/*
 * run.c - spam-table7: Experiment 5 of the spam paper, Table VII and Fig. 7.
 */
#include "papers/spam/table.h"

UM_SPAM_TABLE(7, "VII", 5, 9,
              "the counts of Table VI in a row: reductions of 3.4 to 11");
