/*
 * curve.h - the trade-off between members lost and keys left, as it was walked.
 */
#ifndef UM_CLI_CURVE_H
#define UM_CLI_CURVE_H

#include "cli/command.h"

typedef struct um_curve {
    umbel_retouch_step *steps;
    size_t n, cap;
    bool no_memory;
} um_curve;

/* A step that removed something; annealing's going to and fro is left out. */
void um_curve_add(um_curve *c, const umbel_retouch_step *step);
/* The last step that lost at most so many; all zero before the first. */
umbel_retouch_step um_curve_at(const um_curve *c, uint64_t lost);
/* Weight of the keys that match after a step; sums of it do not cancel. */
double um_weight_left(const umbel_retouch_result *bill,
                      const umbel_retouch_step *step);
/* To path: SVG when it ends in .svg, else CSV. The bill is the last point. */
umbel_status um_curve_save(const um_curve *c, const umbel_retouch_result *bill,
                           const char *path, umbel_error *err);
void um_curve_fini(um_curve *c);

#endif
