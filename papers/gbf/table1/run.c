/*
 * run.c - gbf-table1: the initial condition, two functions that reset and two
 * that set.
 */
#include "papers/gbf/model/table.h"

static const um_gbf_table table = {
    .title = "Table 1: the initial condition, two functions that reset and two "
             "that set",
    .percent = true,
    .row = {{"p0 = 0 %", {0, 2, 2, 65536, 256}},
            {"p0 = 25 %", {0.25, 2, 2, 65536, 256}},
            {"p0 = 50 %", {0.5, 2, 2, 65536, 256}},
            {"p0 = 75 %", {0.75, 2, 2, 65536, 256}},
            {"p0 = 100 %", {1, 2, 2, 65536, 256}}}};

UM_GBF_TABLE(1, "for any start at most 6.3 % false positives, where a "
                "standard filter reaches 100 %");
