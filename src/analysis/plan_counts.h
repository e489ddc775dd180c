/*
 * plan_counts.h - errors of counts, from how often keys came.
 */
#ifndef UM_OPS_PLAN_COUNTS_H
#define UM_OPS_PLAN_COUNTS_H

#include "filter/kind.h"

#include <umbel/plan.h>

enum { UM_MAX_THRESHOLD = 1024 }; /* the recursion takes its square */

/*
 * As umbel_plan_counts, for a shape whose size is solved: times[j] keys came j
 * times, times[threshold] that often or more.
 */
umbel_status um_plan_times(const um_shape *s, uint64_t threshold,
                           const uint64_t *times, umbel_count_plan *out,
                           umbel_error *err);

#endif
