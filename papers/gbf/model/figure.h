/*
 * figure.h - curves of the paper's equations with simulated points on them, as
 * in Figs 2 to 12. A study has only the data.
 */
#ifndef UM_GBF_FIGURE_H
#define UM_GBF_FIGURE_H

#include "papers/frame/paper.h"
#include "papers/gbf/model/simulate.h"

#include <umbel/base.h>

enum {
    GBF_MAX_CURVES = 8,
    GBF_MAX_PANELS = 2,
    GBF_MAX_SPOTS = 12,
    GBF_MAX_POINTS = 96, /* simulated, in all panels */
    GBF_MAX_BITS = 1 << 18,
    GBF_MAX_ELEMENTS = 1024
};

/* What a curve shows, and along which x. */
typedef struct um_gbf_sight {
    um_gbf (*at)(um_gbf g, double x); /* the filter at x */
    /* By the paper's equation, and by its definition, which is simulated. */
    double (*value)(const um_gbf *g, double x);
    double (*truth)(const um_gbf *g, double x);
    uint32_t trials; /* queries or filters per round */
    double (*seen)(const um_gbf *g, double x, um_gbf_space *s, um_rng *rng);
} um_gbf_sight;

extern const um_gbf_sight um_gbf_fp_by_ones;        /* x: ones at query time */
extern const um_gbf_sight um_gbf_fp_by_start;       /* x: ones initially */
extern const um_gbf_sight um_gbf_fp_by_k1;          /* x: functions that set */
extern const um_gbf_sight um_gbf_fn_by_element;     /* x: 1 (the first) to n */
extern const um_gbf_sight um_gbf_bound_fn_by_ratio; /* x: bits per element */
extern const um_gbf_sight um_gbf_bound_fp_by_k;     /* x: k0 and k1 */
extern const um_gbf_sight um_gbf_bound_fn_by_k;     /* likewise */
extern const um_gbf_sight um_gbf_bound_fp_by_k0;    /* x: k0 */
extern const um_gbf_sight um_gbf_bound_fn_by_k0;    /* likewise */

typedef struct um_gbf_curve {
    const char *name; /* NULL ends the list */
    const um_gbf_sight *sight;
    um_gbf filter;
} um_gbf_curve;

typedef struct um_gbf_panel {
    const char *id; /* "a"; NULL ends the list */
    const char *title, *x, *y;
    bool log_y;
    double from, to, step; /* for the curves */
    double first, every;   /* of the simulated points; 0 for none */
    um_gbf_curve curve[GBF_MAX_CURVES + 1];
} um_gbf_panel;

/* A number to read off a curve and to compare with expected.csv. */
typedef struct um_gbf_spot {
    const char *item; /* NULL ends the list */
    unsigned panel, curve;
    double (*find)(const um_gbf_panel *p, const um_gbf_curve *c, double x);
    double x; /* where, if used */
} um_gbf_spot;

double um_gbf_value_at(const um_gbf_panel *p, const um_gbf_curve *c, double x);
double um_gbf_truth_at(const um_gbf_panel *p, const um_gbf_curve *c, double x);
double um_gbf_largest(const um_gbf_panel *p, const um_gbf_curve *c, double x);
double um_gbf_where_largest(const um_gbf_panel *p, const um_gbf_curve *c,
                            double x);
double um_gbf_least(const um_gbf_panel *p, const um_gbf_curve *c, double x);
double um_gbf_where_least(const um_gbf_panel *p, const um_gbf_curve *c,
                          double x);
/* Returns the smallest rise between neighbouring points: never below 0 if the
 * curve only rises. */
double um_gbf_least_rise(const um_gbf_panel *p, const um_gbf_curve *c,
                         double x);

typedef struct um_gbf_figure {
    um_gbf_panel panel[GBF_MAX_PANELS + 1];
    um_gbf_spot spot[GBF_MAX_SPOTS + 1];
    const char *note;
} um_gbf_figure;

umbel_status um_gbf_figure_prepare(um_study *s, const um_gbf_figure *f,
                                   umbel_error *err);
void um_gbf_figure_release(um_study *s);
umbel_status um_gbf_figure_round(um_round *r, double *out, umbel_error *err);
void um_gbf_figure_conclude(um_study *s);

/* Returns the distance of a simulated mean from the true value, in standard
 * errors; by an exact Poisson test if few events are expected. */
double um_gbf_sigmas(const um_mean *m, double truth, double trials);

/* Defines the paper's row for the file-scope um_gbf_figure `figure`. */
#define UM_GBF_FIGURE(number, words)                                           \
    static umbel_status prepare(um_study *s, umbel_error *err)                 \
    {                                                                          \
        return um_gbf_figure_prepare(s, &figure, err);                         \
    }                                                                          \
    const um_paper um_paper_gbf_fig##number = {                                \
        .name = "gbf-fig" #number,                                             \
        .source = GBF_SOURCE "Fig. " #number,                                  \
        .claim = words,                                                        \
        .rounds = 1000,                                                        \
        .width = GBF_MAX_POINTS,                                               \
        .prepare = prepare,                                                    \
        .release = um_gbf_figure_release,                                      \
        .round = um_gbf_figure_round,                                          \
        .conclude = um_gbf_figure_conclude,                                    \
    }

#endif
