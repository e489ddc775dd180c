/*
 * run.c - gbf-table8: the same functions, with 1 % of the bits initially 0.
 */
#include "papers/gbf/model/table.h"

static const um_gbf_table table = {
    .title = "Table 8: the same functions, 1 % of the bits 0 at first",
    .percent = false,
    .row = {{"m = 8192", {0.01, 1, 22, 8192, 256}},
            {"m = 16384", {0.01, 1, 44, 16384, 256}},
            {"m = 32768", {0.01, 1, 89, 32768, 256}},
            {"m = 65536", {0.01, 1, 177, 65536, 256}},
            {"m = 131072", {0.01, 1, 355, 131072, 256}}}};

UM_GBF_TABLE(8, "all but saturated: a standard filter accepts 17 to 90 %, "
                "this one 1.5 % at most");
