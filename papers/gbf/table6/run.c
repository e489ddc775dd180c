/*
 * run.c - gbf-table6: the size, with all bits initially 0.
 */
#include "papers/gbf/model/table.h"

static const um_gbf_table table = {
    .title = "Table 6: the size, all bits 0 at first",
    .percent = true,
    .row = {{"m = 8192", {1, 2, 2, 8192, 256}},
            {"m = 16384", {1, 2, 2, 16384, 256}},
            {"m = 32768", {1, 2, 2, 32768, 256}},
            {"m = 65536", {1, 2, 2, 65536, 256}},
            {"m = 131072", {1, 2, 2, 131072, 256}}}};

UM_GBF_TABLE(6, "an empty start: hardly a false positive, false negatives as "
                "in Table 5");
