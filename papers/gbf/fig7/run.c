/*
 * run.c - gbf-fig7: false negatives of each element, one function that sets or
 * resets.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure =
    {.panel =
         {{.id = "a",
           .title = "Fig. 7 (a): false negatives by element, k1 = 1",
           .x = "element",
           .y = "false negatives",
           .from = 1,
           .to = 10,
           .step = 1,
           .first = 1,
           .every = 1,
           .curve = {{"k0 = 0", &um_gbf_fn_by_element, {1, 0, 1, 1280, 10}},
                     {"k0 = 1", &um_gbf_fn_by_element, {1, 1, 1, 1280, 10}},
                     {"k0 = 2", &um_gbf_fn_by_element, {1, 2, 1, 1280, 10}},
                     {"k0 = 3", &um_gbf_fn_by_element, {1, 3, 1, 1280, 10}}}},
          {.id = "b",
           .title = "Fig. 7 (b): false negatives by element, k0 = 1",
           .x = "element",
           .y = "false negatives",
           .from = 1,
           .to = 10,
           .step = 1,
           .first = 1,
           .every = 1,
           .curve = {{"k1 = 0", &um_gbf_fn_by_element, {1, 1, 0, 1280, 10}},
                     {"k1 = 1", &um_gbf_fn_by_element, {1, 1, 1, 1280, 10}},
                     {"k1 = 2", &um_gbf_fn_by_element, {1, 1, 2, 1280, 10}},
                     {"k1 = 3", &um_gbf_fn_by_element, {1, 1, 3, 1280, 10}}}}},
     .spot = {{"largest f_n of a standard filter", 0, 0, um_gbf_largest, 0},
              {"f_n of the last, k0 = 3, k1 = 1", 0, 3, um_gbf_value_at, 10},
              {"the same as defined", 0, 3, um_gbf_truth_at, 10},
              {"where f_n is largest, k0 = 3, k1 = 1", 0, 3,
               um_gbf_where_largest, 0},
              {"f_n of the first, k0 = 3, k1 = 1", 0, 3, um_gbf_value_at, 1},
              {"f_n of the first, k0 = 1, k1 = 3", 1, 3, um_gbf_value_at, 1}},
     .note = "Our reading: the curves' parameters are ours where the "
             "text does not tell them. Points are simulated by the "
             "definition unchanged, and held to it: an element whose "
             "own g and h share a bit is never recognised, so that even "
             "the last is lost with probability k0 k1 / m, which the "
             "equations (and the text: always zero) leave out."};

UM_GBF_FIGURE(7, "early elements are forgotten, the last one never");
