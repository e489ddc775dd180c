/*
 * run.c - gbf-fig8: false negatives of each element, many functions.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure = {
    .panel =
        {{.id = "",
          .title = "Fig. 8: false negatives by element, k = k0 = k1",
          .x = "element",
          .y = "false negatives",
          .from = 1,
          .to = 10,
          .step = 1,
          .first = 1,
          .every = 1,
          .curve = {{"k = 1", &um_gbf_fn_by_element, {1, 1, 1, 1280, 10}},
                    {"k = 2", &um_gbf_fn_by_element, {1, 2, 2, 1280, 10}},
                    {"k = 4", &um_gbf_fn_by_element, {1, 4, 4, 1280, 10}},
                    {"k = 8", &um_gbf_fn_by_element, {1, 8, 8, 1280, 10}},
                    {"k = 16", &um_gbf_fn_by_element, {1, 16, 16, 1280, 10}}}}},
    .spot = {{"f_n of the first, k = 1", 0, 0, um_gbf_value_at, 1},
             {"f_n of the first, k = 2", 0, 1, um_gbf_value_at, 1},
             {"f_n of the first, k = 4", 0, 2, um_gbf_value_at, 1},
             {"f_n of the first, k = 8", 0, 3, um_gbf_value_at, 1},
             {"f_n of the first, k = 16", 0, 4, um_gbf_value_at, 1},
             {"f_n of the last, k = 16", 0, 4, um_gbf_value_at, 10},
             {"the same as defined", 0, 4, um_gbf_truth_at, 10}},
    .note = "Our reading: the curves' parameters are ours where the "
            "text does not tell them. Points are simulated by the "
            "definition unchanged: an element whose own g and h "
            "share a bit is never recognised. With k = 16 that loses 18 "
            "% of all elements, the last one among them, where equation "
            "11 says 0."};

UM_GBF_FIGURE(8, "the more functions, the sooner elements are forgotten");
