/*
 * run.c - gbf-table3: the functions that set, 65,536 bits.
 */
#include "papers/gbf/model/table.h"

static const um_gbf_table table = {
    .title = "Table 3: the functions that set, 65,536 bits",
    .percent = true,
    .row = {{"k1 = 1", {0.5, 2, 1, 65536, 256}},
            {"k1 = 2", {0.5, 2, 2, 65536, 256}},
            {"k1 = 3", {0.5, 2, 3, 65536, 256}},
            {"k1 = 4", {0.5, 2, 4, 65536, 256}},
            {"k1 = 5", {0.5, 2, 5, 65536, 256}}}};

UM_GBF_TABLE(3, "more functions: fewer false positives, more false negatives");
