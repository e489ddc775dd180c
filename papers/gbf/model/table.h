/*
 * table.h - one of the Tables 1 to 8: five cases of a filter, computed by the
 * paper's equations and simulated. A study has only the data.
 */
#ifndef UM_GBF_TABLE_H
#define UM_GBF_TABLE_H

#include "papers/frame/paper.h"
#include "papers/gbf/model/simulate.h"

#include <umbel/base.h>

enum {
    GBF_CASES = 5,
    GBF_QUERIES = 10000,
    /* Numbers of a round for each case. */
    GBF_PLAIN_FP = 0,
    GBF_FP,
    GBF_FN,
    GBF_NUMBERS
};

typedef struct um_gbf_case {
    const char *name; /* first column of the table: "p0 = 25 %" */
    um_gbf filter;
} um_gbf_case;

typedef struct um_gbf_table {
    const char *title;
    bool percent; /* as in the paper, with one decimal; otherwise 1.2e-3 */
    um_gbf_case row[GBF_CASES];
} um_gbf_table;

umbel_status um_gbf_table_prepare(um_study *s, const um_gbf_table *t,
                                  umbel_error *err);
void um_gbf_table_release(um_study *s);
umbel_status um_gbf_table_round(um_round *r, double *out, umbel_error *err);
void um_gbf_table_conclude(um_study *s);

/* Defines the paper's row for the file-scope um_gbf_table `table`. */
#define UM_GBF_TABLE(number, words)                                            \
    static umbel_status prepare(um_study *s, umbel_error *err)                 \
    {                                                                          \
        return um_gbf_table_prepare(s, &table, err);                           \
    }                                                                          \
    const um_paper um_paper_gbf_table##number = {                              \
        .name = "gbf-table" #number,                                           \
        .source = GBF_SOURCE "Table " #number,                                 \
        .claim = words,                                                        \
        .rounds = 1000,                                                        \
        .width = (size_t)GBF_CASES * GBF_NUMBERS,                              \
        .prepare = prepare,                                                    \
        .release = um_gbf_table_release,                                       \
        .round = um_gbf_table_round,                                           \
        .conclude = um_gbf_table_conclude,                                     \
    }

#endif
