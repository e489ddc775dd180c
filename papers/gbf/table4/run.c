/*
 * run.c - gbf-table4: the functions that set, 131,072 bits.
 */
#include "papers/gbf/model/table.h"

static const um_gbf_table table = {
    .title = "Table 4: the functions that set, 131,072 bits",
    .percent = true,
    .row = {{"k1 = 1", {0.5, 2, 1, 131072, 256}},
            {"k1 = 2", {0.5, 2, 2, 131072, 256}},
            {"k1 = 3", {0.5, 2, 3, 131072, 256}},
            {"k1 = 4", {0.5, 2, 4, 131072, 256}},
            {"k1 = 5", {0.5, 2, 5, 131072, 256}}}};

UM_GBF_TABLE(4, "twice the bits: half the false negatives, the same false "
                "positives");
