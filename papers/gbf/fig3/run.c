/*
 * run.c - gbf-fig3: a standard filter by the share of its bits that are 1.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure = {
    .panel = {{.id = "",
               .title = "Fig. 3: a standard filter by its fill",
               .x = "ones in the filter",
               .y = "false positives",
               .from = 0,
               .to = 1,
               .step = 0.01,
               .first = 0.2,
               .every = 0.2,
               .curve = {{"k = 1", &um_gbf_fp_by_ones, {0, 0, 1, 8192, 32}},
                         {"k = 2", &um_gbf_fp_by_ones, {0, 0, 2, 8192, 32}},
                         {"k = 4", &um_gbf_fp_by_ones, {0, 0, 4, 8192, 32}},
                         {"k = 8", &um_gbf_fp_by_ones, {0, 0, 8, 8192, 32}}}}},
    .spot = {{"all bits 1, k = 1", 0, 0, um_gbf_value_at, 1},
             {"all bits 1, k = 2", 0, 1, um_gbf_value_at, 1},
             {"all bits 1, k = 4", 0, 2, um_gbf_value_at, 1},
             {"all bits 1, k = 8", 0, 3, um_gbf_value_at, 1},
             {"least rise, k = 1", 0, 0, um_gbf_least_rise, 0},
             {"least rise, k = 2", 0, 1, um_gbf_least_rise, 0},
             {"least rise, k = 4", 0, 2, um_gbf_least_rise, 0},
             {"least rise, k = 8", 0, 3, um_gbf_least_rise, 0},
             {"half the bits 1, k = 4", 0, 2, um_gbf_value_at, 0.5}},
    .note = "Our reading: the curves' parameters are ours where the "
            "text does not tell them."};

UM_GBF_FIGURE(3, "a standard filter with all bits 1 accepts everything");
