/*
 * run.c - gbf-table7: the standard filter's best number of functions, with all
 * bits initially 0.
 */
#include "papers/gbf/model/table.h"

static const um_gbf_table table = {
    .title = "Table 7: the standard filter's best number of functions, all "
             "bits 0 at first",
    .percent = false,
    .row = {{"m = 8192", {1, 1, 22, 8192, 256}},
            {"m = 16384", {1, 1, 44, 16384, 256}},
            {"m = 32768", {1, 1, 89, 32768, 256}},
            {"m = 65536", {1, 1, 177, 65536, 256}},
            {"m = 131072", {1, 1, 355, 131072, 256}}}};

UM_GBF_TABLE(7, "as many functions as suit a standard filter: 43 % false "
                "negatives");
