/*
 * run.c - gbf-table5: the size, with a quarter of the bits initially 0.
 */
#include "papers/gbf/model/table.h"

static const um_gbf_table table = {
    .title = "Table 5: the size, a quarter of the bits 0 at first",
    .percent = true,
    .row = {{"m = 8192", {0.25, 2, 2, 8192, 256}},
            {"m = 16384", {0.25, 2, 2, 16384, 256}},
            {"m = 32768", {0.25, 2, 2, 32768, 256}},
            {"m = 65536", {0.25, 2, 2, 65536, 256}},
            {"m = 131072", {0.25, 2, 2, 131072, 256}}}};

UM_GBF_TABLE(5, "twice the bits halve the false negatives and leave the false "
                "positives");
