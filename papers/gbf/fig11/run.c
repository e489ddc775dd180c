/*
 * run.c - gbf-fig11: false positives by the initial share of ones, for several
 * sizes.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure = {
    .panel =
        {{.id = "",
          .title = "Fig. 11: false positives by start, k0 = k1 = 2",
          .x = "ones at first",
          .y = "false positives",
          .from = 0,
          .to = 1,
          .step = 0.005,
          .first = 0,
          .every = 0.25,
          .curve =
              {{"m/n = 1", &um_gbf_fp_by_start, {0, 2, 2, 768, 768}},
               {"m/n = 8", &um_gbf_fp_by_start, {0, 2, 2, 6144, 768}},
               {"m/n = 32", &um_gbf_fp_by_start, {0, 2, 2, 24576, 768}},
               {"m/n = 128", &um_gbf_fp_by_start, {0, 2, 2, 98304, 768}}}}},
    .spot = {{"f_p of half ones, m/n = 1", 0, 0, um_gbf_value_at, 0.5},
             {"f_p of half ones, m/n = 8", 0, 1, um_gbf_value_at, 0.5},
             {"f_p of half ones, m/n = 32", 0, 2, um_gbf_value_at, 0.5},
             {"f_p of half ones, m/n = 128", 0, 3, um_gbf_value_at, 0.5},
             {"least f_p, m/n = 1", 0, 0, um_gbf_least, 0},
             {"f_p of 75 % ones, m/n = 32", 0, 2, um_gbf_value_at, 0.75},
             {"f_p of no ones, m/n = 32", 0, 2, um_gbf_value_at, 0},
             {"f_p of all ones, m/n = 128", 0, 3, um_gbf_value_at, 1},
             {"f_p of 75 % ones, m/n = 128", 0, 3, um_gbf_value_at, 0.75}},
    .note = "Our reading: the curves' parameters are ours where the "
            "text does not tell them."};

UM_GBF_FIGURE(11, "tuned or overfull, a filter of 2 and 2 functions accepts "
                  "6.3 %");
