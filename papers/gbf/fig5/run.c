/*
 * run.c - gbf-fig5: a generalized filter by its fill, one function that sets or
 * resets.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure = {
    .panel = {{.id = "a",
               .title = "Fig. 5 (a): false positives by fill, k1 = 1",
               .x = "ones in the filter",
               .y = "false positives",
               .from = 0,
               .to = 1,
               .step = 0.005,
               .first = 0.1,
               .every = 0.2,
               .curve = {{"k0 = 0", &um_gbf_fp_by_ones, {0, 0, 1, 8192, 32}},
                         {"k0 = 1", &um_gbf_fp_by_ones, {0, 1, 1, 8192, 32}},
                         {"k0 = 2", &um_gbf_fp_by_ones, {0, 2, 1, 8192, 32}},
                         {"k0 = 3", &um_gbf_fp_by_ones, {0, 3, 1, 8192, 32}}}},
              {.id = "b",
               .title = "Fig. 5 (b): false positives by fill, k0 = 1",
               .x = "ones in the filter",
               .y = "false positives",
               .from = 0,
               .to = 1,
               .step = 0.005,
               .first = 0.1,
               .every = 0.2,
               .curve = {{"k1 = 0", &um_gbf_fp_by_ones, {0, 1, 0, 8192, 32}},
                         {"k1 = 1", &um_gbf_fp_by_ones, {0, 1, 1, 8192, 32}},
                         {"k1 = 2", &um_gbf_fp_by_ones, {0, 1, 2, 8192, 32}},
                         {"k1 = 3", &um_gbf_fp_by_ones, {0, 1, 3, 8192, 32}}}}},
    .spot = {{"largest f_p, k0 = 0, k1 = 1", 0, 0, um_gbf_largest, 0},
             {"largest f_p, k0 = 1, k1 = 1", 0, 1, um_gbf_largest, 0},
             {"largest f_p, k0 = 2, k1 = 1", 0, 2, um_gbf_largest, 0},
             {"its share of ones", 0, 2, um_gbf_where_largest, 0},
             {"largest f_p, k0 = 1, k1 = 0", 1, 0, um_gbf_largest, 0},
             {"its share of ones, 0", 1, 0, um_gbf_where_largest, 0},
             {"largest f_p, k0 = 1, k1 = 2", 1, 2, um_gbf_largest, 0},
             {"largest f_p, k0 = 1, k1 = 3", 1, 3, um_gbf_largest, 0}},
    .note = "Our reading: the curves' parameters are ours where the "
            "text does not tell them. A point with a given share of "
            "ones is simulated from the start that equation 7 leads "
            "there."};

UM_GBF_FIGURE(5, "no share of ones makes a generalized filter accept "
                 "everything");
