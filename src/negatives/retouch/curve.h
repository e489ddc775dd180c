/*
 * retouch_curve.h - the trade-off of a retouching: keys removed against members
 * lost, step by step.
 */
#ifndef UM_OPS_RETOUCH_CURVE_H
#define UM_OPS_RETOUCH_CURVE_H

#include <umbel/experimental/retouch.h>

/* Zero to begin; release with um_curve_fini. */
typedef struct um_curve {
    umbel_retouch_step *steps; /* each removed more than the one before */
    size_t n, cap;
    bool no_memory; /* steps are missing */
} um_curve;

/* Appends a step if it removed something: annealing also goes back. */
void um_curve_add(um_curve *c, const umbel_retouch_step *step);
void um_curve_fini(um_curve *c);

/* Returns the last step that lost at most this many members; all zero before
 * the first. */
umbel_retouch_step um_curve_at(const um_curve *c, uint64_t lost);

/* Returns the weight of the keys that still match after a step: exactly 0 when
 * all are removed. */
double um_weight_left(const umbel_retouch_result *result,
                      const umbel_retouch_step *step);

#endif
