/*
 * curve.h - the curve of a retouching as a file.
 */
#ifndef UM_CLI_CURVE_H
#define UM_CLI_CURVE_H

#include "negatives/retouch/curve.h"

/* Writes the curve to path: as SVG if it ends in .svg, else as CSV. The result
 * is the last point. */
umbel_status um_curve_save(const um_curve *c,
                           const umbel_retouch_result *result, const char *path,
                           umbel_error *err);

#endif
