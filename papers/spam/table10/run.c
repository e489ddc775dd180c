/*
 * run.c - spam-table10: Experiment 8 of the spam paper, Table X and Fig. 10.
 */
#include "papers/spam/table.h"

UM_SPAM_TABLE(10, "X", 8, 15,
              "uniform counts up to 40: with 640K cells and k = 8 no error in "
              "1000 rounds");
