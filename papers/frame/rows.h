/*
 * rows.h - the reproductions. A new one is a line here and papers/PAPER/NAME/.
 */
#ifndef UM_PAPERS_ROWS_H
#define UM_PAPERS_ROWS_H

#include "papers/frame/paper.h"

/* In the order of the papers; X(name) is the row um_paper_name. */
#define UM_PAPERS(X)                                                           \
    X(rbf_fig3)                                                                \
    X(rbf_fig5)                                                                \
    X(rbf_fig6)                                                                \
    X(rbf_case_study)                                                          \
    X(rbf_ours)                                                                \
    X(rbf_2010)                                                                \
    X(spam_table1)                                                             \
    X(spam_signatures)                                                         \
    X(spam_table2)                                                             \
    X(spam_table3)                                                             \
    X(spam_table4)                                                             \
    X(spam_table5)                                                             \
    X(spam_table6)                                                             \
    X(spam_table7)                                                             \
    X(spam_table8)                                                             \
    X(spam_table9)                                                             \
    X(spam_table10)                                                            \
    X(spam_growth)                                                             \
    X(spam_split)                                                              \
    X(gbf_fig2)                                                                \
    X(gbf_fig3)                                                                \
    X(gbf_fig5)                                                                \
    X(gbf_fig6)                                                                \
    X(gbf_fig7)                                                                \
    X(gbf_fig8)                                                                \
    X(gbf_fig9)                                                                \
    X(gbf_fig10)                                                               \
    X(gbf_fig11)                                                               \
    X(gbf_fig12)                                                               \
    X(gbf_table1)                                                              \
    X(gbf_table2)                                                              \
    X(gbf_table3)                                                              \
    X(gbf_table4)                                                              \
    X(gbf_table5)                                                              \
    X(gbf_table6)                                                              \
    X(gbf_table7)                                                              \
    X(gbf_table8)                                                              \
    X(gbf_text)                                                                \
    X(gbf_traceback)                                                           \
    X(attacks)                                                                 \
    X(forgeries)                                                               \
    X(survey_fig2)                                                             \
    X(survey_table1)                                                           \
    X(survey_edits)                                                            \
    X(survey_spectral)                                                         \
    X(survey_reconcile)                                                        \
    X(survey_attenuated)                                                       \
    X(survey_multicast)                                                        \
    X(survey_geographic)

#define UM_PAPER_DECLARE(name) extern const um_paper um_paper_##name;
UM_PAPERS(UM_PAPER_DECLARE)

#endif
