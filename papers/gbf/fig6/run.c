/*
 * run.c - gbf-fig6: a generalized filter by its fill, as many functions that
 * set as reset.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure = {
    .panel = {{.id = "",
               .title = "Fig. 6: false positives by fill, k = k0 = k1",
               .x = "ones in the filter",
               .y = "false positives",
               .from = 0,
               .to = 1,
               .step = 0.005,
               .first = 0.1,
               .every = 0.2,
               .curve = {{"k = 1", &um_gbf_fp_by_ones, {0, 1, 1, 8192, 32}},
                         {"k = 2", &um_gbf_fp_by_ones, {0, 2, 2, 8192, 32}},
                         {"k = 3", &um_gbf_fp_by_ones, {0, 3, 3, 8192, 32}},
                         {"k = 4", &um_gbf_fp_by_ones, {0, 4, 4, 8192, 32}}}}},
    .spot = {{"largest f_p, k = 1", 0, 0, um_gbf_largest, 0},
             {"largest f_p, k = 2", 0, 1, um_gbf_largest, 0},
             {"largest f_p, k = 3", 0, 2, um_gbf_largest, 0},
             {"largest f_p, k = 4", 0, 3, um_gbf_largest, 0},
             {"its share of ones, k = 4", 0, 3, um_gbf_where_largest, 0}},
    .note = "Our reading: the curves' parameters are ours where the "
            "text does not tell them."};

UM_GBF_FIGURE(6, "at most 6.3, 1.6 and 0.4 % false positives with k = 2, 3 "
                 "and 4");
