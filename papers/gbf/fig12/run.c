/*
 * run.c - gbf-fig12: the bounds by the number of functions.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure =
    {.panel =
         {{.id = "a",
           .title = "Fig. 12 (a): the bounds, k = k0 = k1",
           .x = "k",
           .y = "bound",
           .from = 1,
           .to = 8,
           .step = 1,
           .first = 1,
           .every = 1,
           .curve =
               {{"F_p", &um_gbf_bound_fp_by_k, {0, 1, 1, 16384, 256}},
                {"F_n, m/n = 64", &um_gbf_bound_fn_by_k, {0, 1, 1, 16384, 256}},
                {"F_n, m/n = 128",
                 &um_gbf_bound_fn_by_k,
                 {0, 1, 1, 32768, 256}},
                {"F_n, m/n = 256",
                 &um_gbf_bound_fn_by_k,
                 {0, 1, 1, 65536, 256}}}},
          {.id = "b",
           .title = "Fig. 12 (b): the bounds, m/n = 256",
           .x = "k0",
           .y = "bound",
           .from = 1,
           .to = 8,
           .step = 1,

           .curve =
               {{"F_p, k1 = 1", &um_gbf_bound_fp_by_k0, {0, 1, 1, 65536, 256}},
                {"F_p, k1 = 2", &um_gbf_bound_fp_by_k0, {0, 1, 2, 65536, 256}},
                {"F_p, k1 = 4", &um_gbf_bound_fp_by_k0, {0, 1, 4, 65536, 256}},
                {"F_p, k1 = 8", &um_gbf_bound_fp_by_k0, {0, 1, 8, 65536, 256}},
                {"F_n, k1 = 1", &um_gbf_bound_fn_by_k0, {0, 1, 1, 65536, 256}},
                {"F_n, k1 = 2", &um_gbf_bound_fn_by_k0, {0, 1, 2, 65536, 256}},
                {"F_n, k1 = 4", &um_gbf_bound_fn_by_k0, {0, 1, 4, 65536, 256}},
                {"F_n, k1 = 8",
                 &um_gbf_bound_fn_by_k0,
                 {0, 1, 8, 65536, 256}}}}},
     .spot = {{"F_p, k = 2", 0, 0, um_gbf_value_at, 2},
              {"F_p, k = 3", 0, 0, um_gbf_value_at, 3},
              {"F_p, k = 4", 0, 0, um_gbf_value_at, 4},
              {"F_n, k = 2, m/n = 128", 0, 2, um_gbf_value_at, 2},
              {"F_n, k = 2, m/n = 256", 0, 3, um_gbf_value_at, 2},
              {"F_p, k0 = 2, k1 = 1", 1, 0, um_gbf_value_at, 2},
              {"F_n, k0 = 2, k1 = 1", 1, 4, um_gbf_value_at, 2},
              {"F_p, k0 = 2, k1 = 4", 1, 2, um_gbf_value_at, 2},
              {"F_n, k0 = 2, k1 = 4", 1, 6, um_gbf_value_at, 2},
              {"least rise of F_n, k1 = 8", 1, 7, um_gbf_least_rise, 0}},
     .note = "Our reading: the curves' parameters are ours where the "
             "text does not tell them. Simulated: f_p at the worst "
             "start; an element before n = 256 others, by the "
             "definition."};

UM_GBF_FIGURE(12, "more functions: a lower bound of false positives, a higher "
                  "one of false negatives");
