/*
 * run.c - gbf-table2: the initial condition, two functions that reset and three
 * that set.
 */
#include "papers/gbf/model/table.h"

static const um_gbf_table table = {
    .title = "Table 2: the initial condition, two functions that reset and "
             "three that set",
    .percent = true,
    .row = {{"p0 = 0 %", {0, 2, 3, 65536, 256}},
            {"p0 = 25 %", {0.25, 2, 3, 65536, 256}},
            {"p0 = 50 %", {0.5, 2, 3, 65536, 256}},
            {"p0 = 75 %", {0.75, 2, 3, 65536, 256}},
            {"p0 = 100 %", {1, 2, 3, 65536, 256}}}};

UM_GBF_TABLE(2, "one function more that sets: at most 3.5 % false positives");
