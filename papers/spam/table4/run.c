/*
 * run.c - spam-table4: Experiment 2 of the spam paper, Table IV and Fig. 4.
 */
#include "papers/spam/table.h"

UM_SPAM_TABLE(
    4, "IV", 2, 9,
    "20 insertions of a key in a row: fewer errors than in Table III");
