/*
 * run.c - gbf-fig2: a standard filter by the number of its functions.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure = {
    .panel =
        {{.id = "",
          .title = "Fig. 2: a standard filter by its functions",
          .x = "functions k",
          .y = "false positives",
          .log_y = true,
          .from = 1,
          .to = 32,
          .step = 1,
          .first = 1,
          .every = 4,
          .curve = {{"m/n = 8", &um_gbf_fp_by_k1, {1, 0, 1, 2048, 256}},
                    {"m/n = 16", &um_gbf_fp_by_k1, {1, 0, 1, 4096, 256}},
                    {"m/n = 32", &um_gbf_fp_by_k1, {1, 0, 1, 8192, 256}}}}},
    .spot = {{"best k, m/n = 8", 0, 0, um_gbf_where_least, 0},
             {"best k, m/n = 16", 0, 1, um_gbf_where_least, 0},
             {"best k, m/n = 32", 0, 2, um_gbf_where_least, 0},
             {"least f, m/n = 8", 0, 0, um_gbf_least, 0},
             {"least f, m/n = 16", 0, 1, um_gbf_least, 0},
             {"least f, m/n = 32", 0, 2, um_gbf_least, 0}},
    .note = "Our reading: the curves' parameters are ours where the "
            "text does not tell them."};

UM_GBF_FIGURE(2, "of each size there is a best number of functions, (m/n) ln "
                 "2");
