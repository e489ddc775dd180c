/*
 * run.c - gbf-fig9: the bound of false negatives by bits per element.
 */
#include "papers/gbf/model/figure.h"

static const um_gbf_figure figure = {
    .panel =
        {{.id = "",
          .title = "Fig. 9: the bound F_n by size, k1 = 1",
          .x = "bits an element",
          .y = "bound of false negatives",
          .from = 16,
          .to = 512,
          .step = 4,
          .first = 32,
          .every = 96,
          .curve = {{"k0 = 1", &um_gbf_bound_fn_by_ratio, {1, 1, 1, 0, 256}},
                    {"k0 = 2", &um_gbf_bound_fn_by_ratio, {1, 2, 1, 0, 256}},
                    {"k0 = 3", &um_gbf_bound_fn_by_ratio, {1, 3, 1, 0, 256}},
                    {"k0 = 4", &um_gbf_bound_fn_by_ratio, {1, 4, 1, 0, 256}}}}},
    .spot = {{"F_n, k0 = 2, m/n = 256", 0, 1, um_gbf_value_at, 256},
             {"F_n, k0 = 2, m/n = 512", 0, 1, um_gbf_value_at, 512},
             {"where F_n is largest, k0 = 4", 0, 3, um_gbf_where_largest, 0},
             {"where F_n is least, k0 = 4", 0, 3, um_gbf_where_least, 0}},
    .note = "Our reading: the curves' parameters are ours where the "
            "text does not tell them. Simulated: an element before n = "
            "256 others, by the definition."};

UM_GBF_FIGURE(9, "more bits an element, fewer false negatives");
