/*
 * run.c - gbf-fig10: false positives by the initial share of ones, 25 bits per
 * element.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure =
    {.panel =
         {{.id = "a",
           .title = "Fig. 10 (a): false positives by start, k1 = 2",
           .x = "ones at first",
           .y = "false positives",
           .from = 0,
           .to = 1,
           .step = 0.005,
           .first = 0,
           .every = 0.25,
           .curve = {{"k0 = 0", &um_gbf_fp_by_start, {0, 0, 2, 6400, 256}},
                     {"k0 = 1", &um_gbf_fp_by_start, {0, 1, 2, 6400, 256}},
                     {"k0 = 2", &um_gbf_fp_by_start, {0, 2, 2, 6400, 256}},
                     {"k0 = 3", &um_gbf_fp_by_start, {0, 3, 2, 6400, 256}}}},
          {.id = "b",
           .title = "Fig. 10 (b): false positives by start, k0 = 2",
           .x = "ones at first",
           .y = "false positives",
           .from = 0,
           .to = 1,
           .step = 0.005,
           .first = 0,
           .every = 0.25,
           .curve = {{"k1 = 0", &um_gbf_fp_by_start, {0, 2, 0, 6400, 256}},
                     {"k1 = 1", &um_gbf_fp_by_start, {0, 2, 1, 6400, 256}},
                     {"k1 = 2", &um_gbf_fp_by_start, {0, 2, 2, 6400, 256}},
                     {"k1 = 3", &um_gbf_fp_by_start, {0, 2, 3, 6400, 256}}}}},
     .spot = {{"largest f_p, k0 = 0, k1 = 2", 0, 0, um_gbf_largest, 0},
              {"largest f_p, k0 = 2, k1 = 2", 0, 2, um_gbf_largest, 0},
              {"its ones at first", 0, 2, um_gbf_where_largest, 0},
              {"largest f_p, k0 = 2, k1 = 1", 1, 1, um_gbf_largest, 0},
              {"largest f_p, k0 = 2, k1 = 3", 1, 3, um_gbf_largest, 0},
              {"its ones at first, 3/5", 1, 3, um_gbf_where_largest, 0}},
     .note = "Our reading: the curves' parameters are ours where the "
             "text does not tell them."};

UM_GBF_FIGURE(10, "the start can at best be tuned to the bound");
